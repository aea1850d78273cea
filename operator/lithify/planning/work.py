"""What the work of a run in one bucket has in common, whatever the kind of table.

Base of the units of `merge_tree` and `bin_packing`; a unit says which files it merges and which it only
moves to another level, and everything else that a plan reports of files follows from it. Pure.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator

from lithify.tables.model import BucketId, DataFile


class BucketWork(ABC):
    """The work of a run in one bucket.

    Subclasses are dataclasses that add what else a `WorkUnit` of `tables.format` has: trigger, reason,
    output level, and whether deletes are dropped.
    """

    __slots__ = ()

    bucket: BucketId

    @property
    @abstractmethod
    def merges(self) -> tuple[tuple[DataFile, ...], ...]:
        """The rewritten files, grouped by merge."""

    @property
    def upgraded(self) -> tuple[DataFile, ...]:
        """Files that change in metadata only."""
        return ()

    @property
    def targets(self) -> range:
        """Numbers of other buckets of the partition that get the rows; none if rows stay in their bucket."""
        return range(0)

    @property
    def group(self) -> BucketId:
        """The bucket's identity in a run."""
        return self.bucket

    @property
    def rewritten(self) -> tuple[DataFile, ...]:
        """Files that are rewritten."""
        return tuple(file for files in self.merges for file in files)

    @property
    def inputs(self) -> tuple[DataFile, ...]:
        """Files that are rewritten or upgraded."""
        return (*self.rewritten, *self.upgraded)

    @property
    def rewrites(self) -> tuple[tuple[str, ...], ...]:
        """Names of the rewritten files, grouped by merge."""
        return tuple(tuple(file.name for file in files) for files in self.merges)

    @property
    def upgrades(self) -> tuple[str, ...]:
        """Names of the files that change in metadata only."""
        return tuple(file.name for file in self.upgraded)

    @property
    def read_bytes(self) -> int:
        """Bytes of the files that are rewritten."""
        return sum(file.size for file in self.rewritten)

    @property
    def rewritten_files(self) -> int:
        """Number of files that are rewritten."""
        return len(self.rewritten)

    @property
    def upgraded_files(self) -> int:
        """Number of files that change in metadata only."""
        return len(self.upgraded)


def parts_of(files: Iterable[DataFile], size: int) -> Iterator[tuple[DataFile, ...]]:
    """Divides files into consecutive parts of at most `size` bytes; a larger file is a part of its own."""
    part: list[DataFile] = []
    taken = 0
    for file in files:
        if part and taken + file.size > size:
            yield tuple(part)
            part, taken = [], 0
        part.append(file)
        taken += file.size
    yield tuple(part)
