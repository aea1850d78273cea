"""The deletion vectors of one bucket after a compaction: which are kept, changed, dropped, and written.

Called by `compaction.outputs` on the driver, after the tasks. Follows Paimon's `BucketedDvMaintainer`: all
vectors of a bucket are in one index file, which is written again if any of them changes. Two differences:
vectors of files that no longer exist are dropped at once, and a bucket without any has no index file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lithify.columns.bitmaps import bitmap_of
from lithify.formats.paimon.deletion_vectors.bitmaps import DeletionVector
from lithify.formats.paimon.deletion_vectors.index_files import VectorIndex, read_vectors, write_vectors
from lithify.io.storage import Storage

if TYPE_CHECKING:
    from pyroaring import BitMap


@dataclass(frozen=True, slots=True)
class VectorChange:
    """The deletion vectors of a bucket before and after a compaction.

    Attributes:
        before: its index files on which the compaction was planned; another commit may have replaced them.
        after: its new index file, None if it has no deletion vectors any more. If nothing changes, this is
            the old one.
        is_new: whether `after` differs from `before`.
    """

    before: tuple[VectorIndex, ...] = ()
    after: VectorIndex | None = None
    is_new: bool = False

    @property
    def removed(self) -> tuple[VectorIndex, ...]:
        """The index files that are replaced or dropped."""
        return self.before if self.is_new else ()

    @property
    def written(self) -> tuple[VectorIndex, ...]:
        """The index files that were written."""
        return (self.after,) if self.is_new and self.after is not None else ()

    def is_outdated(self, found: Iterable[VectorIndex], rewritten: Collection[str]) -> bool:
        """Whether another commit has changed vectors that this compaction has read or replaces.

        Args:
            found: the bucket's index files in the newest snapshot.
            rewritten: the data files that are replaced.
        """
        del rewritten  # a bucket has one index file, so any change concerns it
        return {index.name for index in found} != {index.name for index in self.before}


NO_VECTORS = VectorChange()


def maintain(
    storage: Storage,
    path: str,
    before: Sequence[VectorIndex],
    remaining: Collection[str],
    superseded: Mapping[str, BitMap],
    *,
    is_wide: bool,
) -> VectorChange:
    """Writes new index files with the deletion vectors of a bucket, if a compaction changes them.

    Args:
        storage: access to index files.
        path: the path of the new index file; its folder has the old ones, too.
        before: the old ones.
        remaining: the data files of the bucket that remain, without new ones.
        superseded: rows that the compaction deletes, by data file.
        is_wide: whether new vectors have the 64-bit form.

    Raises:
        MissingFile, CorruptTable: an old index file cannot be read.
        StorageError: the new one cannot be written.
    """
    kept = [[name for name in index.ranges if name in remaining] for index in before]
    dropped = sum(len(index.ranges) for index in before) - sum(map(len, kept))
    if not superseded and not dropped and len(before) < 2:
        return VectorChange(tuple(before), before[0] if before else None)
    folder = path.rpartition("/")[0]
    vectors: dict[str, DeletionVector] = {}
    for index, names in zip(before, kept, strict=True):
        vectors.update(read_vectors(storage, folder, index, names) if names else {})
    for name, rows in superseded.items():
        vectors[name] = vectors.get(name, DeletionVector(bitmap_of(), is_wide)).with_positions(rows)
    after = write_vectors(storage, path, vectors) if vectors else None
    return VectorChange(tuple(before), after, is_new=True)
