"""Merge of a Paimon table's manifests: implements `formats.protocol.maintenance.Maintenance`.

Created by `paimon.maintaining`. The snapshot that it commits changes no data (`manifest_commit`); the old
manifests stay as long as the snapshots that name them. Its files are those of an attempt with a journal
entry, so what a killed run leaves is cleaned like the remains of any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import uuid4

from pypaimon.snapshot.snapshot import Snapshot

from lithify.clock import Clock
from lithify.engine.attempts.clean_up import recover
from lithify.engine.commit.patience import backoff_of
from lithify.engine.maintenance.merge_plan import ManifestMergePlan
from lithify.engine.maintenance.own_commit import OwnAttempt, commit_own
from lithify.errors import StalePlan, UnsupportedTable
from lithify.faults import failpoint
from lithify.formats.paimon.commit.file_deletion import sweep
from lithify.formats.paimon.commit.remains import PaimonRemains
from lithify.formats.paimon.commit.table_writing import check_writable, journal_of
from lithify.formats.paimon.maintenance.manifest_commit import MANIFESTS, ManifestCommitter
from lithify.formats.paimon.maintenance.manifest_selection import ManifestSelection, select_manifests
from lithify.formats.paimon.names.snapshot_ids import snapshot_id
from lithify.formats.paimon.snapshots.attempt_scope import AttemptScope, PaimonAttempt
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.maintenance import (
    DEFAULT_SETTINGS,
    Maintained,
    Maintenance,
    MaintenanceKind,
)

MergePlan = ManifestMergePlan[Snapshot, ManifestSelection]


class ManifestMerge(Maintenance[MergePlan]):
    """Merges the manifests of a table.

    Args:
        table: the table.
        refusals: why its manifests cannot be merged; see `manifest_refusals`.
        memory: bytes of entries that are held at a time.
    """

    kind = MaintenanceKind.MERGE_MANIFESTS

    def __init__(
        self, table: PaimonTable, refusals: Sequence[str] = (), memory: int = DEFAULT_SETTINGS.memory
    ) -> None:
        self._table = table
        self._refusals = tuple(refusals)
        self._memory = memory

    def plan(self, clock: Clock) -> MergePlan:
        """See the Protocol."""
        if self._refusals:
            raise UnsupportedTable(self._table.name, self._refusals, "maintained")
        planned = self._table.on_newest(lambda base: (base, self._selected(base)))
        numbers = self._table.snapshots.numbers()
        oldest = snapshot_id(numbers[0]) if numbers else None
        base, selection = planned or (None, None)
        if selection is not None and not selection.is_worthwhile:
            selection = None
        return ManifestMergePlan(base, selection, _figures(selection), oldest, clock)

    def _selected(self, base: Snapshot) -> ManifestSelection:
        manifests = self._table.manifests
        return select_manifests(
            manifests, manifests.list_files(base), self._table.options.manifests.target_size
        )

    def execute(self, plan: MergePlan) -> Maintained:
        """See the Protocol.

        Raises:
            StalePlan: nothing was committed, or not for long.
        """
        table, selection, clock = self._table, plan.planned, plan.clock
        if plan.base is None or selection is None:
            return Maintained(self.kind, plan.figures, plan.oldest)
        check_writable(table)
        recover(PaimonRemains(table), clock)
        attempt = self._begin(plan.base, clock)
        failpoint("journal-written")
        committer = ManifestCommitter(table, attempt, clock, self._memory)

        def remove() -> None:
            committer.forget()
            sweep(table, attempt)

        outcome = commit_own(
            committer,
            {MANIFESTS: selection},
            backoff_of(attempt.prefix, table.options.commit, clock),
            OwnAttempt(journal_of(table), attempt, clock, is_kept=not table.snapshots.has_server),
            remove,
            may_write_late=table.storage.objects is not None,
        )
        if outcome.snapshot is None:
            raise StalePlan(table.name, next(iter(outcome.conflicts.values())))
        assert committer.merged is not None  # noqa: S101  # it was committed
        merged = committer.merged
        figures = {**_figures(merged.selection), "newManifests": len(merged.new)}
        return Maintained(self.kind, figures, plan.oldest)

    def _begin(self, base: Snapshot, clock: Clock) -> PaimonAttempt:
        scope = AttemptScope(base.id, base.time_millis, ())
        return journal_of(self._table).begin(f"merge-manifests-{uuid4().hex[:8]}", scope, clock.now())


def _figures(selection: ManifestSelection | None) -> Mapping[str, int]:
    """Numbers of manifests and entries; of new manifests an estimate."""
    choice = None if selection is None else selection.choice
    return {
        "manifests": choice.count if choice else 0,
        "newManifests": choice.new if choice else 0,
        "entries": choice.entries if choice else 0,
        "droppedEntries": choice.dropped if choice else 0,
        "bytes": choice.size if choice else 0,
    }
