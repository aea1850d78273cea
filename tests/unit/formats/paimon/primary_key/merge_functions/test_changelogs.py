"""Changelogs of merges are those of Paimon's wrappers, written row by row in plain Python.

However small the budget, with whatever passes over local disk, and for runs that are only looked up in.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cmp_to_key
from itertools import groupby
from pathlib import Path

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lithify.engine.rewrite.budget import Budget
from lithify.engine.rewrite.changelog import ChangelogSpec
from lithify.engine.rewrite.functions import Deduplicate
from lithify.engine.rewrite.passes import merge_section
from lithify.engine.rewrite.spec import MergeSpec
from lithify.formats.paimon.primary_key.merge_functions.first_row import FirstRow
from lithify.formats.paimon.primary_key.merge_functions.lookup import Lookup
from lithify.formats.paimon.primary_key.previous_records import (
    KINDS,
    FirstRecords,
    LookedUpRecords,
    TopLevelRecords,
)
from support.properties import examples
from support.rewriting.functions import RETRACTS
from support.rewriting.model import KEY_KINDS, ListRun, Row, Table, key_values, runs_of, tables

PROPERTY = settings(
    max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
BUDGETS = st.sampled_from([Budget(total=1), Budget(total=16 << 20)])
COMPARED = ("payload",)
Found = tuple[list[Row], list[Row]]
"""Results and changes."""


def merged(
    table: Table, spec: MergeSpec, runs: list[list[Row]], pieces: int, budget: Budget, to: Path
) -> Found:
    sources = [ListRun(table, rows, number, [pieces]) for number, rows in enumerate(runs)]
    changes: list[pa.RecordBatch] = []
    results = [*merge_section(sources, spec, budget, to, record=changes.append)]
    return rows_of(results), rows_of(changes)


def rows_of(batches: list[pa.RecordBatch]) -> list[Row]:
    return [row for batch in batches for row in batch.to_pylist()]


def keys_of(table: Table, runs: list[list[Row]]) -> list[list[Row]]:
    """The records of each key, oldest first."""
    by_key = cmp_to_key(table.compare_keys)
    rows = sorted((row for run in runs for row in run), key=lambda row: by_key(key_values(row)))
    groups = (list(group) for _, group in groupby(rows, key=key_values))
    return [sorted(group, key=cmp_to_key(table.compare_ages)) for group in groups]


def changes_of(before: Row | None, after: Row | None, *, compares: bool) -> list[Row]:
    """What becomes of a row; both are whole records, and `after` may retract."""
    if after is None or is_retraction(after):
        return [] if before is None else [{**before, "_VALUE_KIND": 3}]
    if before is None:
        return [{**after, "_VALUE_KIND": 0}]
    if compares and before["payload"] == after["payload"]:
        return []
    return [{**before, "_VALUE_KIND": 1}, {**after, "_VALUE_KIND": 2}]


def is_retraction(row: Row) -> bool:
    return row["_VALUE_KIND"] in RETRACTS


def told(rows: list[Row]) -> list[Row]:
    return [{name: value for name, value in row.items() if name != "run"} for row in rows]


@PROPERTY
@given(data=st.data(), table=tables(), compares=st.booleans(), pieces=st.integers(1, 4), budget=BUDGETS)
def test_full_compactions_record_each_change_of_a_result(
    tmp_path: Path, data: st.DataObject, table: Table, compares: bool, pieces: int, budget: Budget
) -> None:
    table = replace(table, ignore_deletes=False)
    runs = data.draw(runs_of(table, rising=data.draw(st.booleans())))
    top = data.draw(st.sampled_from([-1, len(runs) - 1]))
    changelog = ChangelogSpec(TopLevelRecords(top), KINDS, COMPARED if compares else None)
    spec = MergeSpec(table.layout, Deduplicate(), drop_retractions=True, changelog=changelog)
    results, changes = [], []
    for records in keys_of(table, runs):
        before = next((record for record in records if record["run"] == top), None)
        after = records[-1]
        results += [] if is_retraction(after) else [after]
        if before is None or len(records) > 1:
            changes += changes_of(before, after, compares=compares)
    assert merged(table, spec, runs, pieces, budget, tmp_path) == (told(results), told(changes))


@PROPERTY
@given(data=st.data(), table=tables(), compares=st.booleans(), pieces=st.integers(1, 4), budget=BUDGETS)
def test_lookups_give_the_changes_of_the_model(
    tmp_path: Path, data: st.DataObject, table: Table, compares: bool, pieces: int, budget: Budget
) -> None:
    table = replace(table, ignore_deletes=False)
    runs = data.draw(runs_of(table, rising=data.draw(st.booleans())))
    upper = data.draw(st.integers(1, len(runs)))
    known = data.draw(st.integers(upper, len(runs)))
    changelog = ChangelogSpec(LookedUpRecords(upper), KINDS, COMPARED if compares else None)
    function = Lookup(Deduplicate(), looks_up=True, first_upper_run=upper, first_known_run=known)
    spec = MergeSpec(table.layout, function, table.drop_deletes, changelog)
    results, changes = [], []
    for records in keys_of(table, runs):
        if all(record["run"] >= known for record in records):
            continue
        above = [record for record in records if record["run"] >= upper]
        lowest = min(above, key=lambda record: record["run"], default=None)
        after = [record for record in records if record["run"] < upper or record is lowest][-1]
        results += [] if table.drop_deletes and is_retraction(after) else [after]
        if len(above) < len(records):
            before = None if lowest is None or is_retraction(lowest) else lowest
            changes += changes_of(before, after, compares=compares)
    assert merged(table, spec, runs, pieces, budget, tmp_path) == (told(results), told(changes))


@PROPERTY
@given(data=st.data(), table=tables(), pieces=st.integers(1, 4), budget=BUDGETS)
def test_first_rows_are_recorded_once(
    tmp_path: Path, data: st.DataObject, table: Table, pieces: int, budget: Budget
) -> None:
    table = replace(table, ignore_deletes=True, sequence=())
    runs = data.draw(runs_of(table))
    upper = data.draw(st.integers(1, len(runs)))
    known = data.draw(st.integers(upper, len(runs)))
    function = FirstRow(True, looks_up=True, first_upper_run=upper, first_known_run=known)
    spec = MergeSpec(table.layout, function, changelog=ChangelogSpec(FirstRecords(upper), None))
    results, changes = [], []
    for records in keys_of(table, runs):
        taken = [record for record in records if record["run"] < known and not is_retraction(record)]
        was_there = any(record["run"] >= upper for record in taken)
        if not taken or (not was_there and any(record["run"] >= known for record in records)):
            continue
        results.append(taken[0])
        is_above = any(upper <= record["run"] < known for record in records)
        changes += [] if is_above else [taken[0]]
    assert merged(table, spec, runs, pieces, budget, tmp_path) == (told(results), told(changes))


def test_merges_without_new_files_take_the_lowest_record(tmp_path: Path) -> None:
    """Lone records are kept, and others are merged beside them."""
    table = Table(keys=(KEY_KINDS[0],))
    rows = [[_row(1, 5, 0), _row(2, 5, 0)], [_row(2, 9, 1), _row(3, 9, 1)]]
    function = Lookup(Deduplicate(), looks_up=False, first_upper_run=0, first_known_run=2)
    results, changes = merged(table, MergeSpec(table.layout, function), rows, 9, Budget(), tmp_path)
    assert [(row["k0"], row["_SEQUENCE_NUMBER"]) for row in results] == [(1, 5), (2, 5), (3, 9)]
    assert changes == []


def test_passes_keep_a_second_record_where_that_of_the_top_level_is_the_newest(tmp_path: Path) -> None:
    table = Table(keys=(KEY_KINDS[0],))
    runs = [[], [], [_row(1, 0, 2)], [_row(1, 1, 3)]]
    changelog = ChangelogSpec(TopLevelRecords(3), KINDS)
    spec = MergeSpec(table.layout, Deduplicate(), drop_retractions=True, changelog=changelog)
    _, changes = merged(table, spec, runs, 1, Budget(total=1), tmp_path)
    assert [(change["origin"], change["_VALUE_KIND"]) for change in changes] == [("3", 1), ("3", 2)]


def _row(key: int, sequence: int, run: int) -> Row:
    own = {"origin": f"{run}", "payload": None, "_SEQUENCE_NUMBER": sequence, "_VALUE_KIND": 0}
    return {"k0": key, **own, "run": run}
