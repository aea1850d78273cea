"""Aggregates values some of which come late in a sequence group: Paimon swaps the arguments for those.

Called by `accumulating` for functions whose result depends on which argument is the accumulator. Groups
without late values are aggregated as always. The others take one value after the other, all in each step.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lithify.columns.order import IntPart
from lithify.engine.rewrite.records import Mask
from lithify.formats.paimon.primary_key.merge_functions.aggregates.model import FieldAggregate
from lithify.formats.paimon.primary_key.merge_functions.aggregates.segments import (
    any_of,
    later_steps_of,
    sizes_of,
)


def aggregate_swapping(
    function: FieldAggregate, values: pa.Array, starts: IntPart, retracts: Mask, late: Mask
) -> pa.Array:
    """One value per group, like `FieldAggregate.aggregate`.

    Args:
        function: the function; its first value must become the accumulator unchanged, and it must keep no
            state but the accumulator.
        values: as there.
        starts: as there.
        retracts: as there.
        late: mask of the values that come late and do not retract; the first of a group never counts as one.
    """
    swaps = any_of(late, starts)
    if not swaps.any():
        return function.aggregate(values, starts, retracts)
    sizes = sizes_of(starts, len(values))
    with_late = np.repeat(swaps, sizes)
    stepwise = _stepwise(function, *_only(with_late, sizes[swaps], values, retracts, late))
    if swaps.all():
        return stepwise
    others = ~with_late
    kept, begins, their_retracts, _ = _only(others, sizes[~swaps], values, retracts, late)
    at_once = function.aggregate(kept, begins, their_retracts)
    order = np.empty(len(starts), dtype=np.int64)
    order[np.concatenate((np.flatnonzero(~swaps), np.flatnonzero(swaps)))] = np.arange(len(starts))
    return pa.concat_arrays([at_once, stepwise]).take(pa.array(order))


def _only(
    chosen: Mask, sizes: IntPart, values: pa.Array, retracts: Mask, late: Mask
) -> tuple[pa.Array, IntPart, Mask, Mask]:
    """The chosen values, the starts of their groups, and the masks restricted to them."""
    return (
        values.filter(pa.array(chosen)),
        np.cumsum(sizes) - sizes,
        retracts[chosen],
        late[chosen],
    )


def _stepwise(
    function: FieldAggregate, values: pa.Array, starts: IntPart, retracts: Mask, late: Mask
) -> pa.Array:
    """One value after the other: each step aggregates pairs of an accumulator and a value."""
    begins = np.arange(len(starts))
    accumulators = function.aggregate(values.take(pa.array(starts)), begins, retracts[starts])
    for groups, places in later_steps_of(starts, len(values)):
        both = pa.concat_arrays([accumulators.take(pa.array(groups)), values.take(pa.array(places))])
        count, swapped = len(groups), late[places]
        pairs = np.stack((np.arange(count), np.arange(count) + count), axis=1)
        pairs[swapped] = pairs[swapped][:, ::-1]
        taken = np.zeros(2 * count, dtype=bool)
        taken[1::2] = retracts[places]
        stepped = function.aggregate(both.take(pa.array(pairs.reshape(-1))), 2 * np.arange(count), taken)
        places_of = np.arange(len(starts))
        places_of[groups] = len(starts) + np.arange(count)
        accumulators = pa.concat_arrays([accumulators, stepped]).take(pa.array(places_of))
    return accumulators
