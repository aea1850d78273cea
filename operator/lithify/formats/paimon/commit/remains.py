"""What clean-up asks of a Paimon table: `Remains` of `engine.attempts.clean_up`.

Snapshots of attempts that are not part of the table's history are taken back first (`lineage`). Files are
looked up in all snapshots, tags and branches before they are deleted (`file_deletion`).
"""

from __future__ import annotations

from contextlib import suppress

from pypaimon.snapshot.snapshot import Snapshot

from lithify.engine.attempts.ages import LINGERING
from lithify.engine.attempts.attempt import CommittedJournal
from lithify.engine.attempts.clean_up import Fate
from lithify.errors import MissingFile
from lithify.formats.paimon.commit.file_deletion import (
    buckets_of,
    data_files,
    knows_all_places,
    left_alone,
    sweep,
)
from lithify.formats.paimon.commit.references import is_held_elsewhere
from lithify.formats.paimon.commit.table_writing import journal_of, lineage_of
from lithify.formats.paimon.snapshots.attempt_scope import PaimonAttempt, PaimonJournal
from lithify.formats.paimon.snapshots.lineage import Standing
from lithify.formats.paimon.snapshots.snapshot_properties import ATTEMPT_PROPERTY, own_properties
from lithify.formats.paimon.table import PaimonTable
from lithify.io.storage import Storage


class PaimonRemains:
    """The attempts at one table or branch."""

    settled_after = LINGERING

    def __init__(self, table: PaimonTable) -> None:
        self._table = table

    @property
    def journal(self) -> PaimonJournal:
        """The table's journal."""
        return journal_of(self._table)

    @property
    def storage(self) -> Storage:
        """Access to the table's files."""
        return self._table.storage

    @property
    def temporary_folders(self) -> tuple[str, ...]:
        """Snapshots are written under temporary names on local file systems."""
        return (f"{self._table.home}/snapshot",)

    def take_back_strays(self, taken_back: set[str]) -> None:
        """Takes back snapshots that are not part of the history; adds the prefixes of their attempts.

        A rollback to a tag and the fast-forward of a branch copy snapshots one by one, so a snapshot that a
        tag or branch has may be about to become part of the history.
        """
        lineage = lineage_of(self._table)
        for stray in lineage.strays():
            prefix = own_properties(stray).get(ATTEMPT_PROPERTY)
            if not is_held_elsewhere(self._table, stray) and lineage.take_back(stray) is Standing.TAKEN_BACK:
                taken_back.add(str(prefix))

    def fate_of(self, attempt: PaimonAttempt) -> Fate:
        """Whether an attempt has committed, from the snapshots since its base."""
        base = self._table.snapshots.get(attempt.scope.base_snapshot)
        readable = base is not None and base.time_millis == attempt.scope.base_millis
        for snapshot in self._table.snapshots.since(attempt.scope.base_snapshot):
            if snapshot is None:
                readable = False
            elif _is_of(snapshot, attempt.prefix):
                return Fate.COMMITTED
        return Fate.HARMLESS if readable else Fate.UNKNOWN

    def has_lost_every_unit(self, attempt: PaimonAttempt) -> bool:
        """Whether an input of each unit is gone; buckets without inputs only get files of other units."""
        buckets = {bucket: unit for bucket, unit in buckets_of(self._table, attempt).items() if unit.inputs}
        view = self._table.view_of(buckets.keys())
        return (
            bool(buckets)
            and view is not None
            and all(
                not set(unit.inputs) <= {name for name, _ in view.names(bucket)}
                for bucket, unit in buckets.items()
            )
        )

    def is_built_on(self, committed: CommittedJournal) -> bool:
        """Whether the next snapshot names manifests of the attempt; two requests, or one if there is none.

        False also if the next commit merged those manifests; then a later check decides.
        """
        following = self._table.snapshots.get(committed.snapshot + 1)
        if following is None:
            return False
        with suppress(MissingFile):
            names = self._table.manifests.names_in_list(following.base_manifest_list)
            return any(committed.prefix in name for name in names)
        return False

    def is_in_place(self, committed: CommittedJournal) -> bool:
        """Whether the snapshot of its number is the attempt's."""
        found = self._table.snapshots.get(committed.snapshot)
        return found is not None and _is_of(found, committed.prefix)

    def is_removed(self, committed: CommittedJournal) -> bool:
        """Never: no catalog removes snapshots in favour of others; `is_in_place` finds replaced ones."""
        del committed
        return False

    def check_files(self, attempt: PaimonAttempt) -> None:
        """Checks that the files of an attempt can be listed; see `sweeping.data_files`."""
        list(data_files(self._table, attempt))

    def check_places(self, attempt: PaimonAttempt) -> None:
        """Checks that this table's present options name all directories into which an attempt wrote.

        Raises:
            CorruptTable: they do not.
        """
        if not knows_all_places(self._table, attempt):
            raise left_alone(self._table, attempt)

    def sweep(self, *attempts: PaimonAttempt) -> int:
        """Deletes unreferenced files of attempts; see `sweeping.sweep`."""
        return sweep(self._table, *attempts)


def _is_of(snapshot: Snapshot, prefix: str) -> bool:
    """Whether the attempt with this prefix committed a snapshot."""
    return own_properties(snapshot).get(ATTEMPT_PROPERTY) == prefix
