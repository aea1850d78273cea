"""One task: writes the rows of changelog files of an attempt, one file after the other, into fewer files.

Made by `joining`, shipped to an executor by a runner, run there. The rows of a changelog keep their order and
are not merged: an update is two rows of one key. Failures are handled as those of `compaction.task_running`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from lithify.clock import Clock
from lithify.rewriting.rolling import RollingWriter
from lithify.tables.files.model import InputFile
from lithify.tables.format import TaskOutputs, TaskResult
from lithify.tables.paimon.commit.journal import writer_id
from lithify.tables.paimon.compaction.task import CompactionTask
from lithify.tables.paimon.compaction.task_running import carry_out
from lithify.tables.paimon.data_files.new_files import NewFiles, rolling_of
from lithify.tables.paimon.data_files.reader import FileRun, Reading
from lithify.tables.paimon.data_files.writer import FileTarget


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangelogTask(CompactionTask):
    """Joins changelog files.

    Attributes:
        files: the input files, in key order.
        target: where and how to write; the writer's id is filled in by the executor.
    """

    files: tuple[InputFile, ...]
    target: FileTarget

    @property
    def input_sizes(self) -> dict[str, int]:
        """Bytes of the files to read, by path."""
        return {file.path: file.size for file in self.files}

    def run(self, clock: Clock, attempt: int = 0, attempt_id: int = 0) -> TaskResult:
        """Reads, writes, and cleans up after itself if that fails; see `task_running.carry_out`."""
        joining = _Joining(self, writer_id(self.prefix, self.index, attempt_id), clock)
        return carry_out(joining, self.index, self.target.folder, attempt)


class _Joining:
    """The reader and the writer of one task."""

    def __init__(self, task: ChangelogTask, writer: str, clock: Clock) -> None:
        self._task = task
        self._files = NewFiles(task.target, writer, task.storage, clock)

    def run(self) -> TaskOutputs:
        """Writes the rows and returns the metadata of the files."""
        task = self._task
        rolling = rolling_of(task.files, task.target, task.budget)
        writer = RollingWriter(self._files.open_next, rolling)
        return TaskOutputs(changelog=tuple(writer.write_all(self._rows())))

    def _rows(self) -> Iterator[pa.RecordBatch]:
        task = self._task
        reading = Reading(
            task.files,
            task.schemas,
            task.target.schema,
            (),
            task.storage,
            share=task.budget.reading // 2,
            options=task.target.options.parquet.variants,
        )
        run = FileRun(task.files, reading)
        for piece in run.pieces(task.budget.piece_bytes([run.overhead])):
            yield piece.rows

    def delete_files(self) -> None:
        """Deletes all written files; see `NewFiles.delete`."""
        self._files.delete()
