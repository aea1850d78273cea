"""What workers say: the same on both ends, and nothing that is not one of the known shapes."""

from __future__ import annotations

import json
import pickle
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify import errors
from lithify.controller.observing.replies import check_value, read_reply, write_reply
from lithify.controller.observing.request import TableList
from lithify.controller.observing.wire import MOST_REPLY, MOST_TEXT, Reply
from lithify.errors import CorruptTable, Failure, LithifyError, NotAllowed, NotFound, UnsupportedTable
from lithify.formats.protocol.model import BlockedGroup, SnapshotId
from lithify.formats.protocol.observation import Finding, OtherCompactor, RunFound
from support.cases import case
from support.observations import observation, with_levels

SEEN = replace(
    observation(),
    snapshot_time=datetime(2026, 11, 22, 1, 2, 3, 456789, UTC),
    findings=(Finding("sorted-runs", "dt=1/bucket-0", "9 runs", 1, 5),),
    partitions_due=({"dt": "2026-11-22"},),
    blocked=(BlockedGroup("bucket-0", True, "a.parquet: cut off", "0123"),),
    next_trigger=datetime(2026, 11, 23, tzinfo=UTC),
    other_compactors=(
        OtherCompactor("Amoro", "a property", "switch it off"),
        OtherCompactor("Spark", "snapshot 7", "stop it", datetime(2026, 11, 22, tzinfo=UTC)),
    ),
)
RUN = RunFound(SnapshotId("8274931150398217734:-17"), SnapshotId("3"), 4, 1, 100, 90)


@pytest.mark.parametrize(
    "value",
    [
        case(None, id="nothing new"),
        case(SEEN, id="an observation"),
        case(replace(SEEN, blocks={}), id="an observation of files without levels"),
        case(RUN, id="a run"),
        case(TableList(("db.t",), 3, 1), id="a list"),
    ],
)
def test_values_come_as_they_are(value: object) -> None:
    reply = Reply(value, resident_bytes=5)
    assert read_reply(write_reply(reply)) == reply


@pytest.mark.parametrize(
    "error",
    [
        NotFound("table", "db.t"),
        NotAllowed("http://c", "no"),
        UnsupportedTable("db.t", ("a", "b")),
        CorruptTable("/w/x", "cut off"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_come_as_they_are(error: LithifyError) -> None:
    back = read_reply(write_reply(Reply(error=error))).error
    assert back is not None
    assert (type(back), str(back), back.__dict__) == (type(error), str(error), error.__dict__)


@given(st.text(st.characters(), max_size=50))
def test_texts_that_cannot_be_encoded_do_not_end_the_worker(text: str) -> None:
    back = read_reply(write_reply(Reply(error=LithifyError(text)))).error
    str(back).encode()


def test_long_texts_are_cut_and_long_answers_are_errors() -> None:
    back = read_reply(write_reply(Reply(error=LithifyError("x" * (1 << 20))))).error
    assert len(str(back)) == MOST_TEXT
    endless = TableList(tuple(f"db.{number:0500}" for number in range(40_000)), 40_000)
    data = write_reply(Reply(endless))
    assert len(data) < MOST_REPLY
    assert read_reply(data).error is not None


def test_long_names_in_parts_are_cut() -> None:
    seen = with_levels(SEEN, sortedRunsBucket="p=" + "x" * (1 << 20))
    back = read_reply(write_reply(Reply(seen))).value
    assert back == with_levels(seen, sortedRunsBucket="p=" + "x" * (MOST_TEXT - 2))


def levels_with(**changes: Any) -> bytes:
    """An observation in which a figure of the merge tree is something else."""
    whole = json.loads(write_reply(Reply(SEEN)))
    whole["value"]["blocks"]["mergeTree"] |= changes
    return json.dumps(whole).encode()


def parts_with(**changes: Any) -> bytes:
    """An observation with other parts."""
    whole = json.loads(write_reply(Reply(SEEN)))
    whole["value"]["blocks"] |= changes
    return json.dumps(whole).encode()


def reply_with(**changes: Any) -> bytes:
    return json.dumps({"shape": None, "value": None, "error": None, "resident_bytes": 0} | changes).encode()


def run_with(**changes: Any) -> bytes:
    return reply_with(shape="run", value=asdict(RUN) | changes)


def error_with(**changes: Any) -> bytes:
    return reply_with(error={"kind": "LithifyError", "message": "m", "fields": {}} | changes)


@pytest.mark.parametrize(
    "data",
    [
        case(pickle.dumps(Reply()), id="a pickle"),
        case(b"", id="nothing"),
        case(b"[]", id="a list"),
        case(b"[" * 200_000, id="deep nesting"),
        case(reply_with(shape="os.system", value="true"), id="an unknown shape"),
        case(reply_with(shape="run", value={"snapshot": "x"}), id="other fields"),
        case(run_with(snapshot=7), id="a number for the id of a snapshot"),
        case(run_with(snapshot="7\n"), id="a control character in the id of a snapshot"),
        case(run_with(base="7" * 65), id="a long id of a snapshot"),
        case(run_with(base=""), id="an empty id of a snapshot"),
        case(reply_with(shape="tables", value={"names": [1 << 70]}), id="a huge number"),
        case(reply_with(shape="tables", value={"names": ["x" * 10_000]}), id="a long name"),
        case(reply_with(shape="tables", value={"names": ["\ud800"]}), id="half of a surrogate pair"),
        case(levels_with(sortedRunsBucket="x" * 10_000), id="a long name in a part"),
        case(levels_with(sortedRunsBucket="\ud800"), id="half of a surrogate pair in a part"),
        case(levels_with(level0Files=1 << 63), id="a huge number in a part"),
        case(levels_with(level0Files="many"), id="a word for a number in a part"),
        case(levels_with(level0Files={"a": 1}), id="a map for a number in a part"),
        case(levels_with(buckets=None), id="no number in a part"),
        case(levels_with(sortedRuns="7"), id="a number in quotes in a part"),
        case(levels_with(sortedRunsBucket=7), id="a number for a path in a part"),
        case(levels_with(rowsInLevel0=7), id="a figure that no format declares"),
        case(parts_with(roots={"a": 1}), id="a part that no format declares"),
        case(parts_with(mergeTree={"buckets": 1}), id="a part without some of its figures"),
        case(reply_with(resident_bytes=[]), id="memory that is no number"),
        case(error_with(kind="SystemExit"), id="an error of another tree"),
        case(error_with(message=["m"]), id="a message that is no text"),
        case(error_with(fields=[]), id="fields without names"),
    ],
)
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        read_reply(data)


def test_an_error_cannot_change_what_its_class_says() -> None:
    back = read_reply(
        error_with(kind="NotFound", fields={"failure": "bug", "__class__": "x", "what": "w"})
    ).error
    assert isinstance(back, errors.NotFound)
    assert (back.failure, back.what) == (Failure.USER, "w")


@pytest.mark.parametrize("change", [{"schema_id": 2**70}, {"table_uuid": 5}, {"files": float("nan")}])
def test_values_that_the_operator_would_refuse_are_found_in_the_worker(change: dict[str, Any]) -> None:
    check_value(Reply(SEEN))
    with pytest.raises(ValueError, match=r"\w"):
        check_value(Reply(replace(SEEN, **change)))
