"""The functions bool_and and bool_or."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lithify.errors import InvalidOption
from lithify.rewriting.order import IntPart
from lithify.rewriting.records import Mask
from lithify.tables.files.types import ColumnType
from lithify.tables.paimon.primary_key.merge_functions.aggregates.model import (
    FieldAggregate,
    FieldOptions,
    cannot_retract,
)
from lithify.tables.paimon.primary_key.merge_functions.aggregates.segments import any_of, valid_of


def boolean_of(name: str, column: ColumnType, options: FieldOptions) -> FieldAggregate:
    """The function bool_and or bool_or for a column.

    Raises:
        InvalidOption: its values are no booleans.
    """
    if column.root != "BOOLEAN":
        raise InvalidOption(
            f"fields.{options.column}.aggregate-function",
            f"Paimon has {name} for BOOLEAN only, and the column's type is {column.root}",
        )
    return Booleans(name, options.column)


@dataclass(frozen=True, slots=True)
class Booleans:
    """Whether all values are true, or any is; nulls do not count.

    Attributes:
        name: bool_and or bool_or.
        column: for messages.
    """

    name: str
    column: str

    def aggregate(self, values: pa.Array, starts: IntPart, retracts: Mask) -> pa.Array:
        """One value a group, null where all values are."""
        if retracts.any():
            raise cannot_retract(self.name, self.column)
        decisive = values.fill_null(False).to_numpy(zero_copy_only=False)
        if self.name == "bool_and":
            decisive = valid_of(values) & ~decisive
        found = any_of(decisive, starts)
        result = ~found if self.name == "bool_and" else found
        return pa.array(result, mask=~np.asarray(any_of(valid_of(values), starts)))
