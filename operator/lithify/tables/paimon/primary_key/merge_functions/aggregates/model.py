"""What an aggregate function is, and what a table's options say about it.

Made by `factory`; called by the merge functions of the engines aggregation and partial-update. An aggregate
works on the values of one column, in the order in which they are applied, and has no state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import pyarrow as pa

from lithify.errors import UnsupportedTable
from lithify.rewriting.order import IntPart
from lithify.rewriting.records import Mask
from lithify.tables.paimon.options.option_reader import OptionReader

NO_LIMIT = (1 << 31) - 1


class FieldAggregate(Protocol):
    """How the values that a key's records have in one column become one value; can be pickled."""

    def aggregate(self, values: pa.Array, starts: IntPart, retracts: Mask) -> pa.Array:
        """One value a group, of the type of `values`.

        Args:
            values: in the order in which they are applied, oldest first.
            starts: positions at which groups begin, rising; every group has at least one value.
            retracts: which of the values retract.

        Raises:
            UnsupportedTable: a value retracts, and Paimon's function cannot, or has no result for it.
        """
        ...


@runtime_checkable
class FieldSelection(FieldAggregate, Protocol):
    """An aggregate whose result is one of the values or null, whatever the values are."""

    def select(self, valid: Mask, starts: IntPart, retracts: Mask) -> IntPart:
        """The position of the value that each group takes, -1 for null.

        Args:
            valid: which of the values are not null.
            starts: as in `aggregate`.
            retracts: as in `aggregate`.
        """
        ...


@runtime_checkable
class SurvivesRemoval(Protocol):
    """An aggregate to which it matters what came before a delete that removes the record.

    All other aggregates begin with the values of the last such delete, as if it were the oldest record.
    """

    def aggregate_after(self, values: pa.Array, starts: IntPart, retracts: Mask, removes: Mask) -> pa.Array:
        """As `aggregate`, but a value that removes is the result until the next one is applied to it."""
        ...


@dataclass(frozen=True, slots=True)
class FieldOptions:
    """What `fields.<column>.*` says about one column.

    Attributes:
        column: its name.
        ignore_retract: values that retract are passed over.
        distinct: collections have no element twice.
        delimiter: between the texts of a list.
        nested_key: the fields that identify a row in an array.
        count_limit: rows of an array beyond which no more are added.
        time_field: the field of a map's values that decides which is newer, None for the last one.
    """

    column: str
    ignore_retract: bool = False
    distinct: bool = False
    delimiter: str = ","
    nested_key: tuple[str, ...] = ()
    count_limit: int = NO_LIMIT
    time_field: str | None = None


def field_options(options: Mapping[str, str], column: str) -> FieldOptions:
    """Reads what a table's options say about the aggregation of a column.

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


def cannot_retract(function: str, column: str) -> UnsupportedTable:
    """The error for a value that retracts where Paimon's function cannot."""
    reason = (
        f"a record retracts its key (-U or -D), but the aggregate function {function} cannot take a value "
        f"back, so Paimon fails, too; set fields.{column}.ignore-retract = true if such records may be "
        "passed over"
    )
    return UnsupportedTable(f"column {column}", (reason,))
