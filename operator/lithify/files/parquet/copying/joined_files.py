"""Small files of a task whose rows become larger row groups, although not every column is decoded.

Called by tasks of adapters for files that `file_parts` does not copy. Pages of columns without a dictionary
are joined where they are large enough; a group of files is decoded as a whole if that would save too little.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

import pyarrow as pa

from lithify.engine.rewrite.budget import Budget
from lithify.engine.rewrite.row_groups import SMALLEST_COPIED
from lithify.errors import CorruptTable, UnsupportedTable
from lithify.files.model import InputFile, check_rows
from lithify.files.parquet.chunks import (
    columns_with_any_dictionary,
    groups_of,
    hidden_bytes,
)
from lithify.files.parquet.copying.copied_groups import fits, is_alike, is_copyable
from lithify.files.parquet.copying.paged_chunks import JoinedChunk, paged_columns
from lithify.files.parquet.copying.target import CopyTarget, Reading
from lithify.files.parquet.reader import ParquetReader
from lithify.files.parquet.small_files import (
    SMALLEST_PAGE,
    JoinedGroup,
    SmallFile,
    joined_columns,
    joined_group,
)
from lithify.files.reading import reading as reporting
from lithify.files.types import arrow_type

LEAST_JOINED = 192 << 10
"""Uncompressed bytes of a file that have to be joined: fewer do not pay for looking at its pages."""

_GROUPS_PER_FILE = 8
"""A row group has at most this part of the target size, so that files end near it."""

_TELLING = 2
"""Files that tell whether a group of files like them is worth joining: opening all of them takes long."""

_PROBED = 64
"""Files that are looked at to find out whether any can be joined."""


class FileJoiner:
    """Joins small files.

    Args:
        reading: how the task reads files.
        target: the files that it writes.
        budget: memory of the task.
    """

    def __init__(self, reading: Reading, target: CopyTarget, budget: Budget) -> None:
        self._reading = reading
        self._like = target.like
        self._most_decoded = budget.row_group
        self._types = target.types
        limit = max(SMALLEST_COPIED, target.options.target_size // _GROUPS_PER_FILE)
        self._most = min(limit, target.options.unit_size or limit, budget.row_group)
        paged = paged_columns(target.like.footer.metadata)
        self._columns = [each for each in paged if each.schema.path not in target.indexed]

    def can_join_any(self, files: Sequence[InputFile]) -> bool:
        """Whether any of the first files may be joined with others."""
        found = (file for file in files[:_PROBED] if self._decoded_bytes(file) is not None)
        return len([*islice(found, 2)]) == 2  # one alone has no other

    def joined(self, files: Sequence[InputFile]) -> Iterator[JoinedGroup | InputFile]:
        """The files in order: several as a row group, or one that has to be decoded.

        Raises:
            MissingFile: a file does not exist.
            CorruptTable: a file cannot be read.
        """
        for batch in self._batches(files):
            group = self._group(batch)
            yield from batch if group is None else [group]

    def _batches(self, files: Sequence[InputFile]) -> Iterator[list[InputFile]]:
        """Divides files into row groups of at most the wanted size; files that cannot be joined are alone."""
        total = sum(file.size for file in files)
        most = total / max(1, -(-total // self._most))
        batch: list[InputFile] = []
        size = decoded = 0.0
        for file in files:
            more = self._decoded_bytes(file)
            is_full = size + file.size > most or decoded + (more or 0) > self._most_decoded
            if batch and (more is None or is_full or file.schema_id != batch[0].schema_id):
                yield batch
                batch, size, decoded = [], 0.0, 0.0
            if more is None:
                yield [file]
            else:
                batch, size, decoded = [*batch, file], size + file.size, decoded + more
        if batch:
            yield batch

    def _decoded_bytes(self, file: InputFile) -> float | None:
        """Bytes of a file's rows in Arrow; None if too few of its bytes can be joined, by its footer."""
        reader = self._reading.readers.of(file.path)
        if not is_copyable(file) or not isinstance(reader, ParquetReader) or file.size > self._most:
            return None
        footers, columns = reader.footers, self._like.footer.metadata.num_columns
        is_promising = footers.of(file.path).num_columns == columns
        is_promising = is_promising and footers.bytes_in_pages(file.path, SMALLEST_PAGE) >= LEAST_JOINED
        if not is_promising or not self._reading.are_all_stored(file):
            return None
        return footers.figures(file.path).bytes_per_row * file.rows

    def _group(self, batch: Sequence[InputFile]) -> JoinedGroup | None:
        """Some files as a row group, None if they should be decoded."""
        size = sum(file.size for file in batch)
        files = self._opened(batch) if len(batch) > 1 and size >= SMALLEST_COPIED else []
        if len(files) < len(batch):
            return None
        joined = self._worthwhile(files)
        others = self._others(files, joined) if joined else None
        return None if others is None else joined_group(files, joined, others)

    def _opened(self, batch: Sequence[InputFile]) -> list[SmallFile]:
        """Files in memory, up to the first that is decoded, or two with too little that can be joined."""
        files: list[SmallFile] = []
        for each in batch:
            file = self._open(each)
            if file is None:
                break
            files.append(file)
            if len(files) == _TELLING and not self._worthwhile(files):
                break
        return files

    def _worthwhile(self, files: Sequence[SmallFile]) -> Mapping[str, JoinedChunk]:
        """The columns that are joined; none if that would save too little."""
        joined = joined_columns(files, self._columns)
        saved = sum(each.uncompressed for each in joined.values())
        return joined if saved >= len(files) * LEAST_JOINED else {}

    def _open(self, file: InputFile) -> SmallFile | None:
        """A file in memory, None if it has to be decoded.

        Raises:
            MissingFile: it does not exist.
            CorruptTable: its number of rows is not that of its manifest entry.
        """
        storage = self._reading.storage
        try:
            with reporting(file.path, "Parquet"), storage.open(file.path, file.size) as stream:
                opened = SmallFile(stream.read_buffer(file.size), file.path, self._columns)
        except (CorruptTable, UnsupportedTable):
            return None  # decoding may work, or tells what is wrong
        footer = opened.source.footer
        check_rows(file, footer.metadata.num_rows)
        is_one = len(footer.row_groups) == 1 and footer.row_groups[0].rows > 0
        is_usual = is_one and is_alike(opened.source, self._like) and fits(opened.source, 0, self._like)
        return opened if is_usual else None

    def _others(self, files: Sequence[SmallFile], joined: Mapping[str, JoinedChunk]) -> pa.Schema | None:
        """The columns that are decoded, texts with dictionaries as such: they hide how long the values are.

        None if nested texts have dictionaries.
        """
        others = {name: kind for name, kind in self._types.items() if name not in joined}
        texts = {name for name, kind in others.items() if kind.is_bytes}
        groups = [groups_of(file.source.footer.metadata) for file in files]
        nested = others.keys() - texts
        if any(hidden_bytes(each, nested) for each in groups):
            return None
        found = {name for each in groups for name in columns_with_any_dictionary(each)}
        kinds = {name: arrow_type(kind) for name, kind in others.items()}
        kinds |= {name: pa.dictionary(pa.int32(), kinds[name]) for name in texts & found}
        return pa.schema([pa.field(name, kinds[name], kind.nullable) for name, kind in others.items()])
