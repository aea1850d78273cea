"""Which manifests of a snapshot a merge rewrites, and whether that is worth a snapshot. Pure.

Called by the maintenance of formats with manifests, which say in plain figures what their lists tell. A
manifest is rewritten if it must be (it has or hides entries that vanish), if it is small, or if it is one of
several full ones whose partitions overlap: readers with a filter on partitions have to open all of these.
What is full and apart from the others stays as it is, so a merge costs what has changed since the last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lithify.columns.column_groups import Flags, Numbers

FULL_SHARE = 0.75
"""Share of the target size from which a manifest is full: commits pack manifests up to the target, so that
many end somewhat below."""
LEAST_FEWER = 4
"""Number of manifests that a merge has to save: readers open several at a time, and commits merge some."""
LEAST_DROPPED = 1_000
LEAST_DROPPED_SHARE = 0.1
"""Number of entries, and their share of all, from which it is worth a snapshot that they vanish."""
LEAST_OVERLAPPING = 4
"""Number of full manifests with overlapping partitions from which they are sorted."""


@dataclass(frozen=True, slots=True)
class ManifestFigures:
    """Manifests that may be merged with each other, as numbers of each.

    Attributes:
        sizes: bytes of the files.
        entries: number of entries.
        dropped: number of entries that are not written again.
        low: rank of the least partition; -1 where it is unknown.
        high: rank of the greatest partition, likewise.
        must_change: whether it is rewritten in any case.
    """

    sizes: Numbers
    entries: Numbers
    dropped: Numbers
    low: Numbers
    high: Numbers
    must_change: Flags

    @property
    def left(self) -> Numbers:
        """Bytes of the entries that are written again, by their number."""
        kept = (self.entries - self.dropped) / np.maximum(self.entries, 1)
        return np.asarray(self.sizes * kept).astype(np.int64)


@dataclass(frozen=True, slots=True)
class ManifestChoice:
    """The manifests that are rewritten.

    Attributes:
        rewritten: mask of the manifests.
        overlapping: number of full manifests among them that are rewritten because their partitions overlap.
        new: number of manifests afterwards, from the sizes of those before.
        entries: their entries.
        dropped: number of these that are not written again.
        size: bytes of the rewritten manifests.
    """

    rewritten: Flags
    overlapping: int
    new: int
    entries: int
    dropped: int
    size: int

    @property
    def count(self) -> int:
        """Number of the rewritten manifests."""
        return int(self.rewritten.sum())


def choose_manifests(figures: ManifestFigures, target_size: int) -> ManifestChoice:
    """Chooses the manifests to rewrite.

    Args:
        figures: the manifests.
        target_size: size in bytes at which new manifests roll.
    """
    is_small = figures.left < FULL_SHARE * target_size
    overlapping = _overlapping(figures, ~is_small & ~figures.must_change)
    rewritten = is_small | overlapping | figures.must_change
    if rewritten.sum() == 1 and not figures.dropped[rewritten].any():
        rewritten = np.zeros_like(rewritten)  # it would be copied
    return ManifestChoice(
        rewritten=rewritten,
        overlapping=int(overlapping.sum()),
        new=-(-int(figures.left[rewritten].sum()) // target_size),
        entries=int(figures.entries[rewritten].sum()),
        dropped=int(figures.dropped[rewritten].sum()),
        size=int(figures.sizes[rewritten].sum()),
    )


def is_worthwhile(choices: Sequence[ManifestChoice], all_entries: int) -> bool:
    """Whether merges of one snapshot together are worth another snapshot.

    Args:
        choices: the merges.
        all_entries: number of entries in all manifests of the snapshot.
    """
    fewer = sum(choice.count - choice.new for choice in choices)
    dropped = sum(choice.dropped for choice in choices)
    is_shorter = dropped >= max(LEAST_DROPPED, LEAST_DROPPED_SHARE * all_entries)
    return fewer >= LEAST_FEWER or is_shorter or any(choice.overlapping for choice in choices)


def _overlapping(figures: ManifestFigures, candidates: Flags) -> Flags:
    """Mask of the candidates in chains of overlapping ranges that are long enough.

    Ranges that only share an end do not overlap: a partition may fill many manifests.
    """
    found = np.zeros(len(candidates), dtype=bool)
    places = np.flatnonzero(candidates & (figures.low >= 0) & (figures.high >= 0))
    places = places[np.lexsort((figures.high[places], figures.low[places]))]
    if not len(places):
        return found
    reached = np.maximum.accumulate(figures.high[places])
    is_apart = np.concatenate([[True], figures.low[places][1:] >= reached[:-1]])
    chains = np.cumsum(is_apart) - 1
    found[places] = np.bincount(chains)[chains] >= LEAST_OVERLAPPING
    return found
