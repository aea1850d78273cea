"""Files with the places of the rows of a task, in the order of their numbers (see `engine.rewrite.row_map`).

Written by tasks that move rows, read by the driver; called by `maps`. One column of differences in Parquet,
without compression, which saves next to nothing here; a row group for each slab, so that each can be read
alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lithify.engine.rewrite.places import place_type
from lithify.engine.rewrite.row_map import SLAB_ROWS, Slab
from lithify.errors import CorruptTable, StorageError
from lithify.files.reading import reading
from lithify.io.storage import Storage, reporting

_COLUMN = "place"


def write_places(storage: Storage, path: str, rows: int, slabs: Iterator[Slab]) -> int:
    """Writes the places of a number of rows; returns the bytes of the file.

    Nothing is flushed to disk: a map that a crash of the machine destroys is no longer needed.

    Raises:
        CorruptTable: a row has no place.
        StorageError: the file cannot be written.
    """
    schema = pa.schema([pa.field(_COLUMN, pa.from_numpy_dtype(place_type(rows)), nullable=False)])
    with reporting(path), closing(storage.create(path).sink) as sink:
        with pq.ParquetWriter(
            sink,
            schema,
            compression="none",
            use_dictionary=False,
            column_encoding={_COLUMN: "DELTA_BINARY_PACKED"},
            write_statistics=False,
            write_page_checksum=True,
            store_schema=False,
        ) as writer:
            for slab in slabs:
                writer.write_table(pa.table([pa.array(slab)], schema=schema), row_group_size=SLAB_ROWS)
        return int(sink.tell())


class StoredPlaces:
    """The places of a task, decoded slab by slab into a local file, from which single ones can be taken.

    Args:
        storage: access to the file.
        path: the file.
        size: its bytes.
        rows: the number of places.
        local: a new local file, of 4 bytes a row; only slabs that are decoded take room on disk.
    """

    def __init__(self, storage: Storage, path: str, size: int, rows: int, local: Path) -> None:
        self._storage = storage
        self._path = path
        self._size = size
        self._rows = rows
        self._local = local
        self._kind = place_type(rows)
        self._decoded: set[int] = set()
        self._footer: pq.FileMetaData | None = None

    def slab(self, number: int) -> Slab:
        """The places of the numbers from `SLAB_ROWS * number` on, of which only those are read that are used.

        Raises:
            MissingFile: the file does not exist any more.
            CorruptTable: it is damaged.
            StorageError: the local disk is full or refuses.
        """
        if number not in self._decoded:
            self._keep(number, self._read(number))
            self._decoded.add(number)
        first = number * SLAB_ROWS
        length = min(SLAB_ROWS, self._rows - first)
        # Pages of a map of the whole file would stay in memory.
        return np.memmap(self._local, self._kind, "r", first * self._kind.itemsize, (length,))

    def _read(self, number: int) -> Slab:
        path = self._path
        with reading(path, "Parquet"), closing(self._storage.open(path, self._size)) as source:
            parquet = pq.ParquetFile(
                source, metadata=self._footer, pre_buffer=False, page_checksum_verification=True
            )
            self._footer = parquet.metadata
            slab: Slab = parquet.read_row_group(number, use_threads=False).column(0).to_numpy()
        if len(slab) != min(SLAB_ROWS, self._rows - number * SLAB_ROWS) or slab.dtype != self._kind:
            raise CorruptTable(path, f"slab {number} of {self._rows} places has {len(slab)} ({slab.dtype})")
        return slab

    def _keep(self, number: int, slab: Slab) -> None:
        """Writes a slab at its place, not through the map of the file: that would not report a full disk."""
        try:
            with self._local.open("r+b" if self._decoded else "wb") as file:
                file.truncate(self._rows * self._kind.itemsize)
                file.seek(number * SLAB_ROWS * self._kind.itemsize)
                file.write(slab.tobytes())
        except OSError as error:
            problem = f"mapping rows needs more room on the local disk than there is ({error})"
            raise StorageError(str(self._local), problem) from error
