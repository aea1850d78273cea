"""`fields.<column>.ignore-retract`: values that retract are passed over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lithify.rewriting.order import IntPart
from lithify.rewriting.records import Mask
from lithify.tables.paimon.primary_key.merge_functions.aggregates.model import FieldAggregate, FieldSelection
from lithify.tables.paimon.primary_key.merge_functions.aggregates.segments import spread, starts_of


@dataclass(frozen=True, slots=True)
class IgnoresRetractions:
    """An aggregate of the values that do not retract; null where all do."""

    inner: FieldAggregate

    def aggregate(self, values: pa.Array, starts: IntPart, retracts: Mask) -> pa.Array:
        """What the inner function makes of the other values."""
        if not retracts.any():
            return self.inner.aggregate(values, starts, retracts)
        left, some = starts_of(~retracts, starts)
        if not some.any():
            return pa.nulls(len(starts), values.type)
        kept = values.filter(pa.array(~retracts))
        return spread(self.inner.aggregate(kept, left, np.zeros(len(kept), dtype=bool)), some)


@dataclass(frozen=True, slots=True)
class SelectionIgnoresRetractions(IgnoresRetractions):
    """The same for functions that select a value by its place."""

    inner: FieldSelection

    def select(self, valid: Mask, starts: IntPart, retracts: Mask) -> IntPart:
        """The place that the inner function selects among the other values."""
        places = np.flatnonzero(~retracts)
        left, some = starts_of(~retracts, starts)
        selected = np.full(len(starts), -1, dtype=np.int64)
        if len(places):
            inner = self.inner.select(valid[places], left, np.zeros(len(places), dtype=bool))
            selected[some] = np.where(inner < 0, -1, places[inner])
        return selected
