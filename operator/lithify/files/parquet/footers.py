"""Facts from footers of data files: memory to read them, columns with dictionaries, hidden deletes.

Used by the reader beside this module, on executors and (for hidden deletes) on the driver. Caches as many
footers as one task plausibly needs, because each costs a round trip to the store.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Collection, Iterable
from functools import lru_cache
from threading import Lock

import pyarrow as pa
import pyarrow.parquet as pq

from lithify.errors import CorruptTable
from lithify.files.parquet.int96 import with_fixed_bytes
from lithify.files.parquet.sound_statistics import flat_columns, unsound_chunks
from lithify.files.reading import has_any, reading, told_by_bounds
from lithify.io.storage import Fetching, Storage

FETCH_BYTES = 256 << 10
"""Bytes of each column chunk that are prefetched at a time; whole chunks would not fit for many runs."""

MOST_FETCHED = 4 << 20
"""Upper bound of bytes prefetched at a time where every read is a request and memory allows."""

_KEPT = 128
"""Files of which facts are kept, whatever their footers take."""

_KEPT_BYTES = 4 << 20
"""Serialized bytes up to which more footers are kept: those of a thousand files with few columns."""

_SMALL_FILE = 256 << 10
"""Bytes of a file up to which it is read at once, with its footer."""

_SMALL_FILES = 4 << 20
"""Bytes of small files that are held until their rows are asked for, small beside any budget."""

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

SHORT_CODES = 0.75
"""Ratio of code bits to those of all-distinct values below which a column counts as repetitive where
dictionaries are merged."""


class Footers:
    """The footers of data files, by path.

    Args:
        storage: access to the files.
        fetched: bytes of each column chunk that are prefetched at a time.
    """

    def __init__(self, storage: Storage, fetched: int = FETCH_BYTES) -> None:
        self._storage = storage
        self._fetched = fetched
        self._kept: OrderedDict[str, pq.FileMetaData] = OrderedDict()
        self._kept_bytes = 0
        self._files = HeldFiles(_SMALL_FILES)
        self._lock = Lock()  # threads share a reader
        self._whole = lru_cache(_KEPT)(self._is_read_whole)
        self._numbers = lru_cache(_KEPT)(self._read_numbers)
        self._unsound = lru_cache(_KEPT)(self._read_unsound)

    def of(self, path: str) -> pq.FileMetaData:
        """The footer of a file; INT96 columns appear as the 12 fixed bytes that they are.

        Raises:
            MissingFile: the file does not exist.
            CorruptTable: it is not Parquet, or truncated.
        """
        with self._lock:
            if path in self._kept:
                self._kept.move_to_end(path)
                return self._kept[path]
        footer = self._read(path)
        self._keep(path, footer)
        return footer

    def take_file(self, path: str) -> pa.NativeFile | None:
        """A small file as it was read with its footer, once; None if it has to be opened."""
        with self._lock:
            data = self._files.take(path)
        return None if data is None else pa.BufferReader(data)

    def _keep(self, path: str, footer: pq.FileMetaData) -> None:
        """Keeps a footer, and as many of those that were asked for last as may be kept."""
        with self._lock:
            if path not in self._kept:
                self._kept[path] = footer
                self._kept_bytes += footer.serialized_size
            while len(self._kept) > _KEPT and self._kept_bytes > _KEPT_BYTES:
                _, oldest = self._kept.popitem(last=False)
                self._kept_bytes -= oldest.serialized_size

    def statistics(self, path: str, row_group: int, column: str | None) -> pq.Statistics | None:
        """The statistics of a column chunk, None if it has none, or none that can be decoded."""
        number = self._numbers(path).get(column or "")
        if number is None or (row_group, number) in self._unsound(path):
            return None
        return self.of(path).row_group(row_group).column(number).statistics

    def overhead(self, path: str) -> int:
        """Bytes that decoding the file holds in addition to the rows asked for."""
        footer = self.of(path)
        groups = range(footer.num_row_groups)
        held = self._held_whole if self.is_read_whole(path) else self._held_in_pieces
        return max((held(footer, group) for group in groups), default=0)

    def is_read_whole(self, path: str) -> bool:
        """Whether row groups are decoded at once, one column after the other.

        Readers hold a page of each column, which may be all of a row group if there are many columns. Its
        rows then take no more memory than these pages, and decoding them in pieces takes longer.
        """
        return self._whole(path)

    def _is_read_whole(self, path: str) -> bool:
        footer = self.of(path)
        groups = range(footer.num_row_groups)
        return footer.num_columns >= _MANY_COLUMNS and all(
            not _hides_bytes(footer, group)
            and self._held_whole(footer, group) <= _AS_GOOD * self._held_in_pieces(footer, group)
            for group in groups
        )

    def _held_whole(self, footer: pq.FileMetaData, group: int) -> int:
        """Bytes of a row group that is decoded at once: its rows, and what is prefetched of them."""
        fetched = 0 if self._storage.is_local else _group_fetched(footer, group, self._fetched)
        return _group_decoded(footer, group) + fetched

    def _held_in_pieces(self, footer: pq.FileMetaData, group: int) -> int:
        """Bytes of the readers of a row group: a page, the dictionary and prefetched bytes of each column."""
        return _group_overhead(footer, group, self._fetched)

    def fetching(self, path: str) -> Fetching:
        """How to prefetch the file where every read is a request; at most the bytes in `overhead`."""
        footer = self.of(path)
        groups = range(footer.num_row_groups)
        kept = max((_group_fetched(footer, group, self._fetched) for group in groups), default=0)
        return Fetching(self._fetched, kept)

    def bytes_per_row(self, path: str) -> float:
        """Uncompressed bytes per row, as far as the footer tells (dictionaries hide some)."""
        footer = self.of(path)
        groups = range(footer.num_row_groups)
        total = sum(_plain_bytes(chunk) for group in groups for chunk in _chunks(footer, group))
        return float(total / max(1, footer.num_rows))

    def bytes_in_pages(self, path: str, smallest: int) -> int:
        """Uncompressed bytes of the column chunks without a dictionary that have at least `smallest` bytes.

        0 if the file has not exactly one row group.
        """
        footer = self.of(path)
        chunks = _chunks(footer, 0) if footer.num_row_groups == 1 else []
        sizes = (int(chunk.total_uncompressed_size) for chunk in chunks if not chunk.has_dictionary_page)
        return sum(size for size in sizes if size >= smallest)

    def bytes_behind_dictionaries(self, path: str, columns: Collection[str]) -> int:
        """Maximum size in any row group of these columns' dictionaries; 0 without any."""
        return hidden_bytes(self.of(path), columns)

    def columns_with_dictionary(
        self, paths: Iterable[str], most_codes: float = SHORT_CODES
    ) -> frozenset[str]:
        """Columns that every file stores with a small dictionary, or lacks.

        Args:
            paths: the files.
            most_codes: the ratio of code bits to those of all-distinct values below which values repeat.
        """
        with_dictionary: set[str] = set()
        without: set[str] = set()
        for path in paths:
            footer = self.of(path)
            for group in range(footer.num_row_groups):
                for chunk in _chunks(footer, group):
                    (with_dictionary if _has_small_dictionary(chunk, most_codes) else without).add(
                        chunk.path_in_schema
                    )
        return frozenset(with_dictionary - without)

    def holds_any(self, path: str, column: str, values: Collection[int]) -> bool:
        """Whether any row of a file has one of the values in a column of small integers.

        Usually decided by the statistics; else by reading the column, which is tiny.

        Raises:
            MissingFile: the file does not exist.
            CorruptTable: the column cannot be read, or has other rows than the footer says.
        """
        bounds = self._bounds(path, column)
        told = told_by_bounds(*bounds, values) if bounds else None
        if told is not None:
            return told
        with reading(path, "Parquet"), self._storage.open(path) as source:
            rows = pq.read_table(source, columns=[column], use_threads=False, page_checksum_verification=True)
            expected = self.of(path).num_rows
            if rows.num_rows != expected:
                raise CorruptTable(path, f"it has {rows.num_rows} rows, its footer says {expected}")
            return has_any(rows.to_batches(), values)

    def _bounds(self, path: str, column: str) -> tuple[int, int] | None:
        """The minimum and maximum of a column from the statistics; None if they are missing."""
        groups = range(self.of(path).num_row_groups)
        told = [
            each for each in (self.statistics(path, group, column) for group in groups) if each is not None
        ]
        if len(told) < len(groups) or not told or not all(each.has_min_max for each in told):
            return None
        return min(int(each.min) for each in told), max(int(each.max) for each in told)

    def _read_numbers(self, path: str) -> dict[str, int]:
        return flat_columns(self.of(path))

    def _read_unsound(self, path: str) -> frozenset[tuple[int, int]]:
        with reading(path, "Parquet"):
            return unsound_chunks(self.of(path))

    def _read(self, path: str) -> pq.FileMetaData:
        with reading(path, "Parquet"), self._storage.open(path) as source:
            size = source.size()
            data = source.read_buffer(size) if size <= _SMALL_FILE else None
            footer = with_fixed_bytes(pq.read_metadata(source if data is None else pa.BufferReader(data)))
            _check_names(footer)
        if data is not None:
            with self._lock:
                self._files.hold(path, data)
        return footer


