"""How a run is cut into steps, and what happens between them: commits, conflicts, crashes, restarts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypaimon import CatalogFactory
from pypaimon.schema.data_types import AtomicType
from pypaimon.schema.schema_change import SchemaChange

from lithify.clock import Clock, SystemClock
from lithify.engine.run.driver import Request, Silent, compact
from lithify.engine.run.runner import InlineRunner, Progress
from lithify.engine.run.steps import FIRST_BYTES, CheckTimes, Commits, Pace
from lithify.errors import CommitConflict, StorageError
from lithify.formats.paimon.commit.found_runs import find_run
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.planning.merge_tree.plan import Unit
from lithify.formats.paimon.primary_key.merge_task import MergeTask
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.results import TaskResult
from lithify.formats.protocol.strategy import Strategy
from lithify.formats.protocol.tasks import Sizing
from support.merge_trees import repeatable
from support.orders_table import BUCKETS, NAME, rows, run

pytestmark = pytest.mark.thorough

ONE_BY_ONE = Commits(most_bytes=1)
MIB = 1 << 20


@dataclass(frozen=True)
class Sized:
    read_bytes: int


def units(*sizes: int) -> list[Unit]:
    return cast(list[Unit], [Sized(size) for size in sizes])


class TestCheckTimes:
    @pytest.mark.parametrize(
        ("took", "next_at"),
        [pytest.param(0.25, 20.25, id="quick"), pytest.param(3.0, 73.0, id="slow: 5 % of the time")],
    )
    def test_a_check_is_due_after_the_interval_or_later_if_it_takes_long(
        self, took: float, next_at: float
    ) -> None:
        now = [0.0]
        times = CheckTimes(10.0, lambda: now[0])
        assert not times.is_due
        now[0] = 10.0
        assert times.is_due
        with suppress(StorageError), times.timed():
            now[0] += took
            raise StorageError("/t", "refused")
        now[0] = next_at - 0.001
        assert not times.is_due
        now[0] = next_at + 0.001
        assert times.is_due


class TestPace:
    @pytest.mark.parametrize(
        ("sizes", "most", "step"),
        [
            ([5, 5, 5], 10, 2),
            ([11, 5], 10, 1),
            ([5, 11], 10, 1),
            ([0, 0, 0], 1, 3),
            ([5], None, 1),
        ],
    )
    def test_step_is_of_whole_units_and_never_empty(
        self, sizes: list[int], most: int | None, step: int
    ) -> None:
        assert Pace(Commits(most)).step(units(*sizes)) == step

    @repeatable
    @given(st.lists(st.integers(0, 50), min_size=1), st.integers(1, 60))
    def test_steps_are_as_large_as_they_may_be(self, sizes: list[int], most: int) -> None:
        step = Pace(Commits(most)).step(units(*sizes))
        assert step == 1 or sum(sizes[:step]) <= most
        assert step == len(sizes) or sum(sizes[: step + 1]) > most

    def test_first_step_is_bounded_without_a_bound(self) -> None:
        assert Pace(Commits()).bytes == FIRST_BYTES

    def test_next_step_takes_about_as_long_as_wished(self) -> None:
        pace = Pace(Commits(seconds=300))
        pace.took(100 * MIB, 10.0)
        assert pace.bytes == 3000 * MIB

    def test_the_bound_in_bytes_holds_at_any_speed(self) -> None:
        pace = Pace(Commits(most_bytes=MIB, seconds=300))
        pace.took(100 * MIB, 0.1)
        assert pace.bytes == MIB

    @pytest.mark.parametrize(("size", "seconds"), [(0, 5.0), (5, 0.0)])
    def test_a_step_that_says_nothing_changes_nothing(self, size: int, seconds: float) -> None:
        pace = Pace(Commits())
        pace.took(size, seconds)
        assert pace.bytes == FIRST_BYTES


class Between(Silent):
    """Does something once, after so many commits: before or after the next step is looked at."""

    def __init__(self, commits: int, act: Callable[[], object], *, before_the_look: bool = False) -> None:
        self._left = commits
        self._act = act
        self._before = before_the_look
        self.done: list[int] = []

    def progressed(self, done: int) -> None:
        self.done.append(done)

    def committed(self, report: object) -> None:
        del report
        self._left -= 1
        if self._before and self._left == 0:
            self._act()

    def continued(self) -> None:
        if not self._before and self._left == 0:
            self._act()


class Crash(BaseException):
    """The process is gone."""


def crash() -> None:
    raise Crash


def crashed(orders: TableAddress, after: int, **changes: Any) -> None:
    with pytest.raises(Crash):
        run(orders, run="r", commits=ONE_BY_ONE, observer=Between(after, crash), **changes)


def properties(address: TableAddress) -> list[tuple[str | None, str | None]]:
    """The run of each snapshot, and what it had to come."""
    snapshots = open_table(address).snapshots
    found = [snapshots.get(number) for number in snapshots.numbers()]
    told = [(each.properties or {}) if each else {} for each in found]
    return [(each.get("lithify.run"), each.get("lithify.to-come")) for each in told]


def journals(address: TableAddress) -> list[Path]:
    return list(Path(address.warehouse).rglob("lithify/attempts/*.json"))


def unreferenced(address: TableAddress) -> set[str]:
    """Data files that no snapshot has ever named."""
    table = open_table(address)
    named = {
        entry.file.name
        for number in table.snapshots.numbers()
        if (snapshot := table.snapshots.get(number))
        for entry in table.manifests.delta(snapshot)
    }
    return {path.name for path in Path(address.warehouse).rglob("bucket-*/*")} - named


class TestSteps:
    def test_each_is_a_commit(self, orders: TableAddress) -> None:
        before = rows(orders)
        watching = Between(99, crash)

        report = run(orders, run="r", commits=ONE_BY_ONE, observer=watching)

        assert (report.status, report.commits, report.rounds, report.to_come) == ("Compacted", 4, 1, 0)
        assert (report.snapshot_before, report.snapshot_after) == ("2", "6")
        assert [group.group for group in report.groups] == BUCKETS
        assert properties(orders)[2:] == [("r", "3"), ("r", "2"), ("r", "1"), ("r", None)]
        assert watching.done == [1, 2, 3, 4]
        assert rows(orders).equals(before)
        assert (journals(orders), unreferenced(orders)) == ([], set())

    def test_small_runs_have_one(self, orders: TableAddress) -> None:
        assert run(orders).commits == 1

    def test_names_of_files_do_not_collide_between_steps(self, orders: TableAddress) -> None:
        """Tasks are counted anew in each step, and so are the ones that join small files."""
        before = rows(orders)
        report = run(orders, commits=ONE_BY_ONE, sizing=Sizing(task_bytes=1))
        assert report.after.files == 4
        assert rows(orders).equals(before)
        assert unreferenced(orders) == set()


class TestConflicts:
    def test_one_step_in_conflict_leaves_the_others(self, orders: TableAddress) -> None:
        """Another run compacts two of the buckets while the step of the first of them is under way."""
        others = Between(1, lambda: run(orders, buckets=frozenset({1})))

        report = run(orders, commits=ONE_BY_ONE, observer=others)

        assert (report.status, report.rounds, report.commits) == ("Compacted", 2, 2)
        assert [group.group for group in report.groups] == [BUCKETS[0], BUCKETS[2]]
        assert report.skipped == {}
        assert (journals(orders), unreferenced(orders)) == ([], set())

    def test_what_others_have_done_is_not_done_in_vain(self, orders: TableAddress) -> None:
        others = Between(1, lambda: run(orders), before_the_look=True)
        report = run(orders, commits=ONE_BY_ONE, observer=others)
        assert (report.tasks, report.commits, len(report.groups)) == (1, 1, 1)

    def test_new_column_between_steps_has_the_rest_planned_anew(self, orders: TableAddress) -> None:
        def add_column() -> None:
            catalog = CatalogFactory.create({"warehouse": orders.warehouse})
            change = SchemaChange.add_column("extra", AtomicType("INT"))
            catalog.alter_table(NAME, [change], ignore_if_not_exists=False)

        report = run(orders, commits=ONE_BY_ONE, observer=Between(2, add_column, before_the_look=True))

        assert (report.status, report.rounds, report.commits, report.tasks) == ("Compacted", 2, 4, 4)
        assert [group.group for group in report.groups] == BUCKETS

    def test_nothing_but_conflicts_is_one(self, orders: TableAddress) -> None:
        class Losing(Between):
            def planned(self, plan: Any, tasks: Sequence[MergeTask]) -> None:
                del tasks
                if plan.units:
                    run(orders)

        with pytest.raises(CommitConflict):
            run(orders, commits=ONE_BY_ONE, observer=Losing(99, crash), max_rounds=1)


class Failing(InlineRunner):
    """Fails in its n-th call."""

    def __init__(self, call: int) -> None:
        self._left = call

    def run(self, tasks: Sequence[MergeTask], clock: Clock, progress: Progress) -> list[TaskResult]:
        self._left -= 1
        results = super().run(tasks, clock, progress)
        if not self._left:
            raise StorageError("/warehouse", "the disk is full")
        return results


class TestCrashes:
    def test_run_goes_on_where_it_ended(self, orders: TableAddress) -> None:
        before = rows(orders)
        crashed(orders, after=2)
        found = find_run(open_table(orders), "r")
        assert found is not None
        assert (found.is_complete, found.snapshot) == (False, "4")

        again = run(orders, run="r", commits=ONE_BY_ONE)

        assert (again.status, again.snapshot_before, again.snapshot_after) == ("Compacted", "4", "6")
        assert [group.group for group in again.groups] == BUCKETS[2:]
        assert rows(orders).equals(before)
        found = find_run(open_table(orders), "r")
        assert found is not None
        assert (found.is_complete, found.base, found.input_files, found.output_files) == (True, "2", 8, 4)
        assert run(orders, run="r").status == "AlreadyCommitted"

    def test_what_is_done_is_not_done_again(self, orders: TableAddress) -> None:
        """Not even where a full compaction always rewrites everything."""
        forced = replace(orders, overrides={"compaction.force-rewrite-all-files": "true"})
        crashed(forced, after=3)
        again = run(forced, run="r", commits=ONE_BY_ONE)
        assert [group.group for group in again.groups] == BUCKETS[3:]

    def test_run_of_which_others_did_the_rest(self, orders: TableAddress) -> None:
        crashed(orders, after=1)
        run(orders)
        again = run(orders, run="r")
        assert (again.status, again.snapshot_after, again.groups) == ("AlreadyCommitted", "3", ())

    def test_another_run_has_all_of_it_to_do(self, orders: TableAddress) -> None:
        crashed(orders, after=1)
        assert len(run(orders, run="s").groups) == 3

    def test_error_in_a_step_leaves_those_before(self, orders: TableAddress) -> None:
        request = Request(orders, Selection(strategy=Strategy.FULL), run="r", commits=ONE_BY_ONE)
        with pytest.raises(StorageError):
            compact(request, Failing(3), SystemClock())

        assert properties(orders)[2:] == [("r", "3"), ("r", "2")]
        assert unreferenced(orders) == set()
        assert [path.name for path in journals(orders)] == ["r-3.json"]  # its tasks might still be writing
        assert len(run(orders, run="r", commits=ONE_BY_ONE).groups) == 2
