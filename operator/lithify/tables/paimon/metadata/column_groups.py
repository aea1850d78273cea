"""Rows of Arrow tables told apart and put together by some of their columns, without a loop over rows.

Called by everything in this package that works on the metadata of many files. Arrow has groups and joins of
its own; they keep no order, know no lists and take nulls for different. Here rows that have the same values
(or nulls) get the same number, and numpy does the rest. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class ColumnGroups:
    """Rows of a table by the values of some columns; groups are in the order of their first rows.

    Attributes:
        numbers: of the group of each row, counted from 0.
        order: the rows, those of each group together, in their order.
        starts: where each group begins in `order`.
        sizes: how many rows each group has.

    Args:
        table: the rows.
        names: the columns.
    """

    def __init__(self, table: pa.Table, names: Sequence[str]) -> None:
        self.numbers = numbered([table], names)[0]
        self.sizes: Numbers = np.bincount(self.numbers)
        self.starts: Numbers = np.cumsum(self.sizes) - self.sizes

    def __len__(self) -> int:
        return len(self.sizes)

    @cached_property
    def order(self) -> Numbers:
        """See the class."""
        return np.argsort(self.numbers, kind="stable")

    @property
    def firsts(self) -> Numbers:
        """The first row of each group."""
        return self.order[self.starts]

    def sum(self, values: npt.NDArray[Any]) -> Numbers:
        """The sum of the values of each group."""
        ordered = values[self.order].astype(np.int64)
        return np.add.reduceat(ordered, self.starts) if len(self) else ordered

    def max(self, values: npt.NDArray[Any]) -> Numbers:
        """The greatest value of each group."""
        ordered = values[self.order].astype(np.int64)
        return np.maximum.reduceat(ordered, self.starts) if len(self) else ordered

    def any(self, flags: Flags) -> Flags:
        """Whether any row of each group is flagged."""
        return self.sum(flags) > 0


def numbered(tables: Sequence[pa.Table], names: Sequence[str]) -> list[Numbers]:
    """Numbers the rows of some tables: equal where all columns are, in the order of first rows."""
    codes = _codes([table[names[0]] for table in tables])
    for name in names[1:]:
        more = _codes([table[name] for table in tables])
        codes = _codes([pa.chunked_array([pa.array(codes * (int(more.max(initial=0)) + 1) + more)])])
    ends = np.cumsum([len(table) for table in tables])
    return np.split(codes, ends[:-1])


def is_among(table: pa.Table, others: pa.Table, names: Sequence[str]) -> Flags:
    """Which rows of a table have the same values in some columns as any row of another one."""
    mine, theirs = numbered([table, others], names)
    found = np.zeros(len(table) + len(others), dtype=bool)
    found[theirs] = True
    return cast(Flags, found[mine])


def is_one_of(column: Any, texts: Collection[str]) -> Flags:
    """Which values of a column of texts are among some."""
    return flags(pc.is_in(whole(column), value_set=pa.array(list(texts), pa.string())))


def places_in(table: pa.Table, others: pa.Table, names: Sequence[str]) -> Numbers:
    """For each row of a table, the last row of another one with the same values; -1 if there is none."""
    mine, theirs = numbered([table, others], names)
    found = np.full(len(table) + len(others), -1)
    found[theirs] = np.arange(len(others))
    return cast(Numbers, found[mine])


def flagged(table: pa.Table, flags: Flags) -> pa.Table:
    """The rows that are flagged."""
    return table if flags.all() else table.filter(pa.array(flags))


def taken(table: pa.Table, rows: npt.NDArray[Any]) -> pa.Table:
    """Some rows in another order, each column in one piece."""
    if len(rows) == len(table) and (rows[1:] > rows[:-1]).all():
        return table
    places = pa.array(rows)
    columns = [whole(column).take(places) for column in table.columns]
    return pa.table(columns, schema=table.schema)


def with_columns(table: pa.Table, **columns: Any) -> pa.Table:
    """A table with some columns more, or with others in place of those that it has."""
    for name, values in columns.items():
        array = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
        place = table.schema.get_field_index(name)
        table = table.append_column(name, array) if place < 0 else table.set_column(place, name, array)
    return table


def whole(column: Any) -> pa.Array:
    """A column in one piece."""
    if isinstance(column, pa.ChunkedArray):
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return column


def integers(column: Any) -> Numbers:
    """A column of whole numbers; 0 where it is null."""
    values = whole(column)
    values = values.fill_null(0) if values.null_count else values
    return cast(Numbers, values.to_numpy(zero_copy_only=False))


def flags(column: Any) -> Flags:
    """A column of truth values; false where it is null."""
    values = whole(column)
    values = values.fill_null(False) if values.null_count else values
    return cast(Flags, values.to_numpy(zero_copy_only=False))


def is_null(column: Any) -> Flags:
    """Which values of a column are null."""
    return flags(pc.is_null(whole(column)))


def nullable(values: Numbers, where: Flags) -> pa.Array:
    """Numbers, null but for some."""
    return pa.array(values, pa.int64(), mask=~where)


def listed(column: Any) -> list[Any]:
    """The values of a column as Python's; faster than Arrow's own lists."""
    values = whole(column)
    if values.null_count or pa.types.is_nested(values.type):
        return cast(list[Any], values.to_pylist())
    return cast(list[Any], values.to_numpy(zero_copy_only=False).tolist())


def _codes(columns: Sequence[pa.ChunkedArray]) -> Numbers:
    """Numbers of distinct values, also of null, in the order in which they come first."""
    chunks = [chunk for column in columns for chunk in column.chunks]
    if not chunks:
        return np.empty(0, dtype=np.int64)
    encoded = pa.chunked_array(chunks).dictionary_encode("encode")
    codes = [chunk.indices.to_numpy() for chunk in encoded.chunks]
    return np.concatenate(codes).astype(np.int64) if codes else np.empty(0, dtype=np.int64)
