"""One task: writes the rows of some files, one file after the other, into larger ones.

Row groups that are large enough are copied (`file_parts`), pages of small files are joined where that pays
(`joined_files`), everything else is decoded and encoded.
Made by `planning`, shipped to an executor by a runner, run there. The result holds no rows. Failures are
handled as those of `compaction.task_running`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import pyarrow as pa

from lithify.clock import Clock
from lithify.rewriting.rolling import RollingWriter
from lithify.tables.files.model import InputFile
from lithify.tables.files.parquet.copying.source import RowGroupSource
from lithify.tables.files.parquet.small_files import JoinedGroup
from lithify.tables.format import TaskOutputs, TaskResult
from lithify.tables.paimon.append.file_parts import FilePart, RowGroups
from lithify.tables.paimon.append.joined_files import FileJoiner
from lithify.tables.paimon.append.new_files import NumberedFiles
from lithify.tables.paimon.append.row_numbers import RowNumbers
from lithify.tables.paimon.commit.journal import writer_id
from lithify.tables.paimon.compaction.task import CompactionTask
from lithify.tables.paimon.compaction.task_running import carry_out
from lithify.tables.paimon.data_files.copied_groups import CopiedGroup
from lithify.tables.paimon.data_files.new_files import rolling_of
from lithify.tables.paimon.data_files.reader import FileRun, Reading
from lithify.tables.paimon.data_files.writer import FileTarget, OpenDataFile


@dataclass(frozen=True, slots=True, kw_only=True)
class PackTask(CompactionTask):
    """Writes the rows of files, one file after the other, into larger ones.

    Attributes:
        files: the input files, in the order of their rows.
        numbers: sequence numbers of the rows.
        target: where and how to write; the writer's id is filled in by the executor.
        absorbs_rest: whether a small remainder is appended to the file before.
    """

    files: tuple[InputFile, ...]
    numbers: RowNumbers
    target: FileTarget
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
        self._files = NumberedFiles(task.target, writer, task.numbers, task.storage, clock)
        self._to_come: float = sum(file.size for file in task.files)
        self._copied_bytes = 0
        self._like: RowGroupSource | None = None

    def run(self) -> TaskOutputs:
        """Writes the rows and returns the metadata of the files."""
        rolling = rolling_of(
            self._task.files,
            self._task.target,
            self._task.budget,
            absorbs_rest=self._task.absorbs_rest,
        )
        writer = RollingWriter(self._open_file, rolling, lambda: self._to_come)
        data = tuple(writer.write_all(self._rows()))
        return TaskOutputs(data=data, copied_bytes=self._copied_bytes)

    def _rows(self) -> Iterator[pa.RecordBatch | CopiedGroup | JoinedGroup]:
        """The rows of the files in order, and the row groups that are copied or joined."""
        files = self._task.files
        row_groups = RowGroups.of(files, self._reading(()), self._files.target)
        parts = [*(map(FilePart.whole, files) if row_groups is None else row_groups.parts_of(files))]
        self._to_come = sum(part.bytes for part in parts)
        reading = self._reading([*dict.fromkeys(part.file for part in parts if not part.is_copied)])
        joiner = None if row_groups is None else self._joiner(reading, row_groups.like, parts)
        if row_groups is not None and (joiner is not None or any(part.is_copied for part in parts)):
            self._like = row_groups.like
        for is_whole, alike in groupby(parts, lambda part: part.is_decoded_whole):
            if is_whole and joiner is not None:
                yield from self._joined([part.file for part in alike], joiner, reading)
                continue
            for part in alike:
                if row_groups is not None and part.is_copied:
                    yield from self._copied(part, row_groups)
                else:
                    yield from self._decoded(part, reading)

    def _joiner(self, reading: Reading, like: RowGroupSource, parts: Sequence[FilePart]) -> FileJoiner | None:
        """What joins small files, None if there are none whose pages can be joined."""
        joiner = FileJoiner(reading, self._files.target, like, self._task.budget)
        whole = [part.file for part in parts if part.is_decoded_whole]
        return joiner if joiner.can_join_any(whole) else None

    def _joined(
        self, files: Sequence[InputFile], joiner: FileJoiner, reading: Reading
    ) -> Iterator[pa.RecordBatch | JoinedGroup]:
        for each in joiner.joined(files):
            if isinstance(each, JoinedGroup):
                self._to_come -= each.bytes
                self._copied_bytes += each.joined_bytes
                yield each
            else:
                yield from self._decoded(FilePart.whole(each), reading)

    def _copied(self, part: FilePart, row_groups: RowGroups) -> Iterator[CopiedGroup]:
        for group in row_groups.copied(part):
            self._to_come -= group.bytes
            self._copied_bytes += group.bytes
            yield group

    def _decoded(self, part: FilePart, reading: Reading) -> Iterator[pa.RecordBatch]:
        file = part.file
        only = {} if part.row_groups is None else {file.path: part.row_groups}
        run = FileRun([file], reading, row_groups=only)
        bytes_per_row = part.bytes / max(1, part.rows)
        for piece in run.pieces(self._task.budget.piece_bytes([run.overhead])):
            self._to_come -= piece.rows.num_rows * bytes_per_row
            yield piece.rows

    def _reading(self, files: Sequence[InputFile]) -> Reading:
        """How files are read; text columns that all of `files` have as dictionaries are read as such."""
        task = self._task
        return Reading(
            files,
            task.schemas,
            task.target.schema,
            (),
            task.storage,
            share=task.budget.reading // 2,
            options=task.target.options.parquet.variants,
        )

    def _open_file(self) -> OpenDataFile:
        return self._files.open_next(self._like)

    def delete_files(self) -> None:
        """Deletes all written files; see `NewFiles.delete`."""
        self._files.delete()
