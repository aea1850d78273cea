"""The changes of a run to a bucket, and whether the newest snapshot still admits them.

Called by `committer` in every try. Pure. The checks are Paimon's (`ConflictDetection`) for compactions:
every replaced or upgraded file must still be live, the bucket count must be the same, and files of a level
above 0 must not overlap; pypaimon's own commit omits the last check.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from lithify.columns.order_key import OrderKey
from lithify.errors import CorruptTable, UnsupportedTable
from lithify.formats.paimon.deletion_vectors.index_files import VectorIndex
from lithify.formats.paimon.deletion_vectors.maintaining import NO_VECTORS, VectorChange
from lithify.formats.paimon.deletion_vectors.sharing import SharedVectorChange
from lithify.formats.paimon.manifests.entries import (
    ADD,
    DELETE,
    FileMeta,
    ManifestEntry,
)
from lithify.formats.paimon.model import BucketId
from lithify.formats.protocol.results import TaskOutputs


@dataclass(frozen=True, slots=True)
class BucketChange:
    """The outcome of one unit.

    Attributes:
        bucket: the bucket.
        removed: entries of the files that were rewritten; statistics may be missing (see `found_in`).
        upgraded: entries of the files that only change level.
        output_level: new level of upgraded files.
        outputs: the new files.
        vectors: the bucket's deletion vectors; they include what tasks return as `outputs.index`.
    """

    bucket: BucketId
    removed: tuple[ManifestEntry, ...]
    upgraded: tuple[ManifestEntry, ...]
    output_level: int
    outputs: TaskOutputs
    vectors: VectorChange | SharedVectorChange = NO_VECTORS

    @property
    def added(self) -> tuple[FileMeta, ...]:
        """The new data files."""
        return self.outputs.data

    @property
    def placed(self) -> tuple[tuple[BucketId, FileMeta], ...]:
        """All new files, those of the changelog included, each with its bucket."""
        return tuple((self.bucket, file) for file in (*self.outputs.data, *self.outputs.changelog))

    @property
    def inputs(self) -> tuple[ManifestEntry, ...]:
        """Every file that must still be live."""
        return (*self.removed, *self.upgraded)

    def found_in(self, live: Iterable[ManifestEntry]) -> BucketChange:
        """The same change with its inputs as they are in a snapshot, statistics included.

        Raises:
            KeyError: an input is not among the live files; see `conflict_of`.
        """
        found = {entry.identity: entry for entry in live}
        return replace(
            self,
            removed=tuple(found[entry.identity] for entry in self.removed),
            upgraded=tuple(found[entry.identity] for entry in self.upgraded),
        )

    def entries(self) -> list[ManifestEntry]:
        """The manifest entries, deletions first."""
        place = self.inputs[0]
        after = [entry.file.upgraded(self.output_level) for entry in self.upgraded]
        return [
            *(replace(entry, kind=DELETE) for entry in self.inputs),
            *(replace(place, kind=ADD, file=file) for file in (*after, *self.added)),
        ]

    def changelog_entries(self) -> list[ManifestEntry]:
        """The entries of the changelog's manifests."""
        place = self.inputs[0]
        return [replace(place, kind=ADD, file=file) for file in self.outputs.changelog]


def conflict_of(
    change: BucketChange,
    live: Iterable[ManifestEntry],
    key: Callable[[bytes], OrderKey],
    vectors: Iterable[VectorIndex] = (),
) -> str | None:
    """Why a change cannot be applied to a bucket with these live files; None if it can.

    Args:
        change: the change.
        live: live entries of the change's bucket in the newest snapshot.
        key: converts a key bound to an order key.
        vectors: the bucket's deletion vectors in the newest snapshot.
    """
    after = {entry.identity: entry for entry in live}
    for entry in change.inputs:
        if after.pop(entry.identity, None) is None:
            return f"{entry.file.name} is no longer in level {entry.file.level}"
    unpaired = _unpaired_vectors(change, {entry.file.name for entry in after.values()}, vectors)
    if unpaired is not None:
        return unpaired
    place = change.inputs[0]
    # As in Paimon, entries without a number of buckets say nothing about it.
    if any(0 < entry.total_buckets != place.total_buckets > 0 for entry in after.values()):
        return f"the partition no longer has {place.total_buckets} buckets"
    incoming = [entry.file for entry in change.entries() if entry.kind == ADD]
    try:
        return _overlap([*(entry.file for entry in after.values()), *incoming], key)
    except (CorruptTable, UnsupportedTable) as error:
        return f"a file was added that cannot be compared with others ({error})"


def _unpaired_vectors(
    change: BucketChange, others: Collection[str], vectors: Iterable[VectorIndex]
) -> str | None:
    """Why deletion vectors and files would not belong together, None if they do.

    Vectors of files that the run replaces must be those that it has read: rows that others have deleted
    since then would come back. And each vector that it writes needs its file: if another compaction has
    replaced the file, the rows that ours deletes in it would live on in its place.

    Args:
        change: the change.
        others: names of the live files that are no inputs of it.
        vectors: the bucket's deletion vectors in the newest snapshot.
    """
    if change.vectors.is_outdated(vectors, {entry.file.name for entry in change.removed}):
        return "another commit has changed the deletion vectors"
    stay = {*others, *(entry.file.name for entry in change.upgraded)}
    gone = sorted({name for index in change.vectors.written for name in index.ranges} - stay)
    return f"{gone[0]} is no longer there, of which rows are to be deleted" if gone else None


def _overlap(files: Sequence[FileMeta], key: Callable[[bytes], OrderKey]) -> str | None:
    levels: dict[int, list[tuple[OrderKey, OrderKey, str]]] = {}
    for file in files:
        if file.level > 0:
            bounds = file.as_data_file(key)
            # Without a primary key there are no bounds: clustered files of a level may overlap, as in Java.
            if bounds.min_key:
                levels.setdefault(file.level, []).append((bounds.min_key, bounds.max_key, file.name))
    for level, bounds_of_level in levels.items():
        for before, behind in pairwise(sorted(bounds_of_level)):
            if behind[0] <= before[1]:
                return f"{before[2]} and {behind[2]} would overlap in level {level}"
    return None
