"""Divides the files of a task into row groups that are copied and rows that are decoded and encoded.

Called by tasks of adapters. Copying keeps row groups as small as they are, so neighbouring small ones are
decoded (`rewrite.row_groups`). A row group is copied only if it has the rows as the output's writer would
store them: its file has the columns and types of the table, its codec and filters, and no deleted rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

import pyarrow as pa

from lithify.engine.rewrite.row_groups import (
    SMALLEST_CHUNK,
    SMALLEST_COPIED,
    RowGroupShape,
    plan_copies,
)
from lithify.errors import CorruptTable
from lithify.files.model import InputFile, check_rows
from lithify.files.options import FileOptions
from lithify.files.parquet.copying.copied_groups import (
    CopiedGroup,
    fits,
    is_alike,
    is_copyable,
    may_copy,
    open_source,
)
from lithify.files.parquet.copying.source import RowGroupSource
from lithify.files.parquet.copying.target import CopyTarget, Reading
from lithify.files.parquet.reader import ParquetReader
from lithify.files.types import ColumnType

_MOST_CHUNKS = 20_000
"""Column chunks whose metadata is held until they are copied, a few KiB each."""

_SCAN_PIECE_BYTES = 8 << 20
"""Bytes to read at a time of the columns that are read of a copied row group."""


@dataclass(frozen=True, slots=True)
class FilePart:
    """Consecutive row groups of a file with the same treatment, or all rows of a file that is decoded.

    Attributes:
        file: the file.
        row_groups: their numbers; None for all rows, whatever the format.
        is_copied: whether they are copied.
        rows: number of rows.
        bytes: their encoded bytes.
    """

    file: InputFile
    row_groups: tuple[int, ...] | None
    is_copied: bool
    rows: int
    bytes: int

    @property
    def is_decoded_whole(self) -> bool:
        """Whether all rows of the file are decoded."""
        return not self.is_copied and self.row_groups is None

    @classmethod
    def whole(cls, file: InputFile) -> FilePart:
        """All rows of a file that is decoded."""
        return cls(file, None, is_copied=False, rows=file.rows, bytes=file.size)


def may_copy_any(files: Iterable[InputFile], options: FileOptions, types: Iterable[ColumnType]) -> bool:
    """Whether any row groups of files may be copied or joined with others; false if certainly none.

    Args:
        files: the files of a task.
        options: how it writes files.
        types: types of the columns of the table.
    """
    is_possible = options.format == "parquet" and may_copy(types)
    return is_possible and sum(file.size for file in files if is_copyable(file)) >= SMALLEST_COPIED


class RowGroups:
    """The row groups of a task's files that may be copied.

    Args:
        reading: how the task reads files.
        target: the files that it writes.
    """

    def __init__(self, reading: Reading, target: CopyTarget) -> None:
        self._reading = reading
        self._like = target.like
        self._columns = self._like.footer.metadata.num_columns
        self._smallest = max(target.smallest or SMALLEST_COPIED, self._columns * SMALLEST_CHUNK)
        self._indexed = target.indexed
        floats = {name for name, kind in target.types.items() if kind.is_float and target.reads_floats}
        self._read_columns = floats | self._indexed
        self._sources: dict[str, RowGroupSource] = {}
        self._held = _MOST_CHUNKS // self._columns

    def parts_of(self, files: Iterable[InputFile]) -> Iterator[FilePart]:
        """The files in parts, in order."""
        shapes: list[RowGroupShape] = []
        places: list[tuple[InputFile, int | None]] = []
        for file in files:
            for shape, number in self._shapes(file):
                shapes.append(shape)
                places.append((file, number))
        for run in plan_copies(shapes, self._like.fingerprint, self._smallest):
            for file, found in groupby(range(run.start, run.stop), lambda at: places[at][0]):
                members = [*found]
                numbers = [places[at][1] for at in members]
                yield FilePart(
                    file,
                    tuple(number for number in numbers if number is not None) or None,
                    run.is_copied,
                    sum(shapes[at].rows for at in members),
                    sum(shapes[at].bytes for at in members),
                )

    def copied(self, part: FilePart) -> Iterator[CopiedGroup]:
        """The row groups of a copied part, each readable until the next one is asked for.

        Raises:
            CorruptTable: the file has changed since it was looked at.
        """
        file, storage = part.file, self._reading.storage
        source = self._sources.get(file.path) or open_source(storage, file)
        if source is None:
            raise CorruptTable(file.path, "its footer has changed while it was read")
        with storage.open(file.path, file.size) as stream:
            opened = source.over(stream)
            for number in part.row_groups or ():
                yield CopiedGroup(opened, number, self._facts(file, number, source), self._indexed)

    def _shapes(self, file: InputFile) -> Iterator[tuple[RowGroupShape, int | None]]:
        """The row groups of a file, or the whole file as one that cannot be copied."""
        source = self._source(file) if self._may_be_large(file) else None
        if source is None:
            yield RowGroupShape(file.rows, file.size, None), None
            return
        for number, group in enumerate(source.footer.row_groups):
            if group.rows:
                schema = source.fingerprint if fits(source, number, self._like) else None
                yield RowGroupShape(group.rows, group.bytes, schema), number

    def _may_be_large(self, file: InputFile) -> bool:
        """Whether row groups of a file may be worth copying; footers of very many are not even parsed."""
        reader = self._reading.readers.of(file.path)
        if file.size < self._smallest or not is_copyable(file) or not isinstance(reader, ParquetReader):
            return False
        footer = reader.footers.of(file.path)
        is_large = footer.num_columns == self._columns and file.size >= self._smallest * footer.num_row_groups
        return is_large and self._reading.are_all_stored(file)

    def _source(self, file: InputFile) -> RowGroupSource | None:
        """A file to copy from, None if it has to be decoded.

        Raises:
            CorruptTable: its number of rows is not that of its manifest entry.
        """
        source = open_source(self._reading.storage, file)
        if source is None or not is_alike(source, self._like):
            return None
        check_rows(file, source.footer.metadata.num_rows)
        self._held -= len(source.footer.row_groups)
        if self._held >= 0:
            self._sources[file.path] = source
        return source

    def _facts(self, file: InputFile, number: int, source: RowGroupSource) -> Iterator[pa.Table]:
        """The rows of a row group, with the columns that are indexed or whose statistics no footer has."""
        if not self._read_columns:
            yield pa.table([pa.nulls(source.footer.row_groups[number].rows)], [""])
            return
        yield from self._reading.row_group(file, number, self._read_columns, _SCAN_PIECE_BYTES)
