"""What the footers of data files tell: memory to read them, columns with dictionaries, hidden deletes.

Used by the reader beside this module, on executors and (for hidden deletes) on the driver. Footers are kept,
as many as are plausible for one task, because each costs a round trip to the store.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lithify.tables.paimon.formats.parquet.int96 import with_fixed_bytes
from lithify.tables.paimon.formats.reading import reading
from lithify.tables.paimon.schema import RETRACTING_KINDS, VALUE_KIND
from lithify.tables.paimon.storage import Fetching, Storage

FETCH_BYTES = 256 << 10
"""Bytes of each column chunk that are fetched at a time; whole chunks would not fit for many runs."""

MOST_FETCHED = 4 << 20
"""Where every fetch is a request, so many bytes are fetched at a time if the memory is there."""

_KEPT = 128
_JAVA_PAGE_ROWS = 20_000
_JAVA_PAGE_BYTES = 1 << 20
_MIN_PAGE_ROWS = 100
"""parquet-mr ends a page at 1 MiB or 20,000 rows, but looks at its size only every 100 rows."""

_SMALL_DICTIONARY = 64 << 10
"""A dictionary that is this small never overflowed, so the whole column chunk is encoded with it."""

_TINY_DICTIONARY = 256
"""A dictionary that does no harm even if it holds every value once."""

_WIDTHS = {"INT32": 4, "INT64": 8, "FLOAT": 4, "DOUBLE": 8}
"""Bytes of values of a fixed width."""

_SHORT_CODES = 0.75
"""Codes this much shorter than those of as many different values stand for values that repeat themselves."""


class Footers:
    """The footers of data files, by path.

    Args:
        storage: access to the files.
        fetched: bytes of each column chunk that are fetched at a time.
    """

    def __init__(self, storage: Storage, fetched: int = FETCH_BYTES) -> None:
        self._storage = storage
        self._fetched = fetched
        self._kept = lru_cache(_KEPT)(self._read)

    def of(self, path: str) -> pq.FileMetaData:
        """The footer of a file; columns of INT96 are shown as 12 fixed bytes, which they are.

        Raises:
            MissingFile: the file does not exist.
            CorruptTable: it is not Parquet, or cut off.
        """
        return self._kept(path)

    def statistics(self, path: str, row_group: int, column: str | None) -> pq.Statistics | None:
        """The statistics of one column chunk, None without any."""
        footer = self.of(path)
        named = (index for index, name in enumerate(footer.schema.names) if name == column)
        chunks = (footer.row_group(row_group).column(index) for index in named)
        return next((chunk.statistics for chunk in chunks if chunk.path_in_schema == column), None)

    def overhead(self, path: str) -> int:
        """Bytes that decoding the file holds besides the rows handed out."""
        footer = self.of(path)
        groups = range(footer.num_row_groups)
        return max((_group_overhead(footer, group, self._fetched) for group in groups), default=0)

    def fetching(self, path: str) -> Fetching:
        """How the file is fetched from where every fetch is a request: at most as `overhead` says."""
        footer = self.of(path)
        groups = range(footer.num_row_groups)
        kept = max((_group_fetched(footer, group, self._fetched) for group in groups), default=0)
        return Fetching(self._fetched, kept)

    def bytes_per_row(self, path: str) -> float:
        """Uncompressed bytes a row, as far as the footer tells (dictionaries hide some)."""
        footer = self.of(path)
        groups = range(footer.num_row_groups)
        total = sum(_plain_bytes(chunk) for group in groups for chunk in _chunks(footer, group))
        return float(total / max(1, footer.num_rows))

    def bytes_behind_dictionaries(self, path: str, columns: Collection[str]) -> int:
        """How large the dictionaries of these columns are at most, in any row group; 0 without any."""
        footer = self.of(path)
        return max(
            (_hidden_bytes(footer, group, columns) for group in range(footer.num_row_groups)), default=0
        )

    def columns_with_dictionary(self, paths: Iterable[str]) -> frozenset[str]:
        """Columns that every file stores with a small dictionary (or does not have)."""
        with_dictionary: set[str] = set()
        without: set[str] = set()
        for path in paths:
            footer = self.of(path)
            for group in range(footer.num_row_groups):
                for chunk in _chunks(footer, group):
                    (with_dictionary if _has_small_dictionary(chunk) else without).add(chunk.path_in_schema)
        return frozenset(with_dictionary - without)

    def holds_deletes(self, path: str) -> bool:
        """Whether any row of a file retracts its key, whatever its metadata claims.

        The statistics of `_VALUE_KIND` usually tell; else the column, which is tiny, is read.
        """
        largest = self._largest_kind(path)
        if largest is not None and (largest == 0 or largest in RETRACTING_KINDS):
            return largest != 0
        with reading(path, "Parquet"), self._storage.open(path) as source:
            kinds = pq.read_table(source, columns=[VALUE_KIND], use_threads=False).column(0)
            return bool(pc.any(pc.is_in(kinds, pa.array(RETRACTING_KINDS, kinds.type))).as_py())

    def _largest_kind(self, path: str) -> int | None:
        """The largest row kind by the statistics; None if they do not tell."""
        largest = 0
        for number in range(self.of(path).num_row_groups):
            statistics = self.statistics(path, number, VALUE_KIND)
            if statistics is None or not statistics.has_min_max:
                return None
            largest = max(largest, int(statistics.max))
        return largest

    def _read(self, path: str) -> pq.FileMetaData:
        with reading(path, "Parquet"), self._storage.open(path) as source:
            return with_fixed_bytes(pq.read_metadata(source))


def _chunks(footer: pq.FileMetaData, number: int) -> list[pq.ColumnChunkMetaData]:
    group = footer.row_group(number)
    return [group.column(index) for index in range(group.num_columns)]


def _group_overhead(footer: pq.FileMetaData, number: int, fetched: int) -> int:
    rows = footer.row_group(number).num_rows
    decoded = sum(_column_overhead(chunk, rows) for chunk in _chunks(footer, number))
    return decoded + _group_fetched(footer, number, fetched)


def _group_fetched(footer: pq.FileMetaData, number: int, fetched: int) -> int:
    """What was fetched and not decoded yet, of every column chunk."""
    return sum(min(int(chunk.total_compressed_size), fetched) for chunk in _chunks(footer, number))


def _hidden_bytes(footer: pq.FileMetaData, number: int, columns: Collection[str]) -> int:
    chunks = (c for c in _chunks(footer, number) if c.physical_type == "BYTE_ARRAY" and c.has_dictionary_page)
    return sum(
        int(chunk.total_uncompressed_size)
        for chunk in chunks
        if chunk.path_in_schema in columns or _is_part_of(chunk.path_in_schema, columns)
    )


def _is_part_of(path: str, columns: Collection[str]) -> bool:
    """Whether a column chunk, by its path, belongs to one of some nested columns."""
    return any(path.startswith(f"{column}.") for column in columns)


def _plain_bytes(chunk: pq.ColumnChunkMetaData) -> int:
    """Bytes of a column chunk without compression, at least those of the numbers that are in it.

    A dictionary hides how large they are, and a row of a nested column may hold any number of them.
    """
    width = _WIDTHS.get(chunk.physical_type, 0)
    return max(int(chunk.total_uncompressed_size), int(chunk.num_values) * width)


def _column_overhead(chunk: pq.ColumnChunkMetaData, rows: int) -> int:
    """Estimates what decoding one column chunk holds: a page and the dictionary."""
    plain, compressed = int(chunk.total_uncompressed_size), int(chunk.total_compressed_size)
    width = plain / max(1, rows)
    page = max(min(_JAVA_PAGE_BYTES, width * _JAVA_PAGE_ROWS), width * _MIN_PAGE_ROWS)
    dictionary = _dictionary_bytes(chunk) * plain // max(1, compressed)
    return min(plain, int(page)) + 2 * dictionary


def _dictionary_bytes(chunk: pq.ColumnChunkMetaData) -> int:
    """Stored size of the dictionary page, 0 without one."""
    if not chunk.has_dictionary_page or chunk.dictionary_page_offset is None:
        return 0
    return int(chunk.data_page_offset - chunk.dictionary_page_offset)


def _has_small_dictionary(chunk: pq.ColumnChunkMetaData) -> bool:
    """Whether values repeat themselves; to unite the dictionaries of runs whose values do not takes ages.

    PyArrow writes dictionaries of unique values, too, but their codes give them away: they hardly compress.
    """
    dictionary, values = _dictionary_bytes(chunk), max(2, int(chunk.num_values))
    bits = 8 * (int(chunk.total_compressed_size) - dictionary)
    is_short = bits <= _SHORT_CODES * values * math.log2(values)
    return 0 < dictionary <= _SMALL_DICTIONARY and (is_short or dictionary <= _TINY_DICTIONARY)
