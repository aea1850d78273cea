"""Groups of adjacent values: sizes, first and last positions, and iteration by step.

Used by the aggregates. A group is given by its start position; groups cover all values, and none is empty.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from lithify.columns.nulls import take_or_null
from lithify.columns.order import IntPart
from lithify.engine.rewrite.records import Mask


def sizes_of(starts: IntPart, total: int) -> IntPart:
    """The number of values of each group."""
    return np.diff(starts, append=total)


def any_of(chosen: Mask, starts: IntPart) -> Mask:
    """Mask of the groups with a chosen value."""
    found: Mask = np.logical_or.reduceat(chosen, starts) if len(starts) else np.zeros(0, dtype=bool)
    return found


def first_of(chosen: Mask, starts: IntPart) -> IntPart:
    """The position of the first chosen value of each group, -1 for none."""
    if not len(starts):
        return np.empty(0, dtype=np.int64)
    total = len(chosen)
    first = np.minimum.reduceat(np.where(chosen, np.arange(total), total), starts)
    return np.where(first == total, -1, first)


def last_of(chosen: Mask, starts: IntPart) -> IntPart:
    """The position of the last chosen value of each group, -1 for none."""
    if not len(starts):
        return np.empty(0, dtype=np.int64)
    last: IntPart = np.maximum.reduceat(np.where(chosen, np.arange(len(chosen)), -1), starts)
    return last


def sums_of(numbers: IntPart, starts: IntPart, retracts: Mask) -> IntPart:
    """The sum of each group, in 64 bits; values that retract are subtracted."""
    if retracts.any():
        numbers = np.where(retracts, -numbers, numbers)
    sums: IntPart = np.add.reduceat(numbers, starts) if len(starts) else numbers
    return sums


def starts_of(chosen: Mask, starts: IntPart) -> tuple[IntPart, Mask]:
    """Start positions of groups among the chosen values only, and a mask of groups with a chosen value."""
    counts = np.add.reduceat(chosen.astype(np.int64), starts) if len(starts) else starts
    some = counts > 0
    left = counts[some]
    return np.cumsum(left) - left, some


def steps_of(starts: IntPart, total: int) -> Iterator[tuple[IntPart, IntPart]]:
    """Yields the first value of all groups, then the steps of `later_steps_of`."""
    yield np.arange(len(starts)), starts
    yield from later_steps_of(starts, total)


def later_steps_of(starts: IntPart, total: int) -> Iterator[tuple[IntPart, IntPart]]:
    """Yields the second value of all groups that have one, then the third, and so on.

    A group has at most as many values as there are runs and every value is yielded once, so there are few
    steps, and together they cost one pass over all values.

    Yields:
        numbers of groups, and the position of one value of each.
    """
    sizes = sizes_of(starts, total)
    groups, step = np.flatnonzero(sizes > 1), 1
    while len(groups):
        yield groups, starts[groups] + step
        step += 1
        groups = groups[sizes[groups] > step]


def used_in_product(valid: Mask, starts: IntPart, retracts: Mask) -> Mask:
    """Mask of the values that count: not null, and no retraction before the first factor."""
    first = first_of(valid & ~retracts, starts)
    begun = np.where(first < 0, len(valid), first)
    used: Mask = valid & (np.arange(len(valid)) >= np.repeat(begun, sizes_of(starts, len(valid))))
    return used


def valid_of(values: pa.Array) -> Mask:
    """Mask of the values that are not null."""
    valid: Mask = values.is_valid().to_numpy(zero_copy_only=False)
    return valid


def spread(values: pa.Array, some: Mask) -> pa.Array:
    """Spreads values to the groups in the mask; null for other groups."""
    if some.all():
        return values
    return take_or_null(values, np.where(some, np.cumsum(some) - 1, -1))
