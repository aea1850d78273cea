"""Orders of rows: a sort order of the table, or a curve through several columns.

Made by what makes tasks; called by `engine.rewrite.sorted_rows` for the rows of each batch. Keys are never
stored.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from lithify.columns.directions import directed_parts
from lithify.columns.order import Part
from lithify.columns.orders import SortStrategy
from lithify.engine.rewrite.sort_keys import RowKey, SortKey
from lithify.formats.iceberg.data_files.schema import Schema
from lithify.formats.iceberg.rewriting.partitioning import column_of
from lithify.formats.iceberg.rewriting.transforms import transformed
from lithify.formats.iceberg.table.row_orders import OrderField, RowOrder


@dataclass(frozen=True, slots=True)
class SortOrder:
    """A sort order of a table; a `RowKey`.

    Attributes:
        fields: its fields, most significant first.
        schema: the schema of the rows.
    """

    fields: tuple[OrderField, ...]
    schema: Schema

    def parts(self, rows: pa.RecordBatch) -> list[Part]:
        """The parts of each field: whether it is null, and its value."""
        return [part for field in self.fields for part in _parts(field, rows, self.schema)]


@dataclass(frozen=True, slots=True)
class CurveOrder:
    """An order along a space-filling curve; a `RowKey`.

    Attributes:
        sources: ids of the fields.
        strategy: which curve.
        schema: the schema of the rows.
    """

    sources: tuple[int, ...]
    strategy: SortStrategy
    schema: Schema

    def parts(self, rows: pa.RecordBatch) -> list[Part]:
        """The words of the rows' positions on the curve."""
        columns = [_plain(column_of(rows, self.schema, number)) for number in self.sources]
        names = tuple(map(str, self.sources))
        return SortKey(names, frozenset(names), self.strategy).parts(
            pa.RecordBatch.from_arrays(columns, names=list(names))
        )


def _parts(field: OrderField, rows: pa.RecordBatch, schema: Schema) -> list[Part]:
    values = _plain(transformed(field.transform, column_of(rows, schema, field.source)))
    return directed_parts(values, ascending=field.ascending, nulls_first=field.nulls_first)


def _plain(values: pa.Array) -> pa.Array:
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def key_of(order: RowOrder, schema: Schema) -> RowKey | None:
    """What rows are sorted by; None if they are not."""
    if not order.fields:
        return None
    if order.strategy is SortStrategy.ORDER:
        return SortOrder(order.fields, schema)
    return CurveOrder(tuple(each.source for each in order.fields), order.strategy, schema)
