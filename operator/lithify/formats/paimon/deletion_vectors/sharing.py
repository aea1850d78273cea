"""Deletion vectors of a partition without buckets after a compaction that rewrites some of its files.

Called by `append.outputs` on the driver, after the tasks. Follows Paimon's `AppendDeleteFileMaintainer`: a
partition has any number of index files, each with the vectors of several data files. Those with a vector of a
rewritten file are replaced by files with their other vectors; all others stay.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lithify.formats.paimon.deletion_vectors.bitmaps import DeletionVector, encode
from lithify.formats.paimon.deletion_vectors.index_files import VectorIndex, read_vectors, write_vectors
from lithify.io.storage import Storage


@dataclass(frozen=True, slots=True)
class SharedVectorChange:
    """The index files of a partition that a compaction replaces.

    Attributes:
        removed: those with a vector of a rewritten file, as they were planned on.
        written: new ones, with the other vectors of these.
    """

    removed: tuple[VectorIndex, ...] = ()
    written: tuple[VectorIndex, ...] = ()

    def is_outdated(self, found: Iterable[VectorIndex], rewritten: Collection[str]) -> bool:
        """Whether another commit has changed vectors that this compaction has read or replaces.

        Index files are never changed in place, so vectors in a file of the same name are the same.

        Args:
            found: the partition's index files in the newest snapshot.
            rewritten: the data files that are replaced.
        """
        known = {index.name for index in self.removed}
        others = {index.name: index for index in found}
        if not known <= others.keys():
            return True
        return any(
            not index.ranges.keys().isdisjoint(rewritten)
            for name, index in others.items()
            if name not in known
        )


def without_files(
    storage: Storage,
    folder: str,
    new_names: Iterator[str],
    before: Sequence[VectorIndex],
    rewritten: Collection[str],
    remaining: Collection[str],
    target_size: int,
) -> SharedVectorChange:
    """Writes new index files for the vectors that share one with those of rewritten files.

    Args:
        storage: access to index files.
        folder: directory of the partition's index files.
        new_names: names for new ones.
        before: the index files of the partition.
        rewritten: the data files that a compaction replaces.
        remaining: the other data files of the partition; vectors of files that are gone are dropped.
        target_size: bytes at which index files roll.

    Raises:
        MissingFile, CorruptTable: an old index file cannot be read.
        StorageError: a new one cannot be written.
    """
    removed = tuple(index for index in before if not index.ranges.keys().isdisjoint(rewritten))
    written: list[VectorIndex] = []
    for index in removed:
        names = [name for name in index.ranges if name in remaining]
        vectors = read_vectors(storage, folder, index, names) if names else {}
        parts = rolled(vectors, target_size)
        written += [write_vectors(storage, f"{folder}/{next(new_names)}", part) for part in parts]
    return SharedVectorChange(removed, tuple(written))


def rolled(vectors: Mapping[str, DeletionVector], target_size: int) -> Iterator[dict[str, DeletionVector]]:
    """Divides vectors among index files; each file ends once its size exceeds the target."""
    part: dict[str, DeletionVector] = {}
    size = 1  # the version
    for name, vector in vectors.items():
        part[name] = vector
        size += len(encode(vector)[0])
        if size > target_size:
            yield part
            part, size = {}, 1
    if part:
        yield part
