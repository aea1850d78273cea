"""One task: writes the rows of changelog files of an attempt, one file after the other, into fewer files.

Made by `joining`; `compaction.task` runs it on an executor. The rows of a changelog keep their order and are
not merged: an update is two rows of one key.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from lithify.engine.rewrite.rolling import RollingWriter
from lithify.files.written_files import rolling_of
from lithify.formats.paimon.compaction.task import RewriteTask
from lithify.formats.paimon.data_files.new_files import NewFiles
from lithify.formats.paimon.data_files.reader import FileRun
from lithify.formats.protocol.results import TaskOutputs


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangelogTask(RewriteTask):
    """Joins changelog files; they are in key order."""

    def write(self, files: NewFiles) -> TaskOutputs:
        """Writes the rows and returns the metadata of the files."""
        rolling = rolling_of(self.files, self.target.options, self.budget)
        writer = RollingWriter(lambda: files.open_next(self.target), rolling)
        return TaskOutputs(changelog=tuple(writer.write_all(self._rows())))

    def _rows(self) -> Iterator[pa.RecordBatch]:
        run = FileRun(self.files, self.reading(self.files))
        for piece in run.pieces(self.budget.piece_bytes([run.overhead])):
            yield piece.rows
