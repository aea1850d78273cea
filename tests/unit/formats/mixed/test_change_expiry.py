"""Which change files may leave the change store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from lithify.errors import CorruptTable, InvalidOption
from lithify.formats.mixed.change_expiry import expired_rows, metadata_file_at, millis_to_live, referenced
from lithify.formats.mixed.optimized_line import OptimizedLine
from support.cases import case
from unit.formats.mixed.lines import base_of

FOLDERS = {0: "p=0", 1: "p=1"}
MOMENTS = {11: 100, 12: 200, 13: 300}


def files_of(*files: tuple[int, int, int]) -> pa.Table:
    """Files by partition, sequence number and snapshot."""
    columns = zip(*files, strict=True)
    return pa.table(dict(zip(("partition", "sequence_number", "snapshot_id"), columns, strict=True)))


@pytest.mark.parametrize(
    ("lines", "before", "expected"),
    [
        case([{"p=0": 2}], 1000, [1, 2], id="up to the line of its own partition"),
        case([{"p=0": 3, "p=1": 3}], 1000, [1, 2, 0, 3], id="oldest first"),
        case([{"p=0": 3, "p=1": 3}], 200, [1], id="only what was committed before"),
        case([{"p=0": 3, "p=1": 3}, {"p=0": 1}], 1000, [1], id="up to the lowest of several lines"),
        case([{"p=2": 9}], 1000, [], id="not in partitions without a line"),
        case([], 1000, [], id="not without any line"),
        case([{"p=0": 3, "p=1": 3}], -5, [], id="not if the time to live is longer than time"),
    ],
)
def test_files_leave(lines: list[Mapping[str, int]], before: int, expected: list[int]) -> None:
    files = files_of((1, 3, 13), (0, 1, 11), (0, 2, 12), (0, 3, 13))
    known = [OptimizedLine(each) for each in lines]
    assert expired_rows(files, FOLDERS, known, MOMENTS, before).tolist() == expected


def test_files_of_expired_snapshots_are_old() -> None:
    line = OptimizedLine({"p=0": 9})
    assert expired_rows(files_of((0, 1, 99), (0, 2, 13)), FOLDERS, [line], MOMENTS, 50).tolist() == [0]


def test_a_line_of_transactions_lets_no_file_leave() -> None:
    line = OptimizedLine(transactions={"p=0": 9})
    assert not len(expired_rows(files_of((0, 1, 11)), FOLDERS, [line], MOMENTS, 1000))


def test_files_are_referenced_by_their_names_whatever_their_folder() -> None:
    paths, others = (
        pa.array(["file:/c/1-I-1.parquet", "file:/c/2-I-1.parquet"]),
        pa.array(["/x/2-I-1.parquet"]),
    )
    assert referenced(paths, others).tolist() == [False, True]


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        case({}, 7 * 24 * 3_600_000, id="a week as in Amoro"),
        case({"change.data.ttl.minutes": "2"}, 120_000, id="minutes"),
        case({"change.data.ttl.minutes": "0"}, 0, id="at once"),
        case({"change.data.ttl.minutes": "-1"}, None, id="off by a negative number"),
        case({"table-expire.enabled": "false"}, None, id="off by the switch of Amoro"),
    ],
)
def test_time_to_live(properties: Mapping[str, str], expected: int | None) -> None:
    assert millis_to_live(properties) == expected


def test_a_time_to_live_without_a_number_is_refused() -> None:
    with pytest.raises(InvalidOption):
        millis_to_live({"change.data.ttl.minutes": "a week"})


@pytest.mark.parametrize(
    ("millis", "expected"),
    [
        case(50, "now", id="the newest"),
        case(49, "b", id="the one before"),
        case(20, "b", id="of just that time"),
        case(19, "a", id="an older one"),
        case(9, None, id="none before the first"),
    ],
)
def test_metadata_file_of_a_time(millis: int, expected: str | None) -> None:
    log = [{"timestamp-ms": 10, "metadata-file": "a"}, {"timestamp-ms": 20, "metadata-file": "b"}]
    assert metadata_file_at(_with_log(log), millis) == expected


@pytest.mark.parametrize(
    "log", [case([{"timestamp-ms": 1}], id="no file"), case(["a"], id="a text"), case(7, id="a number")]
)
def test_a_log_of_another_form_is_corrupt(log: Any) -> None:
    with pytest.raises(CorruptTable):
        metadata_file_at(_with_log(log), 5)


def _with_log(log: Any) -> Any:
    base = base_of([])
    return replace(base, json={**base.json, "metadata-log": log}, last_updated=50, file="now")
