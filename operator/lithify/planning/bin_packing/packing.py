"""Packs small files of a partition into bins, each of which is rewritten by one task.

Called by `plan`. Pure. The rules are those of Paimon's `AppendCompactCoordinator`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lithify.planning.bin_packing.policy import PackingOptions
from lithify.tables.model import DataFile

Bin = tuple[DataFile, ...]
"""Files that are joined, in the order of their rows."""


@dataclass(frozen=True, slots=True)
class Packed:
    """The bins of a partition.

    Attributes:
        bins: files that are worth a compaction, smallest files first.
        leftovers: small files that are too few for a bin.
    """

    bins: tuple[Bin, ...]
    leftovers: Bin

    @property
    def newest_leftover_millis(self) -> int | None:
        """Creation time of the newest leftover if there are several: one file alone is never compacted."""
        if len(self.leftovers) < 2:
            return None
        return max(file.created_millis for file in self.leftovers)


def pack(files: Iterable[DataFile], options: PackingOptions) -> Packed:
    """Packs the small files among the given ones, from the smallest on; others are passed over."""
    small = [file for file in files if file.size < options.small_file_size][: options.max_files]
    bins: list[Bin] = []
    current: list[DataFile] = []
    size = 0
    for file in sorted(small, key=lambda each: (each.size, each.name)):
        current.append(file)
        size += file.size + options.open_file_cost
        if len(current) > 1 and size >= options.full_bin_size:
            bins.append(tuple(current))
            current, size = [], 0
    if len(current) >= max(2, options.min_files):
        bins.append(tuple(current))
        current = []
    return Packed(tuple(bins), tuple(current))
