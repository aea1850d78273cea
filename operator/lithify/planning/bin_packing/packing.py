"""Packs small files of a partition into bins, each of which is rewritten by one task.

Called by `plan`. Pure. The rules are those of Paimon's `AppendCompactCoordinator`. In tables with deletion
vectors, files with too many deleted rows are packed, too, and every packed file with deleted rows is
rewritten, if need be alone. An index file has the vectors of several data files and is written again when one
of these goes; so its data files are packed together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lithify.planning.bin_packing.policy import PackingOptions
from lithify.tables.model import DataFile

Bin = tuple[DataFile, ...]
"""Files that are joined, in the order of their rows."""


@dataclass(frozen=True, slots=True)
class Packed:
    """The bins of a partition.

    Attributes:
        small_bins: small files without deleted rows that are worth a compaction, smallest files first.
        vector_bins: files with deleted rows, those of one index file together.
        leftovers: small files that are too few for a bin.
    """

    small_bins: tuple[Bin, ...]
    vector_bins: tuple[Bin, ...]
    leftovers: Bin

    @property
    def bins(self) -> tuple[Bin, ...]:
        """All bins, in the order of Paimon's tasks."""
        return self.vector_bins + self.small_bins

    @property
    def newest_leftover_millis(self) -> int | None:
        """Creation time of the newest leftover if there are several: one file alone is never compacted."""
        if len(self.leftovers) < 2:
            return None
        return max(file.created_millis for file in self.leftovers)


def pack(files: Iterable[DataFile], options: PackingOptions, *, drops_all_deleted: bool = False) -> Packed:
    """Packs the small files among the given ones, from the smallest on; others are passed over.

    Args:
        files: the files of a partition.
        options: the options that steer bin packing.
        drops_all_deleted: whether to pack every file with deleted rows, however few these are.
    """
    candidates = [file for file in files if _is_candidate(file, options, drops_all_deleted=drops_all_deleted)]
    candidates = candidates[: options.max_files]
    vector_bins = _vector_bins([file for file in candidates if file.vector_file is not None], options)
    small_bins, leftovers = _small_bins([file for file in candidates if file.vector_file is None], options)
    return Packed(small_bins, vector_bins, leftovers)


def has_many_deleted(file: DataFile, options: PackingOptions) -> bool:
    """Whether the share of deleted rows is above the limit; also if nobody has counted them."""
    if options.delete_ratio is None or file.vector_file is None:
        return False
    return file.deleted_rows is None or file.deleted_rows > file.rows * options.delete_ratio


def _is_candidate(file: DataFile, options: PackingOptions, *, drops_all_deleted: bool) -> bool:
    is_marked = file.vector_file is not None and drops_all_deleted
    return file.size < options.small_file_size or is_marked or has_many_deleted(file, options)


def _vector_bins(files: Iterable[DataFile], options: PackingOptions) -> tuple[Bin, ...]:
    """Bins of whole groups of files that share an index file, smallest groups first; takes all files."""
    groups: dict[str, list[DataFile]] = {}
    for file in _smallest_first(files):
        groups.setdefault(file.vector_file or "", []).append(file)
    sizes = {name: sum(file.size for file in group) for name, group in groups.items()}
    in_order = sorted(groups, key=lambda name: (sizes[name], name))
    bins, rest = _filled((groups[name] for name in in_order), options)
    return (*bins, rest) if rest else bins


def _small_bins(files: Iterable[DataFile], options: PackingOptions) -> tuple[tuple[Bin, ...], Bin]:
    """Bins of small files, and those that are too few for one."""
    bins, rest = _filled(([file] for file in _smallest_first(files)), options)
    return ((*bins, rest), ()) if len(rest) >= max(2, options.min_files) else (bins, rest)


def _filled(groups: Iterable[Sequence[DataFile]], options: PackingOptions) -> tuple[tuple[Bin, ...], Bin]:
    """Fills bins with groups in their order; returns the full bins, and what remains for another one."""
    bins: list[Bin] = []
    current: list[DataFile] = []
    size = 0
    for group in groups:
        current += group
        size += sum(file.size + options.open_file_cost for file in group)
        if len(current) > 1 and size >= options.full_bin_size:
            bins.append(tuple(current))
            current, size = [], 0
    return tuple(bins), tuple(current)


def _smallest_first(files: Iterable[DataFile]) -> list[DataFile]:
    return sorted(files, key=lambda each: (each.size, each.name))
