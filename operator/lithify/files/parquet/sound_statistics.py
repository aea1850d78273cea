"""Whether statistics in a footer may be decoded, and which columns of a footer are not nested.

Called by all who read statistics. PyArrow ends the process over a minimum that is shorter than a value, and
makes up a number where it is empty, so statistics are looked at as they are encoded before PyArrow sees them.
"""

from __future__ import annotations

import io

import pyarrow.parquet as pq

from lithify.files.parquet.copying.footers import (
    COLUMNS,
    METADATA,
    ROW_GROUPS,
    STATISTICS,
    VALUES,
)
from lithify.files.parquet.structs import (
    Malformed,
    Struct,
    integer_of,
    read_struct,
)
from lithify.files.parquet.thrift import Thrift

_NULLS, _BOUNDS = 3, (1, 2, 5, 6)
"""Fields of Statistics in `parquet.thrift`; the first two bounds are deprecated."""
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}
_TAIL = 8
"""Bytes of the footer's length and the magic bytes after it."""


def is_flat(column: pq.ColumnSchema) -> bool:
    """Whether a column of the file has the values itself, rather than a part of it.

    A column may have dots in its name, so its path may be that of another column's part.
    """
    return bool(column.name == column.path and column.max_repetition_level == 0)


def flat_columns(footer: pq.FileMetaData) -> dict[str, int]:
    """The numbers of the columns that are not nested, by name."""
    columns = map(footer.schema.column, range(footer.num_columns))
    return {column.path: number for number, column in enumerate(columns) if is_flat(column)}


def are_sound(statistics: Struct, column: pq.ColumnSchema, values: int) -> bool:
    """Whether statistics of a column chunk with this number of values can be those of its column.

    Raises:
        Malformed: they are no statistics.
    """
    nulls = integer_of(statistics, _NULLS, 0)
    width = column.length if column.physical_type == "FIXED_LEN_BYTE_ARRAY" else None
    width = _WIDTHS.get(column.physical_type, width)
    bounds = [statistics[number].binary for number in _BOUNDS if number in statistics]
    return 0 <= nulls <= values and all(width in (None, len(bound)) for bound in bounds)


def unsound_chunks(footer: pq.FileMetaData) -> frozenset[tuple[int, int]]:
    """The numbers of row group and column of the column chunks whose statistics must not be decoded."""
    whole = io.BytesIO()
    footer.write_metadata_file(whole)
    data = whole.getvalue()
    length = int.from_bytes(data[-_TAIL:-4], "little")
    groups = read_struct(Thrift(data[-_TAIL - length : -_TAIL]))[ROW_GROUPS].structs
    columns = [*map(footer.schema.column, range(footer.num_columns))]
    return frozenset(
        (number, at)
        for number, group in enumerate(groups)
        for at, (chunk, column) in enumerate(zip(group[COLUMNS].structs, columns, strict=True))
        if not _is_sound(chunk, column)
    )


def _is_sound(chunk: Struct, column: pq.ColumnSchema) -> bool:
    metadata = chunk[METADATA].struct if METADATA in chunk else {}
    if STATISTICS not in metadata:
        return True
    try:
        return are_sound(metadata[STATISTICS].struct, column, integer_of(metadata, VALUES))
    except (Malformed, IndexError):
        return False
