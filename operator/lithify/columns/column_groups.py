"""Groups and joins rows of Arrow tables by some of their columns, without a loop over rows.

Called by all code in this package that handles the metadata of many files. Arrow's own groups and joins keep
no order, do not support lists and treat nulls as different. Here rows with equal values (or nulls) get the
same number, and numpy does the rest. Pure.
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
    """Rows of a table grouped by some columns; groups are in the order of their first rows.

    Attributes:
        numbers: the group number of each row, from 0.
        order: the row indexes sorted by group, otherwise in table order.
        starts: the start of each group in `order`.
        sizes: the number of rows in each group.

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
        """The maximum of the values of each group."""
        ordered = values[self.order].astype(np.int64)
        return np.maximum.reduceat(ordered, self.starts) if len(self) else ordered

    def any(self, flags: Flags) -> Flags:
        """Whether any row of each group is flagged."""
        return self.sum(flags) > 0


def numbered(tables: Sequence[pa.Table], names: Sequence[str]) -> list[Numbers]:
    """Numbers the rows of several tables: equal if all columns are equal, in the order of first rows."""
    codes = _codes([table[names[0]] for table in tables])
    for name in names[1:]:
        more = _codes([table[name] for table in tables])
        codes = _codes([pa.chunked_array([pa.array(codes * (int(more.max(initial=0)) + 1) + more)])])
    ends = np.cumsum([len(table) for table in tables])
    return np.split(codes, ends[:-1])


def is_among(table: pa.Table, others: pa.Table, names: Sequence[str]) -> Flags:
    """Mask of the rows of a table that equal any row of another one in some columns."""
    mine, theirs = numbered([table, others], names)
    found = np.zeros(len(table) + len(others), dtype=bool)
    found[theirs] = True
    return cast(Flags, found[mine])


def is_one_of(column: Any, texts: Collection[str]) -> Flags:
    """Mask of the texts in a column that are among some values."""
    return flags(pc.is_in(whole(column), value_set=pa.array(list(texts), pa.string())))


def places_in(table: pa.Table, others: pa.Table, names: Sequence[str]) -> Numbers:
    """For each row of a table, the index of the last equal row of another one; -1 if there is none."""
    mine, theirs = numbered([table, others], names)
    found = np.full(len(table) + len(others), -1)
    found[theirs] = np.arange(len(others))
    return cast(Numbers, found[mine])


def flagged(table: pa.Table, flags: Flags) -> pa.Table:
    """The rows whose flag is set."""
    return table if flags.all() else table.filter(pa.array(flags))


def taken(table: pa.Table, rows: npt.NDArray[Any]) -> pa.Table:
    """Selects rows by index, with each column as a single chunk."""
    if len(rows) == len(table) and (rows[1:] > rows[:-1]).all():
        return table
    places = pa.array(rows)
    columns = [whole(column).take(places) for column in table.columns]
    return pa.table(columns, schema=table.schema)


def in_order_of(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """The rows sorted by some columns; rows that are equal in these keep their order."""
    groups = ColumnGroups(table, names)
    firsts = taken(table.select(names), groups.firsts)
    ranks = np.empty(len(groups), dtype=np.int64)
    ranks[pc.sort_indices(firsts, [(name, "ascending") for name in names]).to_numpy()] = np.arange(
        len(groups)
    )
    return taken(table, np.argsort(ranks[groups.numbers], kind="stable"))


def with_columns(table: pa.Table, **columns: Any) -> pa.Table:
    """A table with columns added or replaced."""
    for name, values in columns.items():
        array = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
        place = table.schema.get_field_index(name)
        table = table.append_column(name, array) if place < 0 else table.set_column(place, name, array)
    return table


def whole(column: Any) -> pa.Array:
    """A column as a single chunk."""
    if isinstance(column, pa.ChunkedArray):
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return column


def integers(column: Any) -> Numbers:
    """A column of integers; 0 where null."""
    values = whole(column)
    values = values.fill_null(0) if values.null_count else values
    return cast(Numbers, values.to_numpy(zero_copy_only=False))


def flags(column: Any) -> Flags:
    """A column of booleans; false where null."""
    values = whole(column)
    values = values.fill_null(False) if values.null_count else values
    return cast(Flags, values.to_numpy(zero_copy_only=False))


def is_null(column: Any) -> Flags:
    """Mask of the null values of a column."""
    return flags(pc.is_null(whole(column)))


def nullable(values: Numbers, where: Flags) -> pa.Array:
    """Numbers as a column; null where the mask is false."""
    return pa.array(values, pa.int64(), mask=~where)


def listed(column: Any) -> list[Any]:
    """The values of a column as a Python list; faster than Arrow's own conversion."""
    values = whole(column)
    if values.null_count or pa.types.is_nested(values.type):
        return cast(list[Any], values.to_pylist())
    return cast(list[Any], values.to_numpy(zero_copy_only=False).tolist())


def _codes(columns: Sequence[pa.ChunkedArray]) -> Numbers:
    """Numbers of distinct values, including null, in order of first occurrence."""
    chunks = [chunk for column in columns for chunk in column.chunks]
    if not chunks:
        return np.empty(0, dtype=np.int64)
    encoded = pa.chunked_array(chunks).dictionary_encode("encode")
    codes = [chunk.indices.to_numpy() for chunk in encoded.chunks]
    return np.concatenate(codes).astype(np.int64) if codes else np.empty(0, dtype=np.int64)
