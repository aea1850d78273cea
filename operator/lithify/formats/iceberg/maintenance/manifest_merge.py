"""Merge of an Iceberg table's manifests: implements `formats.protocol.maintenance.Maintenance`.

Created by `iceberg.maintaining`. The snapshot that it commits changes no rows (`manifest_commit`); the old
manifests stay as long as the snapshots that name them. Its files are those of an attempt with a journal
entry, so what a killed run leaves is cleaned like the remains of any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from uuid import uuid4

from lithify.clock import Clock
from lithify.engine.attempts.clean_up import recover
from lithify.engine.commit import loop
from lithify.engine.commit.loop import CommitOutcome
from lithify.engine.commit.patience import backoff_of
from lithify.errors import CommitUnknown, LithifyError, MissingFile, StalePlan, UnsupportedTable
from lithify.faults import failpoint
from lithify.formats.iceberg.attempts.remains import IcebergRemains
from lithify.formats.iceberg.attempts.scope import IcebergAttempt, Scope, journal_of
from lithify.formats.iceberg.commit.drafts import Base, Drafts
from lithify.formats.iceberg.commit.options import commit_patience
from lithify.formats.iceberg.maintenance.manifest_commit import (
    MANIFESTS,
    ManifestCommitter,
    Planned,
    plan_merge,
)
from lithify.formats.iceberg.manifests.view import ManifestReader
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.formats.protocol.maintenance import (
    DEFAULT_SETTINGS,
    Maintained,
    Maintenance,
    MaintenanceKind,
)
from lithify.formats.protocol.model import SnapshotId

_LOOKS = 5
NOTHING = {
    "manifests": 0,
    "newManifests": 0,
    "entries": 0,
    "droppedEntries": 0,
    "danglingDeletes": 0,
    "bytes": 0,
}


@dataclass(frozen=True, slots=True)
class ManifestMergePlan:
    """What a merge of manifests rewrites.

    Attributes:
        base: the newest snapshot when it was planned; None for a branch without snapshots.
        planned: the manifests; None if nothing is to be done.
        oldest: the oldest snapshot.
        clock: source of the time for the commit.
    """

    base: Base | None
    planned: Planned | None
    oldest: SnapshotId | None
    clock: Clock = field(repr=False)

    @property
    def kind(self) -> MaintenanceKind:
        """The kind of maintenance."""
        return MaintenanceKind.MERGE_MANIFESTS

    @property
    def is_empty(self) -> bool:
        """Whether nothing is gained by a merge."""
        return self.planned is None

    @property
    def figures(self) -> Mapping[str, int]:
        """Numbers of manifests, entries and delete files; of new manifests an estimate."""
        return NOTHING if self.planned is None else self.planned.selection.figures

    @property
    def samples(self) -> Sequence[str]:
        """None: no file is deleted."""
        return ()


class ManifestMerge(Maintenance[ManifestMergePlan]):
    """Merges the manifests of a table.

    Args:
        table: the table.
        memory: bytes of entries that are held at a time.
    """

    kind = MaintenanceKind.MERGE_MANIFESTS

    def __init__(self, table: IcebergTable, memory: int = DEFAULT_SETTINGS.memory) -> None:
        self._table = table
        self._memory = memory

    def plan(self, clock: Clock) -> ManifestMergePlan:
        """See the Protocol."""
        if self._table.refusals:
            raise UnsupportedTable(self._table.name, self._table.refusals, "maintained")
        for looks_left in reversed(range(_LOOKS)):
            base = Drafts(self._table, clock).newest()
            try:
                return self._planned(base, clock)
            except MissingFile:  # it may have expired while it was read
                if not looks_left or base is None or Drafts(self._table, clock).exists(base):
                    raise
        raise AssertionError

    def _planned(self, base: Base | None, clock: Clock) -> ManifestMergePlan:
        if base is None:
            return ManifestMergePlan(None, None, None, clock)
        history = [*base.metadata.ancestry(self._table.branch)]
        reader = ManifestReader(self._table.storage)
        manifests = reader.manifests(base.head.manifest_list)
        planned = plan_merge(self._table, reader, base, manifests)
        is_worthwhile = planned.selection.is_worthwhile
        return ManifestMergePlan(base, planned if is_worthwhile else None, history[-1].snapshot_id, clock)

    def execute(self, plan: ManifestMergePlan) -> Maintained:
        """See the Protocol."""
        if plan.base is None or plan.planned is None:
            return Maintained(self.kind, plan.figures, plan.oldest)
        self._table.check_writable()
        recover(IcebergRemains(self._table), plan.clock)
        attempt = self._begin(plan.base, plan.clock)
        failpoint("journal-written")
        committer = ManifestCommitter(self._table, attempt, plan.clock, self._memory)
        backoff = backoff_of(attempt.prefix, commit_patience(self._table.properties), plan.clock)
        try:
            outcome = loop.commit(committer, {MANIFESTS: plan.planned}, backoff)
        except CommitUnknown:
            raise
        except Exception:
            self._give_up(committer, attempt, plan.clock)
            raise
        return self._ended(committer, attempt, outcome, plan)

    def _begin(self, base: Base, clock: Clock) -> IcebergAttempt:
        scope = Scope(base.head.id, base.head.sequence, self._table.branch, {})
        return journal_of(self._table).begin(f"merge-manifests-{uuid4().hex[:8]}", scope, clock.now())

    def _ended(
        self,
        committer: ManifestCommitter,
        attempt: IcebergAttempt,
        outcome: CommitOutcome,
        plan: ManifestMergePlan,
    ) -> Maintained:
        """Closes the journal entry, and says what was done.

        Raises:
            StalePlan: nothing was committed, or not for long.
        """
        journal = journal_of(self._table)
        if outcome.overwritten:
            journal.condemn(attempt, plan.clock.now())  # others may build on it: a later run cleans up
        else:
            journal.close(attempt)
        if outcome.snapshot is None:
            raise StalePlan(self._table.name, next(iter(outcome.conflicts.values())))
        return Maintained(self.kind, committer.figures, plan.oldest)

    def _give_up(self, committer: ManifestCommitter, attempt: IcebergAttempt, clock: Clock) -> None:
        """Ends an attempt that can no longer be committed, without hiding its error.

        Unanswered requests may still be carried out, so its journal entry stays open where they may.
        """
        with suppress(LithifyError):
            journal_of(self._table).condemn(attempt, clock.now())
        with suppress(LithifyError):
            committer.forget()
            IcebergRemains(self._table).sweep_own(attempt)
            if self._table.storage.is_local and self._table.server is None:
                journal_of(self._table).close(attempt)
