"""One task: sorts the rows of some files and writes them into new ones.

Made by `planning`, shipped to an executor by a runner, run there. Rows that do not fit into memory go through
local disk (`rewriting.sorted_rows`). The result holds no rows. Failures are handled as those of
`compaction.task_running`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from lithify.clock import Clock
from lithify.rewriting.budget import MAX_PIECE
from lithify.rewriting.rolling import RollingWriter
from lithify.rewriting.sort_keys import SortKey
from lithify.rewriting.sorted_rows import SortedRows
from lithify.tables.files.model import InputFile
from lithify.tables.format import TaskOutputs, TaskResult
from lithify.tables.paimon.append.new_files import NumberedFiles
from lithify.tables.paimon.append.row_numbers import RowNumbers
from lithify.tables.paimon.commit.journal import writer_id
from lithify.tables.paimon.compaction.task import CompactionTask
from lithify.tables.paimon.compaction.task_running import carry_out
from lithify.tables.paimon.data_files.new_files import rolling_of
from lithify.tables.paimon.data_files.reader import FileRun, Reading
from lithify.tables.paimon.data_files.writer import FileTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterTask(CompactionTask):
    """Sorts the rows of files.

    Attributes:
        files: the input files.
        key: by what rows are sorted.
        numbers: sequence numbers of the rows.
        target: where and how to write; the writer's id is filled in by the executor.
    """

    files: tuple[InputFile, ...]
    key: SortKey
    numbers: RowNumbers
    target: FileTarget

    @property
    def input_sizes(self) -> dict[str, int]:
        """Bytes of the files to read, by path."""
        return {file.path: file.size for file in self.files}

    def run(self, clock: Clock, attempt: int = 0, attempt_id: int = 0) -> TaskResult:
        """Sorts, writes, and cleans up after itself if that fails; see `task_running.carry_out`."""
        sorting = _Sorting(self, writer_id(self.prefix, self.index, attempt_id), clock)
        return carry_out(sorting, self.index, self.target.folder, attempt)


class _Sorting:
    """The reader, the sorted rows and the writer of one task."""

    def __init__(self, task: ClusterTask, writer: str, clock: Clock) -> None:
        self._task = task
        self._files = NumberedFiles(task.target, writer, task.numbers, task.storage, clock)

    def run(self) -> TaskOutputs:
        """Writes the sorted rows and returns the metadata of the files."""
        task = self._task
        rolling = rolling_of(task.files, task.target, task.budget)
        with tempfile.TemporaryDirectory(prefix="lithify-spill-") as folder:
            rows = SortedRows(self._task.key, self._task.budget, Path(folder))
            for batch in self._read():
                rows.add(batch)
            written = RollingWriter(self._files.open_next, rolling).write_all(rows.sorted())
        return TaskOutputs(data=tuple(written))

    def delete_files(self) -> None:
        """Deletes all written files; see `NewFiles.delete`."""
        self._files.delete()

    def _read(self) -> Iterator[pa.RecordBatch]:
        task = self._task
        reading = Reading(
            task.files,
            task.schemas,
            task.target.schema,
            task.key.columns,
            task.storage,
            share=task.budget.reading // 2,
            options=task.target.options.parquet.variants,
        )
        run = FileRun(task.files, reading)
        for piece in run.pieces(min(MAX_PIECE, task.budget.reading // 4)):
            yield piece.rows
