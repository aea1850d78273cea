"""One run: pins a snapshot, plans, has the tasks run, commits, reports.

Called by the command line, also inside of drivers. Buckets that other commits changed meanwhile are
planned anew on the newest snapshot, a bounded number of rounds; the work of the others is kept. A round goes
in steps (`steps`), each with a commit of its own and an attempt with a journal, written before its first
file. A run that ended between two steps goes on when it is started again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Protocol
from uuid import uuid4

from lithify.clock import Clock
from lithify.errors import (
    CommitConflict,
    CommitUnknown,
    CorruptTable,
    LithifyError,
    NotFound,
    StorageError,
)
from lithify.faults import reach
from lithify.job.blocking import Block, error_of
from lithify.job.joining import Work, joins_of, without_joined
from lithify.job.outputs import Outputs
from lithify.job.planner import RunPlan, Sizing, numbered, plan_run, tasks_of, total_bytes
from lithify.job.report import Report, bucket_report, resting
from lithify.job.runner import Progress, TaskRunner
from lithify.job.steps import Commits, Pace
from lithify.job.task import MergeTask, TaskResult
from lithify.planning.merge_tree.plan import Unit
from lithify.planning.merge_tree.policy import Strategy
from lithify.tables.model import BucketId, SnapshotId
from lithify.tables.paimon.catalog.opening import TableAddress, open_table
from lithify.tables.paimon.commit.commit_loop import CommitOutcome, Committer
from lithify.tables.paimon.commit.found_runs import buckets_of
from lithify.tables.paimon.commit.heartbeat import Heartbeat
from lithify.tables.paimon.commit.journal import check_run_id
from lithify.tables.paimon.commit.journal_files import Attempt, JournalUnit
from lithify.tables.paimon.commit.orphans import reconcile
from lithify.tables.paimon.commit.sweeping import sweep
from lithify.tables.paimon.metadata.snapshots import is_last_step
from lithify.tables.paimon.metadata.view import View
from lithify.tables.paimon.schema.evolution import schema_conflict
from lithify.tables.paimon.table import PaimonTable, Selection


@dataclass(frozen=True, slots=True)
class Request:
    """What somebody wants compacted.

    Attributes:
        table: which table, and how to get at it.
        strategy: minor or full.
        selection: which partitions and buckets.
        run: its id, None for a new one; a run that is started again finds out whether it has committed.
        sizing: how work is cut.
        commits: how often it commits.
        max_rounds: how often conflicting buckets are planned.
        table_uuid: the table that is meant, None for whatever has the name.
        held: fingerprints of buckets that could not be compacted before, by path: not tried while they have
            these files.
    """

    table: TableAddress
    strategy: Strategy = Strategy.MINOR
    selection: Selection = field(default_factory=Selection)
    run: str | None = None
    sizing: Sizing = field(default_factory=Sizing)
    commits: Commits = field(default_factory=Commits)
    max_rounds: int = 3
    table_uuid: str | None = None
    held: Mapping[str, str] = field(default_factory=dict)


class Observer(Protocol):
    """Is told how a run gets on; for progress bars and logs. It may end the run by raising."""

    def planned(self, plan: RunPlan, tasks: Sequence[MergeTask]) -> None:
        """A round is planned and its tasks are about to run."""
        ...

    def progressed(self, done: int) -> None:
        """So many tasks of the round are done."""
        ...

    def committing(self) -> None:
        """All tasks of a step are done and what they wrote is about to be committed."""
        ...

    def committed(self, report: Report) -> None:
        """A step has committed; this is what the run has done so far, whatever becomes of the rest."""
        ...

    def blocked(self, report: Report) -> None:
        """Buckets were found that cannot be compacted; the report lists all so far."""
        ...

    def continued(self) -> None:
        """The tasks of the round's next step are about to run."""
        ...


