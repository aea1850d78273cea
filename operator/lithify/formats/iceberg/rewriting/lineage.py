"""Lineage of rows in tables of version 3: `_row_id` and `_last_updated_sequence_number`, kept row by row.

Called by `live_rows` and `packing`. A stored value stays. A missing one is inherited: the file's first row id
plus the position, and the file's data sequence number. Files from before the upgrade to version 3 have no
first row id; then both stay null. Pure.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.order import IntPart
from lithify.formats.iceberg.data_files.schema import LINEAGE
from lithify.formats.iceberg.model import DataFile

_FIELDS = [pa.field(field.name, pa.int64()) for field in LINEAGE]


def inherited(rows: pa.RecordBatch, file: DataFile, positions: IntPart) -> pa.RecordBatch:
    """Rows with complete lineage.

    Args:
        rows: rows whose last two columns are the lineage as it is stored.
        file: their file.
        positions: their positions in it.
    """
    if file.first_row_id is None:
        return rows
    first = rows.num_columns - len(LINEAGE)
    ids, updated = rows.columns[first:]
    if ids.null_count:
        ids = pc.coalesce(ids, pa.array(positions + np.int64(file.first_row_id)))
    if updated.null_count:
        updated = pc.coalesce(updated, pa.scalar(file.sequence, pa.int64()))
    return pa.RecordBatch.from_arrays([*rows.columns[:first], ids, updated], schema=rows.schema)


def with_inherited(rows: pa.RecordBatch, file: DataFile, positions: IntPart) -> pa.RecordBatch:
    """Rows of a file that stores no lineage, with what they inherit behind their columns.

    Args:
        rows: the rows without lineage.
        file: their file.
        positions: their positions in it.
    """
    schema = pa.schema([*rows.schema, *_FIELDS])
    return pa.RecordBatch.from_arrays([*rows.columns, *_inherited_columns(file, positions)], schema=schema)


def whole_lineage(file: DataFile, first: int, rows: int) -> pa.Table:
    """The lineage of consecutive rows of a file that stores none."""
    positions = np.arange(first, first + rows, dtype=np.int64)
    return pa.table(_inherited_columns(file, positions), schema=pa.schema(_FIELDS))


def _inherited_columns(file: DataFile, positions: IntPart) -> list[pa.Array]:
    if file.first_row_id is None:
        return [pa.nulls(len(positions), pa.int64())] * 2
    ids = pa.array(positions + np.int64(file.first_row_id))
    return [ids, pa.array(np.full(len(positions), file.sequence, dtype=np.int64))]
