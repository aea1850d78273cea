"""Figures of partitions as triggers judge them. Made by `due`. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from lithify.columns.column_groups import Numbers


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
        outside_files: number of base files of a Hive-compatible table that Hive does not read.
        since_millis: when it was optimized last, or else when its first file came, in milliseconds since
            1970; 0 if nobody knows.
    """

    base_bytes: Numbers
    insert_bytes: Numbers
    delete_bytes: Numbers
    change_files: Numbers
    small_base_files: Numbers
    base_deletes: Numbers
    outside_files: Numbers
    since_millis: Numbers

    def __len__(self) -> int:
        return len(self.base_bytes)
