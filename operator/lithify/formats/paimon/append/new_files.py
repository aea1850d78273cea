"""The data files that one task of a table without a primary key writes.

Used by every kind of task of such tables. Each file gets the sequence numbers of its rows.
"""

from __future__ import annotations

from lithify.files.parquet.copying.source import RowGroupSource
from lithify.formats.paimon.append.row_files import RowSummary
from lithify.formats.paimon.append.row_numbers import RowNumbers
from lithify.formats.paimon.data_files.new_files import NewFiles
from lithify.formats.paimon.data_files.writer import FileTarget, OpenDataFile


class NumberedFiles:
    """The files of one writer, whose rows have the task's sequence numbers.

    Args:
        files: the files, as they are opened.
        target: where and how to write.
        numbers: sequence numbers of the task's rows.
    """

    def __init__(self, files: NewFiles, target: FileTarget, numbers: RowNumbers) -> None:
        self._files = files
        self._target = target
        self._numbers = numbers
        self._last: RowSummary | None = None
        self._start = 0

    def open_next(self, like: RowGroupSource | None = None) -> OpenDataFile:
        """Opens the next file; with `like`, row groups can be copied into it."""
        self._start += self._last.rows if self._last else 0
        self._last = RowSummary(self._target.schema, self._numbers, self._start)
        return self._files.open_next(self._target, self._last, like)
