"""Packs small files of a group, in any order, into bins, each of which is rewritten by one task.

Called by `triggers`. Pure. The rules are those of Paimon's `AppendCompactCoordinator`. In tables with
deletion vectors, files with too many deleted rows are packed, too, and every packed file with deleted rows is
rewritten, if need be alone. A file of vectors may have those of several data files and is written again when
one of these goes; so its data files are packed together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic

from lithify.engine.pack.figures import F, FileFigures
from lithify.engine.pack.options import PackingOptions

Bin = tuple[F, ...]
"""Files that are joined, in the order of their rows."""


@dataclass(frozen=True, slots=True)
class Packed(Generic[F]):
    """The bins of a group of files.

    Attributes:
        small_bins: small files without deleted rows that are worth a compaction, smallest files first.
        vector_bins: files with deleted rows, those of one file of vectors together.
        leftovers: small files that are too few for a bin.
    """

    small_bins: tuple[Bin[F], ...]
    vector_bins: tuple[Bin[F], ...]
    leftovers: Bin[F]

    @property
    def bins(self) -> tuple[Bin[F], ...]:
        """All bins, those with deleted rows first."""
        return self.vector_bins + self.small_bins

    def newest_leftover_millis(self, options: PackingOptions, now: int) -> int | None:
        """Creation time of the newest leftover; None if there is none.

        A file cannot be newer than `now`, so the clock of its writer was wrong if it is by more than the age
        of leftovers. Such files do not count, so that they do not keep the others waiting.
        """
        latest = now + options.leftover_millis
        ages = (file.created_millis for file in self.leftovers)
        return max((created for created in ages if created <= latest), default=None)

    def leftovers_due_millis(self, options: PackingOptions, now: int) -> int | None:
        """When the newest leftover is old enough; None if there is one at most, which is never compacted."""
        if len(self.leftovers) < 2:
            return None
        newest = self.newest_leftover_millis(options, now)
        return now if newest is None else newest + options.leftover_millis


def pack(files: Iterable[F], options: PackingOptions) -> Packed[F]:
    """Packs small files, and those with many deleted rows; other files are passed over."""
    candidates = [file for file in files if _is_small(file, options) or has_many_deleted(file, options)]
    marked, small = _divided(candidates[: options.max_files])
    bins, rest = _filled(_groups(marked), options)
    small_bins, leftovers = _filled(([file] for file in _smallest_first(small)), options)
    if len(leftovers) >= max(2, options.min_files):
        small_bins, leftovers = (*small_bins, leftovers), ()
    return Packed(small_bins, (*bins, rest) if rest else bins, leftovers)


def pack_fully(files: Iterable[F], options: PackingOptions) -> tuple[Bin[F], ...]:
    """Packs all small files, and all files with deleted rows, however few these are."""
    candidates = [file for file in files if _is_small(file, options) or file.vector_file is not None]
    marked, small = _divided(candidates[: options.max_files])
    groups = [*_groups(marked), *([file] for file in _smallest_first(small))]
    bins, rest = _filled(groups, options)
    is_work = len(rest) > 1 or any(file.vector_file is not None for file in rest)
    return (*bins, rest) if is_work else bins


def has_many_deleted(file: FileFigures, options: PackingOptions) -> bool:
    """Whether the share of deleted rows is above the limit; also if nobody has counted them."""
    if options.delete_ratio is None or file.vector_file is None:
        return False
    return file.deleted_rows is None or file.deleted_rows > file.rows * options.delete_ratio


def _is_small(file: FileFigures, options: PackingOptions) -> bool:
    return file.size < options.small_file_size


def _divided(files: Iterable[F]) -> tuple[list[F], list[F]]:
    """The files with deleted rows, and the others."""
    marked: list[F] = []
    others: list[F] = []
    for file in files:
        (others if file.vector_file is None else marked).append(file)
    return marked, others


def _groups(marked: Iterable[F]) -> list[list[F]]:
    """The files that share a file of vectors, smallest groups first."""
    groups: dict[str, list[F]] = {}
    for file in _smallest_first(marked):
        groups.setdefault(file.vector_file or "", []).append(file)
    sizes = {name: sum(file.size for file in group) for name, group in groups.items()}
    return [groups[name] for name in sorted(groups, key=lambda name: (sizes[name], name))]


def _filled(groups: Iterable[Sequence[F]], options: PackingOptions) -> tuple[tuple[Bin[F], ...], Bin[F]]:
    """Fills bins with groups in their order; returns the full bins, and what remains for another one."""
    bins: list[Bin[F]] = []
    current: list[F] = []
    size = 0
    for group in groups:
        current += group
        size += sum(file.size + options.open_file_cost for file in group)
        if len(current) > 1 and size >= options.full_bin_size:
            bins.append(tuple(current))
            current, size = [], 0
    return tuple(bins), tuple(current)


def _smallest_first(files: Iterable[F]) -> list[F]:
    return sorted(files, key=lambda each: (each.size, each.name))
