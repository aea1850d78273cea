"""One task: writes the rows of some files, one file after the other, into larger ones.

Made by `planning`; `compaction.task` runs it on an executor. What is copied, joined or decoded is decided by
`files.parquet.copying.packing`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from lithify.engine.rewrite.rolling import RollingWriter
from lithify.files.model import InputFile
from lithify.files.parquet.copying.copied_groups import CopiedGroup
from lithify.files.parquet.copying.file_parts import FilePart, may_copy_any
from lithify.files.parquet.copying.packing import Packing
from lithify.files.parquet.copying.source import RowGroupSource
from lithify.files.parquet.copying.target import CopyTarget
from lithify.files.parquet.small_files import JoinedGroup
from lithify.files.written_files import rolling_of
from lithify.formats.paimon.append.new_files import NumberedFiles
from lithify.formats.paimon.append.row_numbers import RowNumbers
from lithify.formats.paimon.compaction.task import RewriteTask
from lithify.formats.paimon.data_files.new_files import NewFiles
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
        numbered = NumberedFiles(files, self.target, self.numbers)
        packing = Packing(self.files, PackedFiles(self), self._copy_target(), self.budget)
        rolling = rolling_of(self.files, self.target.options, self.budget, absorbs_rest=self.absorbs_rest)
        writer = RollingWriter(lambda: numbered.open_next(packing.like), rolling, lambda: packing.to_come)
        data = tuple(writer.write_all(packing.rows()))
        return TaskOutputs(data=data, copied_bytes=packing.copied_bytes)

    def _copy_target(self) -> CopyTarget | None:
        """The files that the task writes; None if no row groups can be copied or joined."""
        target = self.target
        types = {column.name: column.type for column in target.schema.columns}
        if not may_copy_any(self.files, target.options, types.values()):
            return None
        return CopyTarget(types, target.options, frozenset(target.indexes.columns), OpenDataFile.like(target))


@dataclass(frozen=True, slots=True)
class PackedFiles:
    """How a task reads its files; implements `PackedSource`."""

    task: PackTask

    def reading(self, files: Sequence[InputFile]) -> Reading:
        """How these files are read, within the task's budget."""
        return self.task.reading(files)

    def like(self, target: CopyTarget) -> RowGroupSource:
        """The file with which row groups were compared."""
        return target.like

    def copied(self, group: CopiedGroup, file: InputFile) -> CopiedGroup:
        """The row group as it is."""
        del file
        return group

    def joined(self, group: JoinedGroup, files: Sequence[InputFile]) -> JoinedGroup:
        """The row group as it is."""
        del files
        return group

    def decoded(self, part: FilePart, reading: Reading) -> Iterator[pa.RecordBatch]:
        """The rows of a part without deleted ones."""
        only = {} if part.row_groups is None else {part.file.path: part.row_groups}
        run = FileRun([part.file], reading, row_groups=only)
        return (piece.rows for piece in run.pieces(self.task.budget.piece_bytes([run.overhead])))
