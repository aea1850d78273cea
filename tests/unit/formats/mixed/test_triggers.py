"""Triggers fire from their figures on, for each partition on its own, and say why."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.formats.mixed.figures import PartitionFigures
from lithify.formats.mixed.trigger_options import MajorOptions
from lithify.formats.mixed.triggers import NEVER, MajorTrigger, are_due, due_millis, fired, verdicts
from support.cases import case

MIB = 1 << 20
HOUR = 3_600_000
NOW = 1_800_000_000_000
OPTIONS = MajorOptions(
    nodes=4,
    small_file_size=16 * MIB,
    delete_bytes=400,
    delete_ratio=0.5,
    least_delete_bytes=40,
    small_files=12,
    changes_millis=HOUR,
    base_millis=24 * HOUR,
)
OFF = replace(
    OPTIONS, delete_bytes=None, delete_ratio=None, small_files=None, changes_millis=None, base_millis=None
)
NAMES = [field.name for field in fields(PartitionFigures)]


def figures_of(*rows: dict[str, int]) -> PartitionFigures:
    """Figures of partitions; what a row does not name is 0, and all have just been optimized."""
    usual = {"since_millis": NOW}
    return PartitionFigures(
        *(np.array([{**usual, **row}.get(name, 0) for row in rows], np.int64) for name in NAMES)
    )


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        case({}, set(), id="nothing"),
        case({"delete_bytes": 400, "base_bytes": 801}, {"DeleteBytes"}, id="deletes at the limit"),
        case({"delete_bytes": 399, "base_bytes": 801}, set(), id="deletes below it"),
        case(
            {"delete_bytes": 50, "base_bytes": 60, "insert_bytes": 40},
            {"DeleteRatio"},
            id="ratio at the limit",
        ),
        case({"delete_bytes": 50, "base_bytes": 60, "insert_bytes": 41}, set(), id="ratio below it"),
        case({"delete_bytes": 40}, {"DeleteRatio"}, id="no base files, deletes at the floor"),
        case({"delete_bytes": 39}, set(), id="no base files, deletes below the floor"),
        case({"change_files": 12}, {"SmallFiles"}, id="changes at the limit"),
        case({"change_files": 11}, set(), id="changes below it"),
        case({"change_files": 1, "small_base_files": 11}, {"SmallFiles"}, id="changes and small files"),
        case({"small_base_files": 12}, {"SmallFiles"}, id="small files alone"),
        case({"change_files": 1, "since_millis": NOW - HOUR}, {"Interval"}, id="changes of an hour"),
        case({"change_files": 1, "since_millis": NOW - HOUR + 1}, set(), id="changes of less than an hour"),
        case({"change_files": 1, "since_millis": 0}, {"Interval"}, id="changes of an unknown time"),
        case({"base_deletes": 1, "since_millis": NOW - 24 * HOUR}, {"Interval"}, id="deletes of a day"),
        case({"base_deletes": 1, "since_millis": NOW - 23 * HOUR}, set(), id="deletes of less than a day"),
        case({"small_base_files": 5, "since_millis": NOW - 24 * HOUR}, {"Interval"}, id="files to join"),
        case({"small_base_files": 4, "since_millis": 0}, set(), id="a small file for each node"),
        case({"outside_files": 1, "since_millis": NOW - 24 * HOUR}, {"Interval"}, id="Hive lacks a file"),
        case({"base_bytes": MIB, "since_millis": 0}, set(), id="nothing to gain"),
    ],
)
def test_triggers_fire_from_their_figures_on(row: dict[str, int], expected: set[str]) -> None:
    figures = figures_of(row)

    assert {trigger for trigger, flags in fired(figures, OPTIONS, NOW).items() if flags[0]} == expected
    assert are_due(figures, OPTIONS, NOW).tolist() == [bool(expected)]


def test_partitions_are_judged_on_their_own() -> None:
    figures = figures_of(
        {"change_files": 12}, {"change_files": 11}, {"delete_bytes": 400, "base_bytes": 9999}
    )

    assert are_due(figures, OPTIONS, NOW).tolist() == [True, False, True]


def test_as_many_small_base_files_as_nodes_are_no_reason_alone() -> None:
    """A merge may leave one for each node; they would make the partition due again and again."""
    options = replace(OPTIONS, small_files=4)

    figures = figures_of(
        {"small_base_files": 4}, {"small_base_files": 5}, {"small_base_files": 3, "change_files": 1}
    )

    assert fired(figures, options, NOW)[MajorTrigger.SMALL_FILES].tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("options", "trigger"),
    [
        case(replace(OFF, delete_bytes=400), "DeleteBytes", id="bytes of deletes"),
        case(replace(OFF, delete_ratio=0.5), "DeleteRatio", id="ratio"),
        case(replace(OFF, small_files=12), "SmallFiles", id="files"),
        case(replace(OFF, changes_millis=HOUR), "Interval", id="interval of changes"),
        case(replace(OFF, base_millis=HOUR), "Interval", id="interval of base files"),
    ],
)
def test_each_trigger_has_a_switch(options: MajorOptions, trigger: str) -> None:
    row = {"delete_bytes": 400, "change_files": 12, "base_deletes": 1, "since_millis": 0}
    figures = figures_of(row)

    assert not are_due(figures, OFF, NOW).any()
    assert fired(figures, OFF, NOW) == {}
    assert [each.trigger for each in verdicts(figures, options, NOW, 0) if each.fired] == [trigger]
    assert len(verdicts(figures, options, NOW, 0)) == 1


def test_time_alone_makes_partitions_due_where_there_is_work() -> None:
    figures = figures_of({}, {"change_files": 1}, {"base_deletes": 1}, {"change_files": 1, "base_deletes": 1})

    assert due_millis(figures, OPTIONS).tolist() == [NEVER, NOW + HOUR, NOW + 24 * HOUR, NOW + HOUR]
    assert due_millis(figures, OFF).tolist() == [NEVER] * 4


@given(st.lists(st.fixed_dictionaries({name: st.integers(0, 500) for name in NAMES}), max_size=5))
def test_verdicts_agree_with_the_flags(rows: list[dict[str, int]]) -> None:
    figures = figures_of(*rows)
    flags = fired(figures, OPTIONS, HOUR)

    for row in range(len(rows)):
        found = {each.trigger: each.fired for each in verdicts(figures, OPTIONS, HOUR, row)}
        assert found == {trigger: bool(values[row]) for trigger, values in flags.items()}
        assert any(found.values()) == bool(are_due(figures, OPTIONS, HOUR)[row])


def test_verdicts_have_their_figures() -> None:
    row = {
        "delete_bytes": 100,
        "base_bytes": 300,
        "insert_bytes": 100,
        "change_files": 2,
        "small_base_files": 7,
        "since_millis": 1_700_000_000_000,
    }

    details = {each.trigger: each.detail for each in verdicts(figures_of(row), OPTIONS, NOW, 0)}

    assert details == {
        "DeleteBytes": "deletes of 100 B to merge, due from 400 B on, 100 B for each of 4 nodes",
        "DeleteRatio": "deletes have 25.0 % of 400 B, due from 50 % and 40 B on",
        "SmallFiles": "2 change files to merge and 7 base files below 16.0Mi, due from 12 files on",
        "Interval": "optimized or first written at 2023-11-14 22:13:20 UTC; changes are merged after 1 h",
    }


@pytest.mark.parametrize("since", [0, -5, (1 << 63) - 1])
def test_times_that_nobody_knows_have_a_sentence(since: int) -> None:
    figures = figures_of({"change_files": 1, "since_millis": since})

    assert "an unknown time" in verdicts(figures, replace(OFF, changes_millis=HOUR), NOW, 0)[0].detail
