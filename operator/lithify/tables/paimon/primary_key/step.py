"""One step of a run: compacted and committed together, with a journal entry from its first file to its end.

Made by `compacting` once the journal entry is written. Only this module decides what happens to files in
every case (committed, in conflict, given up, unknown).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Generic, TypeVar

from lithify.clock import Clock
from lithify.errors import CorruptTable, LithifyError, StorageError
from lithify.faults import reach
from lithify.planning.merge_tree.plan import Unit
from lithify.planning.merge_tree.policy import Strategy
from lithify.tables.format import Block, GroupReport, StepOutcome, Task, TaskOutputs, TaskResult, Totals
from lithify.tables.model import BucketId, DataFile
from lithify.tables.paimon.commit.commit_loop import CommitOutcome, Committer, new_paths
from lithify.tables.paimon.commit.heartbeat import Heartbeat
from lithify.tables.paimon.commit.journal_files import Attempt, JournalUnit
from lithify.tables.paimon.commit.moves import MovedRows
from lithify.tables.paimon.commit.sweeping import sweep
from lithify.tables.paimon.metadata.entries import FileMeta
from lithify.tables.paimon.metadata.snapshot_ids import snapshot_id
from lithify.tables.paimon.primary_key.joining import Join, UnitTask, joins_of, without_joined
from lithify.tables.paimon.primary_key.merge_task import MergeTask
from lithify.tables.paimon.primary_key.outputs import Outputs
from lithify.tables.paimon.primary_key.planning import PlannedTask, PlannedUnit, RunPlan, numbered
from lithify.tables.paimon.primary_key.postponed import PostponedUnit
from lithify.tables.paimon.primary_key.postponed_task import MovedFile
from lithify.tables.paimon.table import PaimonTable
from lithify.tables.paimon.units import AnyUnit, BucketPlan, BucketUnit

AnyTask = TypeVar("AnyTask", bound=Task)


def begin_step(
    table: PaimonTable,
    plan: RunPlan,
    tasks: Mapping[BucketId, Sequence[PlannedTask]],
    run: str,
    after: int,
    clock: Clock,
) -> MergeStep:
    """Begins a step by writing its journal entry; see `begin_attempt`."""
    attempt = begin_attempt(table, plan, run, after, clock)
    work = [(unit, task) for unit in plan.units for task in tasks[unit.bucket]]
    return MergeStep(table, plan, numbered(work, attempt.prefix), attempt, clock)


def begin_attempt(
    table: PaimonTable, plan: BucketPlan[BucketUnit], run: str, after: int, clock: Clock
) -> Attempt:
    """Writes the journal entry of a step, before its first file.

    Args:
        table: the table.
        plan: plan of the step's units only.
        run: id of the run.
        after: number of the run's last attempt, 0 for none.
        clock: source of the time for the journal.
    """
    units = [*_journal_units(table, plan.units)]
    newest = table.snapshots.latest()
    base = (newest.id, newest.time_millis) if newest else (plan.view.snapshot_number, plan.view.commit_millis)
    return table.journal.begin(run, base, units, clock.now(), after=after, outside=table.external_roots)


def _journal_units(table: PaimonTable, units: Sequence[BucketUnit]) -> Iterator[JournalUnit]:
    """The buckets of some units, with those that only get postponed rows."""
    inputs = {unit.bucket: tuple(file.name for file in unit.inputs) for unit in units}
    targets = (
        table.bucket_id(unit.bucket.partition, number)
        for unit in units
        if isinstance(unit, PostponedUnit)
        for number in range(unit.count)
    )
    for bucket, names in {**dict.fromkeys(targets, ()), **inputs}.items():
        folder = table.locations.relative_folder(bucket)
        yield JournalUnit(bucket.partition.hex(), bucket.bucket, names, folder)


class CompactionStep(Generic[AnyUnit, AnyTask]):
    """A step with a journal entry; the kinds of tables differ in what follows the tasks, and in reports.

    Attributes:
        has_stragglers: whether a task may still be running; then the journal entry stays open.

    Args:
        table: the table.
        plan: plan of the step's units only.
        work: the units' tasks, numbered.
        attempt: the journal entry.
        clock: source of the time for the heartbeat and the commit.
    """

    def __init__(
        self,
        table: PaimonTable,
        plan: BucketPlan[AnyUnit],
        work: Sequence[tuple[AnyUnit, AnyTask]],
        attempt: Attempt,
        clock: Clock,
    ) -> None:
        self._table = table
        self._plan = plan
        self._work = work
        self._attempt = attempt
        self._clock = clock
        self._heartbeat = Heartbeat(table.journal, attempt, clock)
        self._outputs: Outputs | None = None
        self._committed: CommitOutcome | None = None
        self.has_stragglers = False

    @property
    def number(self) -> int:
        """The number of the attempt."""
        return self._attempt.number

    @property
    def tasks(self) -> list[AnyTask]:
        """The tasks of all units."""
        return [task for _, task in self._work]

    def beat(self) -> None:
        """Writes a heartbeat."""
        self._heartbeat.beat()

    def followers(self, results: Sequence[TaskResult]) -> list[AnyTask]:
        """The tasks that follow when all others are done."""
        del results
        return []

    def finish(self, results: Sequence[TaskResult], followed: Sequence[TaskResult]) -> Sequence[Block]:
        """Accepts the tasks' results; returns the buckets that their tasks found to be blocked.

        Raises:
            LithifyError: a task failed for a reason that affects more than its own bucket.
        """
        done = self._attributed(results, followed)
        reach("tasks-done")
        self._outputs = Outputs(self._table, self._plan, done, self._attempt.prefix)
        return self._outputs.blocks

    def _attributed(
        self, results: Sequence[TaskResult], followed: Sequence[TaskResult]
    ) -> list[tuple[AnyUnit, TaskResult]]:
        """The results, each with its unit."""
        units = {task.index: unit for unit, task in self._work}
        return [(units[each.index], each) for each in (*results, *followed)]

    def _report(self, unit: AnyUnit, outputs: TaskOutputs) -> GroupReport:
        raise NotImplementedError

    def commit(self, to_come: int) -> StepOutcome:
        """Commits the results that `finish` accepted; see `commit_loop`."""
        outputs = self._finished()
        committer = Committer(self._table, self._attempt, self._clock)
        outcome = committer.commit(outputs.changes, to_come, None if to_come else self._full_of)
        self._committed = outcome
        done = [unit for unit in self._plan.units if unit.bucket in outcome.committed]
        reports = tuple(self._report(unit, outputs.of(unit.bucket)) for unit in done)
        snapshot = None if outcome.snapshot is None else snapshot_id(outcome.snapshot)
        conflicts = {**outputs.lost, **outcome.conflicts}
        return StepOutcome(snapshot, outcome.tries, reports, conflicts, self._filled(outcome))

    def _filled(self, outcome: CommitOutcome) -> frozenset[BucketId]:
        """The buckets of partitions whose postponed rows were moved: they were not planned before."""
        return frozenset(
            self._table.bucket_id(change.bucket.partition, number)
            for change in self._finished().changes
            if isinstance(change, MovedRows) and change.bucket in outcome.committed
            for number in range(change.count)
        )

    @property
    def _full_of(self) -> int | None:
        """The snapshot of the plan, if the table counts commits since its last full compaction."""
        is_counted = self._table.options.delta_commits is not None
        is_full = self._plan.strategy is Strategy.FULL
        # Rows that have just been moved are not yet compacted.
        is_all = not any(isinstance(unit, PostponedUnit) for unit in self._plan.units)
        return self._plan.view.snapshot_number if is_counted and is_full and is_all else None

    def clean(self) -> Sequence[str]:
        """Deletes uncommitted files, then closes the journal entry; returns why that failed.

        A failure does not affect the commit: a later run finds the remaining files by the journal.
        """
        outputs, outcome = self._finished(), self._committed
        assert outcome is not None  # noqa: S101  # a step is cleaned after its commit
        try:
            if self.has_stragglers or outputs.has_leftovers or outcome.overwritten:
                self._table.journal.condemn(self._attempt, self._clock.now())
                if outcome.overwritten and not self._table.snapshots.has_server:
                    return ()  # other writers may have read it and may build on it: a later run cleans up
                sweep(self._table, self._attempt)
            else:
                self._delete_unseen(outputs, outcome)
            reach("leftovers-deleted")
            self._close(outcome.snapshot)
        except (CorruptTable, StorageError) as error:
            return (str(error),)
        return ()

    def give_up(self) -> None:
        """Ends an attempt that can no longer be committed.

        Suppresses errors, which would hide the original one; later runs find remaining files by the journal.
        """
        with suppress(LithifyError):
            self._table.journal.condemn(self._attempt, self._clock.now())
        with suppress(LithifyError):
            sweep(self._table, self._attempt)
            self._close()

    def _finished(self) -> Outputs:
        assert self._outputs is not None  # noqa: S101  # a step is committed after its tasks
        return self._outputs

    def _close(self, snapshot: int | None = None) -> None:
        """Closes the journal entry; keeps it for a later run if tasks may still be writing.

        Also keeps it if another writer may still rename its snapshot over the one committed by this attempt.
        """
        if self.has_stragglers:
            return
        if snapshot is None or self._table.snapshots.has_server:
            self._table.journal.close(self._attempt)
        else:
            self._table.journal.keep(self._attempt, snapshot, self._clock.now())

    def _delete_unseen(self, outputs: Outputs, outcome: CommitOutcome) -> None:
        """Deletes new files of buckets in conflict; no reader can have seen them, so no check is needed."""
        for change in outputs.changes:
            if change.bucket not in outcome.committed:
                for path in new_paths(self._table, change):
                    self._table.storage.delete(path)


def _merges(work: Sequence[tuple[PlannedUnit, PlannedTask]]) -> Iterator[UnitTask]:
    for unit, task in work:
        if isinstance(unit, Unit) and isinstance(task, MergeTask):
            yield unit, task


def _moving_report(unit: PostponedUnit, moved: Sequence[MovedFile]) -> GroupReport:
    return GroupReport(
        group=unit.bucket.path,
        trigger=unit.trigger,
        reason=unit.reason,
        output_level=unit.output_level,
        upgraded=0,
        before=totals(unit.inputs),
        after=totals([each.file for each in moved]),
    )


class MergeStep(CompactionStep[PlannedUnit, PlannedTask]):
    """A step of a primary-key table."""

    _joins: Sequence[Join] = ()

    def followers(self, results: Sequence[TaskResult]) -> list[PlannedTask]:
        """The tasks that join adjacent small files of different tasks."""
        failed = {result.index for result in results if result.failure is not None}
        # A bucket with a failed task is not committed.
        lost = {unit.bucket for unit, task in self._work if task.index in failed}
        joins = joins_of([*_merges(self._work)], results)
        self._joins = [join for join in joins if join.unit.bucket not in lost]
        return [join.task for join in self._joins]

    def _attributed(
        self, results: Sequence[TaskResult], followed: Sequence[TaskResult]
    ) -> list[tuple[PlannedUnit, TaskResult]]:
        for join in self._joins:
            for file in join.files:
                self._table.storage.delete(file.path(join.task.target.folder))
        joined = ((join.unit, join.task) for join in self._joins)
        units: dict[int, PlannedUnit] = {task.index: unit for unit, task in (*self._work, *joined)}
        done = (*without_joined(results, self._joins), *followed)
        return [(units[each.index], each) for each in done]

    def _report(self, unit: PlannedUnit, outputs: TaskOutputs) -> GroupReport:
        if isinstance(unit, PostponedUnit):
            return _moving_report(unit, outputs.data)
        return bucket_report(unit, outputs.data, outputs.copied_bytes)


def bucket_report(unit: Unit, added: Sequence[FileMeta], copied_bytes: int = 0) -> GroupReport:
    """The report of one unit; `added` is the new files' metadata, `copied_bytes` counts copied row groups."""
    rewritten = [file for rewrite in unit.work.rewrites for file in rewrite.files]
    before = Counter(file.level for run in unit.levels.runs for file in run.files)
    after = before - Counter(file.level for file in unit.inputs)
    after[unit.output_level] += len(unit.work.upgrades) + len(added)
    return GroupReport(
        group=unit.bucket.path,
        trigger=unit.verdict.trigger.value,
        reason=unit.verdict.detail,
        output_level=unit.output_level,
        upgraded=len(unit.work.upgrades),
        before=totals(rewritten),
        after=totals(added),
        levels_before=dict(sorted(before.items())),
        levels_after={level: files for level, files in sorted(after.items()) if files},
        copied_bytes=copied_bytes,
    )


def totals(files: Sequence[DataFile | FileMeta]) -> Totals:
    """Files, bytes and rows of some files."""
    return sum((Totals(1, file.size, file.rows) for file in files), Totals())
