"""The commit loop on a table in memory: whatever others and the store do, no change is lost or repeated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.engine.commit import loop
from lithify.engine.commit.loop import CommitOutcome, Validation
from lithify.engine.commit.patience import Backoff, Patience
from lithify.engine.commit.publishing import Published
from lithify.errors import CommitOutrun, CommitUnknown, MissingFile, NotAllowed
from support.cases import case
from unit.engine.commit.clocks import SleepingClock
from unit.engine.commit.tables import GONE, Snapshot, Table

PATIENCE = Patience(max_retries=3, min_wait=1.0, max_wait=4.0, timeout=10.0)


def commit(table: Table, *groups: str, clock: SleepingClock | None = None) -> CommitOutcome:
    backoff = Backoff(PATIENCE, clock or SleepingClock(), Random(0))
    return loop.commit(table, {group: f"{group}-new" for group in groups}, backoff)


def test_all_groups_are_committed_where_nobody_else_writes() -> None:
    table = Table([frozenset("ab")])
    assert commit(table, "a", "b") == CommitOutcome(1, ("a", "b"), {}, 1)
    assert table.snapshots[-1] == {"a-new", "b-new"}


def test_a_group_in_conflict_is_left_out_and_the_others_commit() -> None:
    table = Table([frozenset("ab")], others=[frozenset("a")])
    assert commit(table, "a", "b") == CommitOutcome(2, ("b",), {"a": GONE}, 2)
    assert table.discarded == 1


@pytest.mark.parametrize(
    "snapshots",
    [case([], id="the table has no snapshot"), case([frozenset("c")], id="no group is there any more")],
)
def test_nothing_is_prepared_where_nothing_is_admitted(snapshots: list[Snapshot]) -> None:
    table = Table([*snapshots])
    assert commit(table, "a") == CommitOutcome(None, (), {"a": GONE}, 1)
    assert (table.prepared, table.snapshots) == (0, snapshots)


def test_a_snapshot_that_expires_while_it_is_read_is_no_error() -> None:
    class Expiring(Table):
        def prepare(self, changes: Mapping[str, str], base: Snapshot, number: int) -> tuple[int, Snapshot]:
            if number == 0:
                self.prepared += 1
                self.snapshots = [frozenset("abc")]
                raise MissingFile("manifest")
            return super().prepare(changes, base, number)

    assert commit(Expiring([frozenset("a")]), "a").committed == ("a",)


def test_a_missing_file_of_a_snapshot_that_is_there_is_an_error() -> None:
    class Damaged(Table):
        def validate(self, changes: Mapping[str, str], base: Snapshot | None) -> Validation[str]:
            raise MissingFile("manifest")

    with pytest.raises(MissingFile):
        commit(Damaged([frozenset("a")]), "a")


def test_a_missing_file_after_the_snapshot_was_sent_starts_no_second_try() -> None:
    class Expiring(Table):
        def verify(self, draft: tuple[int, Snapshot]) -> Published:
            del draft, self.snapshots[0]
            raise MissingFile("manifest")

    table = Expiring([frozenset("a")])
    with pytest.raises(MissingFile):
        commit(table, "a")
    assert (table.prepared, table.snapshots) == (1, [{"a-new"}])


def test_a_refused_draft_is_discarded_and_the_refusal_raised() -> None:
    table = Table([frozenset("a")], answers=["refused"])
    with pytest.raises(NotAllowed):
        commit(table, "a")
    assert (table.prepared, table.discarded) == (1, 1)


def test_a_draft_of_unknown_outcome_is_not_discarded() -> None:
    table = Table([frozenset("a")], answers=["interrupted"])
    with pytest.raises(CommitUnknown):
        commit(table, "a")
    assert (table.prepared, table.discarded) == (1, 0)


def test_patience_ends_after_its_tries_and_its_time() -> None:
    table, clock = Table([frozenset("a")], others=[frozenset()] * 100), SleepingClock()
    with pytest.raises(CommitOutrun) as outrun:
        commit(table, "a", clock=clock)
    assert outrun.value.tries == len(clock.slept) + 1 > PATIENCE.max_retries
    assert sum(clock.slept) >= PATIENCE.timeout
    assert all(PATIENCE.min_wait <= wait <= PATIENCE.max_wait for wait in clock.slept)


def test_a_snapshot_that_was_replaced_is_not_tried_again() -> None:
    table = Table([frozenset("ab")], answers=["written", "replaced"])
    outcome = commit(table, "a", "b")
    assert outcome == CommitOutcome(None, (), {"a": "replaced", "b": "replaced"}, 1, overwritten=True)
    assert (table.prepared, table.discarded) == (1, 0)


@given(
    others=st.lists(st.frozensets(st.sampled_from("abc")), max_size=5),
    answers=st.lists(st.sampled_from(["written", "refused", "interrupted"]), max_size=4),
)
def test_no_change_is_lost_or_applied_twice(others: list[frozenset[str]], answers: list[str]) -> None:
    table = Table([frozenset("abc")], others, answers)
    committed: tuple[str, ...] = ()
    with_doubt = False
    try:
        outcome = commit(table, "a", "b", "c")
        committed = outcome.committed
        assert {*committed, *outcome.conflicts} == set("abc")
    except CommitUnknown:
        with_doubt = True
    except (NotAllowed, CommitOutrun):
        pass
    news = Counter(name for snapshot in table.snapshots for name in snapshot if name.endswith("-new"))
    assert all(count == 1 for count in news.values()), "a try after the commit would repeat it"
    assert with_doubt or {*news} == {f"{group}-new" for group in committed}
    assert table.prepared - table.discarded == (bool(committed) or with_doubt)
