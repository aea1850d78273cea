"""`fields.<column>.ignore-retract`: aggregates that ignore retractions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lithify.columns.order import IntPart
from lithify.engine.rewrite.records import Mask
from lithify.formats.paimon.primary_key.merge_functions.aggregates.model import FieldAggregate, FieldSelection
from lithify.formats.paimon.primary_key.merge_functions.aggregates.segments import spread, starts_of


@dataclass(frozen=True, slots=True)
class IgnoresRetractions:
    """Aggregates only the values that do not retract; null if all retract."""

    inner: FieldAggregate

    def aggregate(self, values: pa.Array, starts: IntPart, retracts: Mask) -> pa.Array:
        """The inner function's result for the values that do not retract."""
        if not retracts.any():
            return self.inner.aggregate(values, starts, retracts)
        left, some = starts_of(~retracts, starts)
        if not some.any():
            return pa.nulls(len(starts), values.type)
        kept = values.filter(pa.array(~retracts))
        return spread(self.inner.aggregate(kept, left, np.zeros(len(kept), dtype=bool)), some)


@dataclass(frozen=True, slots=True)
class SelectionIgnoresRetractions(IgnoresRetractions):
    """Like `IgnoresRetractions`, for functions that select a value by position."""

    inner: FieldSelection

    def takes_newest(self, *, retracts: bool) -> bool:
        """Whether the inner function selects the last value, and that does not retract."""
        return not retracts and self.inner.takes_newest(retracts=False)

    def select(self, valid: Mask, starts: IntPart, retracts: Mask) -> IntPart:
        """The position that the inner function selects among the values that do not retract."""
        places = np.flatnonzero(~retracts)
        left, some = starts_of(~retracts, starts)
        selected = np.full(len(starts), -1, dtype=np.int64)
        if len(places):
            inner = self.inner.select(valid[places], left, np.zeros(len(places), dtype=bool))
            selected[some] = np.where(inner < 0, -1, places[inner])
        return selected
