"""One run: pins a snapshot, plans, runs the tasks, commits, reports.

Called by the command line, also inside of drivers. Groups that concurrent commits changed are planned again
on the newest snapshot, for a bounded number of rounds; the work on the others is kept. A round consists of
steps (`steps`), each with a commit of its own and an attempt with a journal, written before its first
file. A run that ended between two steps goes on when it is started again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Protocol
from uuid import uuid4

from lithify.clock import Clock
from lithify.engine.run.blocks import error_of
from lithify.engine.run.canary import Canary, refuse_format
from lithify.engine.run.report import Report
from lithify.engine.run.runner import Progress, TaskRunner
from lithify.engine.run.steps import CHECK_SECONDS, CheckTimes, Commits, Pace
from lithify.errors import CommitConflict, CommitUnknown, LithifyError
from lithify.faults import failpoint
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.committing import CommitStep
from lithify.formats.protocol.model import GroupId, check_run_id
from lithify.formats.protocol.planning import Plan, TableView
from lithify.formats.protocol.results import Block, StepOutcome, TaskResult
from lithify.formats.protocol.table import OpenTable
from lithify.formats.protocol.tasks import Sizing, Task
from lithify.formats.registry import group_noun, open_table


@dataclass(frozen=True, slots=True)
class Request:
    """A request to compact a table.

    Attributes:
        table: the table's address.
        selection: the part of the table, and how much of it the run takes.
        run: its id, None for a new one; a run that is started again finds out whether it has committed.
        sizing: how work is cut.
        commits: how often it commits.
        max_rounds: how often conflicting groups are planned.
        canary: whether a copy is compacted first, and compared; see `engine.run.canary`.
        check_seconds: least time between two checks for groups that others have changed while tasks run.
    """

    table: TableAddress
    selection: Selection = field(default_factory=Selection)
    run: str | None = None
    sizing: Sizing = field(default_factory=Sizing)
    commits: Commits = field(default_factory=Commits)
    max_rounds: int = 3
    canary: bool = False
    check_seconds: float = CHECK_SECONDS


class Observer(Protocol):
    """Receives a run's progress, for progress bars and logs. May end the run by raising."""

    def planned(self, plan: Plan, tasks: Sequence[Task]) -> None:
        """A round is planned and its tasks are about to run."""
        ...

    def progressed(self, done: int) -> None:
        """Receives the number of tasks of the round that are done."""
        ...

    def committing(self) -> None:
        """All tasks of a step are done and what they wrote is about to be committed."""
        ...

    def committed(self, report: Report) -> None:
        """A step has committed; the report covers everything that the run has done so far."""
        ...

    def blocked(self, report: Report) -> None:
        """Groups were found that cannot be compacted; the report lists all so far."""
        ...

    def continued(self) -> None:
        """The tasks of the round's next step are about to run."""
        ...


class _OfCopy:
    """Tells an observer how the compaction of a copy goes on; its commits are none of the run's."""

    def __init__(self, observer: Observer, beat: Callable[[], None]) -> None:
        self.planned = observer.planned
        self.blocked = observer.blocked
        self.continued = observer.continued
        self._observer = observer
        self._beat = beat

    def progressed(self, done: int) -> None:
        self._beat()
        self._observer.progressed(done)

    def committing(self) -> None:
        self._beat()

    def committed(self, report: Report) -> None:
        del report


class Silent:
    """An observer that ignores everything."""

    def planned(self, plan: Plan, tasks: Sequence[Task]) -> None:
        """Does nothing."""

    def progressed(self, done: int) -> None:
        """Does nothing."""

    def committing(self) -> None:
        """Does nothing."""

    def committed(self, report: Report) -> None:
        """Does nothing."""

    def blocked(self, report: Report) -> None:
        """Does nothing."""

    def continued(self) -> None:
        """Does nothing."""


def compact(request: Request, runner: TaskRunner, clock: Clock, observer: Observer | None = None) -> Report:
    """Runs one compaction to its end.

    A group whose own files cannot be compacted does not affect the others: they are committed, and the
    report names it. Its error is raised only if nothing at all was committed.

    Raises:
        UserError: the request or the table cannot be served.
        CanaryFailed: the canary found that rows would change; nothing was changed.
        CorruptTable: a file of the table is missing or broken; nothing was changed.
        StorageError: the file system refused; nothing was changed, unless it is a CommitUnknown.
        CommitConflict: every group was changed by others in every round.
    """
    if request.run is not None:
        check_run_id(request.run)
    return _Run(request, open_table(request.table), runner, clock, observer or Silent()).execute()


