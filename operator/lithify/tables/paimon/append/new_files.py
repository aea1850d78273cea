"""The data files that one task of a table without a primary key writes, one after the other.

Used by every kind of task of such tables. Each file gets the sequence numbers of its rows.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from lithify.clock import Clock, wall_millis
from lithify.errors import LithifyError
from lithify.tables.files.parquet.copying.source import RowGroupSource
from lithify.tables.io.storage import Storage
from lithify.tables.paimon.append.row_files import RowSummary
from lithify.tables.paimon.append.row_numbers import RowNumbers
from lithify.tables.paimon.data_files.writer import FileTarget, OpenDataFile


class NewFiles:
    """The files of one writer.

    Args:
        target: where and how to write.
        writer: id of the writer, part of the names.
        numbers: sequence numbers of the task's rows.
        storage: access to the file system.
        clock: source of creation times.
    """

    def __init__(
        self, target: FileTarget, writer: str, numbers: RowNumbers, storage: Storage, clock: Clock
    ) -> None:
        self.target = replace(target, writer_id=writer)
        self._numbers = numbers
        self._storage = storage
        self._clock = clock
        self._names = self.target.names()
        self._written: list[str] = []
        self._last: RowSummary | None = None
        self._start = 0

    def open_next(self, like: RowGroupSource | None = None) -> OpenDataFile:
        """Opens the next file; with `like`, row groups can be copied into it."""
        name = next(self._names)
        self._written += self.target.paths(name)
        self._start += self._last.rows if self._last else 0
        self._last = RowSummary(self.target.schema, self._numbers, self._start)
        return OpenDataFile(
            name,
            self.target,
            self._storage,
            lambda: wall_millis(self._clock.now()),
            self._last,
            like=like,
        )

    def delete(self) -> None:
        """Deletes all written files; suppresses errors, which would hide the original one."""
        for path in self._written:
            with suppress(LithifyError):  # the driver finds remaining files by the attempt's prefix
                self._storage.delete(path)
