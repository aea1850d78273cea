"""The rows of files, one file after the other, as a stream that is decoded only where it has to be.

Called by tasks of adapters that keep the order of rows. Row groups that are large enough are copied
(`file_parts`), pages of small files are joined where that pays (`joined_files`), everything else is decoded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from typing import Generic, Protocol, TypeVar

import pyarrow as pa

from lithify.engine.rewrite.budget import Budget
from lithify.engine.rewrite.rolling import EncodedRows
from lithify.files.model import InputFile
from lithify.files.parquet.copying.copied_groups import CopiedGroup
from lithify.files.parquet.copying.file_parts import FilePart, RowGroups
from lithify.files.parquet.copying.joined_files import FileJoiner
from lithify.files.parquet.copying.source import RowGroupSource
from lithify.files.parquet.copying.target import CopyTarget, Reading
from lithify.files.parquet.small_files import JoinedGroup

AnyReading = TypeVar("AnyReading", bound=Reading)


class PackedSource(Protocol[AnyReading]):
    """What a format does of packing by itself."""

    def reading(self, files: Sequence[InputFile]) -> AnyReading:
        """How files are read; of `files` rows will be decoded."""
        ...

    def like(self, target: CopyTarget) -> RowGroupSource:
        """A file like the new ones, into which row groups can be copied."""
        ...

    def copied(self, group: CopiedGroup, file: InputFile) -> EncodedRows:
        """A row group of a file as it is added to a new one."""
        ...

    def joined(self, group: JoinedGroup, files: Sequence[InputFile]) -> EncodedRows:
        """The joined rows of files as they are added to a new one."""
        ...

    def decoded(self, part: FilePart, reading: AnyReading) -> Iterator[pa.RecordBatch]:
        """The rows of a part that stay."""
        ...


class Packing(Generic[AnyReading]):
    """The stream of one task.

    Attributes:
        copied_bytes: bytes that were copied without decoding them.
        to_come: approximate encoded bytes of the rows that have not been returned.
        like: a file like the new ones if anything is copied or joined, else None; known once the first rows
            are.

    Args:
        files: the files, in the order of their rows.
        source: how their format reads them.
        target: the files that the task writes; None if certainly nothing can be copied.
        budget: memory of the task.
    """

    def __init__(
        self,
        files: Sequence[InputFile],
        source: PackedSource[AnyReading],
        target: CopyTarget | None,
        budget: Budget,
    ) -> None:
        self._files = files
        self._source = source
        self._target = target
        self._budget = budget
        self.copied_bytes = 0
        self.to_come: float = sum(file.size for file in files)
        self.like: RowGroupSource | None = None

    def rows(self) -> Iterator[pa.RecordBatch | EncodedRows]:
        """The rows of the files in order, and the row groups that are copied or joined."""
        target = self._target
        row_groups = None if target is None else RowGroups(self._source.reading(()), target)
        whole = map(FilePart.whole, self._files)
        parts = [*(whole if row_groups is None else row_groups.parts_of(self._files))]
        self.to_come = sum(part.bytes for part in parts)
        reading = self._source.reading([*dict.fromkeys(part.file for part in parts if not part.is_copied)])
        joiner = None if target is None else self._joiner(reading, target, parts)
        if target is not None and (joiner is not None or any(part.is_copied for part in parts)):
            self.like = self._source.like(target)
        for is_whole, alike in groupby(parts, lambda part: part.is_decoded_whole):
            if is_whole and joiner is not None:
                yield from self._joined([part.file for part in alike], joiner, reading)
                continue
            for part in alike:
                if row_groups is not None and part.is_copied:
                    yield from self._copied(part, row_groups)
                else:
                    yield from self._decoded(part, reading)

    def _joiner(self, reading: Reading, target: CopyTarget, parts: Sequence[FilePart]) -> FileJoiner | None:
        """The joiner of small files, None if there are none whose pages can be joined."""
        joiner = FileJoiner(reading, target, self._budget)
        whole = [part.file for part in parts if part.is_decoded_whole]
        return joiner if joiner.can_join_any(whole) else None

    def _joined(
        self, files: Sequence[InputFile], joiner: FileJoiner, reading: AnyReading
    ) -> Iterator[pa.RecordBatch | EncodedRows]:
        left = iter(files)
        for each in joiner.joined(files):
            if isinstance(each, JoinedGroup):
                self.to_come -= each.bytes
                self.copied_bytes += each.joined_bytes
                yield self._source.joined(each, [*islice(left, len(each.footers))])
            else:
                yield from self._decoded(FilePart.whole(next(left)), reading)

    def _copied(self, part: FilePart, row_groups: RowGroups) -> Iterator[EncodedRows]:
        for group in row_groups.copied(part):
            self.to_come -= group.bytes
            self.copied_bytes += group.bytes
            yield self._source.copied(group, part.file)

    def _decoded(self, part: FilePart, reading: AnyReading) -> Iterator[pa.RecordBatch]:
        bytes_per_row = part.bytes / max(1, part.rows)
        left: float = part.bytes
        for rows in self._source.decoded(part, reading):
            done = rows.num_rows * bytes_per_row
            left, self.to_come = left - done, self.to_come - done
            yield rows
        self.to_come -= left  # of deleted rows
