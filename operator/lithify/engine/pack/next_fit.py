"""Packs a sequence of weights into bins in its order: a bin ends where the next weight does not fit any more.

Called by planners of adapters. Pure. Takes a step per bin instead of one per weight.
"""

from __future__ import annotations

import numpy as np

from lithify.columns.column_groups import Numbers


def next_fit(weights: Numbers, capacity: int, most: int | None = None) -> Numbers:
    """The start of each bin.

    Args:
        weights: the weights, none negative.
        capacity: upper bound of a bin's weight, unless a single weight is larger.
        most: upper bound of the number of weights in a bin; None for no limit.
    """
    ends = np.cumsum(weights)
    starts, start = [], 0
    while start < len(weights):
        starts.append(start)
        before = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + capacity, side="right")))
        start = stop if most is None else min(stop, start + most)
    return np.array(starts, dtype=np.int64)
