"""The data files that one task of a table without a primary key writes.

Used by every kind of task of such tables. Each file gets the sequence numbers of its rows.
"""

from __future__ import annotations

from lithify.clock import Clock
from lithify.tables.io.storage import Storage
from lithify.tables.paimon.append.row_files import RowSummary
from lithify.tables.paimon.append.row_numbers import RowNumbers
from lithify.tables.paimon.data_files.new_files import NewFiles
from lithify.tables.paimon.data_files.writer import FileTarget


class NumberedFiles(NewFiles):
    """The files of one writer; see `NewFiles`.

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
        super().__init__(target, writer, storage, clock)
        self._numbers = numbers
        self._last: RowSummary | None = None
        self._start = 0

    def _summary(self) -> RowSummary:
        self._start += self._last.rows if self._last else 0
        self._last = RowSummary(self.target.schema, self._numbers, self._start)
        return self._last
