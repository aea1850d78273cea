"""One task: writes the rows of some files, one file after the other, into larger ones.

Made by `planning`, shipped to an executor by a runner, run there. The result holds no rows. Failures are
handled as those of `primary_key.task_running`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

import pyarrow as pa

from lithify.clock import Clock, wall_millis
from lithify.errors import LithifyError
from lithify.rewriting.budget import Budget
from lithify.rewriting.rolling import Rolling, RollingWriter
from lithify.tables.files.model import InputFile
from lithify.tables.files.names import GATHERED_SHARE
from lithify.tables.format import TaskOutputs, TaskResult
from lithify.tables.io.storage import Storage
from lithify.tables.paimon.append.row_files import RowSummary
from lithify.tables.paimon.append.row_numbers import RowNumbers
from lithify.tables.paimon.commit.journal import writer_id
from lithify.tables.paimon.primary_key.reader import FileRun, Reading
from lithify.tables.paimon.primary_key.task_running import carry_out
from lithify.tables.paimon.primary_key.writer import FileTarget, KeyValueFile
from lithify.tables.paimon.schema.schema import Schema


@dataclass(frozen=True, slots=True)
class PackTask:
    """Everything that an executor needs to run the task.

    Attributes:
        index: number of the task in its attempt.
        prefix: the attempt's prefix of file names.
        files: the input files, in the order of their rows.
        numbers: sequence numbers of the rows.
        schemas: the schemas of the input files, by id.
        target: where and how to write; the writer's id is filled in by the executor.
        storage: access to the files.
        budget: memory budget.
        absorbs_rest: whether a small remainder is appended to the file before.
    """

    index: int
    prefix: str
    files: tuple[InputFile, ...]
    numbers: RowNumbers
    schemas: Mapping[int, Schema]
    target: FileTarget
    storage: Storage
    budget: Budget
    absorbs_rest: bool = True

    @property
    def input_sizes(self) -> dict[str, int]:
        """Bytes of the files to read, by path."""
        return {file.path: file.size for file in self.files}

    def run(self, clock: Clock, attempt: int = 0, attempt_id: int = 0) -> TaskResult:
        """Reads, writes, and cleans up after itself if that fails; see `task_running.carry_out`."""
        rewrite = _Packing(self, writer_id(self.prefix, self.index, attempt_id), clock)
        return carry_out(rewrite, self.index, self.target.folder, attempt)


class _Packing:
    """The reader and the writer of one task."""

    def __init__(self, task: PackTask, writer: str, clock: Clock) -> None:
        self._task = task
        self._target = replace(task.target, writer_id=writer)
        self._names = self._target.names()
        self._written: list[str] = []
        self._last: RowSummary | None = None
        self._start = 0
        self._clock = clock

    def run(self) -> TaskOutputs:
        """Writes the rows and returns the metadata of the files."""
        files, options = self._task.files, self._target.options
        rolling = Rolling(
            target_size=options.target_size,
            row_group_bytes=int(self._task.budget.row_group * GATHERED_SHARE[options.format]),
            bytes_per_row=sum(file.size for file in files) / max(1, sum(file.rows for file in files)),
            absorbs_rest=self._task.absorbs_rest,
            unit_size=options.unit_size,
        )
        return TaskOutputs(data=tuple(RollingWriter(self._open_file, rolling).write_all(self._rows())))

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

    def _open_file(self) -> KeyValueFile:
        name = next(self._names)
        self._written.append(name)
        self._start += self._last.rows if self._last else 0
        self._last = RowSummary(self._target.schema, self._task.numbers, self._start)
        return KeyValueFile(
            name, self._target, self._task.storage, lambda: wall_millis(self._clock.now()), self._last
        )

    def delete_files(self) -> None:
        """Deletes all written files; suppresses errors, which would hide the original one."""
        for name in self._written:
            with suppress(LithifyError):  # the driver finds remaining files by the attempt's prefix
                self._task.storage.delete(self._target.path(name))
