"""The functions max and min: the largest or smallest value of a group in Java's order.

Floating point numbers have a total order with -0.0 before 0.0 and NaN last; texts and binaries are ordered by
unsigned bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.order import IntPart, parts_of_column, rank_rows
from lithify.formats.paimon.options.merging.field_functions import FieldFunction
from lithify.formats.paimon.primary_key.merge_functions.aggregates.model import (
    FieldAggregate,
    NonRetractableAggregate,
)
from lithify.formats.paimon.primary_key.merge_functions.aggregates.segments import (
    first_of,
    last_of,
    sizes_of,
    spread,
    starts_of,
    valid_of,
)

_LOW_63_BITS = np.int64(0x7FFF_FFFF_FFFF_FFFF)


def extreme_of(function: FieldFunction) -> FieldAggregate:
    """The function max or min for a column."""
    return Extreme(function.name, function.options.column)


@dataclass(frozen=True, slots=True)
class Extreme(NonRetractableAggregate):
    """The largest (max) or smallest (min) value; nulls are ignored.

    Of equal values, max takes the first and min the last, as in Paimon.
    """

    def _aggregated(self, values: pa.Array, starts: IntPart) -> pa.Array:
        if not values.null_count and len(starts) and (numbers := _numbers(values)) is not None:
            most = np.maximum if self.name == "max" else np.minimum
            return pa.array(most.reduceat(numbers, starts)).cast(_stored(values.type)).view(values.type)
        left, some = starts_of(valid_of(values), starts)
        kept = values.drop_null() if values.null_count else values
        if not len(kept):
            return values.take(pa.array(np.zeros(len(starts), dtype=np.int64)))
        ranks, sizes = _ranks(kept), sizes_of(left, len(kept))
        if self.name == "max":
            places = first_of(ranks == np.repeat(np.maximum.reduceat(ranks, left), sizes), left)
        else:
            places = last_of(ranks == np.repeat(np.minimum.reduceat(ranks, left), sizes), left)
        return spread(kept.take(pa.array(places)), some)


def _numbers(values: pa.Array) -> IntPart | None:
    """The numbers as which the values are stored; None if they are not stored as integers."""
    kind = values.type
    is_stored = pa.types.is_date32(kind) or pa.types.is_time32(kind) or pa.types.is_timestamp(kind)
    return cast(IntPart, parts_of_column(values)[0]) if is_stored or pa.types.is_integer(kind) else None


def _stored(kind: pa.DataType) -> pa.DataType:
    """The type of the numbers as which values are stored."""
    if pa.types.is_integer(kind):
        return kind
    return pa.int64() if pa.types.is_timestamp(kind) else pa.int32()


def _ranks(values: pa.Array) -> IntPart:
    """The rank of each value."""
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        # Values often repeat, so each distinct value is compared only once.
        encoded = values.dictionary_encode()
        ranks: IntPart = rank_rows(parts_of_column(encoded.dictionary))[encoded.indices.to_numpy()]
        return ranks
    if not pa.types.is_floating(values.type):
        return rank_rows(parts_of_column(values))
    floats = pc.cast(values, pa.float64()).to_numpy(zero_copy_only=False)
    bits = np.where(np.isnan(floats), np.nan, floats).view(np.int64)
    return bits ^ ((bits >> 63) & _LOW_63_BITS)