class Silent:
    """An observer that looks away."""

    def planned(self, plan: RunPlan, tasks: Sequence[MergeTask]) -> None:
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

    A bucket whose own files cannot be compacted stands in nobody's way: the others are committed, and the
    report names it. Its error is raised only if nothing at all was committed.

    Raises:
        UserError: the request or the table cannot be served.
        CorruptTable: a file of the table is missing or broken; nothing was changed.
        StorageError: the file system refused; nothing was changed, unless it is a CommitUnknown.
        CommitConflict: every bucket was changed by others in every round.
    """
    if request.run is not None:
        check_run_id(request.run)
    return _Run(request, open_requested(request), runner, clock, observer or Silent()).execute()


def open_requested(request: Request) -> PaimonTable:
    """Opens the table of a request, and makes sure that it is the one that is meant.

    Raises:
        NotFound: there is none of that name, or another one.
        UserError: it cannot be served.
        StorageError: the file system refuses, or the catalog does not answer.
    """
    table = open_table(request.table)
    if request.table_uuid is not None and table.uuid != request.table_uuid:
        hint = "another table has its name now, so it was dropped and created again since this was asked for"
        raise NotFound("table", table.name, hint)
    return table


class _Run:
    """The state of one run: what has been committed so far, and the numbers for the report."""

    def __init__(
        self, request: Request, table: PaimonTable, runner: TaskRunner, clock: Clock, observer: Observer
    ) -> None:
        self._request = request
        self._table = table
        self._runner = runner
        self._clock = clock
        self._observer = observer
        self._report = Report(table.name, request.run or _new_run(), "NothingToDo", request.strategy.value)
        self._seconds: dict[str, float] = {}
        self._pace = Pace(request.commits)
        self._done: frozenset[BucketId] = frozenset()
        self._blocks: dict[BucketId, Block] = {}
        self._attempts = 0
        self._has_stragglers = False
        self._heartbeat: Heartbeat | None = None
        self._tasks_done = 0

    def execute(self) -> Report:
        self._table.check_supported()
        self._table.check_writable()
        with self._stage("reconcile"):
            cleaned = reconcile(self._table, self._clock)
            self._note(orphans_deleted=cleaned.deleted, uncleaned=cleaned.problems)
        if self._request.run is not None:
            committed = self._table.snapshots.committed_by_run(self._request.run)
            if committed is not None:
                self._note(status="AlreadyCommitted", snapshot_after=committed.id)
                if is_last_step(committed):
                    return self._report
                self._done = buckets_of(self._table, self._request.run)
        with self._stage("plan"):
            view = self._table.view(self._request.selection)
        self._note(snapshot_before=view.snapshot_id if view else None)
        conflicts: Mapping[BucketId, str] = {}
        while view is not None and self._report.rounds < self._request.max_rounds:
            conflicts = self._round(view)
            view = self._view_again(conflicts.keys()) if conflicts else None
        self._note(skipped={str(bucket): reason for bucket, reason in conflicts.items()})
        if self._report.snapshot_after is None:
            self._check_done(conflicts)
        return replace(self._report, seconds=self._seconds)

    def _check_done(self, conflicts: Mapping[BucketId, str]) -> None:
        """Raises what kept a run from committing anything; conflicts go first: another run may end better."""
        if conflicts:
            raise CommitConflict(self._table.name, tuple(self._report.skipped), self._report.rounds)
        if self._blocks:
            raise error_of(self._table.name, list(self._blocks.values()))

    def _view_again(self, buckets: Collection[BucketId]) -> View | None:
        """Looks anew at buckets in conflict; the table's schema may be what changed."""
        self._table = open_requested(self._request)
        self._table.check_supported()
        return self._table.view_of(buckets)

    def _round(self, view: View) -> Mapping[BucketId, str]:
        """Plans and compacts the buckets of a view; returns those in conflict, with the reason."""
        self._note(rounds=self._report.rounds + 1)
        request = self._request
        with self._stage("plan"):
            plan = plan_run(self._table, view, request.strategy, self._clock, request.held)
        plan = self._not_done(plan)
        rests = Counter(self._report.resting) + Counter(resting(plan.rests))
        held = (*self._report.held, *(bucket.path for bucket in plan.held))
        self._note(resting=dict(rests), held=held)
        self._note_blocks(plan.blocks)
        reach("planned")
        return {**plan.conflicts, **(self._steps(plan) if plan.units else {})}

    def _note_blocks(self, blocks: Sequence[Block]) -> None:
        if blocks:
            self._blocks |= {block.bucket: block for block in blocks}
            self._note(blocked=tuple(block.told for block in self._blocks.values()))
            self._observer.blocked(self._report)

    def _not_done(self, plan: RunPlan) -> RunPlan:
        """The plan without what an earlier start of this run has compacted; only its first round is asked."""
        units = tuple(unit for unit in plan.units if unit.bucket not in self._done)
        self._done = frozenset()
        return replace(plan, units=units)

    def _steps(self, plan: RunPlan) -> Mapping[BucketId, str]:
        """Compacts the buckets of a plan, step by step; returns those in conflict, with the reason."""
        tasks: dict[BucketId, list[MergeTask]] = {unit.bucket: [] for unit in plan.units}
        for unit, task in tasks_of(self._table, plan, self._request.sizing):
            tasks[unit.bucket].append(task)
        self._observer.planned(plan, [task for of_unit in tasks.values() for task in of_unit])
        conflicts: dict[BucketId, str] = {}
        units = plan.units
        self._tasks_done = 0
        while units:
            size = self._pace.step(units)
            step, units = replace(plan, units=units[:size]), units[size:]
            work = [(unit, task) for unit in step.units for task in tasks[unit.bucket]]
            conflicts |= self._step(step, work, len(units))
            if units:
                reach("step-done")
                units, changed = self._unchanged(units)
                conflicts |= changed
                self._observer.continued()
        return conflicts

    def _unchanged(self, units: Sequence[Unit]) -> tuple[tuple[Unit, ...], dict[BucketId, str]]:
        """The units that could still be committed, and the buckets of those whose work would be in vain."""
        changed = schema_conflict(self._table.schema, self._table.newest_schema())
        if changed is not None:
            return (), {unit.bucket: changed for unit in units}
        view = self._table.view_of([unit.bucket for unit in units])
        gone = {
            unit.bucket: "others have compacted it since it was planned"
            for unit in units
            if view is None
            or not {(file.name, file.level) for file in unit.inputs} <= view.names(unit.bucket)
        }
        return tuple(unit for unit in units if unit.bucket not in gone), gone

    def _step(self, plan: RunPlan, work: Sequence[Work], to_come: int) -> Mapping[BucketId, str]:
        """Compacts the buckets of one step; returns those in conflict, with the reason."""
        started = monotonic()
        attempt = self._begin(plan)
        reach("journal-written")
        try:
            conflicts = self._attempt(plan, numbered(work, attempt.prefix), attempt, to_come)
        except CommitUnknown:
            raise
        except BaseException:
            self._give_up(attempt)
            raise
        self._pace.took(total_bytes(plan.units), monotonic() - started)
        return conflicts

    def _begin(self, plan: RunPlan) -> Attempt:
        units = [
            JournalUnit(
                partition=unit.bucket.partition.hex(),
                bucket=unit.bucket.bucket,
                folder=self._table.places.relative_folder(unit.bucket),
                inputs=tuple(file.name for file in unit.inputs),
            )
            for unit in plan.units
        ]
        newest = self._table.snapshots.latest()
        base = (newest.id, newest.time_millis) if newest else (plan.view.snapshot_id, plan.view.commit_millis)
        now = self._clock.now()
        attempt = self._table.journal.begin(
            self._report.run, base, units, now, after=self._attempts, outside=self._table.outside
        )
        self._attempts = attempt.number
        self._heartbeat = Heartbeat(self._table.journal, attempt, self._clock)
        self._has_stragglers = False
        return attempt

    def _give_up(self, attempt: Attempt) -> None:
        """Ends an attempt that cannot be committed any more.

        An error in here would only hide the one that ended it; later runs find what is left by the journal.
        """
        with suppress(LithifyError):
            self._table.journal.condemn(attempt, self._clock.now())
        with suppress(LithifyError):
            sweep(self._table, attempt)
            self._close(attempt)

    def _close(self, attempt: Attempt, snapshot: SnapshotId | None = None) -> None:
        """Forgets an attempt, unless its tasks may still be writing: a later run looks again then.

        So it does if the attempt has committed a snapshot where others may yet rename theirs over it.
        """
        if self._has_stragglers:
            return
        if snapshot is None or self._table.snapshots.has_server:
            self._table.journal.close(attempt)
        else:
            self._table.journal.keep(attempt, snapshot, self._clock.now())

    def _attempt(
        self, plan: RunPlan, work: Sequence[Work], attempt: Attempt, to_come: int
    ) -> Mapping[BucketId, str]:
        with self._stage("rewrite"):
            done = self._rewrite(work)
        reach("tasks-done")
        outputs = Outputs(self._table, plan, done)
        self._note_blocks(outputs.blocks)
        self._observer.committing()
        with self._stage("commit"):
            outcome = Committer(self._table, attempt, self._clock).commit(outputs.changes, to_come)
        self._record(plan, outputs, outcome, to_come)
        if outcome.snapshot is not None:
            self._observer.committed(self._report)
        self._clean(attempt, outputs, outcome)
        return {**outputs.lost, **outcome.conflicts}

    def _rewrite(self, work: Sequence[Work]) -> list[tuple[Unit, TaskResult]]:
        """Runs all tasks, then what joins the small files between them; returns the result of each."""
        before = self._tasks_done
        results = self._run([task for _, task in work], lambda done: self._progressed(before + done))
        self._progressed(before + len(work))
        failed = _failed_buckets(work, results)
        joins = [join for join in joins_of(work, results) if join.unit.bucket not in failed]
        joined = self._run([join.task for join in joins], lambda _: None)
        for join in joins:
            for file in join.files:
                self._table.storage.delete(file.path(join.task.target.folder))
        units = {task.index: unit for unit, task in [*work, *((join.unit, join.task) for join in joins)]}
        return [(units[result.index], result) for result in (*without_joined(results, joins), *joined)]

    def _progressed(self, done: int) -> None:
        if done != self._tasks_done:
            self._tasks_done = done
            self._observer.progressed(done)

    def _run(self, tasks: Sequence[MergeTask], progress: Progress) -> list[TaskResult]:
        had_stragglers, self._has_stragglers = self._has_stragglers, True

        def heard(done: int) -> None:
            if self._heartbeat is not None:
                self._heartbeat.beat()
            progress(done)

        results = self._runner.run(tasks, self._clock, heard) if tasks else []
        # The first try of a task that was tried again may still be running somewhere.
        self._has_stragglers = had_stragglers or any(result.attempt for result in results)
        self._count(results)
        return sorted(results, key=lambda result: result.index)

    def _count(self, results: Sequence[TaskResult]) -> None:
        report = self._report
        self._note(
            tasks=report.tasks + len(results),
            task_retries=report.task_retries + sum(result.attempt for result in results),
            core_seconds=report.core_seconds + sum(result.seconds for result in results),
            slot_seconds=report.slot_seconds + sum(result.elapsed for result in results),
            peak_task_bytes=max([report.peak_task_bytes, *(result.peak_bytes for result in results)]),
        )

    def _record(self, plan: RunPlan, outputs: Outputs, outcome: CommitOutcome, to_come: int) -> None:
        done = [unit for unit in plan.units if unit.bucket in outcome.committed]
        buckets = [bucket_report(unit, outputs.added(unit.bucket)) for unit in done]
        self._note(commit_tries=self._report.commit_tries + outcome.tries)
        if outcome.snapshot is not None:
            self._note(
                status="Compacted",
                snapshot_after=outcome.snapshot,
                commits=self._report.commits + 1,
                to_come=to_come,
                buckets=(*self._report.buckets, *buckets),
            )

    def _clean(self, attempt: Attempt, outputs: Outputs, outcome: CommitOutcome) -> None:
        """Deletes what the commit left out, then forgets the attempt.

        What was committed stays so, whatever becomes of the rest: a later run finds it by the journal.
        """
        try:
            if self._has_stragglers or outputs.has_leftovers or outcome.overwritten:
                self._table.journal.condemn(attempt, self._clock.now())
                if outcome.overwritten and not self._table.snapshots.has_server:
                    return  # others may have read it and be about to build on it: a later run cleans up
                sweep(self._table, attempt)
            else:
                self._delete_unseen(outputs, outcome)
            reach("leftovers-deleted")
            self._close(attempt, outcome.snapshot)
        except (CorruptTable, StorageError) as error:
            self._note(uncleaned=(*self._report.uncleaned, str(error)))

    def _delete_unseen(self, outputs: Outputs, outcome: CommitOutcome) -> None:
        """Deletes new files of buckets in conflict; nobody has seen them, so nothing is looked up."""
        for change in outputs.changes:
            if change.bucket not in outcome.committed:
                for file in change.added:
                    self._table.storage.delete(file.path(self._table.folder(change.bucket)))

    def _note(self, **values: object) -> None:
        self._report = replace(self._report, **values)  # type: ignore[arg-type]  # names are the report's

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        started = monotonic()
        try:
            yield
        finally:
            self._seconds[name] = self._seconds.get(name, 0.0) + monotonic() - started


def _failed_buckets(work: Sequence[Work], results: Sequence[TaskResult]) -> frozenset[BucketId]:
    """The buckets of which a task has failed: nothing of them is committed."""
    failed = {result.index for result in results if result.failure is not None}
    return frozenset(unit.bucket for unit, task in work if task.index in failed)


def _new_run() -> str:
    """An id for a run that nobody named."""
    return uuid4().hex[:12]
