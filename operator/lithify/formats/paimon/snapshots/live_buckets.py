"""The live entries of some buckets, kept up to date from snapshot to snapshot.

Created for a commit, which calls it in every try. The first call reads the manifests that may have entries of
the buckets; later calls read only what newer snapshots have added and removed there, so that the cost of a
try does not depend on the table's size (Paimon's `FileStoreCommitImpl` keeps its base entries likewise).
After a rollback, or if a snapshot in between is gone, everything is read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pypaimon.snapshot.snapshot import Snapshot

from lithify.errors import MissingFile
from lithify.formats.paimon.manifests.entries import ADD, ManifestEntry
from lithify.formats.paimon.manifests.entry_selection import ChosenBuckets, Place
from lithify.formats.paimon.manifests.manifests import Manifests
from lithify.formats.paimon.snapshots.snapshots import Snapshots

Files = dict[tuple[object, ...], ManifestEntry]
"""Entries of one bucket by their identity."""


class LiveBuckets:
    """Live entries of some buckets in consecutive snapshots.

    Args:
        manifests: the manifests of the table.
        snapshots: its snapshots.
        selection: the buckets.
    """

    def __init__(self, manifests: Manifests, snapshots: Snapshots, selection: ChosenBuckets) -> None:
        self._manifests = manifests
        self._snapshots = snapshots
        self._selection = selection
        self._seen: Snapshot | None = None
        self._files: dict[Place, Files] = {}

    def at(self, snapshot: Snapshot) -> dict[Place, Sequence[ManifestEntry]]:
        """The live entries of the non-empty buckets in a snapshot.

        Raises:
            MissingFile: a manifest is missing; the snapshot may have expired concurrently.
            CorruptTable: a snapshot or manifest cannot be read.
        """
        if not self._advance(snapshot):
            self._files = {}
            _add(self._files, self._manifests.live(snapshot, self._selection))
        self._seen = snapshot
        return {place: tuple(files.values()) for place, files in self._files.items() if files}

    def _advance(self, snapshot: Snapshot) -> bool:
        """Applies the changes since the last snapshot; False if they cannot be read or do not fit."""
        steps = None if self._seen is None else self._snapshots.steps(self._seen, snapshot)
        if steps is None:
            return False
        try:
            deltas = [self._manifests.delta(step, self._selection) for step in steps]
        except MissingFile:  # a snapshot in between expired while it was read
            return False
        return all(self._apply(delta) for delta in deltas)

    def _apply(self, delta: Sequence[ManifestEntry]) -> bool:
        """Applies the changes of one snapshot; False if it removes a file that is not live."""
        _add(self._files, (entry for entry in delta if entry.kind == ADD))
        removed = (entry for entry in delta if entry.kind != ADD)
        return all(self._files.get(place_of(each), {}).pop(each.identity, None) for each in removed)


def _add(files: dict[Place, Files], entries: Iterable[ManifestEntry]) -> None:
    for entry in entries:
        files.setdefault(place_of(entry), {})[entry.identity] = entry


def place_of(entry: ManifestEntry) -> Place:
    """Partition and bucket of an entry."""
    return entry.partition, entry.bucket
