"""Merge of an Iceberg table's manifests: implements `formats.protocol.maintenance.Maintenance`.

Created by `iceberg.maintaining`. The snapshot that it commits changes no rows (`manifest_commit`); the old
manifests stay as long as the snapshots that name them. Its files are those of an attempt with a journal
entry, so what a killed run leaves is cleaned like the remains of any other.
"""

from __future__ import annotations

from uuid import uuid4

from lithify.clock import Clock
from lithify.engine.attempts.clean_up import recover
from lithify.engine.commit.patience import backoff_of
from lithify.engine.maintenance.merge_plan import ManifestMergePlan
from lithify.engine.maintenance.own_commit import OwnAttempt, commit_own
from lithify.errors import MissingFile, StalePlan, UnsupportedTable
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

_LOOKS = 5
NOTHING = {
    "manifests": 0,
    "newManifests": 0,
    "entries": 0,
    "droppedEntries": 0,
    "danglingDeletes": 0,
    "bytes": 0,
}


MergePlan = ManifestMergePlan[Base, Planned]


class ManifestMerge(Maintenance[MergePlan]):
    """Merges the manifests of a table.

    Args:
        table: the table.
        memory: bytes of entries that are held at a time.
    """

    kind = MaintenanceKind.MERGE_MANIFESTS

    def __init__(self, table: IcebergTable, memory: int = DEFAULT_SETTINGS.memory) -> None:
        self._table = table
        self._memory = memory

    def plan(self, clock: Clock) -> MergePlan:
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

    def _planned(self, base: Base | None, clock: Clock) -> MergePlan:
        if base is None:
            return ManifestMergePlan(None, None, NOTHING, None, clock)
        history = [*base.metadata.ancestry(self._table.branch)]
        reader = ManifestReader(self._table.storage)
        manifests = reader.manifests(base.head.manifest_list)
        planned = plan_merge(self._table, reader, base, manifests)
        oldest = history[-1].snapshot_id
        if not planned.selection.is_worthwhile:
            return ManifestMergePlan(base, None, NOTHING, oldest, clock)
        return ManifestMergePlan(base, planned, planned.selection.figures, oldest, clock)

    def execute(self, plan: MergePlan) -> Maintained:
        """See the Protocol.

        Raises:
            StalePlan: nothing was committed, or not for long.
        """
        table, clock = self._table, plan.clock
        if plan.base is None or plan.planned is None:
            return Maintained(self.kind, plan.figures, plan.oldest)
        table.check_writable()
        recover(IcebergRemains(table), clock)
        attempt = self._begin(plan.base, clock)
        failpoint("journal-written")
        committer = ManifestCommitter(table, attempt, clock, self._memory)

        def remove() -> None:
            committer.forget()
            IcebergRemains(table).sweep_own(attempt)

        outcome = commit_own(
            committer,
            {MANIFESTS: plan.planned},
            backoff_of(attempt.prefix, commit_patience(table.properties), clock),
            OwnAttempt(journal_of(table), attempt, clock),
            remove,
            may_write_late=not (table.storage.is_local and table.server is None),
        )
        if outcome.snapshot is None:
            raise StalePlan(table.name, next(iter(outcome.conflicts.values())))
        return Maintained(self.kind, committer.figures, plan.oldest)

    def _begin(self, base: Base, clock: Clock) -> IcebergAttempt:
        scope = Scope(base.head.id, base.head.sequence, self._table.branch, {})
        return journal_of(self._table).begin(f"merge-manifests-{uuid4().hex[:8]}", scope, clock.now())
