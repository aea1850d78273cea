"""One step of a run at a reference table: rewritten and committed together; implements `CommitStep`.

The step is also the hooks of the commit loop (`engine.commit.loop`). A commit creates the snapshot after the
newest one, and exactly one writer can create a number. A group is in conflict if one of its inputs is gone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

from lithify.clock import Clock, epoch_millis
from lithify.engine.commit import loop
from lithify.engine.commit.loop import Validation
from lithify.engine.commit.patience import Patience, backoff_of
from lithify.engine.tasks.failed_groups import FailedGroups
from lithify.engine.tasks.step import AttemptStep
from lithify.errors import MissingFile
from lithify.formats.memory.planning import MemoryPlan, MemoryUnit, validate_inputs_live
from lithify.formats.memory.publisher import Draft, SnapshotPublisher
from lithify.formats.memory.remains import MemoryRemains
from lithify.formats.memory.rewriting import MemoryTask
from lithify.formats.memory.scope import MemoryAttempt, Scope
from lithify.formats.memory.snapshot import DataFile, Group, RunMark, Snapshot
from lithify.formats.memory.table import MemoryTable
from lithify.formats.protocol.results import (
    Block,
    GroupReport,
    StepOutcome,
    TaskResult,
    Totals,
)

_PATIENCE = Patience(max_retries=50, min_wait=0.01, max_wait=1.0, timeout=60.0)


@dataclass(frozen=True, slots=True)
class _Change:
    """A unit and the files that replace its inputs."""

    unit: MemoryUnit
    outputs: tuple[DataFile, ...]


def begin(
    table: MemoryTable,
    plan: MemoryPlan,
    tasks: Mapping[Group, Sequence[MemoryTask]],
    run: str,
    after: int,
    clock: Clock,
) -> MemoryStep:
    """Begins a step with all units of a plan by writing its journal entry."""
    base = plan.view.snapshot
    inputs = {unit.group.path: tuple(file.name for file in unit.files) for unit in plan.units}
    attempt = table.journal.begin(run, Scope(base.number, base.id, inputs), clock.now(), after)
    work = [(unit, task) for unit in plan.units for task in tasks[unit.group]]
    return MemoryStep(table, plan, work, attempt, clock)


class MemoryStep(AttemptStep[MemoryUnit, MemoryTask, Scope]):
    """A step with a journal entry."""

    finds_lost = True

    def __init__(
        self,
        table: MemoryTable,
        plan: MemoryPlan,
        work: Sequence[tuple[MemoryUnit, MemoryTask]],
        attempt: MemoryAttempt,
        clock: Clock,
    ) -> None:
        super().__init__(table.journal, attempt, work, clock)
        self._table = table
        self._plan = plan
        self._changes: list[_Change] = []
        self._committed: Collection[Group] = ()
        self._to_come = 0

    def _accept(self, done: Sequence[tuple[MemoryUnit, TaskResult]]) -> Sequence[Block]:
        failed = FailedGroups(self._table.name, self._plan.view.snapshot.fingerprint, self._has_moved_on)
        for unit, result in done:
            with failed.isolate(unit.group):
                if result.failure is not None:
                    raise result.failure.as_error()
                self._changes.append(_Change(unit, tuple(result.outputs.data)))
        blocks, lost = failed.sorted_out()
        self._lost.update(lost)
        return blocks

    def _find_lost(self) -> Mapping[Group, str]:
        return validate_inputs_live(self._plan.units, self._table.latest())

    def _has_moved_on(self, group: Group, error: MissingFile) -> bool:
        newest = self._table.latest()
        return newest is None or not error.path.endswith(newest.names(group))

    def commit(self, to_come: int) -> StepOutcome:
        """Commits the changes whose inputs are still there; see `engine.commit.loop`."""
        self._to_come = to_come
        changes = {change.unit.group: change for change in self._changes}
        outcome = loop.commit(self, changes, backoff_of(self._attempt.prefix, _PATIENCE, self._clock))
        self._committed = outcome.committed
        reports = tuple(_report(changes[group]) for group in outcome.committed)
        conflicts = {**self._lost, **outcome.conflicts}
        return StepOutcome(outcome.snapshot, outcome.tries, reports, conflicts)

    @property
    def table(self) -> str:
        """The table's name."""
        return self._table.name

    @property
    def publisher(self) -> SnapshotPublisher:
        """Creates snapshots."""
        return SnapshotPublisher(self._table, self._heartbeat.check)

    def newest(self) -> Snapshot | None:
        """The newest snapshot."""
        return self._table.latest()

    def exists(self, base: Snapshot) -> bool:
        """Whether a snapshot is still there."""
        return self._table.has(base)

    def validate(self, changes: Mapping[Group, _Change], base: Snapshot | None) -> Validation[_Change]:
        """The changes whose inputs are still there."""
        conflicts = validate_inputs_live((change.unit for change in changes.values()), base)
        ready = {group: change for group, change in changes.items() if group not in conflicts}
        return Validation(ready, conflicts)

    def prepare(self, changes: Mapping[Group, _Change], base: Snapshot, number: int) -> Draft:
        """Makes the next snapshot; nothing is written before it is published."""
        del number
        return Draft(base, self._next([*changes.values()], base))

    def discard(self, draft: Draft) -> None:
        """Nothing to delete: a draft has no files of its own."""

    def _next(self, changes: Sequence[_Change], base: Snapshot) -> Snapshot:
        files = {**base.files}
        for change in changes:
            kept = [file for file in base.files[change.unit.group] if file not in change.unit.files]
            files[change.unit.group] = (*change.outputs, *kept)
        removed = [file for change in changes for file in change.unit.files]
        added = [file for change in changes for file in change.outputs]
        mark = RunMark(
            run=self._attempt.run,
            attempt=self._attempt.prefix,
            base=base.id,
            to_come=self._to_come,
            groups=tuple(change.unit.group.path for change in changes),
            removed=(len(removed), sum(file.bytes for file in removed)),
            added=(len(added), sum(file.bytes for file in added)),
        )
        return Snapshot(base.number + 1, uuid4().hex, epoch_millis(self._clock.now()), files, mark)

    def _delete_leftovers(self) -> bool:
        if self.has_stragglers or len(self._committed) < len(self._plan.units):
            self._condemn()
            self._sweep()
        return True

    def _sweep(self) -> None:
        MemoryRemains(self._table).sweep(self._attempt)


def _report(change: _Change) -> GroupReport:
    unit = change.unit
    before, after = _totals(unit.files), _totals(change.outputs)
    return GroupReport(unit.group.path, unit.trigger, unit.reason, before, after)


def _totals(files: Sequence[DataFile]) -> Totals:
    return Totals(len(files), sum(file.bytes for file in files), sum(file.rows for file in files))
