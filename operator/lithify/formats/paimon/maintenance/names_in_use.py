"""The names of all files that a snapshot, tag or changelog of any branch needs, as columns.

Called by the removal of orphans: once for the plan, and again before files are deleted, for what was
committed since. Like Java's `OrphanFilesClean` it takes the names in all entries of all manifests, also of
entries that remove a file. Unlike Java it does not go on if a file is missing that a holder needs: what that
file names is unknown. Only what Java's expiry deletes earlier than the holder may be missing: changelogs of
tagged snapshots and of those of branches, and data of changelogs that have outlived their snapshots.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

from lithify.errors import MissingFile
from lithify.formats.paimon.maintenance.history import Held, read_holder
from lithify.formats.paimon.maintenance.live_names import read_manifests
from lithify.formats.paimon.maintenance.named_files import NamedFiles, Reference, read_named
from lithify.formats.paimon.maintenance.removed_files import names_of
from lithify.formats.paimon.snapshots.holders import Holder, Holding, holders_of
from lithify.formats.paimon.table import PaimonTable

_AT_ONCE = 8
_LOOKS = 4
"""Looks for holders in a row. Others copy them from place to place (a rollback to a tag, the fast-forward of
a branch), perhaps from one not read yet to one already read; more new ones than this are commits of busy
writers, which build on a snapshot that was read."""


class NamesInUse:
    """The names that were read so far.

    Attributes:
        oldest: the oldest snapshot of the table's own branch that was read; None without any.
    """

    def __init__(self, table: PaimonTable) -> None:
        self._table = table
        self._holders: set[Holder] = set()
        self._manifests: set[str] = set()
        self.oldest: int | None = None

    @property
    def has_read(self) -> bool:
        """Whether anything was read."""
        return bool(self._holders)

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
            held = self._read(holders)
            try:
                yield from self._names_of(held)
            except MissingFile:
                existing = set(self._existing())
                left = [each.holder for each in held if each.holder in existing]
                if len(left) == len(held):
                    raise
                holders = left
            else:
                self._note_oldest(held)
                return

    def _read(self, holders: list[Holder]) -> list[Held]:
        with ThreadPoolExecutor(_AT_ONCE) as readers:
            found = readers.map(lambda holder: read_holder(self._table, holder), holders)
            return [each for each in found if each is not None]

    def _names_of(self, held: list[Held]) -> Iterator[pa.Array]:
        references = [reference for each in held for reference in _references(each, self._table.home)]
        named = read_named(self._table, references)
        yield pa.array(
            [*named.by_list, *named.manifests, *named.by_index, *named.index_files, *named.statistics],
            pa.string(),
        )
        unread = sorted(named.manifests - self._manifests)
        for name, entries in read_manifests(self._table, unread, _needed(references, named)):
            yield names_of(entries)
            self._manifests.add(name)

    def _note_oldest(self, held: list[Held]) -> None:
        own = [
            each.snapshot.id
            for each in held
            if each.holder.home == self._table.home and each.holder.kind is Holding.SNAPSHOT
        ]
        self.oldest = min([*own, *([] if self.oldest is None else [self.oldest])], default=None)


def _references(held: Held, home: str) -> list[Reference]:
    """What a holder needs, and what it names that others may have deleted.

    Args:
        held: the holder.
        home: the folder of the table's own branch.
    """
    snapshot = held.snapshot
    if held.holder.kind is Holding.CHANGELOG:
        return [Reference(snapshot, has_files=False), Reference(snapshot, may_be_broken=True)]
    if held.holder.kind is Holding.SNAPSHOT and held.holder.home == home:
        return [Reference(snapshot)]
    return [Reference(snapshot, has_changelog=False), Reference(snapshot, may_be_broken=True)]


def _needed(references: list[Reference], named: NamedFiles) -> set[str]:
    return {
        name
        for each in references
        if not each.may_be_broken
        for name in named.manifests_in([*each.lists, *each.changelog_lists])
    }
