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
    positions, replaced = _with_older(kept, positions, reader)
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
        replaced=replaced,
    )


def _with_older(kept: KeptFile, positions: BitMap64, reader: FileReader) -> tuple[BitMap64, tuple[str, ...]]:
    """The positions with those of older delete files, and the paths of these.

    Manifests say that these are about one data file. One with other rows than those of it is left as it is.
    """
    file, replaced = kept.file, []
    for each in kept.older:
        found = read_positions(reader, each, {file.path: file.rows}).get(file.path)
        if found is not None and len(found) == each.rows:
            positions = positions | found
            replaced.append(each.path)
    return positions, tuple(replaced)


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
