"""One step of a run: compacted and committed together, with a journal entry from its first file to its end.

Base of the steps of each kind of table, which begin it once the journal entry is written. Only this module
decides what happens to files in every case (committed, in conflict, given up, unknown).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Generic, Self

from lithify.clock import Clock
from lithify.engine.attempts.heartbeat import Heartbeat
from lithify.engine.commit.loop import CommitOutcome
from lithify.errors import CorruptTable, LithifyError, StorageError
from lithify.faults import failpoint
from lithify.formats.paimon.commit.commit_loop import Committer, new_paths
from lithify.formats.paimon.commit.file_deletion import sweep
from lithify.formats.paimon.commit.moves import MovedRows
from lithify.formats.paimon.compaction.outputs import Outputs
from lithify.formats.paimon.compaction.plan import AnyUnit, BucketPlan, BucketUnit
from lithify.formats.paimon.compaction.task import AnyTask, numbered
from lithify.formats.paimon.model import BucketId
from lithify.formats.paimon.names.snapshot_ids import snapshot_id
from lithify.formats.paimon.snapshots.attempt_scope import AttemptScope, JournalUnit, PaimonAttempt
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.results import (
    Block,
    GroupReport,
    StepOutcome,
    TaskOutputs,
    TaskResult,
)
from lithify.formats.protocol.strategy import Strategy


def begin_attempt(
    table: PaimonTable, plan: BucketPlan[BucketUnit], run: str, after: int, clock: Clock
) -> PaimonAttempt:
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
    scope = AttemptScope(
        base_snapshot=newest.id if newest else plan.view.snapshot_number,
        base_millis=newest.time_millis if newest else plan.view.commit_millis,
        units=tuple(units),
        outside=table.external_roots,
    )
    return table.journal.begin(run, scope, clock.now(), after)


def _journal_units(table: PaimonTable, units: Sequence[BucketUnit]) -> Iterator[JournalUnit]:
    """The buckets of some units, with those that only get rows of others."""
    inputs = {unit.bucket: tuple(file.name for file in unit.inputs) for unit in units}
    targets = (table.bucket_id(unit.bucket.partition, number) for unit in units for number in unit.targets)
    for bucket, names in {**dict.fromkeys(targets, ()), **inputs}.items():
        folder = table.locations.relative_folder(bucket)
        yield JournalUnit(bucket.partition.hex(), bucket.bucket, names, folder)


class CompactionStep(ABC, Generic[AnyUnit, AnyTask]):
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
        attempt: PaimonAttempt,
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

    @classmethod
    def begin(
        cls,
        table: PaimonTable,
        plan: BucketPlan[AnyUnit],
        tasks: Mapping[BucketId, Sequence[AnyTask]],
        run: str,
        after: int,
        clock: Clock,
    ) -> Self:
        """Begins a step with all units of a plan by writing its journal entry; see `begin_attempt`."""
        attempt = begin_attempt(table, plan, run, after, clock)
        work = [(unit, task) for unit in plan.units for task in tasks[unit.bucket]]
        return cls(table, plan, numbered(work, attempt.prefix), attempt, clock)

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
        failpoint("tasks-done")
        self._outputs = self._outputs_of(done)
        return self._outputs.blocks

    def _attributed(
        self, results: Sequence[TaskResult], followed: Sequence[TaskResult]
    ) -> list[tuple[AnyUnit, TaskResult]]:
        """The results, each with its unit."""
        units = {task.index: unit for unit, task in self._work}
        return [(units[each.index], each) for each in (*results, *followed)]

    def _outputs_of(self, done: Sequence[tuple[AnyUnit, TaskResult]]) -> Outputs:
        """Turns results into changes."""
        return Outputs(self._table, self._plan, done, self._attempt.prefix)

    @abstractmethod
    def _report(self, unit: AnyUnit, outputs: TaskOutputs) -> GroupReport:
        """The report of one unit."""

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
        """The buckets that got rows of others: they were not planned before."""
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
        is_all = not any(unit.targets for unit in self._plan.units)
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
            failpoint("leftovers-deleted")
            self._close(outcome.snapshot)
        except (CorruptTable, StorageError) as error:
            return (str(error),)
        return ()

    def give_up(self) -> None:
        """Ends an attempt that can no longer be committed.

        Suppresses errors, which would hide the original one; later runs find remaining files by the journal.
        On object stores it stays open: writes that were not answered, or were repeated, may arrive later.
        """
        with suppress(LithifyError):
            self._table.journal.condemn(self._attempt, self._clock.now())
        with suppress(LithifyError):
            sweep(self._table, self._attempt)
            if self._table.storage.s3 is None:
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
