"""One step of a run at an Iceberg table: rewritten and committed together; implements `CommitStep`."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

from lithify.clock import Clock
from lithify.engine.commit import loop
from lithify.engine.commit.loop import CommitOutcome
from lithify.engine.commit.patience import Backoff, backoff_of
from lithify.engine.commit.portions import commit_in_portions, joined
from lithify.engine.tasks.failed_groups import FailedGroups
from lithify.engine.tasks.step import AttemptStep
from lithify.errors import MissingFile
from lithify.formats.iceberg.attempts.remains import IcebergRemains
from lithify.formats.iceberg.attempts.scope import IcebergAttempt, Scope, journal_of
from lithify.formats.iceberg.commit.changes import GroupChange
from lithify.formats.iceberg.commit.committer import Committer
from lithify.formats.iceberg.commit.extension import PLAIN_TABLE, TURNS_EQUALITY, CommitExtension
from lithify.formats.iceberg.commit.options import commit_patience
from lithify.formats.iceberg.compaction.carrying import MapCarrier
from lithify.formats.iceberg.compaction.details import CARRIED_ROWS, REMOVED_ROWS
from lithify.formats.iceberg.compaction.groups import IcebergGroup
from lithify.formats.iceberg.compaction.lost_groups import LostGroups, check_again
from lithify.formats.iceberg.compaction.plan import IcebergPlan, IcebergUnit
from lithify.formats.iceberg.compaction.row_accounts import check_maps
from lithify.formats.iceberg.model import DataFile, DeleteFile, DeleteKey, NewDataFile, NewDeleteFile
from lithify.formats.iceberg.properties import is_true
from lithify.formats.iceberg.rewriting.task import RewriteTask
from lithify.formats.iceberg.table.snapshots import (
    ATTEMPT,
    BASE,
    GROUPS,
    ROLLBACKABLE,
    RUN,
    TO_COME,
    YIELD_TO_WRITERS,
)
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.formats.protocol.details import Detail
from lithify.formats.protocol.results import (
    Block,
    GroupReport,
    StepOutcome,
    TaskOutputs,
    TaskResult,
    Totals,
    slots_of,
)
from lithify.scratch import scratch_folder

_MOST_LISTED = 16 << 10


def begin(
    table: IcebergTable,
    plan: IcebergPlan,
    tasks: Mapping[IcebergGroup, Sequence[RewriteTask]],
    run: str,
    after: int,
    clock: Clock,
    extension: CommitExtension = PLAIN_TABLE,
    kind: type[IcebergStep] | None = None,
) -> IcebergStep:
    """Begins a step with all units of a plan by writing its journal entry.

    Args:
        table: the table.
        plan: the plan.
        tasks: the tasks of its units.
        run: id of the run.
        after: number of the step before it.
        clock: the current time.
        extension: what the table's format adds to commits.
        kind: the class of the step, where a format has one of its own.
    """
    start = plan.pinned.start
    inputs = {unit.group.path: tuple(file.path for file in unit.files) for unit in plan.units}
    scope = Scope(start.snapshot, start.sequence, table.branch, inputs)
    attempt = journal_of(table).begin(run, scope, clock.now(), after)
    work = [(unit, task) for unit in plan.units for task in tasks[unit.group]]
    return (kind or IcebergStep)(table, plan, work, attempt, clock, extension)


class IcebergStep(AttemptStep[IcebergUnit, RewriteTask, Scope]):
    """A step with a journal entry."""

    finds_lost = True

    def __init__(
        self,
        table: IcebergTable,
        plan: IcebergPlan,
        work: Sequence[tuple[IcebergUnit, RewriteTask]],
        attempt: IcebergAttempt,
        clock: Clock,
        extension: CommitExtension = PLAIN_TABLE,
    ) -> None:
        super().__init__(journal_of(table), attempt, work, clock)
        self._table = table
        self._plan = plan
        turns_equality = any(unit.turns_equality for unit in plan.units)
        self._extension = TURNS_EQUALITY if turns_equality else extension
        self._outputs: dict[IcebergGroup, TaskOutputs] = {}
        self._others = LostGroups(table, plan, self._extension)
        self._outcome: CommitOutcome | None = None
        self._united: frozenset[str | None] = frozenset()

    def _accept(self, done: Sequence[tuple[IcebergUnit, TaskResult]]) -> Sequence[Block]:
        failed = FailedGroups(self._table.name, lambda group: group.fingerprint, self._has_moved_on)
        dropping = (unit.group for unit in self._plan.units if unit.only_drops)
        parts = {group: list[TaskOutputs]() for group in dropping if group not in self._lost}
        for unit, result in done:
            with failed.isolate(unit.group):
                if result.failure is not None:
                    raise result.failure.as_error()
                parts.setdefault(unit.group, []).append(result.outputs)
        joined = {group: TaskOutputs.joined(parts[group]) for group in parts}
        for unit in self._plan.units:
            if unit.group in joined and unit.group not in failed.errors:
                with failed.isolate(unit.group):
                    unit.check_rows(joined[unit.group].data, joined[unit.group].deletes)
                    check_maps(unit.files, joined[unit.group].data, joined[unit.group].maps)
        blocks, lost = failed.sorted_out()
        self._lost.update(lost)
        self._outputs = {group: found for group, found in joined.items() if group not in failed.errors}
        return blocks

    def _find_lost(self) -> Mapping[IcebergGroup, str]:
        return self._others.find()

    def _has_moved_on(self, group: IcebergGroup, error: MissingFile) -> bool:
        """Whether the newest snapshot no longer has all files of a group: then the missing one is expired."""
        del error
        unit = next(unit for unit in self._plan.units if unit.group == group)
        return group in check_again(self._table, [unit], self._extension)

    def commit(self, to_come: int) -> StepOutcome:
        """Commits the changes that the newest snapshot admits; see `engine.commit.portions`."""
        units = [unit for unit in self._plan.units if unit.group in self._outputs]
        changes = {unit.group: self._change(unit) for unit in units}
        patience = commit_patience(self._table.properties)
        backoff = backoff_of(self._attempt.prefix, patience, self._clock)
        with scratch_folder() as folder:
            committer = self._committer(changes, to_come, folder)
            committer.catch_up(changes)
            outcomes: list[CommitOutcome] = []
            carried: list[NewDeleteFile] = []
            removed: set[DeleteKey] = set()
            for portion in self._portions(committer, changes, backoff):
                outcomes.append(portion)
                if portion.snapshot is not None:
                    carried += committer.carried
                    removed |= {*committer.removed_deletes}
        self._outcome = outcome = joined(outcomes)
        self._united = frozenset(each.referenced for each in carried)
        reports = tuple(
            self._report(unit, carried, removed) for unit in units if unit.group in outcome.committed
        )
        return StepOutcome(outcome.snapshot, outcome.tries, reports, {**self._lost, **outcome.conflicts})

    def _portions(
        self, committer: Committer, changes: Mapping[IcebergGroup, GroupChange], backoff: Backoff
    ) -> Iterable[CommitOutcome]:
        """The outcomes of the commit: of several portions only where each group stands for itself.

        Groups of keyed tables move the line of a partition together, and an equality delete goes with the
        last of the files that it may apply to.
        """
        if self._extension is PLAIN_TABLE:
            return commit_in_portions(committer, changes, backoff)
        return (loop.commit(committer, changes, backoff),)

    def _committer(
        self, changes: Mapping[IcebergGroup, GroupChange], to_come: int, folder: Path
    ) -> Committer:
        start, carrier = self._plan.pinned.start, None
        if self._extension.carries_deletes:
            maps = {group: self._outputs[group].maps for group in changes}
            carrier = MapCarrier(self._table, start, changes, maps, folder)
        return Committer(
            self._table,
            self._attempt.prefix,
            start,
            self._notes(to_come),
            self._heartbeat.check,
            self._clock,
            self._extension,
            carrier,
        )

    def _change(self, unit: IcebergUnit) -> GroupChange:
        outputs = self._outputs[unit.group]
        return GroupChange(
            group=unit.group,
            inputs=unit.files,
            outputs=outputs.data,
            kept=unit.kept,
            deletes=outputs.deletes,
            covered=unit.covered,
            freed=unit.freed,
        )

    def _notes(self, to_come: int) -> Callable[[Collection[IcebergGroup]], Mapping[str, str]]:
        """Makes the fields of a summary by which the run finds its snapshot, of the committed groups."""
        notes = {
            RUN: self._attempt.run,
            ATTEMPT: self._attempt.prefix,
            BASE: str(self._plan.pinned.start.snapshot),
            **({TO_COME: str(to_come)} if to_come else {}),
            **(ROLLBACKABLE if self._yields else {}),
        }
        return lambda groups: {**notes, GROUPS: _listed(groups)}

    @property
    def _yields(self) -> bool:
        """Whether catalogs may remove the snapshot in favour of a writer.

        Not where other changes of metadata belong to it: keyed tables delete what it has merged.
        """
        return self._extension is PLAIN_TABLE and is_true(self._table.properties, YIELD_TO_WRITERS)

    def _report(
        self, unit: IcebergUnit, carried: Sequence[NewDeleteFile], removed: Collection[DeleteKey]
    ) -> GroupReport:
        outputs = self._outputs[unit.group]
        before, after = _totals(unit.inputs), _totals(outputs.data)
        new = {file.path for file in outputs.data}
        late = _deletes_totals(each for each in carried if each.referenced in new)
        return GroupReport(
            group=unit.group.path,
            trigger=unit.trigger,
            reason=unit.reason,
            before=before,
            after=after,
            details=(Detail(REMOVED_ROWS, before.rows - after.rows), Detail(CARRIED_ROWS, late.rows)),
            other_files=slots_of(
                deletes=_deletes_totals(outputs.deletes) + late,
                removed_deletes=_deletes_totals(unit.removed_deletes(removed)),
            ),
            copied_bytes=outputs.copied_bytes,
        )

    def _delete_leftovers(self) -> bool:
        outcome = self._outcome
        assert outcome is not None  # noqa: S101  # a step is cleaned after its commit
        if self.has_stragglers or len(outcome.committed) < len(self._plan.units):
            self._condemn()
            if outcome.overwritten:
                return False  # others may build on a snapshot that was read: a later run cleans up
            self._sweep()
        else:
            self._delete_unused()
        return True

    def _delete_unused(self) -> None:
        """Deletes the maps of tasks, and the vectors of theirs that the commit has united with late ones."""
        maps = (each for outputs in self._outputs.values() for each in outputs.maps)
        vectors = [each for outputs in self._outputs.values() for each in outputs.deletes if each.is_vector]
        used = {each.path for each in vectors if each.referenced not in self._united}
        unused = {each.path for each in vectors} - used
        self._table.storage.delete_all([*(path for each in maps for path in each.paths), *sorted(unused)])

    def _sweep(self) -> None:
        IcebergRemains(self._table).sweep_own(self._attempt)

    def _close(self) -> None:
        """Closes the journal entry; keeps it where a catalog may remove the snapshot for a writer."""
        snapshot = None if self._outcome is None else self._outcome.snapshot
        if snapshot is None or not self._yields:
            super()._close()
        else:
            self._journal.keep(self._attempt, int(snapshot), self._clock.now())

    @property
    def _may_write_late(self) -> bool:
        """Requests that were not answered may still be carried out."""
        return not self._table.storage.is_local or self._table.server is not None


def _listed(groups: Collection[IcebergGroup]) -> str:
    """The paths of groups, as many as a summary should have: it is stored with every later snapshot."""
    paths = json.dumps([group.path for group in groups], separators=(",", ":"))
    return paths if len(paths) <= _MOST_LISTED else "[]"


def _deletes_totals(files: Iterable[DeleteFile | NewDeleteFile]) -> Totals:
    """Number of delete files and vectors, their own bytes, and the rows that they delete."""
    found = [*files]
    return Totals(len(found), sum(each.own_size for each in found), sum(each.rows for each in found))


def _totals(files: Collection[DataFile | NewDataFile]) -> Totals:
    return Totals(len(files), sum(file.size for file in files), sum(file.rows for file in files))
