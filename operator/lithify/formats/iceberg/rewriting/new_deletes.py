"""Writes position delete files: the deleted rows of data files that stay.

Called by tasks. Each file is about one data file, and its bounds say so: readers need it for that file only,
and the commit that removes the data file drops it. Memory is a portion of positions, besides the bitmap.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lithify.files.options import ParquetOptions
from lithify.formats.iceberg.data_files.reader import FileReader
from lithify.formats.iceberg.data_files.schema import Schema
from lithify.formats.iceberg.deletes.position_files import PATH, POSITION, read_positions
from lithify.formats.iceberg.model import NewDeleteFile
from lithify.formats.iceberg.rewriting.destinations import KeptFile
from lithify.formats.iceberg.rewriting.new_files import NewFiles
from lithify.formats.iceberg.rewriting.options import MetricsModes, WriteOptions
from lithify.formats.iceberg.rewriting.target import WriteTarget

if TYPE_CHECKING:
    from pyroaring import BitMap64

_SCHEMA = Schema(0, (PATH, POSITION))
_PORTION = 1 << 20
"""Positions of a row group."""


def write_deletes(
    files: NewFiles, target: WriteTarget, kept: KeptFile, positions: BitMap64, reader: FileReader
) -> NewDeleteFile:
    """Writes the position delete file of a data file, with the positions that it takes over.

    Args:
        files: opens it.
        target: how data files of the table are written.
        kept: the data file, and where the new file goes.
        positions: the positions of its rows that no delete file deletes yet; at least one.
        reader: reads the older delete files.

    Raises:
        MissingFile, CorruptTable: an older delete file cannot be read.
        StorageError: it cannot be written.
    """
    older = _taken_over(kept, reader)
    for found in older.values():
        positions = positions | found
    file = files.open_next(kept.destination, target=_target_like(target))
    try:
        for start in range(0, len(positions), _PORTION):
            file.write(_rows(kept.file.path, positions[start : start + _PORTION]))
        written = file.close()
    except BaseException:
        file.abort()
        raise
    return NewDeleteFile(
        path=written.path,
        format=written.format,
        size=written.size,
        rows=written.rows,
        partition=written.partition,
        referenced=kept.file.path,
        metrics=written.metrics,
        replaced=tuple(older),
    )


def _taken_over(kept: KeptFile, reader: FileReader) -> dict[str, BitMap64]:
    """The positions of older delete files by path.

    Manifests say that these are about one data file. One with other rows than those of it is left as it is.
    """
    found = {}
    for each in kept.older:
        positions = read_positions(reader, each, {kept.file.path: kept.file.rows}).get(kept.file.path)
        if positions is not None and len(positions) == each.rows:
            found[each.path] = positions
    return found


def _target_like(target: WriteTarget) -> WriteTarget:
    """How delete files are written: in Parquet, with exact bounds, and no options of data columns."""
    files = replace(target.options.files.in_parquet(), parquet=ParquetOptions())
    options = WriteOptions(files, MetricsModes(default="full"))
    return replace(target, schema=_SCHEMA, options=options, has_lineage=False, sort_order_id=None)


def _rows(path: str, positions: BitMap64) -> pa.Table:
    places = np.asarray(positions.to_array(), dtype=np.int64)
    paths = pa.DictionaryArray.from_arrays(np.zeros(len(places), dtype=np.int32), pa.array([path]))
    kinds = {PATH.name: paths.type, POSITION.name: pa.int64()}
    schema = pa.schema([pa.field(name, kind, nullable=False) for name, kind in kinds.items()])
    return pa.table([paths, pa.array(places)], schema=schema)