class _Run:
    """The state of one run: what has been committed so far, and the numbers for the report."""

    def __init__(
        self, request: Request, table: OpenTable, runner: TaskRunner, clock: Clock, observer: Observer
    ) -> None:
        self._request = request
        self._table = table
        self._runner = runner
        self._clock = clock
        self._observer = observer
        self._report = Report(
            table=table.name,
            run=request.run or _new_run(),
            status="NothingToDo",
            strategy=request.selection.strategy.value,
            reported=tuple(table.reported),
            noun=group_noun(request.table.format),
        )
        self._seconds: dict[str, float] = {}
        self._pace = Pace(request.commits)
        self._checks = CheckTimes(request.check_seconds)
        self._done: frozenset[GroupId] = frozenset()
        self._blocks: dict[GroupId, Block] = {}
        self._filled: set[GroupId] = set()
        self._steps_begun = 0
        self._tasks_done = 0

    def execute(self) -> Report:
        self._table.check_supported()
        self._table.check_writable()
        canary = self._opened_canary()
        with self._stage("reconcile"):
            recovered = self._table.recover(self._clock)
            left = () if canary is None else canary.clean_up()
            self._note(orphans_deleted=recovered.deleted, uncleaned=(*recovered.problems, *left))
        report = self._compacted(canary)
        if canary is not None and self._request.canary:
            try:
                canary.end()
            except LithifyError as error:
                return replace(report, uncleaned=(*report.uncleaned, str(error)))
        return report

    def _opened_canary(self) -> Canary | None:
        """The table's canary, checked if this run has one; None if tables of its format have none."""
        canary = Canary.of_table(self._table, self._request.table, self._report.run, self._clock)
        if self._request.canary:
            if canary is None:
                raise refuse_format(self._table.name, self._request.table.format)
            canary.check_supported()
        return canary

    def _prove(self, canary: Canary) -> None:
        """Compacts a copy first; raises if its rows change."""

        def compact_copy(copy: TableAddress, run: str, beat: Callable[[], None]) -> None:
            request = replace(self._request, table=copy, run=run, canary=False)
            compact(request, self._runner, self._clock, _OfCopy(self._observer, beat))

        with self._stage("canary"):
            found = canary.prove(compact_copy, self._runner, self._request.sizing, self._observer)
            self._note(canary=found)

    def _compacted(self, canary: Canary | None) -> Report:
        past = None
        if self._request.run is not None:
            past = self._table.find_run(self._request.run)
            if past is not None:
                self._note(status="AlreadyCommitted", snapshot_after=past.found.snapshot)
                if past.found.is_complete:
                    return self._report
                self._done = past.groups
        if canary is not None and self._request.canary and past is None:
            self._prove(canary)
        with self._stage("plan"):
            view = self._table.pin_view(self._request.selection)
        self._note(snapshot_before=view.snapshot_id if view else None)
        conflicts: Mapping[GroupId, str] = {}
        while view is not None and self._report.rounds < self._request.max_rounds:
            self._filled = set()
            conflicts = self._round(view)
            again = {*conflicts, *self._filled}
            view = self._repin_view(again) if again else None
        self._note(skipped={group.path: reason for group, reason in conflicts.items()})
        if self._report.snapshot_after is None:
            self._check_done(conflicts)
        return replace(self._report, seconds=self._seconds)

    def _check_done(self, conflicts: Mapping[GroupId, str]) -> None:
        """Raises the error of a run that committed nothing; conflicts go first: a retry may succeed."""
        if conflicts:
            raise CommitConflict(self._table.name, tuple(self._report.skipped), self._report.rounds)
        if self._blocks:
            raise error_of(self._table.name, list(self._blocks.values()))

    def _repin_view(self, groups: Collection[GroupId]) -> TableView | None:
        """Reloads the table for groups in conflict; its schema may have changed, too."""
        self._table = open_table(self._request.table)
        return self._table.repin_view(groups)

    def _round(self, view: TableView) -> Mapping[GroupId, str]:
        """Plans and compacts the groups of a view; returns those in conflict, with the reason."""
        self._note(rounds=self._report.rounds + 1)
        conflicts: dict[GroupId, str] = {}
        rest: TableView | None = view
        while rest is not None:
            rest = self._portion(rest, conflicts, is_first=rest is view)
        self._done = frozenset()  # what an earlier start has compacted only concerns the first round
        return conflicts

    def _portion(self, view: TableView, conflicts: dict[GroupId, str], *, is_first: bool) -> TableView | None:
        """Plans and compacts as many groups of a view as fit into memory; returns the view of the others.

        Adds those in conflict, with the reason.
        """
        with self._stage("plan"):
            plan = self._table.plan(view, self._request.selection, self._clock)
        rests = Counter(self._report.resting) + Counter(plan.resting)
        held = (*self._report.held, *(group.path for group in plan.held))
        self._note(resting=dict(rests), held=held)
        self._note_blocks(plan.blocks)
        failpoint("planned")
        units = [unit for unit in plan.units if unit.group not in self._done]
        conflicts |= plan.conflicts
        if units and not is_first:
            gone = self._table.check_again(units)
            units = [unit for unit in units if unit.group not in gone]
            conflicts |= gone
        if units:
            conflicts |= self._steps(self._table.part_of(plan, units))
        return plan.remaining

    def _note_blocks(self, blocks: Sequence[Block]) -> None:
        if blocks:
            self._blocks |= {block.group: block for block in blocks}
            self._note(blocked=tuple(block.told for block in self._blocks.values()))
            self._observer.blocked(self._report)

    def _steps(self, plan: Plan) -> Mapping[GroupId, str]:
        """Compacts the groups of a plan, step by step; returns those in conflict, with the reason."""
        tasks = self._table.tasks_of(plan, self._request.sizing)
        self._observer.planned(plan, [task for of_unit in tasks.values() for task in of_unit])
        conflicts: dict[GroupId, str] = {}
        units = plan.units
        self._tasks_done = 0
        while units:
            size = self._pace.step(units)
            step, units = self._table.part_of(plan, units[:size]), units[size:]
            conflicts |= self._step(step, tasks, len(units) + plan.deferred)
            if units:
                failpoint("step-done")
                gone = self._table.check_again(units)
                units = [unit for unit in units if unit.group not in gone]
                conflicts |= gone
                self._observer.continued()
        return conflicts

    def _step(
        self, plan: Plan, tasks: Mapping[GroupId, Sequence[Task]], to_come: int
    ) -> Mapping[GroupId, str]:
        """Compacts the groups of one step; returns those in conflict, with the reason."""
        started = monotonic()
        step = self._table.begin(plan, tasks, self._report.run, self._steps_begun, self._clock)
        self._steps_begun = step.number
        failpoint("journal-written")
        try:
            outcome = self._carry_out(step, to_come)
        except CommitUnknown:
            raise
        except BaseException:
            step.give_up()
            raise
        self._pace.took(sum(unit.read_bytes for unit in plan.units), monotonic() - started)
        return outcome.conflicts

    def _carry_out(self, step: CommitStep, to_come: int) -> StepOutcome:
        with self._stage("rewrite"):
            blocks = self._rewrite(step)
        self._note_blocks(blocks)
        self._observer.committing()
        with self._stage("commit"):
            outcome = step.commit(to_come)
        self._record(outcome, to_come)
        if outcome.snapshot is not None:
            self._observer.committed(self._report)
        self._note(uncleaned=(*self._report.uncleaned, *step.clean()))
        return outcome

    def _rewrite(self, step: CommitStep) -> Sequence[Block]:
        """Runs all tasks, then what has to follow them; returns the groups that turned out to be blocked."""
        before = self._tasks_done
        results = self._run(step, step.tasks, lambda done: self._progressed(before + done))
        self._progressed(before + len(step.tasks))
        followed = self._run(step, step.followers(results), lambda _: None)
        return step.finish(results, followed)

    def _progressed(self, done: int) -> None:
        if done != self._tasks_done:
            self._tasks_done = done
            self._observer.progressed(done)

    def _run(self, step: CommitStep, tasks: Sequence[Task], progress: Progress) -> list[TaskResult]:
        had_stragglers, step.has_stragglers = step.has_stragglers, True

        def heard(done: int) -> None:
            step.beat()
            if self._checks.is_due:
                with self._checks.timed():
                    step.stop_lost()
            progress(done)

        results = self._runner.run(tasks, self._clock, heard) if tasks else []
        # The first attempt of a retried task may still be running somewhere.
        step.has_stragglers = had_stragglers or any(result.attempt for result in results)
        self._count(results)
        return sorted(results, key=lambda result: result.index)

    def _count(self, results: Sequence[TaskResult]) -> None:
        report = self._report
        self._note(
            tasks=report.tasks + len(results),
            task_retries=report.task_retries + sum(result.attempt for result in results),
            task_seconds=report.task_seconds + sum(result.seconds for result in results),
            core_seconds=report.core_seconds + sum(result.seconds for result in results),
            slot_seconds=report.slot_seconds + sum(result.elapsed for result in results),
            peak_task_bytes=max([report.peak_task_bytes, *(result.peak_bytes for result in results)]),
        )

    def _record(self, outcome: StepOutcome, to_come: int) -> None:
        self._note(commit_tries=self._report.commit_tries + outcome.tries)
        self._filled |= {*outcome.filled}
        if outcome.snapshot is not None:
            self._note(
                status="Compacted",
                snapshot_after=outcome.snapshot,
                commits=self._report.commits + 1,
                to_come=to_come,
                groups=(*self._report.groups, *outcome.reports),
            )

    def _note(self, **values: object) -> None:
        self._report = replace(self._report, **values)  # type: ignore[arg-type]  # names are the report's

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        started = monotonic()
        try:
            yield
        finally:
            self._seconds[name] = self._seconds.get(name, 0.0) + monotonic() - started


def _new_run() -> str:
    """A new id for a run without one."""
    return uuid4().hex[:12]
