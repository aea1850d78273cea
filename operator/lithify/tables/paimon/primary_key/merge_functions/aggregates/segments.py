"""Groups of neighbouring values: sizes, first and last places, and folding them one step at a time.

Used by the aggregates. A group is given by where it begins; groups together are all values, none is empty.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from lithify.rewriting.nulls import take_or_null
from lithify.rewriting.order import IntPart
from lithify.rewriting.records import Mask


def sizes_of(starts: IntPart, total: int) -> IntPart:
    """The number of values of each group."""
    return np.diff(starts, append=total)


def any_of(chosen: Mask, starts: IntPart) -> Mask:
    """Whether any value of each group is chosen."""
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


def starts_of(chosen: Mask, starts: IntPart) -> tuple[IntPart, Mask]:
    """Where groups begin among the chosen values alone, and which groups have any of them."""
    counts = np.add.reduceat(chosen.astype(np.int64), starts) if len(starts) else starts
    some = counts > 0
    left = counts[some]
    return np.cumsum(left) - left, some


def steps_of(starts: IntPart, total: int) -> Iterator[tuple[IntPart, IntPart]]:
    """The first value of all groups, and then as `later_steps_of`."""
    yield np.arange(len(starts)), starts
    yield from later_steps_of(starts, total)


def later_steps_of(starts: IntPart, total: int) -> Iterator[tuple[IntPart, IntPart]]:
    """The second value of all groups that have one, then the third, and so on.

    A group has at most as many values as there are runs, and every value comes up once: the steps are few,
    and cost as much as one pass over all values.

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
    """Which values count: none that retract before the first factor."""
    first = first_of(valid & ~retracts, starts)
    begun = np.where(first < 0, len(valid), first)
    used: Mask = valid & (np.arange(len(valid)) >= np.repeat(begun, sizes_of(starts, len(valid))))
    return used


def valid_of(values: pa.Array) -> Mask:
    """Which values are not null."""
    valid: Mask = values.is_valid().to_numpy(zero_copy_only=False)
    return valid


def spread(values: pa.Array, some: Mask) -> pa.Array:
    """One value for each group that has one, null for the others."""
    if some.all():
        return values
    return take_or_null(values, np.where(some, np.cumsum(some) - 1, -1))


def numbers_of(starts: IntPart, total: int) -> IntPart:
    """The number of the group of each value."""
    return np.repeat(np.arange(len(starts)), sizes_of(starts, total))
