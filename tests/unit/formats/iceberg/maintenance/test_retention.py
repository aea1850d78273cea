"""Which snapshots, branches and tags expire: tables of cases, and what holds for all histories."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.formats.iceberg.maintenance.retention import (
    History,
    Removal,
    RetentionRules,
    ancestors,
    expired,
    replaced_at,
)
from lithify.formats.iceberg.table.metadata import MAIN
from lithify.formats.iceberg.table.snapshots import Reference, Snapshot
from support.cases import case

NOW = 100_000
FOREVER = 1 << 40


def snapshots(*made: tuple[int, int | None, int]) -> Mapping[int, Snapshot]:
    """Snapshots by id, parent and age."""
    return {
        number: Snapshot(number, parent, number, NOW - age, f"list-{number}", {})
        for number, parent, age in made
    }


FIVE = snapshots((1, None, 500), (2, 1, 400), (3, 2, 300), (4, 3, 200), (5, 4, 100))
"""A branch of five commits."""


def branch(
    name: str, at: int, age: int | None = None, least: int | None = None, own: int | None = None
) -> Reference:
    return Reference(name, at, True, age, least, own)


def tag(name: str, at: int, own: int | None = None) -> Reference:
    return Reference(name, at, is_branch=False, max_age=own)


def gone(
    made: Mapping[int, Snapshot],
    *references: Reference,
    rules: RetentionRules | None = None,
    floor: int = 0,
    log: tuple[tuple[int, int], ...] = (),
) -> tuple[set[int], set[str]]:
    history = History(made, {each.name: each for each in references}, log)
    found = expired(history, rules or RetentionRules(max_snapshot_age=0), now_millis=NOW, floor_millis=floor)
    return set(found.snapshots), set(found.references)


MAIN_AT_5 = branch(MAIN, 5)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        case(RetentionRules(), set(), id="five days by default"),
        case(RetentionRules(max_snapshot_age=0), {1, 2, 3, 4}, id="all but the head are too old"),
        case(RetentionRules(max_snapshot_age=0, min_snapshots=3), {1, 2}, id="three stay whatever their age"),
        case(RetentionRules(max_snapshot_age=300), {1, 2}, id="one of exactly that age stays"),
        case(RetentionRules(max_snapshot_age=299), {1, 2, 3}, id="one a moment older goes"),
        case(RetentionRules(max_snapshot_age=300, min_snapshots=4), {1}, id="age and number keep together"),
        case(RetentionRules(max_snapshot_age=0, min_snapshots=99), set(), id="fewer than stay"),
    ],
)
def test_ages_and_numbers_of_the_table(rules: RetentionRules, expected: set[int]) -> None:
    assert gone(FIVE, MAIN_AT_5, rules=rules) == (expected, set())


@pytest.mark.parametrize(
    ("references", "expected", "removed"),
    [
        case([tag("t", 2)], {1, 3, 4}, set(), id="a tag keeps its snapshot alone"),
        case([branch("b", 2)], {1, 3, 4}, set(), id="a branch keeps its head"),
        case([branch("b", 3, least=2)], {1, 4}, set(), id="and the number that it says"),
        case([branch("b", 3, age=400)], {1, 4}, set(), id="and its own age"),
        case([tag("t", 2, own=399)], {1, 2, 3, 4}, {"t"}, id="a tag that is too old goes"),
        case([tag("t", 2, own=400)], {1, 3, 4}, set(), id="at exactly its age it stays"),
        case([branch("b", 2, least=9, own=1)], {1, 2, 3, 4}, {"b"}, id="a branch that goes keeps nothing"),
        case([branch(MAIN, 5, own=1)], {1, 2, 3, 4}, set(), id="main never goes"),
        case([branch(MAIN, 5, age=200)], {1, 2, 3}, set(), id="main may say how long, too"),
    ],
)
def test_branches_and_tags_say_themselves(
    references: list[Reference], expected: set[int], removed: set[str]
) -> None:
    assert gone(FIVE, *{each.name: each for each in (MAIN_AT_5, *references)}.values()) == (expected, removed)


def test_references_go_by_the_age_of_the_table() -> None:
    rules = RetentionRules(max_snapshot_age=FOREVER, max_reference_age=250)
    assert gone(FIVE, MAIN_AT_5, tag("old", 3), tag("young", 4), rules=rules) == (set(), {"old"})


def test_snapshots_without_a_branch_stay_while_they_are_young() -> None:
    """Staged ones, and those that were rolled back: no number keeps them."""
    made = {**FIVE, **snapshots((8, 4, 250), (9, 5, 50))}
    rules = RetentionRules(max_snapshot_age=200, min_snapshots=9)
    assert gone(made, MAIN_AT_5, rules=rules)[0] == {8}


def test_branch_ends_at_its_first_old_snapshot() -> None:
    """Clocks disagree: a younger one behind it goes, too, as with Java."""
    made = snapshots((1, None, 10), (2, 1, 900), (3, 2, 5))
    assert gone(made, branch(MAIN, 3), rules=RetentionRules(max_snapshot_age=100))[0] == {1, 2}


class TestFloor:
    def test_counts_from_the_next_commit(self) -> None:
        assert gone(FIVE, MAIN_AT_5, floor=150)[0] == {1, 2, 3}
        assert gone(FIVE, MAIN_AT_5, floor=301)[0] == {1}

    def test_snapshot_of_an_idle_week_stays_after_the_next_commit(self) -> None:
        made = snapshots((1, None, 90_000), (2, 1, 5))
        assert gone(made, branch(MAIN, 2))[0] == {1}
        assert gone(made, branch(MAIN, 2), floor=600)[0] == set()

    def test_snapshot_that_was_rolled_back_counts_from_the_rollback(self) -> None:
        log = ((NOW - 900, 1), (NOW - 800, 2), (NOW - 5, 1))
        made = snapshots((1, None, 900), (2, 1, 800))
        assert gone(made, branch(MAIN, 1), log=log)[0] == {2}
        assert gone(made, branch(MAIN, 1), log=log, floor=600)[0] == set()
        assert gone(made, branch(MAIN, 1), log=log, floor=5)[0] == {2}

    def test_branches_count_too(self) -> None:
        made = {**FIVE, **snapshots((8, 2, 3))}
        assert gone(made, MAIN_AT_5, branch("b", 8), floor=50)[0] == {1, 3, 4}


def test_ancestors_end_where_a_snapshot_is_gone_or_comes_again() -> None:
    assert [each.id for each in ancestors(FIVE, 3)] == [3, 2, 1]
    assert [each.id for each in ancestors(snapshots((2, 1, 0), (3, 2, 0)), 3)] == [3, 2]
    assert [each.id for each in ancestors(snapshots((2, 3, 0), (3, 2, 0)), 3)] == [3, 2]


_numbers = st.integers(0, 11)
_ages = st.integers(0, 1000)
_own = st.none() | st.integers(0, 1000)


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Trees of snapshots with branches and tags anywhere."""
    count = draw(st.integers(1, 12))
    parents = [
        draw(st.none() | st.integers(0, max(0, number - 1))) if number else None for number in range(count)
    ]
    made = snapshots(*((number, parents[number], draw(_ages)) for number in range(count)))
    at = st.integers(0, count - 1)
    references = {MAIN: branch(MAIN, draw(at))}
    for number in range(draw(st.integers(0, 3))):
        name = f"r{number}"
        references[name] = Reference(
            name, draw(at), draw(st.booleans()), draw(_own), draw(st.none() | st.integers(1, 4)), draw(_own)
        )
    log = tuple(sorted((NOW - draw(_ages), draw(at)) for _ in range(draw(st.integers(0, 4)))))
    return History(made, references, log)


