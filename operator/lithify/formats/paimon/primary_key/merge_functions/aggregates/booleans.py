"""The functions bool_and and bool_or."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lithify.columns.order import IntPart
from lithify.formats.paimon.options.merging.field_functions import FieldFunction
from lithify.formats.paimon.primary_key.merge_functions.aggregates.model import (
    FieldAggregate,
    NonRetractableAggregate,
)
from lithify.formats.paimon.primary_key.merge_functions.aggregates.segments import any_of, valid_of


def boolean_of(function: FieldFunction) -> FieldAggregate:
    """The function bool_and or bool_or for a column."""
    return Booleans(function.name, function.options.column)


@dataclass(frozen=True, slots=True)
class Booleans(NonRetractableAggregate):
    """Whether all (bool_and) or any (bool_or) values are true; nulls are ignored."""

    def _aggregated(self, values: pa.Array, starts: IntPart) -> pa.Array:
        decisive = values.fill_null(False).to_numpy(zero_copy_only=False)
        if self.name == "bool_and":
            decisive = valid_of(values) & ~decisive
        found = any_of(decisive, starts)
        result = ~found if self.name == "bool_and" else found
        return pa.array(result, mask=~np.asarray(any_of(valid_of(values), starts)))
