"""The parameters of packing: a table's compaction options as numbers.

Adapters create a `PackingOptions` from table options; the other modules here only read it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PackingOptions:
    """The options of one table that steer bin packing. Sizes in bytes.

    Attributes:
        is_ordered: whether the rows of a group have an order, so that only adjacent files may be joined.
        target_file_size: size at which output files roll.
        small_file_size: files below this are small.
        open_file_cost: bytes that every file counts in a bin in addition to its size.
        min_files: number of files from which a bin is compacted even if it is not full.
        max_files: number of small files of a group that one plan takes at most.
        force_rewrite: whether a full compaction of an ordered group rewrites large files, too.
        leftover_millis: age of the newest leftover from which fewer than `min_files` files are compacted.
        delete_ratio: share of deleted rows above which a file is rewritten, even alone; None if the table has
            no deletion vectors.
    """

    is_ordered: bool = False
    target_file_size: int = 256 << 20
    small_file_size: int = (256 << 20) // 10 * 7
    open_file_cost: int = 4 << 20
    min_files: int = 5
    max_files: int = 100_000
    force_rewrite: bool = False
    leftover_millis: int = 3_600_000
    delete_ratio: float | None = None

    @property
    def full_bin_size(self) -> int:
        """Size from which a bin is full."""
        return 2 * self.target_file_size
