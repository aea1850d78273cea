"""Column statistics gathered from the rows of a file, for formats whose footers lack them.

Called by the writers of such formats. The values are those of Paimon's collectors: texts by their UTF-8
bytes, binaries without bounds. Columns of floats are left to `FloatStats`.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.order import key_at, parts_of_column
from lithify.files.statistics import ColumnStats
from lithify.files.types import ColumnType, Raw, raw_of_parts


class RowStats:
    """Null counts and bounds of each column of the rows so far."""

    def __init__(self) -> None:
        self._nulls: dict[str, int] = {}
        self._bounds: dict[str, list[pa.Array]] = {}

    def add(self, rows: pa.Table) -> None:
        """Adds rows."""
        for name in rows.column_names:
            column = rows.column(name)
            self._nulls[name] = self._nulls.get(name, 0) + column.null_count
            if _is_bounded(column.type) and column.null_count < len(column):
                known = [*self._bounds.get(name, []), *_min_max(column)]
                self._bounds[name] = _min_max(pa.chunked_array(known))

    def of(self, name: str, column: ColumnType) -> ColumnStats:
        """Statistics of a column."""
        if name not in self._bounds:
            return ColumnStats(nulls=self._nulls.get(name, 0))
        low, high = (raw_at(column, bound, 0) for bound in self._bounds[name])
        return ColumnStats(low, high, self._nulls[name])


def raw_at(column: ColumnType, values: pa.Array, row: int) -> Raw:
    """One value of a column without nulls, of any type allowed in keys, as a raw value."""
    return raw_of_parts(column, key_at(parts_of_column(values.slice(row, 1)), 0))


def _is_bounded(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    is_plain = not pa.types.is_floating(kind) and not pa.types.is_nested(kind)
    return is_plain and not pa.types.is_binary(kind) and not pa.types.is_large_binary(kind)


def _min_max(column: pa.ChunkedArray) -> list[pa.Array]:
    """The minimum and the maximum, each as an array of one element."""
    plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    bounds = pc.min_max(plain)
    return [pa.array([bounds[end]], plain.type) for end in ("min", "max")]