class HeldFiles:
    """Files in memory until they are taken; the oldest make room for others.

    Args:
        most: bytes of all of them.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._files: OrderedDict[str, pa.Buffer] = OrderedDict()
        self._bytes = 0

    def hold(self, path: str, data: pa.Buffer) -> None:
        """Holds a file."""
        self.take(path)
        self._files[path] = data
        self._bytes += data.size
        while self._bytes > self._most:
            self.take(next(iter(self._files)))

    def take(self, path: str) -> pa.Buffer | None:
        """Returns a file and forgets it; None if it is not held."""
        data = self._files.pop(path, None)
        self._bytes -= 0 if data is None else data.size
        return data


def _check_names(footer: pq.FileMetaData) -> None:
    """Reads the names of all columns, which PyArrow decodes whenever it is asked for one.

    Raises:
        UnicodeDecodeError: one is no text.
    """
    for number in range(footer.num_columns):
        _ = footer.schema.column(number).path
    for group in range(footer.num_row_groups):
        for chunk in _chunks(footer, group):
            _ = chunk.path_in_schema


def columns_with_any_dictionary(footer: pq.FileMetaData) -> frozenset[str]:
    """Paths of the columns of which a row group has a dictionary."""
    groups = range(footer.num_row_groups)
    chunks = (chunk for group in groups for chunk in _chunks(footer, group))
    return frozenset(chunk.path_in_schema for chunk in chunks if chunk.has_dictionary_page)


def hidden_bytes(footer: pq.FileMetaData, columns: Collection[str]) -> int:
    """Maximum size in any row group of these columns' dictionaries; 0 without any."""
    groups = range(footer.num_row_groups)
    return max((_hidden_bytes(footer, group, columns) for group in groups), default=0)


