"""Column chunks as the footer of a Parquet file describes them, and the memory that decoding them takes.

Called by `footers` once for each file, and by what joins small files. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow.parquet as pq

_JAVA_PAGE_ROWS = 20_000
_JAVA_PAGE_BYTES = 1 << 20
_MIN_PAGE_ROWS = 100
"""parquet-mr ends a page at 1 MiB or 20,000 rows, but checks its size only every 100 rows."""

_SMALL_DICTIONARY = 64 << 10
"""Size below which a dictionary never overflowed, so that the whole column chunk is encoded with it."""

_TINY_DICTIONARY = 256
"""Size below which a dictionary does no harm even if it holds every value once."""

_WIDTHS = {"INT32": 4, "INT64": 8, "FLOAT": 4, "DOUBLE": 8}
"""Bytes of a value of fixed-width types."""

_OFFSET_BYTES = 4
"""Bytes of the position of a text in Arrow."""

_MANY_COLUMNS = 64
"""Columns from which on row groups may be decoded at once."""

_AS_GOOD = 1.5
"""A row group is decoded at once if its rows take at most this many times the bytes of its readers."""


class Chunk(NamedTuple):
    """A column chunk; a tuple, because every file has one for each column.

    Attributes:
        path: the path of its column.
        type: its physical type.
        values: number of values.
        uncompressed: bytes of its pages before compression.
        compressed: stored bytes.
        has_dictionary: whether it has a dictionary.
        dictionary: stored bytes of the dictionary, 0 without one.
    """

    path: str
    type: str
    values: int
    uncompressed: int
    compressed: int
    has_dictionary: bool
    dictionary: int

    @property
    def plain_bytes(self) -> int:
        """Uncompressed bytes, at least those of values of fixed width.

        A dictionary hides the size of values, and a row of a nested column may hold any number of them.
        """
        width = _WIDTHS.get(self.type, 0)
        return max(self.uncompressed, self.values * width)

    @property
    def hidden_bytes(self) -> int:
        """Bytes of texts of which a dictionary hides how long they are."""
        return self.uncompressed if self.has_dictionary and self.type == "BYTE_ARRAY" else 0

    @property
    def share_of_codes(self) -> float:
        """Bits of the codes of a small dictionary as a share of those of distinct values; else infinite.

        PyArrow writes dictionaries of distinct values, too; their codes hardly compress.
        """
        if not 0 < self.dictionary <= _SMALL_DICTIONARY:
            return math.inf
        if self.dictionary <= _TINY_DICTIONARY:
            return 0.0
        values = max(2, self.values)
        return 8 * (self.compressed - self.dictionary) / (values * math.log2(values))

    def overhead(self, rows: int) -> int:
        """Estimates the memory to decode the chunk: a page and the dictionary."""
        width = self.uncompressed / max(1, rows)
        page = max(min(_JAVA_PAGE_BYTES, width * _JAVA_PAGE_ROWS), width * _MIN_PAGE_ROWS)
        dictionary = self.dictionary * self.uncompressed // max(1, self.compressed)
        return min(self.uncompressed, int(page)) + 2 * dictionary

    @property
    def decoded_bytes(self) -> int:
        """Bytes of its values in Arrow, if no dictionary hides how long they are."""
        offsets = 0 if self.type in _WIDTHS else (self.values + 1) * _OFFSET_BYTES
        return self.plain_bytes + -(-self.values // 8) + offsets


class Group(NamedTuple):
    """A row group.

    Attributes:
        rows: its rows.
        chunks: its column chunks.
    """

    rows: int
    chunks: tuple[Chunk, ...]


def groups_of(footer: pq.FileMetaData) -> tuple[Group, ...]:
    """The row groups of a file.

    Raises:
        UnicodeDecodeError: the name of a column is no text.
    """
    found = (footer.row_group(number) for number in range(footer.num_row_groups))
    return tuple(Group(int(each.num_rows), _chunks_of(each)) for each in found)


def _chunks_of(group: pq.RowGroupMetaData) -> tuple[Chunk, ...]:
    return tuple(_chunk(group.column(number)) for number in range(group.num_columns))


def _chunk(chunk: pq.ColumnChunkMetaData) -> Chunk:
    start = chunk.dictionary_page_offset if chunk.has_dictionary_page else None
    return Chunk(
        chunk.path_in_schema,
        chunk.physical_type,
        chunk.num_values,
        chunk.total_uncompressed_size,
        chunk.total_compressed_size,
        chunk.has_dictionary_page,
        0 if start is None else chunk.data_page_offset - start,
    )


@dataclass(frozen=True, slots=True)
class Figures:
    """What footers are asked for again and again, from all row groups of a file.

    Attributes:
        is_read_whole: whether row groups are decoded at once, one column after the other. Readers hold a page
            of each column, which may be all of a row group if there are many columns. Its rows then take no
            more memory than these pages, and decoding them in pieces takes longer.
        overhead: bytes that decoding a row group holds in addition to the rows asked for, the most of any.
        fetched: prefetched bytes that are not decoded yet, the most of any row group.
        bytes_per_row: uncompressed bytes, as far as the footer tells (dictionaries hide some).
        hidden: bytes of texts behind dictionaries in each row group, by the paths of their columns.
    """

    is_read_whole: bool
    overhead: int
    fetched: int
    bytes_per_row: float
    hidden: tuple[Mapping[str, int], ...]

    def hidden_bytes(self, columns: Collection[str]) -> int:
        """Maximum size in any row group of the dictionaries of these columns; 0 without any."""
        return max((_hidden_in(group, columns) for group in self.hidden), default=0)


def figures_of(groups: Sequence[Group], fetched: int, *, is_local: bool) -> Figures:
    """The figures of a file, if `fetched` bytes of each column chunk are prefetched at a time."""
    ahead = [sum(min(chunk.compressed, fetched) for chunk in group.chunks) for group in groups]
    pieces = [
        sum(chunk.overhead(group.rows) for chunk in group.chunks) + more
        for group, more in zip(groups, ahead, strict=True)
    ]
    plain = sum(chunk.plain_bytes for group in groups for chunk in group.chunks)
    whole = _held_whole(groups, [0 if is_local else more for more in ahead], pieces)
    return Figures(
        is_read_whole=whole is not None,
        overhead=max(whole or pieces, default=0),
        fetched=max(ahead, default=0),
        bytes_per_row=plain / max(1, sum(group.rows for group in groups)),
        hidden=tuple(_hidden(group) for group in groups),
    )


def _held_whole(groups: Sequence[Group], ahead: Sequence[int], pieces: Sequence[int]) -> list[int] | None:
    """Bytes of each row group that is decoded at once: its rows, and what is prefetched of them.

    None if they take more than decoding in pieces.
    """
    if not groups or len(groups[0].chunks) < _MANY_COLUMNS:
        return None
    if any(chunk.has_dictionary and chunk.type not in _WIDTHS for group in groups for chunk in group.chunks):
        return None
    held = [
        sum(chunk.decoded_bytes for chunk in group.chunks) + more
        for group, more in zip(groups, ahead, strict=True)
    ]
    return held if all(one <= _AS_GOOD * other for one, other in zip(held, pieces, strict=True)) else None


def _hidden(group: Group) -> dict[str, int]:
    found: dict[str, int] = {}
    for chunk in group.chunks:
        if chunk.hidden_bytes:
            found[chunk.path] = found.get(chunk.path, 0) + chunk.hidden_bytes
    return found


def hidden_bytes(groups: Sequence[Group], columns: Collection[str]) -> int:
    """Maximum size in any row group of the dictionaries of these columns; 0 without any."""
    return max((_hidden_in(_hidden(group), columns) for group in groups), default=0)


def _hidden_in(group: Mapping[str, int], columns: Collection[str]) -> int:
    return sum(size for path, size in group.items() if path in columns or _is_part_of(path, columns))


def _is_part_of(path: str, columns: Collection[str]) -> bool:
    """Whether a column chunk, by its path, belongs to one of the nested columns."""
    return "." in path and any(path.startswith(f"{column}.") for column in columns)


def columns_with_any_dictionary(groups: Sequence[Group]) -> frozenset[str]:
    """Paths of the columns of which a row group has a dictionary."""
    return frozenset(chunk.path for group in groups for chunk in group.chunks if chunk.has_dictionary)
