"""One step of a run: compacted and committed together, with a journal entry from its first file to its end.

Base of the steps of each kind of table. With `engine.tasks.step`, only this module decides what happens to
files in every case (committed, in conflict, given up, unknown).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Generic, Self

from lithify.clock import Clock
from lithify.engine.commit.loop import CommitOutcome
from lithify.engine.tasks.step import AttemptStep
from lithify.formats.paimon.commit.committer import Committer, new_paths
from lithify.formats.paimon.commit.file_deletion import sweep
from lithify.formats.paimon.commit.moves import MovedRows
from lithify.formats.paimon.commit.table_writing import external_roots, journal_of
from lithify.formats.paimon.compaction.outputs import Outputs
from lithify.formats.paimon.compaction.plan import AnyUnit, BucketPlan, BucketUnit
from lithify.formats.paimon.compaction.task import AnyTask
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
        outside=external_roots(table),
    )
    return journal_of(table).begin(run, scope, clock.now(), after)


def _journal_units(table: PaimonTable, units: Sequence[BucketUnit]) -> Iterator[JournalUnit]:
    """The buckets of some units, with those that only get rows of others."""
    inputs = {unit.bucket: tuple(file.name for file in unit.inputs) for unit in units}
    targets = (table.bucket_id(unit.bucket.partition, number) for unit in units for number in unit.targets)
    for bucket, names in {**dict.fromkeys(targets, ()), **inputs}.items():
        folder = table.locations.relative_folder(bucket)
        yield JournalUnit(bucket.partition.hex(), bucket.bucket, names, folder)


class CompactionStep(AttemptStep[AnyUnit, AnyTask, AttemptScope], Generic[AnyUnit, AnyTask]):
    """A step of a Paimon table; the kinds of tables differ in what follows the tasks, and in reports.

    Args:
        table: the table.
        plan: plan of the step's units only.
        work: the units' tasks.
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
        super().__init__(journal_of(table), attempt, work, clock)
        self._table = table
        self._plan = plan
        self._outputs: Outputs | None = None
        self._committed: CommitOutcome | None = None

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
        return cls(table, plan, work, attempt, clock)

    def _accept(self, done: Sequence[tuple[AnyUnit, TaskResult]]) -> Sequence[Block]:
        self._outputs = self._outputs_of(done)
        return self._outputs.blocks

    def _outputs_of(self, done: Sequence[tuple[AnyUnit, TaskResult]]) -> Outputs:
        """Turns results into changes."""
        return Outputs(self._table, self._plan, done, self._attempt.prefix)

    @abstractmethod
    def _report(self, unit: AnyUnit, outputs: TaskOutputs) -> GroupReport:
        """The report of one unit; among the outputs are the new index files."""

    def commit(self, to_come: int) -> StepOutcome:
        """Commits the results that `finish` accepted; see `committer`."""
        outputs = self._finished()
        committer = Committer(self._table, self._attempt, self._clock)
        outcome = committer.commit(outputs.changes, to_come, None if to_come else self._full_of)
        self._committed = outcome
        done = [unit for unit in self._plan.units if unit.bucket in outcome.committed]
        reports = tuple(self._report(unit, outputs.written(unit.bucket)) for unit in done)
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

    def _delete_leftovers(self) -> bool:
        outputs, outcome = self._finished(), self._committed
        assert outcome is not None  # noqa: S101  # a step is cleaned after its commit
        if not (self.has_stragglers or outputs.has_leftovers or outcome.overwritten):
            self._delete_unseen(outputs, outcome)
            return True
        self._condemn()
        if outcome.overwritten and not self._table.snapshots.has_server:
            return False  # other writers may have read it and may build on it: a later run cleans up
        self._sweep()
        return True

    def _sweep(self) -> None:
        sweep(self._table, self._attempt)

    @property
    def _may_write_late(self) -> bool:
        """On object stores writes that were not answered, or were repeated, may arrive later."""
        return self._table.storage.objects is not None

    def _finished(self) -> Outputs:
        assert self._outputs is not None  # noqa: S101  # a step is committed after its tasks
        return self._outputs

    def _close(self) -> None:
        """Closes the journal entry; keeps it while others may rename their snapshot over the new one."""
        snapshot = None if self._committed is None else self._committed.snapshot
        if snapshot is None or self._table.snapshots.has_server:
            super()._close()
        else:
            self._journal.keep(self._attempt, snapshot, self._clock.now())

    def _delete_unseen(self, outputs: Outputs, outcome: CommitOutcome) -> None:
        """Deletes new files of buckets in conflict; no reader can have seen them, so no check is needed."""
        unseen = [change for change in outputs.changes if change.bucket not in outcome.committed]
        paths = [path for change in unseen for path in new_paths(self._table, change)]
        self._table.storage.delete_all(paths)