def _chunks(footer: pq.FileMetaData, number: int) -> list[pq.ColumnChunkMetaData]:
    group = footer.row_group(number)
    return [group.column(index) for index in range(group.num_columns)]


def _group_overhead(footer: pq.FileMetaData, number: int, fetched: int) -> int:
    rows = footer.row_group(number).num_rows
    decoded = sum(_column_overhead(chunk, rows) for chunk in _chunks(footer, number))
    return decoded + _group_fetched(footer, number, fetched)


def _group_decoded(footer: pq.FileMetaData, number: int) -> int:
    """Bytes of a row group's rows in Arrow, if no dictionary hides how long they are."""
    return sum(_plain_bytes(chunk) + _bytes_in_arrow_only(chunk) for chunk in _chunks(footer, number))


def _bytes_in_arrow_only(chunk: pq.ColumnChunkMetaData) -> int:
    """Bytes of the positions of values and of the bitmap of nulls."""
    values = int(chunk.num_values)
    return -(-values // 8) + (0 if chunk.physical_type in _WIDTHS else (values + 1) * _OFFSET_BYTES)


def _hides_bytes(footer: pq.FileMetaData, number: int) -> bool:
    """Whether any values of a row group may be longer than its size tells."""
    chunks = _chunks(footer, number)
    return any(chunk.has_dictionary_page and chunk.physical_type not in _WIDTHS for chunk in chunks)


def _group_fetched(footer: pq.FileMetaData, number: int, fetched: int) -> int:
    """Prefetched bytes that are not decoded yet, of every column chunk."""
    return sum(min(int(chunk.total_compressed_size), fetched) for chunk in _chunks(footer, number))


def _hidden_bytes(footer: pq.FileMetaData, number: int, columns: Collection[str]) -> int:
    chunks = (c for c in _chunks(footer, number) if c.physical_type == "BYTE_ARRAY" and c.has_dictionary_page)
    return sum(
        int(chunk.total_uncompressed_size)
        for chunk in chunks
        if chunk.path_in_schema in columns or _is_part_of(chunk.path_in_schema, columns)
    )


def _is_part_of(path: str, columns: Collection[str]) -> bool:
    """Whether a column chunk, by its path, belongs to one of the nested columns."""
    return any(path.startswith(f"{column}.") for column in columns)


def _plain_bytes(chunk: pq.ColumnChunkMetaData) -> int:
    """Uncompressed bytes of a column chunk, at least those of its fixed-width values.

    A dictionary hides the size of values, and a row of a nested column may hold any number of them.
    """
    width = _WIDTHS.get(chunk.physical_type, 0)
    return max(int(chunk.total_uncompressed_size), int(chunk.num_values) * width)


def _column_overhead(chunk: pq.ColumnChunkMetaData, rows: int) -> int:
    """Estimates the memory to decode one column chunk: a page and the dictionary."""
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


def _has_small_dictionary(chunk: pq.ColumnChunkMetaData, most_codes: float) -> bool:
    """Whether values repeat: merging the dictionaries of runs is very slow if they do not.

    PyArrow writes dictionaries of distinct values, too; they are recognised by codes that hardly compress.
    """
    dictionary, values = _dictionary_bytes(chunk), max(2, int(chunk.num_values))
    bits = 8 * (int(chunk.total_compressed_size) - dictionary)
    is_short = bits <= most_codes * values * math.log2(values)
    return 0 < dictionary <= _SMALL_DICTIONARY and (is_short or dictionary <= _TINY_DICTIONARY)
