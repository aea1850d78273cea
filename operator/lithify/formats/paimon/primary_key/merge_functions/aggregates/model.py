"""The interfaces of aggregate functions, and a table's options about them.

Made by `factory`; called by the merge functions of the engines aggregation and partial-update. An aggregate
is stateless and works on the values of one column in the order in which they are applied.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import pyarrow as pa

from lithify.columns.order import IntPart
from lithify.engine.rewrite.records import Mask
from lithify.errors import InvalidOption, UnsupportedTable
from lithify.files.types import ColumnType
from lithify.formats.paimon.options.option_reader import OptionReader

NO_LIMIT = (1 << 31) - 1


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


@dataclass(frozen=True, slots=True)
class FieldOptions:
    """The options `fields.<column>.*` of one column.

    Attributes:
        column: name of the column.
        ignore_retract: whether retractions are ignored.
        distinct: whether collections have no duplicates.
        delimiter: delimiter between the texts of a list.
        nested_key: the fields that identify a row in an array.
        count_limit: number of rows at which an array takes no more rows.
        time_field: the field of a map's values that tells which entry is newer, None for the last field.
    """

    column: str
    ignore_retract: bool = False
    distinct: bool = False
    delimiter: str = ","
    nested_key: tuple[str, ...] = ()
    count_limit: int = NO_LIMIT
    time_field: str | None = None

    @property
    def function_option(self) -> str:
        """The option that names the column's function, for messages."""
        return f"fields.{self.column}.aggregate-function"


def field_options(options: Mapping[str, str], column: str) -> FieldOptions:
    """Reads a table's options about the aggregation of a column.

    Raises:
        InvalidOption: a value cannot be parsed.
    """
    reader, prefix = OptionReader(options), f"fields.{column}"
    nested_key = options.get(f"{prefix}.nested-key")
    return FieldOptions(
        column=column,
        ignore_retract=reader.boolean(f"{prefix}.ignore-retract", default=False),
        distinct=reader.boolean(f"{prefix}.distinct", default=False),
        delimiter=options.get(f"{prefix}.list-agg-delimiter", ","),
        nested_key=() if nested_key is None else tuple(name.strip() for name in nested_key.split(",")),
        count_limit=reader.integer(f"{prefix}.count-limit", NO_LIMIT),
        time_field=options.get(f"{prefix}.ts-field"),
    )


def wrong_type(function: str, column: ColumnType, options: FieldOptions, types: str) -> InvalidOption:
    """The error for a column of a type for which Paimon does not have the function.

    Args:
        function: name of the function.
        column: the column's type.
        options: the table's options for the column.
        types: the types for which Paimon has the function, as words of a message.
    """
    problem = f"Paimon has {function} for {types} only, and the column's type is {column.root}"
    return InvalidOption(options.function_option, problem)


def cannot_retract(function: str, column: str) -> UnsupportedTable:
    """The error for a value that retracts where Paimon's function cannot."""
    reason = (
        f"a record retracts its key (-U or -D), but the aggregate function {function} cannot take a value "
        f"back, so Paimon fails, too; set fields.{column}.ignore-retract = true if such records may be "
        "passed over"
    )
    return UnsupportedTable(f"column {column}", (reason,))
