"""Position delete files: which rows of which data files they delete.

Called by `positions`. Rows are pairs of a path and a position, usually sorted; a file may be about data files
that nobody asks for. Memory is a batch of rows plus the bitmaps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.key_range import KeyRange
from lithify.columns.order import IntPart
from lithify.errors import CorruptTable
from lithify.files.types import UNBOUNDED, ColumnType, Field
from lithify.formats.iceberg.data_files.reader import FileReader, Request
from lithify.formats.iceberg.deletes.bitmaps import bitmap_of
from lithify.formats.iceberg.deletes.small_position_files import SMALL, is_always, positions_of
from lithify.formats.iceberg.model import DeleteFile

if TYPE_CHECKING:
    from pyroaring import BitMap64

PATH = Field("file_path", ColumnType("VARCHAR", UNBOUNDED, nullable=False), 2147483546)
POSITION = Field("pos", ColumnType("BIGINT", nullable=False), 2147483545)
_PIECE = 4 << 20


def read_positions(reader: FileReader, file: DeleteFile, wanted: Mapping[str, int]) -> dict[str, BitMap64]:
    """The positions that a file deletes from each of the wanted data files.

    Args:
        reader: reads files of the table.
        file: the delete file.
        wanted: data files by path, with their numbers of rows.

    Raises:
        MissingFile: the file does not exist.
        CorruptTable: it cannot be read, or deletes rows that no data file has.
    """
    found: dict[str, BitMap64] = {}
    for path, positions in _positions(reader, file, wanted):
        some = _checked(file, path, positions, wanted[path])
        found[path] = found[path] | some if path in found else some
    return found


def read_if_alone(reader: FileReader, file: DeleteFile, path: str, rows: int) -> BitMap64 | None:
    """The positions that a file deletes from one data file; None if it is about others, too.

    A position may be listed more than once.

    Args:
        reader: reads files of the table.
        file: the delete file.
        path: the data file.
        rows: its number of rows.

    Raises:
        MissingFile, CorruptTable: as `read_positions`.
    """
    found, listed = bitmap_of(), 0
    for _, positions in _positions(reader, file, {path: rows}):
        found |= _checked(file, path, positions, rows)
        listed += len(positions)
    return found if listed == file.rows else None


def _checked(file: DeleteFile, path: str, positions: IntPart, rows: int) -> BitMap64:
    least, most = int(positions.min()), int(positions.max())
    if least < 0 or most >= rows:
        at = least if least < 0 else most
        raise CorruptTable(file.path, f"it deletes row {at} of {path}, which has {rows} rows")
    return bitmap_of(positions)


def _positions(
    reader: FileReader, file: DeleteFile, wanted: Mapping[str, int]
) -> Iterator[tuple[str, IntPart]]:
    """The positions of each wanted data file, batch by batch."""
    only = file.referenced
    small = _of_small(reader, file, only) if only in wanted else None
    if small is not None and only is not None:
        if len(small):
            yield only, _complete(small, file).to_numpy()
        return
    if only is not None and only in wanted and _names_only(reader, file, only):
        for batch in reader.batches(file, Request((POSITION,), _PIECE)):
            if batch.num_rows:
                yield only, _complete(batch.column(0), file).to_numpy()
        return
    for batch in reader.batches(file, _request(file, wanted)):
        _complete(batch.column(1), file)
        yield from _by_path(batch, wanted)


def _of_small(reader: FileReader, file: DeleteFile, path: str | None) -> pa.ChunkedArray | None:
    """All positions of a small file; None if it is not one that is read at once."""
    if path is None or file.size > SMALL or reader.parquet(file.path) is None:
        return None
    return positions_of(reader.storage, file, path, (PATH.id, POSITION.id))


def _names_only(reader: FileReader, file: DeleteFile, path: str) -> bool:
    """Whether all rows are about one data file by the bounds of their paths, which then need not be read."""
    columns, parquet = reader.stored(file.path), reader.parquet(file.path)
    if parquet is None:
        return False
    footer = parquet.footers.of(file.path)
    if not columns or columns[0].id != PATH.id or footer.schema.column(0).physical_type != "BYTE_ARRAY":
        return False
    chunks = [footer.row_group(number).column(0) for number in range(footer.num_row_groups)]
    return all(is_always(chunk.statistics, path.encode()) for chunk in chunks)


def _complete(positions: pa.Array | pa.ChunkedArray, file: DeleteFile) -> pa.Array | pa.ChunkedArray:
    """Positions without nulls.

    Raises:
        CorruptTable: there is one.
    """
    if positions.null_count:
        raise CorruptTable(file.path, "it deletes a row without a position")
    return positions


def _request(file: DeleteFile, wanted: Mapping[str, int]) -> Request:
    """All rows about wanted files; other row groups are skipped by the bounds of their paths.

    A file about a single data file has no others, so its bounds are not looked at.
    """
    if file.referenced is not None:
        return Request((PATH, POSITION), _PIECE, dictionaries=(PATH.name,))
    least = min(wanted).encode()
    before = (least[:-1],) if least else None
    keys = KeyRange(before, (max(wanted).encode(),))
    return Request((PATH, POSITION), _PIECE, dictionaries=(PATH.name,), key=PATH, keys=keys)


def _by_path(batch: pa.RecordBatch, wanted: Mapping[str, int]) -> Iterator[tuple[str, IntPart]]:
    """The positions of each wanted data file in a batch."""
    paths, positions = batch.column(0), batch.column(1).to_numpy()
    if not pa.types.is_dictionary(paths.type):
        paths = paths.dictionary_encode()
    codes = paths.indices.to_numpy()
    known = pc.index_in(paths.dictionary, value_set=pa.array(list(wanted), pa.string()))
    numbers = known.fill_null(-1).to_numpy()[codes]
    is_wanted = numbers >= 0
    if not is_wanted.all():
        numbers, positions = numbers[is_wanted], positions[is_wanted]
    if not len(numbers):
        return
    if (np.diff(numbers) < 0).any():
        order = np.argsort(numbers, kind="stable")
        numbers, positions = numbers[order], positions[order]
    names = list(wanted)
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    for start, part in zip(starts, np.split(positions, starts[1:]), strict=True):
        yield names[numbers[start]], part
