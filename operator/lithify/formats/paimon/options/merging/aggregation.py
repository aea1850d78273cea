"""Reads a table's options of the merge engine aggregation: the function of each column."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lithify.errors import InvalidOption
from lithify.formats.paimon.options.merging.field_functions import DEFAULT, FieldFunction, field_function
from lithify.formats.paimon.options.merging.field_options import field_options
from lithify.formats.paimon.options.option_reader import OptionReader
from lithify.formats.paimon.schema.schema import Schema

_REMOVE = "aggregation.remove-record-on-delete"


@dataclass(frozen=True, slots=True)
class AggregationOptions:
    """How records are aggregated.

    Attributes:
        functions: the function of each column; other columns come from the newest record.
        required: columns that are declared NOT NULL.
        removes: whether a delete removes the record instead of retracting values.
    """

    functions: tuple[FieldFunction, ...]
    required: frozenset[str]
    removes: bool


def read_aggregation(schema: Schema) -> AggregationOptions:
    """Reads how records are aggregated.

    Raises:
        InvalidOption: a value cannot be parsed, or the function of a column cannot be used.
    """
    removes = OptionReader(schema.options).boolean(_REMOVE, default=False)
    functions = tuple(_function(schema, *each, removes=removes) for each in _named(schema))
    required = frozenset(column.name for column in schema.columns if not column.type.nullable)
    return AggregationOptions(functions, required, removes)


def _function(schema: Schema, column: str, name: str, *, removes: bool) -> FieldFunction:
    options = field_options(schema.options, column)
    if removes and options.ignore_retract:
        raise InvalidOption(f"fields.{column}.ignore-retract", f"Paimon refuses it together with {_REMOVE}")
    return field_function(name, schema.column(column).type, options)


def _named(schema: Schema) -> Iterator[tuple[str, str]]:
    """Each column with the name of its function, except key columns, which need none."""
    sequence = {name.strip() for name in schema.options.get("sequence.field", "").split(",")}
    default = schema.options.get("fields.default-aggregate-function", DEFAULT)
    for column in schema.columns:
        if column.name in sequence:
            yield column.name, "last_value"
        elif column.name not in (*schema.primary_key, *schema.partition_keys):
            yield column.name, schema.options.get(f"fields.{column.name}.aggregate-function", default)
        elif field_options(schema.options, column.name).ignore_retract:
            yield column.name, "primary-key"
