"""Which format a data file has, and what reads and writes it.

Called by `reader`, `writer` and the job's planner. A table may mix formats: the end of a file's name says
which it has, whatever the table's options have become since.
"""

from __future__ import annotations

import pyarrow as pa

from lithify.errors import CorruptTable
from lithify.tables.paimon.formats.model import FormatReader, FormatWriter
from lithify.tables.paimon.formats.parquet.reader import ParquetReader
from lithify.tables.paimon.formats.parquet.writer import ParquetWriter
from lithify.tables.paimon.options import FileOptions
from lithify.tables.paimon.storage import Storage

READERS = {"parquet": ParquetReader}
"""What reads each format, by the end of file names."""


def format_of(name: str) -> str:
    """The end of a file's name without the dot, for example `parquet`."""
    return name.rpartition(".")[2]


class Readers:
    """The readers of one task, each made when it is first asked for.

    Args:
        storage: access to the files.
        share: bytes that may be fetched in advance for one run, where every fetch is a request.
        columns: how many columns the rows have.
    """

    def __init__(self, storage: Storage, share: int = 0, columns: int = 1) -> None:
        self._storage = storage
        self._fetched = share // max(1, columns)
        self._made: dict[str, FormatReader] = {}

    def of(self, path: str) -> FormatReader:
        """What reads a file.

        Raises:
            CorruptTable: no format is called so; `evolution` refuses such files before any work.
        """
        name = format_of(path)
        if name not in READERS:
            raise CorruptTable(path, "nobody can tell its format")
        if name not in self._made:
            self._made[name] = READERS[name](self._storage, self._fetched)
        return self._made[name]

    def hold_deletes(self, path: str) -> bool:
        """Whether any row of a file retracts its key, whatever its metadata claims."""
        return self.of(path).holds_deletes(path)


def open_writer(sink: pa.NativeFile, options: FileOptions) -> FormatWriter:
    """A writer of a new file."""
    return ParquetWriter(sink, options)
