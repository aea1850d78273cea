"""Details add up as their kinds say, and are fields of JSON."""

from __future__ import annotations

import pickle

from lithify.formats.paimon.planning.details import OUTPUT_LEVEL, REPORTED, UPGRADES
from lithify.formats.protocol.details import Detail, added, as_fields, totals_of
from lithify.formats.protocol.results import Slot, TaskOutputs, Totals, joined_slots, slots_of

UNITS = [
    (Detail(OUTPUT_LEVEL, 5), Detail(UPGRADES, ("a", "b"))),
    (Detail(OUTPUT_LEVEL, None), Detail(UPGRADES, ())),
]


def test_only_details_with_a_total_add_up() -> None:
    assert totals_of(UNITS) == {"upgraded_files": 2}
    assert totals_of([(Detail(UPGRADES, None),)]) == {"upgraded_files": 0}
    assert totals_of([]) == {}


def test_sums_that_are_zero_are_left_out_of_sums() -> None:
    assert added({"a": 1, "b": 0}, {"a": 2, "c": 3}, {}) == {"a": 3, "c": 3}


def test_fields_have_the_values_and_people_see_the_texts() -> None:
    assert as_fields(UNITS[0]) == {"output_level": 5, "upgrades": ("a", "b")}
    assert [detail.text for detail in UNITS[0]] == ["5", "2 files"]
    assert UNITS[1][0].text is None


def test_kinds_are_the_same_in_another_process() -> None:
    assert pickle.loads(pickle.dumps(REPORTED)) == REPORTED


def test_slots_without_files_are_left_out() -> None:
    one = slots_of(changelog=Totals(1, 10, 5), index=Totals())
    assert one == {Slot.CHANGELOG: Totals(1, 10, 5)}
    assert joined_slots([one, one, {}]) == {Slot.CHANGELOG: Totals(2, 20, 10)}


def test_outputs_of_tasks_are_joined_slot_by_slot() -> None:
    first = TaskOutputs(data=("a",), deletes=("d1",), maps=("m",), copied_bytes=1)
    second = TaskOutputs(data=("b",), changelog=("c",), index=("i",), deletes=("d2",), copied_bytes=2)
    joined = TaskOutputs.joined([first, second])
    assert joined == TaskOutputs(("a", "b"), ("c",), ("i",), ("d1", "d2"), ("m",), 3)
