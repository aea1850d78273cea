"""How the files of groups overlap in the values of one column, so that neighbours are joined with neighbours.

Called by planners of formats whose metadata has bounds of columns. Bounds are ranks: integers with the order
of the values, -1 where a file has none. Files of different groups never overlap. Pure, without a loop over
files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lithify.columns.column_groups import Flags, Numbers

_CLUSTERED = 0.5
"""Share of a group with which a file of a clustered column overlaps at most, on average."""


@dataclass(frozen=True, slots=True)
class Overlaps:
    """The ranges of files in one column.

    Attributes:
        groups: the group of each file.
        lower: rank of its lower bound; -1 if unknown.
        upper: rank of its upper bound; -1 if unknown.
        is_narrow: whether all of its values are equal, as far as bounds tell: sorting divides it no further.
    """

    groups: Numbers
    lower: Numbers
    upper: Numbers
    is_narrow: Flags

    @property
    def is_known(self) -> Flags:
        """The files with bounds."""
        return (self.lower >= 0) & (self.upper >= self.lower)

    def _codes(self, bounds: Numbers) -> Numbers:
        """Bounds that compare within their group only."""
        step = int(self.upper.max(initial=0)) + 2
        return self.groups * step + bounds

    def depths(self, files: Flags) -> Numbers:
        """For each file, the number of files that have its lower bound in their range, itself included.

        Args:
            files: the files that count; others have depth 0.
        """
        rows = np.flatnonzero(files & self.is_known)
        lower, upper = self._codes(self.lower)[rows], self._codes(self.upper)[rows]
        order = np.argsort(lower)  # bounds that ascend are found several times faster
        starts = lower[order]
        begun = np.searchsorted(starts, starts, side="right")
        ended = np.searchsorted(np.sort(upper), starts)
        found = np.zeros(len(files), dtype=np.int64)
        found[rows[order]] = begun - ended
        return found

    def overlap(self) -> float:
        """The share of its group with which a file overlaps on average, from 0 to 1; 1 if few have bounds."""
        pairs, others = self.pairs()
        return overlap_of(len(others), int(self.is_known.sum()), int(pairs.sum()), int(others.sum()))

    def pairs(self) -> tuple[Numbers, Numbers]:
        """For each file the number of others that have its lower bound in their range, and of all others.

        Both are 0 for files without bounds.
        """
        known = self.is_known
        sizes = np.bincount(self.groups[known], minlength=int(self.groups.max(initial=0)) + 1)
        others = np.where(known, sizes[self.groups] - 1, 0)
        return np.where(others > 0, self.depths(known) - 1, 0), others

    def crowded(self, threshold: int) -> Flags:
        """The files in whose range a value lies that at least `threshold` files have in theirs."""
        files = self.is_known & ~self.is_narrow
        points = np.sort(self._codes(self.lower)[self.depths(files) >= threshold])
        before = np.searchsorted(points, self._codes(self.lower))
        until = np.searchsorted(points, self._codes(self.upper), side="right")
        crowded: Flags = files & (until > before)
        return crowded

    def order(self, rows: Numbers) -> Numbers:
        """Some files by their group and their bounds; those without bounds come last, in their order."""
        most = int(self.upper.max(initial=0)) + 1
        is_known = self.is_known[rows]
        lower, upper = (np.where(is_known, bounds[rows], most) for bounds in (self.lower, self.upper))
        return rows[np.lexsort((upper, self.groups[rows] * (most + 1) + lower))]

    def gaps(self, ordered: Numbers, others: Flags) -> Flags:
        """Before which files there is another one that lies entirely between it and all files before it.

        Joining files across such a gap would make a file that overlaps what had been apart.

        Args:
            ordered: files that might be joined, as `order` returns them.
            others: the files that stay.
        """
        lower, upper = self._codes(self.lower), self._codes(self.upper)
        known = self.is_known
        starts, ends = (np.sort(codes[others & known]) for codes in (lower, upper))
        reached = np.maximum.accumulate(np.where(known[ordered], upper[ordered], -1))
        reached = np.concatenate([[-1], reached[:-1]])
        passed = np.searchsorted(ends, lower[ordered])
        found: Flags = known[ordered] & (passed > np.searchsorted(starts, reached, side="right"))
        return found


def overlap_of(files: int, known: int, pairs: int, others: int) -> float:
    """The share of its group with which a file overlaps on average, from sums over files.

    Args:
        files: number of files.
        known: number of those with bounds.
        pairs: see `Overlaps.pairs`.
        others: likewise.
    """
    return 1.0 if 2 * known < files or not others else pairs / others


def least_overlapping(overlaps: Sequence[float]) -> int | None:
    """The number of the column by which files are clustered; None if by none."""
    if not overlaps:
        return None
    least = int(np.argmin(overlaps))
    return least if overlaps[least] < _CLUSTERED else None
