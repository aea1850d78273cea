"""Merge of a Paimon table's manifests: implements `formats.protocol.maintenance.Maintenance`.

Created by `paimon.maintaining`. The snapshot that it commits changes no data (`manifest_commit`); the old
manifests stay as long as the snapshots that name them. Its files are those of an attempt with a journal
entry, so what a killed run leaves is cleaned like the remains of any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from uuid import uuid4

from pypaimon.snapshot.snapshot import Snapshot

from lithify.clock import Clock
from lithify.engine.attempts.clean_up import recover
from lithify.engine.commit import loop
from lithify.engine.commit.loop import CommitOutcome
from lithify.engine.commit.patience import backoff_of
from lithify.errors import CommitUnknown, LithifyError, StalePlan, UnsupportedTable
from lithify.faults import failpoint
from lithify.formats.paimon.commit.file_deletion import sweep
from lithify.formats.paimon.commit.remains import PaimonRemains
from lithify.formats.paimon.commit.table_writing import check_writable, journal_of
from lithify.formats.paimon.maintenance.manifest_commit import MANIFESTS, ManifestCommitter, MergedList
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
from lithify.formats.protocol.model import SnapshotId


@dataclass(frozen=True, slots=True)
class ManifestMergePlan:
    """What a merge of manifests rewrites.

    Attributes:
        base: the newest snapshot when it was planned; None for an empty table.
        selection: the manifests; None if nothing is to be done.
        oldest: the oldest snapshot.
        clock: source of the time for the commit.
    """

    base: Snapshot | None
    selection: ManifestSelection | None
    oldest: SnapshotId | None
    clock: Clock = field(repr=False)

    @property
    def kind(self) -> MaintenanceKind:
        """The kind of maintenance."""
        return MaintenanceKind.MERGE_MANIFESTS

    @property
    def is_empty(self) -> bool:
        """Whether nothing is gained by a merge."""
        return self.selection is None

    @property
    def figures(self) -> Mapping[str, int]:
        """Numbers of manifests and entries; of new manifests an estimate."""
        choice = None if self.selection is None else self.selection.choice
        return {
            "manifests": choice.count if choice else 0,
            "newManifests": choice.new if choice else 0,
            "entries": choice.entries if choice else 0,
            "droppedEntries": choice.dropped if choice else 0,
            "bytes": choice.size if choice else 0,
        }

    @property
    def samples(self) -> Sequence[str]:
        """None: no file is deleted."""
        return ()


class ManifestMerge(Maintenance[ManifestMergePlan]):
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

    def plan(self, clock: Clock) -> ManifestMergePlan:
        """See the Protocol."""
        if self._refusals:
            raise UnsupportedTable(self._table.name, self._refusals, "maintained")
        planned = self._table.on_newest(lambda base: (base, self._selected(base)))
        numbers = self._table.snapshots.numbers()
        oldest = snapshot_id(numbers[0]) if numbers else None
        if planned is None:
            return ManifestMergePlan(None, None, oldest, clock)
        base, selection = planned
        return ManifestMergePlan(base, selection if selection.is_worthwhile else None, oldest, clock)

    def _selected(self, base: Snapshot) -> ManifestSelection:
        manifests = self._table.manifests
        return select_manifests(
            manifests, manifests.list_files(base), self._table.options.manifests.target_size
        )

    def execute(self, plan: ManifestMergePlan) -> Maintained:
        """See the Protocol."""
        selection = plan.selection
        if plan.base is None or selection is None:
            return Maintained(self.kind, plan.figures, plan.oldest)
        check_writable(self._table)
        recover(PaimonRemains(self._table), plan.clock)
        attempt = self._begin(plan.base, plan.clock)
        failpoint("journal-written")
        committer = ManifestCommitter(self._table, attempt, plan.clock, self._memory)
        backoff = backoff_of(attempt.prefix, self._table.options.commit, plan.clock)
        try:
            outcome = loop.commit(committer, {MANIFESTS: selection}, backoff)
        except CommitUnknown:
            raise
        except Exception:
            self._give_up(committer, attempt, plan.clock)
            raise
        return self._ended(committer, attempt, outcome, plan)

    def _begin(self, base: Snapshot, clock: Clock) -> PaimonAttempt:
        scope = AttemptScope(base.id, base.time_millis, ())
        return journal_of(self._table).begin(f"merge-manifests-{uuid4().hex[:8]}", scope, clock.now())

    def _ended(
        self,
        committer: ManifestCommitter,
        attempt: PaimonAttempt,
        outcome: CommitOutcome,
        plan: ManifestMergePlan,
    ) -> Maintained:
        """Closes the journal entry, and says what was done.

        Raises:
            StalePlan: nothing was committed, or not for long.
        """
        journal, now = journal_of(self._table), plan.clock.now()
        if outcome.overwritten:
            journal.condemn(
                attempt, now
            )  # others may build on a snapshot that was read: a later run cleans up
        elif outcome.snapshot is None or self._table.snapshots.has_server:
            journal.close(attempt)
        else:
            journal.keep(attempt, outcome.snapshot, now)
        if outcome.snapshot is None:
            raise StalePlan(self._table.name, next(iter(outcome.conflicts.values())))
        assert committer.merged is not None  # noqa: S101  # it was committed
        return Maintained(self.kind, _figures(committer.merged), plan.oldest)

    def _give_up(self, committer: ManifestCommitter, attempt: PaimonAttempt, clock: Clock) -> None:
        """Ends an attempt that can no longer be committed, without hiding its error.

        On object stores unanswered writes may still arrive, so its journal entry stays open there.
        """
        with suppress(LithifyError):
            journal_of(self._table).condemn(attempt, clock.now())
        with suppress(LithifyError):
            committer.forget()
            sweep(self._table, attempt)
            if self._table.storage.s3 is None:
                journal_of(self._table).close(attempt)


def _figures(merged: MergedList) -> Mapping[str, int]:
    """What a merge has come to, by the names of the plan."""
    choice = merged.selection.choice
    return {
        "manifests": choice.count,
        "newManifests": len(merged.new),
        "entries": choice.entries,
        "droppedEntries": choice.dropped,
        "bytes": choice.size,
    }
