"""Orders of rows: a sort order of the table, or a curve through several columns.

Made by what makes tasks; called by `engine.rewrite.sorted_rows` for the rows of each batch. Keys are never
stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.order import IntPart, Part, parts_of_column
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


@dataclass(frozen=True, slots=True)
class Chained:
    """Several orders, each of which orders what is equal in those before; a `RowKey`."""

    orders: tuple[RowKey, ...]

    def parts(self, rows: pa.RecordBatch) -> list[Part]:
        """The parts of all orders."""
        return [part for order in self.orders for part in order.parts(rows)]


def _parts(field: OrderField, rows: pa.RecordBatch, schema: Schema) -> list[Part]:
    values = _plain(transformed(field.transform, column_of(rows, schema, field.source)))
    valid, *parts = parts_of_column(values, nullable=True)
    is_valid = valid if field.nulls_first else _one_less(valid)
    return [is_valid, *(parts if field.ascending else map(_reversed, parts))]


def _one_less(valid: Part) -> IntPart:
    return 1 - np.asarray(valid, dtype=np.int64)


def _reversed(part: Part) -> Part:
    """Reverses the order of a part, so that it stays comparable between batches.

    Texts are inverted byte by byte. So that a text still comes after those that it begins, it ends with two
    zero bytes before, and zero bytes in it are followed by a one.
    """
    if isinstance(part, np.ndarray):
        return ~part
    escaped = pc.replace_substring(part, pattern=b"\x00", replacement=b"\x00\x01")
    ended = pc.binary_join_element_wise(
        escaped, pa.scalar(b"\x00\x00", escaped.type), pa.scalar(b"", escaped.type)
    )
    wide = ended.cast(pa.large_binary())
    _, offsets, data = wide.buffers()
    inverted = ~np.frombuffer(data, np.uint8)
    return pa.Array.from_buffers(pa.large_binary(), len(wide), [None, offsets, pa.py_buffer(inverted)])


def _plain(values: pa.Array) -> pa.Array:
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def key_of(order: RowOrder, schema: Schema) -> RowKey | None:
    """What rows are sorted by; None if they are not."""
    if not order.fields:
        return None
    if order.strategy is SortStrategy.ORDER:
        return SortOrder(order.fields, schema)
    return CurveOrder(tuple(each.source for each in order.fields), order.strategy, schema)


def chained(orders: Sequence[RowKey]) -> RowKey:
    """Several orders as one."""
    return orders[0] if len(orders) == 1 else Chained(tuple(orders))
