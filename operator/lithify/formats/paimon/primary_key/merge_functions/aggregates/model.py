"""The interfaces of aggregate functions.

Made by `factory`; called by the merge functions of the engines aggregation and partial-update. An aggregate
is stateless and works on the values of one column in the order in which they are applied.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import pyarrow as pa

from lithify.columns.order import IntPart
from lithify.engine.rewrite.records import Mask
from lithify.errors import UnsupportedTable


class FieldAggregate(Protocol):
    """Reduces the values of one column in a key's records to one value; picklable."""

    def aggregate(self, values: pa.Array, starts: IntPart, retracts: Mask) -> pa.Array:
        """One value per group, of the type of `values`.

        Args:
            values: the values in the order in which they are applied, oldest first.
            starts: positions at which groups start, ascending; every group has at least one value.
            retracts: mask of the values that retract.

        Raises:
            UnsupportedTable: a value retracts, and Paimon's function cannot retract or has no result for it.
        """
        ...


@runtime_checkable
class FieldSelection(FieldAggregate, Protocol):
    """An aggregate that selects one of the values, or null, without reading them."""

    def takes_newest(self, *, retracts: bool) -> bool:
        """Whether the last value of each group is its result if no value is null.

        Args:
            retracts: whether any value retracts.
        """
        ...

    def select(self, valid: Mask, starts: IntPart, retracts: Mask) -> IntPart:
        """The position of each group's result, -1 for null.

        Args:
            valid: mask of the values that are not null.
            starts: as in `aggregate`.
            retracts: as in `aggregate`.
        """
        ...


@runtime_checkable
class SurvivesRemoval(Protocol):
    """An aggregate whose result depends on records before a delete that removes the record.

    All other aggregates start at the last such delete, as if it were the oldest record.
    """

    def aggregate_after(self, values: pa.Array, starts: IntPart, retracts: Mask, removes: Mask) -> pa.Array:
        """Like `aggregate`, but a value in `removes` replaces the result; later values are applied to it."""
        ...


@runtime_checkable
class TakesLateValues(Protocol):
    """An aggregate with a state of its own, which decides about late values in a sequence group."""

    def aggregate_late(self, values: pa.Array, starts: IntPart, retracts: Mask, late: Mask) -> pa.Array:
        """Like `aggregate`, but a value in `late` is the accumulator, and the accumulator the value."""
        ...


@runtime_checkable
class AggregatesRows(Protocol):
    """An aggregate of texts or arrays, which takes values from anywhere and those of lone records with them.

    So each of them is copied once. Otherwise they are copied to put them in order, to aggregate them, and to
    put the results between the values of lone records.
    """

    def aggregate_rows(self, column: pa.Array, order: IntPart, starts: IntPart) -> pa.Array:
        """Like `aggregate` for values that do not retract; the only value of a group stays unchanged.

        Args:
            column: the values.
            order: positions in `column`, by group, then in the order in which values are applied.
            starts: the positions in `order` at which groups start.
        """
        ...


@dataclass(frozen=True, slots=True)
class NonRetractableAggregate(ABC):
    """A `FieldAggregate` that cannot take a value back.

    Attributes:
        name: name of the function.
        column: column name for messages.
    """

    name: str
    column: str

    def aggregate(self, values: pa.Array, starts: IntPart, retracts: Mask) -> pa.Array:
        """One value per group, null if all values are null; see `FieldAggregate.aggregate`.

        Raises:
            UnsupportedTable: a value retracts, or the function cannot read it.
        """
        if retracts.any():
            raise cannot_retract(self.name, self.column)
        return self._aggregated(values, starts)

    @abstractmethod
    def _aggregated(self, values: pa.Array, starts: IntPart) -> pa.Array:
        """One value per group."""


def cannot_retract(function: str, column: str) -> UnsupportedTable:
    """The error for a value that retracts where Paimon's function cannot."""
    reason = (
        f"a record retracts its key (-U or -D), but the aggregate function {function} cannot take a value "
        f"back, so Paimon fails, too; set fields.{column}.ignore-retract = true if such records may be "
        "passed over"
    )
    return UnsupportedTable(f"column {column}", (reason,))
