"""Position delete files about one data file, read at once: tables may have one for each data file.

Called by `position_files`, which reads whatever is unusual here. Nothing is kept of a file, because its
positions are asked for once.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from lithify.errors import CorruptTable
from lithify.files.field_ids import id_of_any
from lithify.files.reading import reading
from lithify.formats.iceberg.data_files.stored import NO_ID
from lithify.formats.iceberg.model import DeleteFile
from lithify.io.storage import Storage

SMALL = 256 << 10
"""Bytes of a file up to which it is read at once."""
_TYPES = ("BYTE_ARRAY", "INT64")


def positions_of(
    storage: Storage, file: DeleteFile, path: str, ids: tuple[int, int]
) -> pa.ChunkedArray | None:
    """The positions in a small Parquet file, if all its rows are about one data file.

    The manifest alone is not trusted: the bounds of the paths in the footer have to be that path.

    Args:
        storage: access to the file.
        file: the delete file.
        path: the data file.
        ids: the field ids of path and position.

    Returns:
        The positions; None if the file has to be read in the usual way.

    Raises:
        MissingFile: the file does not exist.
        CorruptTable: it cannot be read, or its pages have other rows than its footer says.
    """
    with reading(file.path, "Parquet"), storage.open(file.path, file.size) as source:
        data = source.read_buffer(file.size)
        if source.read(1):
            return None  # it is longer than its manifest says
        parquet = pq.ParquetFile(pa.BufferReader(data), pre_buffer=False, page_checksum_verification=True)
        footer = parquet.metadata
        is_usual = footer.num_rows == file.rows and _is_usual(parquet, ids)
        if not is_usual or not _names_only(footer, path.encode()):
            return None
        name = parquet.schema_arrow.names[1]
        groups = [*range(parquet.num_row_groups)]
        positions = parquet.read_row_groups(groups, columns=[name], use_threads=False).column(0)
    if len(positions) != file.rows:
        problem = f"it has {len(positions)} rows, its footer says {file.rows}"
        raise CorruptTable(file.path, problem)
    return positions


def _is_usual(parquet: pq.ParquetFile, ids: tuple[int, int]) -> bool:
    """Whether the file has the two columns of position deletes, and no others."""
    schema, stored = parquet.schema_arrow, parquet.schema
    return (
        len(schema) == len(stored) == len(ids)
        and tuple(id_of_any(field, NO_ID) for field in schema) == ids
        and tuple(stored.column(number).physical_type for number in range(len(ids))) == _TYPES
    )


def _names_only(footer: pq.FileMetaData, path: bytes) -> bool:
    """Whether all rows are about one data file by the bounds of their paths, which then need not be read."""
    chunks = (footer.row_group(number).column(0) for number in range(footer.num_row_groups))
    return all(is_always(chunk.statistics, path) for chunk in chunks)


def is_always(statistics: pq.Statistics | None, value: bytes) -> bool:
    """Whether all values of a column chunk are this one, by its statistics."""
    if statistics is None or not (statistics.has_min_max and statistics.has_null_count):
        return False
    return bool(statistics.null_count == 0 and value == statistics.min_raw == statistics.max_raw)
