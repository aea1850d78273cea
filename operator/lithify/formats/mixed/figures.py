"""Figures of partitions, from columns of their files: what triggers judge and what people are shown.

Called by planning and observing, with the files of all partitions at once. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lithify.columns.column_groups import Flags, Numbers


@dataclass(frozen=True, slots=True)
class Files:
    """Files of one kind, an element for each.

    Attributes:
        partitions: the number of each file's partition, from 0.
        sizes: bytes.
    """

    partitions: Numbers
    sizes: Numbers

    def bytes_by_partition(self, count: int) -> Numbers:
        """The bytes of each of `count` partitions; exact, unlike weighted counts."""
        found = np.zeros(count, np.int64)
        np.add.at(found, self.partitions, self.sizes)
        return found

    def count_by_partition(self, count: int, where: Flags | None = None) -> Numbers:
        """The number of files in each of `count` partitions."""
        partitions = self.partitions if where is None else self.partitions[where]
        return np.bincount(partitions, minlength=count).astype(np.int64)


@dataclass(frozen=True, slots=True)
class PartitionFigures:
    """Figures of partitions, an element for each.

    Attributes:
        base_bytes: bytes of base files.
        insert_bytes: bytes of unmerged inserts.
        delete_bytes: bytes of unmerged deletes; in tables without keys, of delete files.
        change_files: number of unmerged files.
        small_base_files: number of small base files.
        base_deletes: number of files with deletes from base files.
        since_millis: when it was optimized last, or else when its first file came, in milliseconds since
            1970; 0 if nobody knows.
    """

    base_bytes: Numbers
    insert_bytes: Numbers
    delete_bytes: Numbers
    change_files: Numbers
    small_base_files: Numbers
    base_deletes: Numbers
    since_millis: Numbers

    def __len__(self) -> int:
        return len(self.base_bytes)


def keyed_figures(
    since_millis: Numbers,
    small_file_size: int,
    base: Files,
    base_deletes: Files,
    inserts: Files,
    deletes: Files,
) -> PartitionFigures:
    """The figures of a table with a key.

    Args:
        since_millis: see `PartitionFigures`; an element for each partition.
        small_file_size: base files below this are small.
        base: the base files.
        base_deletes: the position delete files of the base store.
        inserts: unmerged files of the change store with inserts.
        deletes: unmerged files of the change store with deletes.
    """
    count = len(since_millis)
    return PartitionFigures(
        base_bytes=base.bytes_by_partition(count),
        insert_bytes=inserts.bytes_by_partition(count),
        delete_bytes=deletes.bytes_by_partition(count),
        change_files=inserts.count_by_partition(count) + deletes.count_by_partition(count),
        small_base_files=base.count_by_partition(count, base.sizes < small_file_size),
        base_deletes=base_deletes.count_by_partition(count),
        since_millis=since_millis,
    )


def keyless_figures(
    since_millis: Numbers, small_file_size: int, base: Files, deletes: Files
) -> PartitionFigures:
    """The figures of a table without a key, which only has base files and `deletes` from them."""
    count = len(since_millis)
    nothing = np.zeros(count, np.int64)
    return PartitionFigures(
        base_bytes=base.bytes_by_partition(count),
        insert_bytes=nothing,
        delete_bytes=deletes.bytes_by_partition(count),
        change_files=nothing,
        small_base_files=base.count_by_partition(count, base.sizes < small_file_size),
        base_deletes=deletes.count_by_partition(count),
        since_millis=since_millis,
    )
