"""Finds the format of a data file, its reader and its writer.

Called by adapters. A table may mix formats: a file's extension names its format, whatever the table's options
are now.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import pyarrow as pa

from lithify.errors import CorruptTable
from lithify.files.avro.reader import AvroReader
from lithify.files.avro.writer import AvroWriter
from lithify.files.model import FileColumn, FormatReader, FormatWriter
from lithify.files.names import format_of
from lithify.files.options import FileOptions
from lithify.files.orc.reader import OrcReader
from lithify.files.orc.writer import OrcWriter
from lithify.files.parquet.reader import ParquetReader
from lithify.files.parquet.writer import ParquetWriter
from lithify.files.types import ColumnType
from lithify.io.storage import Storage

READERS: dict[str, Callable[[Storage, int], FormatReader]] = {
    "parquet": ParquetReader,
    "orc": OrcReader,
    "avro": AvroReader,
}
"""Readers by file extension."""


class Readers:
    """The readers of one task, each created on first use.

    Args:
        storage: access to the files.
        share: bytes that may be prefetched for one run, for stores where every read is a request.
        columns: number of columns of the rows.
        formats: formats of files by path, where the table's metadata have them; of others the extension
            counts.
    """

    def __init__(
        self, storage: Storage, share: int = 0, columns: int = 1, formats: Mapping[str, str] | None = None
    ) -> None:
        self._storage = storage
        self._formats = formats or {}
        self._fetched = share // max(1, columns)
        self._made: dict[str, FormatReader] = {}

    def of(self, path: str) -> FormatReader:
        """The reader of a file.

        Raises:
            CorruptTable: the format is unknown; adapters refuse such files before any work.
        """
        name = self._formats.get(path) or format_of(path)
        if name not in READERS:
            raise CorruptTable(path, "nobody can tell its format")
        if name not in self._made:
            self._made[name] = READERS[name](self._storage, self._fetched)
        return self._made[name]

    def hold_any(self, path: str, column: FileColumn, values: Collection[int]) -> bool:
        """Whether any row has one of the values in a column of small integers without nulls."""
        return self.of(path).holds_any(path, column, values)


def open_writer(
    sink: pa.NativeFile, options: FileOptions, path: str, types: dict[str, ColumnType]
) -> FormatWriter:
    """Opens a writer for a new file with columns of these types, in the format of its options."""
    if options.format == "avro":
        return AvroWriter(sink, options, path, types)
    if options.format == "orc":
        return OrcWriter(sink, options, types)
    return ParquetWriter(sink, options, types)
