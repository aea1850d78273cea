"""Why the file indexes of a table cannot be written: columns that do not exist, types without such an index.

Called by `reasons`. Java Paimon fails on the same tables, when it writes their first file.
"""

from __future__ import annotations

from collections.abc import Iterator

from lithify.files.types import ColumnType
from lithify.formats.paimon.file_indexes.model import FileIndexOptions, IndexedColumn, IndexKind, indexed_type
from lithify.formats.paimon.schema.schema import Schema

_INTEGERS = frozenset({"TINYINT", "SMALLINT", "INT", "BIGINT"})
_TIMES = frozenset({"DATE", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ"})
_FLOATS = frozenset({"FLOAT", "DOUBLE"})
_STRINGS = frozenset({"CHAR", "VARCHAR"})
_TYPES = {
    IndexKind.BLOOM_FILTER: _INTEGERS | _TIMES | _FLOATS | _STRINGS | {"BINARY", "VARBINARY"},
    IndexKind.BITMAP: _INTEGERS | _TIMES | _FLOATS | _STRINGS | {"BOOLEAN"},
    IndexKind.BIT_SLICES: _INTEGERS | _TIMES | {"DECIMAL"},
    IndexKind.RANGE_BITMAP: _INTEGERS | _TIMES | _FLOATS | _STRINGS | {"BOOLEAN", "DECIMAL"},
}
"""Types for which Java has each index."""


def index_refusals(schema: Schema, options: FileIndexOptions) -> Iterator[str]:
    """Every index that cannot be written, by name."""
    types = {column.name: column.type for column in schema.columns}
    for indexed in options.indexed:
        option = f"option file-index.{indexed.kind}.columns with {indexed.name}"
        column = types.get(indexed.column)
        if column is None:
            yield f"{option}: the table has no column {indexed.column}"
        elif problem := _problem(column, indexed):
            yield f"{option}: {problem}"


def _problem(column: ColumnType, indexed: IndexedColumn) -> str | None:
    if indexed.key is not None:
        if column.root != "MAP":
            return f"only a MAP has values by key, and the column is a {column.root}"
        if not column.fields[0].type.is_string:
            return "the keys of the MAP are no strings"
    kind = indexed_type(column, indexed)
    if kind.root not in _TYPES[indexed.kind]:
        return f"Paimon has no such index of {kind.root} values"
    if kind.is_wide_decimal:
        return "this release has such indexes of DECIMAL values of at most 18 digits"
    if kind.is_nanos and indexed.kind is IndexKind.RANGE_BITMAP:
        return "Paimon has such indexes of timestamps of at most 6 digits"
    return None
