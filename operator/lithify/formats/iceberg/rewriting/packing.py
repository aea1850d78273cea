"""Rows of files, one file after the other, as a stream that is decoded only where it has to be.

Called by tasks that keep the order of rows. Row groups that are large enough are copied, pages of small files
are joined, everything else is decoded. Lineage columns are always encoded, beside what is copied.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby

import pyarrow as pa

from lithify.engine.rewrite.budget import Budget
from lithify.engine.rewrite.rolling import EncodedRows
from lithify.files.model import InputFile
from lithify.files.parquet.copying.file_parts import FilePart, RowGroups, may_copy_any
from lithify.files.parquet.copying.joined_files import FileJoiner
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


class Packing:
    """The stream of one task.

    Attributes:
        copied_bytes: bytes that were copied without decoding them.
        to_come: approximate encoded bytes of the rows that have not been returned.
        like: a file like the new ones if anything is copied or joined, else None; known once the first rows
            are.

    Args:
        files: data files, in the order of their rows.
        reader: reads files of the table.
        target: what is written.
        deleted: positions of deleted rows.
        budget: memory of the task.
        live: reads the rows that are decoded.
    """

    def __init__(
        self,
        files: Sequence[DataFile],
        reader: FileReader,
        target: WriteTarget,
        deleted: DeletedPositions,
        budget: Budget,
        live: LiveRows,
    ) -> None:
        self._files = {file.path: file for file in files}
        self._inputs = [_input(file, is_copyable=file.path not in deleted) for file in files]
        self._target = target
        self._budget = budget
        self._live = live
        self._reading = CopyReading(reader, target, self._files)
        self.copied_bytes = 0
        self.to_come: float = sum(file.size for file in files)
        self.like: RowGroupSource | None = None

    def rows(self) -> Iterator[pa.RecordBatch | EncodedRows]:
        """The live rows of the files in order, and what is copied or joined of them."""
        copy_target = self._copy_target()
        row_groups = None if copy_target is None else RowGroups(self._reading, copy_target)
        whole = map(FilePart.whole, self._inputs)
        parts = [*(whole if row_groups is None else row_groups.parts_of(self._inputs))]
        joiner = None if copy_target is None else self._joiner(copy_target, parts)
        if joiner is not None or any(part.is_copied for part in parts):
            self.like = self._target.like(with_lineage=True)
        for is_whole, alike in groupby(parts, lambda part: part.is_decoded_whole):
            if is_whole and joiner is not None:
                yield from self._joined([part.file for part in alike], joiner)
                continue
            for part in alike:
                if row_groups is not None and part.is_copied:
                    yield from self._copied(part, row_groups)
                else:
                    yield from self._decoded(part)

    def _copy_target(self) -> CopyTarget | None:
        """How row groups are copied; None if certainly none can be."""
        target = self._target
        types = {column.name: column.type for column in target.schema.stored()}
        options = target.options.files
        is_safe = (
            not any(map(_is_unknown, types.values())) and not {each.name for each in LINEAGE} & types.keys()
        )
        if not is_safe or not may_copy_any(self._inputs, options, types.values()):
            return None
        like = target.like(with_lineage=False)
        return CopyTarget(types, options, frozenset(), like, SMALLEST_COPIED, reads_floats=False)

    def _joiner(self, target: CopyTarget, parts: Sequence[FilePart]) -> FileJoiner | None:
        joiner = FileJoiner(self._reading, target, self._budget)
        whole = [part.file for part in parts if part.is_decoded_whole]
        return joiner if joiner.can_join_any(whole) else None

    def _joined(
        self, files: Sequence[InputFile], joiner: FileJoiner
    ) -> Iterator[pa.RecordBatch | EncodedRows]:
        left = [self._files[file.path] for file in files]
        for each in joiner.joined(files):
            if isinstance(each, JoinedGroup):
                members = _members(left, each.rows)
                self.to_come -= each.bytes
                self.copied_bytes += each.joined_bytes
                yield JoinedRows(each, self._lineage_of(members))
            else:
                left.pop(0)
                yield from self._decoded(FilePart.whole(each))

    def _lineage_of(self, files: Sequence[DataFile]) -> pa.Table | None:
        if not self._target.has_lineage:
            return None
        return pa.concat_tables([whole_lineage(file, 0, file.rows) for file in files])

    def _copied(self, part: FilePart, row_groups: RowGroups) -> Iterator[CopiedRows]:
        file = self._files[part.file.path]
        for group in row_groups.copied(part):
            self.to_come -= group.bytes
            self.copied_bytes += group.bytes
            shapes = group.source.footer.row_groups
            first = sum(each.rows for each in shapes[: group.number])
            rows = shapes[group.number].rows
            lineage = whole_lineage(file, first, rows) if self._target.has_lineage else None
            yield CopiedRows(group, lineage)

    def _decoded(self, part: FilePart) -> Iterator[pa.RecordBatch]:
        bytes_per_row = part.bytes / max(1, part.rows)
        left: float = part.bytes
        for rows in self._live.of(self._files[part.file.path], part.row_groups):
            done = rows.num_rows * bytes_per_row
            left, self.to_come = left - done, self.to_come - done
            yield rows
        self.to_come -= left  # of deleted rows


def _members(left: list[DataFile], rows: int) -> list[DataFile]:
    """Removes and returns the first files, which have this number of rows together."""
    members = []
    while rows > 0:
        members.append(left.pop(0))
        rows -= members[-1].rows
    return members


def _input(file: DataFile, *, is_copyable: bool) -> InputFile:
    return InputFile(file.path, file.size, file.rows, schema_id=0, run=0, is_copyable=is_copyable)


def _is_unknown(kind: ColumnType) -> bool:
    """Whether exact bounds cannot be told from footers for a type."""
    return kind.root in ("UUID", "FIXED") or any(_is_unknown(part.type) for part in kind.fields)
