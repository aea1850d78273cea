"""What is written as a journal is read back; whatever else is there is refused, with one kind of error."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.engine.attempts.attempt import Attempt
from lithify.engine.attempts.journal_text import parse_journal, to_json
from lithify.engine.attempts.names import is_open_name, is_run_id, parse_committed_name
from lithify.formats.paimon.snapshots.attempt_scope import (
    AttemptScope,
    AttemptScopes,
    ExternalRoots,
    JournalUnit,
    PaimonAttempt,
)

PREFIX = "1538160e-e428-452a-8174-"
SOUND = Attempt(
    run="run",
    number=1,
    prefix=PREFIX,
    started="2026-11-21T12:00:00+00:00",
    scope=AttemptScope(
        base_snapshot=7,
        base_millis=1000,
        units=(JournalUnit("00000000", 3, ("data-1.parquet",), "bucket-3"),),
        outside=ExternalRoots("/lake/t", ("file:/there",)),
    ),
)
SCOPES = AttemptScopes()

units = st.builds(
    JournalUnit,
    partition=st.binary(max_size=40).map(bytes.hex),
    bucket=st.integers(0, 2**31 - 1),
    inputs=st.lists(st.from_regex(r"[a-z]{1,9}-[0-9]\.orc", fullmatch=True), max_size=3).map(tuple),
    folder=st.just("p=1/bucket-0"),
)
moments = st.datetimes(timezones=st.timezones()).filter(lambda each: 1970 < each.year < 9000)
scopes = st.builds(
    AttemptScope,
    base_snapshot=st.integers(0, 2**63 - 1),
    base_millis=st.integers(-(2**62), 2**62),
    units=st.lists(units, max_size=3).map(tuple),
    outside=st.none() | st.just(ExternalRoots("/lake/t", ("s3://bucket/there", "s3://bucket/here"))),
)
attempts = st.builds(
    Attempt,
    run=st.from_regex(r"[A-Za-z0-9-]{1,63}", fullmatch=True),
    number=st.integers(1, 999_999_999),
    prefix=st.uuids(version=4).map(lambda uuid: str(uuid)[:24]),
    started=moments.map(lambda each: each.replace(fold=0).isoformat()),
    scope=scopes,
    condemned=st.none() | moments.map(lambda each: each.isoformat()),
)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=30)
    | st.sampled_from(["..", "../../victim.db/t", "/", "\0", "\ud800", "9" * 5000, "data-", PREFIX]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


def read(text: str, name: str = "run-1.json") -> PaimonAttempt | None:
    """The attempt, None if the text is refused; any other error is one of the test."""
    try:
        return parse_journal(text, name, SCOPES)
    except ValueError:
        return None


@given(attempts)
def test_what_is_written_is_read_back(attempt: PaimonAttempt) -> None:
    name = f"{attempt.stem}.json"
    assert is_open_name(name)
    assert parse_journal(to_json(attempt, SCOPES), name, SCOPES) == attempt


@given(attempts, st.integers(0, 10**12), st.integers(0, 10**10))
def test_the_name_of_a_committed_one_is_read_back(attempt: PaimonAttempt, snapshot: int, since: int) -> None:
    name = f"{attempt.stem}.committed-{snapshot}-{since}-{attempt.prefix}"
    found = parse_committed_name(name)
    assert found is not None
    assert (found.prefix, found.snapshot, found.since.timestamp()) == (attempt.prefix, snapshot, since)
    assert parse_journal(to_json(attempt, SCOPES), name, SCOPES) == attempt
    assert not is_open_name(name)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    assert read(text) is None


@given(st.data())
def test_any_value_in_the_place_of_another_is_refused_or_harmless(data: st.DataObject) -> None:
    """Whatever is accepted has the form that deletions rely on."""
    fields: dict[str, Any] = json.loads(to_json(SOUND, SCOPES))
    place = data.draw(st.sampled_from([fields, fields["units"][0], fields["outside"]]))
    place[data.draw(st.sampled_from(sorted(place)))] = data.draw(values)

    found = read(json.dumps(fields))

    if found is not None:
        assert UUID(f"{found.prefix}000000000000").version == 4
        assert found.stem == "run-1"
        assert is_run_id(found.run)
        for unit in found.scope.units:
            bytes.fromhex(unit.partition)
            assert 0 <= unit.bucket < 2**31
            assert not any("/" in name for name in unit.inputs)


@given(st.data())
def test_damaged_texts_are_read_or_refused(data: st.DataObject) -> None:
    text = to_json(SOUND, SCOPES)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    read(text[:start] + data.draw(st.text(max_size=20)) + text[end:])


HOSTILE = {
    "deep lists": "[" * 1_000_000,
    "deep objects": '{"a":' * 1_000_000,
    "many lists": json.dumps([[]] * 1_000_000),
    "a long number": to_json(SOUND, SCOPES).replace("1000", "1" * 1_000_000),
    "infinity": to_json(SOUND, SCOPES).replace("1000", "Infinity"),
    "a fraction": to_json(SOUND, SCOPES).replace("1000", "1e3"),
    "true for a number": to_json(SOUND, SCOPES).replace("1000", "true"),
    "half a character": to_json(SOUND, SCOPES).replace("data-1", "\\ud800"),
    "another prefix than in its name": to_json(replace(SOUND, prefix="2538160e-e428-452a-8174-"), SCOPES),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        parse_journal(text, f"run-1.committed-9-1577836800-{PREFIX}", SCOPES)
    assert len(str(refused.value)) < 300


def test_journals_without_folders_are_read() -> None:
    fields = json.loads(to_json(SOUND, SCOPES))
    del fields["units"][0]["folder"]
    assert parse_journal(json.dumps(fields), "run-1.json", SCOPES).scope.units[0].folder == ""


@pytest.mark.parametrize(
    "name",
    [
        "x.json",
        "x-1.json.bak",
        "x-1234567890.json",
        "-1.jsonx",
        "x-1.JSON",
        "../x-1.json",
        "x-1.json\n",
        "é-1.json",
    ],
)
def test_names_of_no_journals(name: str) -> None:
    assert not is_open_name(name)
    assert parse_committed_name(name) is None
