"""One task: writes the rows of some files, one file after the other, into larger ones.

Row groups that are large enough are copied (`file_parts`), pages of small files are joined where that pays
(`joined_files`), everything else is decoded and encoded.
Made by `planning`; `compaction.task` runs it on an executor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import pyarrow as pa

from lithify.engine.rewrite.rolling import RollingWriter
from lithify.files.model import InputFile
from lithify.files.parquet.copying.copied_groups import CopiedGroup
from lithify.files.parquet.copying.file_parts import FilePart, RowGroups, may_copy_any
from lithify.files.parquet.copying.joined_files import FileJoiner
from lithify.files.parquet.copying.source import RowGroupSource
from lithify.files.parquet.copying.target import CopyTarget
from lithify.files.parquet.small_files import JoinedGroup
from lithify.formats.paimon.append.new_files import NumberedFiles
from lithify.formats.paimon.append.row_numbers import RowNumbers
from lithify.formats.paimon.compaction.task import RewriteTask
from lithify.formats.paimon.data_files.new_files import NewFiles, rolling_of
from lithify.formats.paimon.data_files.reader import FileRun, Reading
from lithify.formats.paimon.data_files.writer import OpenDataFile
from lithify.formats.protocol.results import TaskOutputs


@dataclass(frozen=True, slots=True, kw_only=True)
class PackTask(RewriteTask):
    """Writes the rows of files, one file after the other, into larger ones.

    Attributes:
        numbers: sequence numbers of the rows.
        absorbs_rest: whether a small remainder is appended to the file before.
    """

    numbers: RowNumbers
    absorbs_rest: bool = True

    def write(self, files: NewFiles) -> TaskOutputs:
        """Writes the rows and returns the metadata of the files."""
        return _Packing(self, NumberedFiles(files, self.target, self.numbers)).run()


class _Packing:
    """The reader and the writer of one task."""

    def __init__(self, task: PackTask, files: NumberedFiles) -> None:
        self._task = task
        self._files = files
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
        target = self._copy_target()
        row_groups = None if target is None else RowGroups(self._task.reading(()), target)
        parts = [*(map(FilePart.whole, files) if row_groups is None else row_groups.parts_of(files))]
        self._to_come = sum(part.bytes for part in parts)
        reading = self._task.reading([*dict.fromkeys(part.file for part in parts if not part.is_copied)])
        joiner = None if target is None else self._joiner(reading, target, parts)
        if target is not None and (joiner is not None or any(part.is_copied for part in parts)):
            self._like = target.like
        for is_whole, alike in groupby(parts, lambda part: part.is_decoded_whole):
            if is_whole and joiner is not None:
                yield from self._joined([part.file for part in alike], joiner, reading)
                continue
            for part in alike:
                if row_groups is not None and part.is_copied:
                    yield from self._copied(part, row_groups)
                else:
                    yield from self._decoded(part, reading)

    def _copy_target(self) -> CopyTarget | None:
        """The files that the task writes; None if no row groups can be copied or joined."""
        target = self._task.target
        types = {column.name: column.type for column in target.schema.columns}
        if not may_copy_any(self._task.files, target.options, types.values()):
            return None
        return CopyTarget(types, target.options, frozenset(target.indexes.columns), OpenDataFile.like(target))

    def _joiner(self, reading: Reading, target: CopyTarget, parts: Sequence[FilePart]) -> FileJoiner | None:
        """The joiner of small files, None if there are none whose pages can be joined."""
        joiner = FileJoiner(reading, target, self._task.budget)
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

    def _open_file(self) -> OpenDataFile:
        return self._files.open_next(self._like)