_rules = st.builds(RetentionRules, st.integers(0, 1000), st.integers(1, 4), st.integers(0, 1000))


@given(histories(), _rules, st.integers(0, 500))
def test_what_stays_is_whole(history: History, rules: RetentionRules, floor: int) -> None:
    found = expired(history, rules, now_millis=NOW, floor_millis=floor)
    left = history.references.keys() - found.references
    assert MAIN in left
    assert found.references <= history.references.keys()
    for name in left:
        assert history.references[name].snapshot not in found.snapshots
    for number in found.snapshots:
        assert replaced_at(history)[number] <= NOW - floor
        assert history.snapshots[number].millis <= NOW - floor


@given(histories(), _rules, st.integers(0, 500), st.integers(0, 500), st.integers(0, 500))
def test_who_keeps_longer_keeps_more(
    history: History, rules: RetentionRules, floor: int, later: int, longer: int
) -> None:
    """Time that passes lets more go, and higher ages less; a longer floor less, too."""

    def found(rules: RetentionRules, now: int, floor: int) -> Removal:
        return expired(history, rules, now_millis=now, floor_millis=floor)

    base = found(rules, NOW, floor)
    more = RetentionRules(
        rules.max_snapshot_age + longer, rules.min_snapshots + 1, rules.max_reference_age + longer
    )
    assert base <= found(rules, NOW + later, floor)
    assert found(more, NOW, floor) <= base
    assert found(rules, NOW, floor + later) <= base
