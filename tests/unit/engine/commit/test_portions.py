"""Portions of a commit: beside writers that only small tries can beat, everything is committed, and once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil, log2
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.engine.commit.loop import CommitOutcome
from lithify.engine.commit.patience import Backoff, Patience
from lithify.engine.commit.portions import OUTRUN, commit_in_portions, joined
from lithify.errors import CommitOutrun, NotAllowed
from unit.engine.commit.clocks import SleepingClock
from unit.engine.commit.tables import GONE, Snapshot, Table

PATIENCE = Patience(max_retries=4, min_wait=1.0, max_wait=4.0, timeout=1000.0)
TRIES = 4
"""Of a portion, before it is halved."""


@dataclass
class BusyTable(Table):
    """A table to which others commit during each try that takes too long.

    Attributes:
        in_time: the number of groups of the largest try that is not outrun.
        in_time_later: the same once something was committed.
        taken: what others remove with their first commit.
        promised: whether more is to come, for each snapshot of ours.
    """

    in_time: int = 1
    in_time_later: int | None = None
    taken: frozenset[str] = frozenset()
    promised: list[bool] = field(default_factory=list)
    _more: bool = False

    def announce(self, *, is_last: bool) -> None:
        self._more = not is_last

    def prepare(self, changes: Mapping[str, str], base: Snapshot, number: int) -> tuple[int, Snapshot]:
        if len(changes) > self.in_time:
            self.others = [self.taken]
            self.taken = frozenset()
        return super().prepare(changes, base, number)

    def publish(self, draft: tuple[int, Snapshot]) -> bool:
        is_ours = super().publish(draft)
        if is_ours:
            self.promised.append(self._more)
            self.in_time = self.in_time if self.in_time_later is None else self.in_time_later
        return is_ours


def busy(groups: int, **given: int | frozenset[str] | list[str] | None) -> BusyTable:
    return BusyTable([frozenset(map(str, range(groups)))], **given)  # type: ignore[arg-type]


def outcomes(table: BusyTable, groups: int, patience: Patience = PATIENCE) -> list[CommitOutcome]:
    changes = {str(each): f"{each}-new" for each in range(groups)}
    return [*commit_in_portions(table, changes, Backoff(patience, SleepingClock(), Random(0)))]


@given(groups=st.integers(1, 70), in_time=st.integers(1, 70))
def test_everything_is_committed_once_in_portions_that_are_in_time(groups: int, in_time: int) -> None:
    table = busy(groups, in_time=in_time)
    found = outcomes(table, groups)
    outcome = joined(found)
    assert table.snapshots[-1] == {f"{each}-new" for each in range(groups)}
    assert sorted(outcome.committed, key=int) == [str(each) for each in range(groups)]
    assert max(len(each.committed) for each in found) <= in_time
    assert table.promised == [True] * (len(found) - 1) + [False]
    assert outcome.tries == table.prepared
    halvings = max(0, ceil(log2(groups / in_time)))
    assert found[0].tries == halvings * TRIES + 1
    assert outcome.snapshot == len(table.snapshots) - 1


def test_nothing_is_divided_that_is_outrun_three_times_only() -> None:
    table = busy(8, in_time=8)
    table.others = [frozenset()] * 3
    (outcome,) = outcomes(table, 8)
    assert (len(outcome.committed), outcome.tries, table.promised) == (8, 4, [False])


def test_groups_that_others_change_are_conflicts_of_their_portion() -> None:
    table = busy(4, in_time=2, taken=frozenset({"1", "2"}))
    outcome = joined(outcomes(table, 4))
    assert ({*outcome.committed}, outcome.conflicts) == ({"0", "3"}, {"1": GONE, "2": GONE})
    assert table.snapshots[-1] == {"0-new", "3-new"}


def test_groups_are_conflicts_where_the_patience_ends_after_a_portion() -> None:
    table = busy(4, in_time=2, in_time_later=0)
    outcome = joined(outcomes(table, 4))
    assert ({*outcome.committed}, outcome.conflicts) == ({"0", "1"}, {"2": OUTRUN, "3": OUTRUN})
    assert outcome.tries == table.prepared
    assert table.snapshots[-1] == {"0-new", "1-new", "2", "3"}


@pytest.mark.parametrize("groups", [1, 2, 50])
def test_a_run_gives_up_after_all_of_its_patience_if_nothing_is_committed(groups: int) -> None:
    table, clock = busy(groups, in_time=0), SleepingClock()
    changes = {str(each): f"{each}-new" for each in range(groups)}
    with pytest.raises(CommitOutrun):
        [*commit_in_portions(table, changes, Backoff(PATIENCE, clock, Random(0)))]
    assert sum(clock.slept) >= PATIENCE.timeout
    assert table.prepared > PATIENCE.max_retries
    assert not any("new" in name for snapshot in table.snapshots for name in snapshot)


def test_an_error_of_a_later_portion_ends_the_commit_and_leaves_the_earlier_ones() -> None:
    table = busy(4, in_time=2, answers=["written"] * (TRIES + 1) + ["refused"])
    found = []
    with pytest.raises(NotAllowed):
        found.extend(outcomes(table, 4))
    assert table.snapshots[-1] == {"0-new", "1-new", "2", "3"}
    assert table.promised == [True]
