"""The names of all files that a snapshot, tag or changelog of any branch needs, as columns.

Called by the removal of orphans: once for the plan, and again before files are deleted, for what was
committed since. Like Java's `OrphanFilesClean` it takes the names in all entries of all manifests, also of
entries that remove a file. Unlike Java it does not go on if a file is missing that a holder needs: what that
file names is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from lithify.errors import MissingFile
from lithify.formats.paimon.maintenance.holder_needs import HolderNeeds, read_metadata, read_needs
from lithify.formats.paimon.maintenance.live_names import read_manifests
from lithify.formats.paimon.maintenance.removed_files import names_of
from lithify.formats.paimon.names.snapshot_ids import snapshot_id
from lithify.formats.paimon.snapshots.holders import Holder, holders_of
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.model import SnapshotId

_LOOKS = 4
"""Looks for holders in a row. Others copy them from place to place (a rollback to a tag, the fast-forward of
a branch), perhaps from one not read yet to one already read; more new ones than this are commits of busy
writers, which build on a snapshot that was read."""


class NamesInUse:
    """The names that were read so far; implements `engine.maintenance.orphan_plan.NameReader`."""

    def __init__(self, table: PaimonTable) -> None:
        self._table = table
        self._holders: set[Holder] = set()
        self._manifests: set[str] = set()
        self._oldest: int | None = None

    @property
    def has_read(self) -> bool:
        """Whether anything was read."""
        return bool(self._holders)

    @property
    def oldest(self) -> SnapshotId | None:
        """The oldest snapshot of the table's own branch when it was first read; None without any."""
        return None if self._oldest is None else snapshot_id(self._oldest)

    def unread(self) -> Iterator[pa.Array]:
        """The names in holders that are new or were written again since they were read; at first in all.

        Raises:
            MissingFile: a file is missing that an existing holder needs.
            CorruptTable: a holder or a file cannot be read.
        """
        for _ in range(_LOOKS):
            fresh = [holder for holder in self._existing() if holder not in self._holders]
            if not fresh:
                return
            yield from self._names(fresh)
            self._holders.update(fresh)

    def _existing(self) -> Iterator[Holder]:
        return holders_of(self._table.storage, self._table.root, self._table.home)

    def _names(self, holders: list[Holder]) -> Iterator[pa.Array]:
        """The names of some holders; those that disappear while they are read need nothing any more."""
        while True:
            needs = read_needs(self._table, holders)
            try:
                yield from self._names_of(needs)
            except MissingFile:
                existing = set(self._existing())
                left = [holder for holder in holders if holder in existing]
                if len(left) == len(holders):
                    raise
                holders = left
            else:
                if self._oldest is None:
                    self._oldest = needs.oldest
                return

    def _names_of(self, needs: HolderNeeds) -> Iterator[pa.Array]:
        named = read_metadata(self._table, needs)
        metadata = [*needs.lists, *needs.indexes, *needs.statistics, *named.manifests, *named.index_files]
        yield pa.array(metadata, pa.string())
        needed = {name for name, is_needed in named.manifests.items() if is_needed}
        unread = sorted(named.manifests.keys() - self._manifests)
        for name, entries in read_manifests(self._table, unread, needed):
            yield names_of(entries)
            self._manifests.add(name)
