"""How Parquet stores columns: the leaves of nested ones, and rows in the types of the file's schema.

Called by the reader and the writer beside this module. Writers other than Java's store some types
differently, and Java's readers accept that; conversions here give the same results as Java's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lithify.columns.order import (
    EPOCH_DAY,
    INSTANT,
    instants,
    timestamps_as_instants,
)
from lithify.files.model import FileColumn
from lithify.files.nesting import rebuilt
from lithify.files.types import AS_STORED, arrow_type
from lithify.files.variants.columns import in_form, is_shredded

_PER_SECOND = {"ms": 10**3, "us": 10**6}
_DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Leaf:
    """A physical column of Parquet: its path and its values."""

    path: str
    values: pa.ChunkedArray


def leaves_of_rows(rows: pa.Table) -> Iterator[Leaf]:
    """The leaves of all columns, with PyArrow's paths."""
    for name in rows.column_names:
        yield from _leaves(name, rows.column(name))


def _leaves(path: str, column: pa.ChunkedArray) -> Iterator[Leaf]:
    kind = column.type
    if pa.types.is_struct(kind):
        parts = [chunk.flatten() for chunk in column.chunks]  # the parts of a null are null
        for number, field in enumerate(kind):
            yield from _leaves(f"{path}.{field.name}", _chunked([part[number] for part in parts], field.type))
    elif pa.types.is_map(kind):
        keys = [_within(chunk, chunk.keys) for chunk in column.chunks]
        yield from _leaves(f"{path}.key_value.key", _chunked(keys, kind.key_type))
        items = [_within(chunk, chunk.items) for chunk in column.chunks]
        yield from _leaves(f"{path}.key_value.value", _chunked(items, kind.item_type))
    elif pa.types.is_list(kind):
        elements = [_within(chunk, chunk.values) for chunk in column.chunks]
        yield from _leaves(f"{path}.list.element", _chunked(elements, kind.value_type))
    else:
        yield Leaf(path, column)


def _within(values: pa.Array, elements: pa.Array) -> pa.Array:
    """The elements of the lists or maps of a slice."""
    if len(values) == 0:
        return elements.slice(0, 0)
    first, last = values.offsets[0].as_py(), values.offsets[len(values)].as_py()
    return elements.slice(first, last - first)


def _chunked(chunks: Sequence[pa.Array], kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array(chunks, kind)


class Declared:
    """Converts the rows of one file to the types of its schema.

    Args:
        columns: the columns of the rows.
    """

    def __init__(self, columns: Sequence[FileColumn]) -> None:
        self._columns = columns
        self._stored: pa.Schema | None = None
        self._differing: Sequence[int] = ()

    def rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows in the declared types. Most columns are stored in them, so few need a conversion.

        Raises:
            pa.ArrowInvalid: a value is not one of the declared type.
        """
        if self._stored is None or not batch.schema.equals(self._stored):
            pairs = zip(batch.schema.types, self._columns, strict=True)
            self._differing = [place for place, pair in enumerate(pairs) if _differs(*pair)]
            self._stored = batch.schema
        if not self._differing:
            return batch
        arrays = batch.columns
        for place in self._differing:
            arrays[place] = _wanted(arrays[place], self._columns[place])
        return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def _differs(stored: pa.DataType, column: FileColumn) -> bool:
    if column.as_dictionary or column.type is AS_STORED:
        return False
    return column.variants is not None or stored != arrow_type(column.type)


def _wanted(values: pa.Array, column: FileColumn) -> pa.Array:
    if column.variants is not None:
        return in_form(values, column.variants)
    return stored_as(values, arrow_type(column.type))


def stored_as(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Values in another physical type that can represent the declared type's values."""
    if values.type == kind:
        return values
    if is_shredded(values.type) and not is_shredded(kind):
        return in_form(values, kind)
    if pa.types.is_nested(kind):
        return rebuilt(values, kind, stored_as)
    if values.type.equals(INSTANT) and pa.types.is_timestamp(kind):
        return _timestamps(values, kind)
    if kind.equals(INSTANT) and pa.types.is_timestamp(values.type):
        return timestamps_as_instants(values)
    return values.cast(kind)


def _timestamps(values: pa.Array, kind: pa.TimestampType) -> pa.Array:
    """Instants as timestamps of at most microseconds, dropping excess digits, as Java reads INT96."""
    per_second = _PER_SECOND[kind.unit]
    days, nanos = instants(values)
    ticks = (days - EPOCH_DAY) * np.int64(_DAY_SECONDS * per_second) + nanos // np.int64(10**9 // per_second)
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    return pa.array(ticks, pa.int64(), mask=~valid).view(kind)
