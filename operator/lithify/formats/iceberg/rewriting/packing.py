"""How a task that keeps the order of rows copies, joins and decodes files, as far as Iceberg adds to it.

Called by tasks; `files.parquet.copying.packing` decides. Lineage columns are always encoded, beside what is
copied.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from lithify.engine.rewrite.budget import Budget
from lithify.files.model import InputFile
from lithify.files.parquet.copying.copied_groups import CopiedGroup
from lithify.files.parquet.copying.file_parts import FilePart, may_copy_any
from lithify.files.parquet.copying.packing import Packing
from lithify.files.parquet.copying.source import RowGroupSource
from lithify.files.parquet.copying.target import CopyTarget
from lithify.files.parquet.small_files import JoinedGroup
from lithify.files.registry import Readers
from lithify.files.types import ColumnType
from lithify.formats.iceberg.data_files.projection import is_same
from lithify.formats.iceberg.data_files.reader import FileReader
from lithify.formats.iceberg.data_files.schema import LINEAGE
from lithify.formats.iceberg.deletes.positions import DeletedPositions
from lithify.formats.iceberg.model import DataFile
from lithify.formats.iceberg.rewriting.encoded_rows import CopiedRows, JoinedRows
from lithify.formats.iceberg.rewriting.lineage import whole_lineage
from lithify.formats.iceberg.rewriting.live_rows import LiveRows
from lithify.formats.iceberg.rewriting.target import WriteTarget

SMALLEST_COPIED = 8 << 20
"""Bytes of a row group below which copying it alone would leave files with many small row groups."""


class CopyReading:
    """How copying reads files; a `Reading` of `files.parquet.copying.target`."""

    def __init__(self, reader: FileReader, target: WriteTarget, files: Mapping[str, DataFile]) -> None:
        self.storage = reader.storage
        self.readers: Readers = reader.readers
        self._reader = reader
        self._columns = target.schema.stored()
        self._files = files

    def are_all_stored(self, file: InputFile) -> bool:
        """Whether the file has the columns of the table in their order, and no others."""
        stored = self._reader.stored(self._files[file.path].path)
        return len(stored) == len(self._columns) and all(map(is_same, stored, self._columns))

    def row_group(
        self, file: InputFile, number: int, only: Collection[str], piece_bytes: int
    ) -> Iterator[pa.Table]:
        """Nothing is read of row groups that are copied: the metrics come from footers."""
        raise NotImplementedError(f"row group {number} of {file.path}: {only}, {piece_bytes}")


@dataclass(frozen=True, slots=True)
class PackedFiles:
    """How a task reads its files; implements `PackedSource`.

    Attributes:
        files: the data files by path.
        copying: how copying reads them.
        target: what is written.
        live: reads the rows that are decoded.
    """

    files: Mapping[str, DataFile]
    copying: CopyReading
    target: WriteTarget
    live: LiveRows

    def reading(self, files: Sequence[InputFile]) -> CopyReading:
        """How all files are read."""
        del files
        return self.copying

    def like(self, target: CopyTarget) -> RowGroupSource:
        """A new file, with the lineage columns that those have not with which row groups are compared."""
        del target
        return self.target.like(with_lineage=True)

    def copied(self, group: CopiedGroup, file: InputFile) -> CopiedRows:
        """A row group with its lineage."""
        shapes = group.source.footer.row_groups
        first = sum(each.rows for each in shapes[: group.number])
        rows = shapes[group.number].rows
        is_wanted = self.target.has_lineage
        return CopiedRows(group, whole_lineage(self.files[file.path], first, rows) if is_wanted else None)

    def joined(self, group: JoinedGroup, files: Sequence[InputFile]) -> JoinedRows:
        """Joined rows with their lineage."""
        if not self.target.has_lineage:
            return JoinedRows(group, None)
        lineage = [whole_lineage(self.files[file.path], 0, file.rows) for file in files]
        return JoinedRows(group, pa.concat_tables(lineage))

    def decoded(self, part: FilePart, reading: CopyReading) -> Iterator[pa.RecordBatch]:
        """The live rows of a part."""
        del reading
        return self.live.of(self.files[part.file.path], part.row_groups)


def packing_of(
    files: Sequence[DataFile],
    reader: FileReader,
    target: WriteTarget,
    deleted: DeletedPositions,
    budget: Budget,
    live: LiveRows,
) -> Packing[CopyReading]:
    """The stream of one task.

    Args:
        files: data files, in the order of their rows.
        reader: reads files of the table.
        target: what is written.
        deleted: positions of deleted rows.
        budget: memory of the task.
        live: reads the rows that are decoded.
    """
    by_path = {file.path: file for file in files}
    inputs = [_input(file, is_copyable=file.path not in deleted) for file in files]
    source = PackedFiles(by_path, CopyReading(reader, target, by_path), target, live)
    return Packing(inputs, source, _copy_target(inputs, target), budget)


def _copy_target(files: Sequence[InputFile], target: WriteTarget) -> CopyTarget | None:
    """How row groups are copied; None if certainly none can be."""
    types = {column.name: column.type for column in target.schema.stored()}
    options = target.options.files
    is_safe = not any(map(_is_unknown, types.values())) and not {each.name for each in LINEAGE} & types.keys()
    if not is_safe or not may_copy_any(files, options, types.values()):
        return None
    like = target.like(with_lineage=False)
    return CopyTarget(types, options, frozenset(), like, SMALLEST_COPIED, reads_floats=False)


def _input(file: DataFile, *, is_copyable: bool) -> InputFile:
    return InputFile(file.path, file.size, file.rows, schema_id=0, run=0, is_copyable=is_copyable)


def _is_unknown(kind: ColumnType) -> bool:
    """Whether exact bounds cannot be told from footers for a type."""
    return kind.root in ("UUID", "FIXED") or any(_is_unknown(part.type) for part in kind.fields)
