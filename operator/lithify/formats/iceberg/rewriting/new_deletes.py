"""Writes position delete files and vectors: the deleted rows of data files that stay, or that are new.

Called by tasks, and by commits that carry late deletes over to new files. Each is about one data file, and
its bounds say so: readers need it for that file only, and the commit that removes the data file drops it.
Memory is a portion of positions, or a Puffin file, besides the bitmaps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lithify.errors import LithifyError
from lithify.files.options import ParquetOptions
from lithify.formats.iceberg.data_files.reader import FileReader
from lithify.formats.iceberg.data_files.schema import Schema
from lithify.formats.iceberg.deletes.bitmaps import bitmap_of
from lithify.formats.iceberg.deletes.position_files import PATH, POSITION, read_if_alone
from lithify.formats.iceberg.deletes.vectors import write_vectors
from lithify.formats.iceberg.manifests.view import PUFFIN
from lithify.formats.iceberg.model import DataFile, NewDataFile, NewDeleteFile
from lithify.formats.iceberg.rewriting.destinations import Destination, KeptFile
from lithify.formats.iceberg.rewriting.new_files import NewFiles
from lithify.formats.iceberg.rewriting.options import MetricsModes, WriteOptions
from lithify.formats.iceberg.rewriting.target import WriteTarget
from lithify.io.storage import Storage

if TYPE_CHECKING:
    from pyroaring import BitMap64

_SCHEMA = Schema(0, (PATH, POSITION))
_PORTION = 1 << 20
"""Positions of a row group."""


def write_deletes(
    files: NewFiles, target: WriteTarget, kept: KeptFile, positions: BitMap64, reader: FileReader
) -> NewDeleteFile | None:
    """Writes the position delete file of a data file, with the positions that it takes over.

    Writes none if the older ones have all positions and are not several.

    Args:
        files: opens it.
        target: how data files of the table are written.
        kept: the data file, and where the new file goes.
        positions: the positions of its rows that are deleted, besides those that the older ones have.
        reader: reads the older delete files.

    Raises:
        MissingFile, CorruptTable: an older delete file cannot be read.
        StorageError: it cannot be written.
    """
    if not positions and len(kept.older) < 2:
        return None
    older, replaced = _older(kept, reader)
    if positions <= older and len(replaced) < 2:
        return None
    every = positions | older
    written = write_positions(files, delete_target(target), kept.file.path, kept.destination, every)
    return replace(written, partition=kept.file.partition, replaced=replaced)


def write_new_vectors(
    storage: Storage, path: str, files: Sequence[DataFile | NewDataFile], positions: Mapping[str, BitMap64]
) -> list[NewDeleteFile]:
    """Writes the vectors of data files into one Puffin file; deletes it again if that fails.

    Args:
        storage: access to the file system.
        path: the new file.
        files: the data files.
        positions: all deleted positions of each, by its path.

    Raises:
        StorageError: it cannot be written.
    """
    try:
        vectors = write_vectors(storage, path, {file.path: positions[file.path] for file in files})
    except BaseException:
        with suppress(LithifyError):
            storage.delete(path)
        raise
    return [
        NewDeleteFile(
            path=path,
            format=PUFFIN,
            size=vector.file_size,
            rows=vector.positions,
            partition=file.partition,
            referenced=file.path,
            offset=vector.offset,
            length=vector.length,
        )
        for file in files
        for vector in [vectors[file.path]]
    ]


def write_positions(
    files: NewFiles, target: WriteTarget, path: str, place: Destination, positions: BitMap64
) -> NewDeleteFile:
    """Writes the position delete file of a data file.

    Args:
        files: opens it.
        target: how delete files are written; see `delete_target`.
        path: the data file.
        place: where the new file goes.
        positions: at least one.

    Raises:
        StorageError: it cannot be written.
    """
    file = files.open_next(place, target=target)
    try:
        for start in range(0, len(positions), _PORTION):
            file.write(_rows(path, positions[start : start + _PORTION]))
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
        referenced=path,
        metrics=written.metrics,
    )


def _older(kept: KeptFile, reader: FileReader) -> tuple[BitMap64, tuple[str, ...]]:
    """The positions of older delete files of a data file, and the paths of these.

    Manifests say that these are about one data file. One with other rows than those of it is left as it is.
    """
    file, positions, replaced = kept.file, bitmap_of(), []
    for each in kept.older:
        found = read_if_alone(reader, each, file.path, file.rows)
        if found is not None:
            positions |= found
            replaced.append(each.path)
    return positions, tuple(replaced)


def delete_target(target: WriteTarget) -> WriteTarget:
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
