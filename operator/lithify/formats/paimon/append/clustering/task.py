"""One task: sorts the rows of some files and writes them into new ones.

Made by `planning`; `compaction.task` runs it on an executor. Rows that do not fit into memory go through
local disk (`engine.rewrite.sorted_rows`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from lithify.engine.rewrite.budget import MAX_PIECE
from lithify.engine.rewrite.rolling import RollingWriter
from lithify.engine.rewrite.sort_keys import SortKey
from lithify.engine.rewrite.sorted_rows import SortedRows
from lithify.files.written_files import rolling_of
from lithify.formats.paimon.append.new_files import NumberedFiles
from lithify.formats.paimon.append.row_numbers import RowNumbers
from lithify.formats.paimon.compaction.task import RewriteTask
from lithify.formats.paimon.data_files.new_files import NewFiles
from lithify.formats.paimon.data_files.reader import FileRun
from lithify.formats.protocol.results import TaskOutputs
from lithify.scratch import scratch_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterTask(RewriteTask):
    """Sorts the rows of files.

    Attributes:
        key: by what rows are sorted.
        numbers: sequence numbers of the rows.
    """

    key: SortKey
    numbers: RowNumbers

    def write(self, files: NewFiles) -> TaskOutputs:
        """Writes the sorted rows and returns the metadata of the files."""
        rolling = rolling_of(self.files, self.target.options, self.budget)
        numbered = NumberedFiles(files, self.target, self.numbers)
        with scratch_folder() as folder:
            rows = SortedRows(self.key, self.budget, folder)
            for batch in self._read():
                rows.add(batch)
            written = RollingWriter(numbered.open_next, rolling).write_all(rows.sorted())
        return TaskOutputs(data=tuple(written))

    def _read(self) -> Iterator[pa.RecordBatch]:
        run = FileRun(self.files, self.reading(self.files, self.key.columns))
        for piece in run.pieces(min(MAX_PIECE, self.budget.reading // 4)):
            yield piece.rows
