"""Facts from footers of data files: memory to read them, columns with dictionaries, hidden deletes.

Used by the reader beside this module, on executors and (for hidden deletes) on the driver. Caches as many
footers as one task plausibly needs, because each costs a round trip to the store.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock

import pyarrow as pa
import pyarrow.parquet as pq

from lithify.errors import CorruptTable
from lithify.files.parquet.chunks import Figures, Group, figures_of, groups_of
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

SHORT_CODES = 0.75
"""Ratio of code bits to those of all-distinct values below which a column counts as repetitive where
dictionaries are merged."""


_PARSED = 4
"""Files of which all column chunks are kept, because several questions are asked one after the other."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What is kept of a file: its footer, and the few figures of it that are asked for."""

    footer: pq.FileMetaData
    figures: Figures


class Footers:
    """The footers of data files, by path.

    Args:
        storage: access to the files.
        fetched: bytes of each column chunk that are prefetched at a time.
    """

    def __init__(self, storage: Storage, fetched: int = FETCH_BYTES) -> None:
        self._storage = storage
        self._fetched = fetched
        self._kept: OrderedDict[str, _Known] = OrderedDict()
        self._kept_bytes = 0
        self._files = HeldFiles(_SMALL_FILES)
        self._lock = Lock()  # threads share a reader
        self._groups = lru_cache(_PARSED)(self._read_groups)
        self._last_groups: tuple[str, tuple[Group, ...]] | None = None
        self._numbers = lru_cache(_KEPT)(self._read_numbers)
        self._unsound = lru_cache(_KEPT)(self._read_unsound)

    def can_hold(self, sizes: Iterable[int]) -> bool:
        """Whether files of these sizes can all be held until their rows are asked for."""
        return sum(sizes) <= _SMALL_FILES

    def of(self, path: str, *, is_read_next: bool = True) -> pq.FileMetaData:
        """The footer of a file; INT96 columns appear as the 12 fixed bytes that they are.

        Args:
            path: the file.
            is_read_next: whether its rows will be asked for soon; then a small file is read at once.

        Raises:
            MissingFile: the file does not exist.
            CorruptTable: it is not Parquet, or truncated.
        """
        return self._known(path, is_read_next=is_read_next).footer

    def _known(self, path: str, *, is_read_next: bool = True) -> _Known:
        with self._lock:
            if path in self._kept:
                self._kept.move_to_end(path)
                return self._kept[path]
        known = self._read(path, _SMALL_FILE if is_read_next else 0)
        self._keep(path, known)
        return known

    def take_file(self, path: str) -> pa.NativeFile | None:
        """A small file as it was read with its footer, once; None if it has to be opened."""
        with self._lock:
            data = self._files.take(path)
        return None if data is None else pa.BufferReader(data)

    def _keep(self, path: str, known: _Known) -> None:
        """Keeps a footer, and as many of those that were asked for last as may be kept."""
        with self._lock:
            if path not in self._kept:
                self._kept[path] = known
                self._kept_bytes += known.footer.serialized_size
            while len(self._kept) > _KEPT and self._kept_bytes > _KEPT_BYTES:
                _, oldest = self._kept.popitem(last=False)
                self._kept_bytes -= oldest.footer.serialized_size

    def statistics(self, path: str, row_group: int, column: str | None) -> pq.Statistics | None:
        """The statistics of a column chunk, None if it has none, or none that can be decoded."""
        number = self._numbers(path).get(column or "")
        if number is None or (row_group, number) in self._unsound(path):
            return None
        return self.of(path).row_group(row_group).column(number).statistics

    def figures(self, path: str) -> Figures:
        """What is asked of a footer again and again."""
        return self._known(path).figures

    def overhead(self, path: str) -> int:
        """Bytes that decoding the file holds in addition to the rows asked for."""
        return self.figures(path).overhead

    def fetching(self, path: str) -> Fetching:
        """How to prefetch the file where every read is a request; at most the bytes in `overhead`."""
        return Fetching(self._fetched, self.figures(path).fetched)

    def bytes_in_pages(self, path: str, smallest: int) -> int:
        """Uncompressed bytes of the column chunks without a dictionary that have at least `smallest` bytes.

        0 if the file has not exactly one row group.
        """
        groups = self._groups(path)
        sizes = [chunk.uncompressed for group in groups for chunk in group.chunks if not chunk.has_dictionary]
        return sum(size for size in sizes if size >= smallest) if len(groups) == 1 else 0

    def bytes_behind_dictionaries(self, path: str, columns: Collection[str]) -> int:
        """Maximum size in any row group of these columns' dictionaries; 0 without any."""
        return self.figures(path).hidden_bytes(columns)

    def columns_with_dictionary(self, paths: Iterable[str]) -> frozenset[str]:
        """Columns that every file stores with a small dictionary, or lacks."""
        with_dictionary: set[str] = set()
        without: set[str] = set()
        for path in paths:
            for column, share in self.code_shares(path).items():
                (with_dictionary if share <= SHORT_CODES else without).add(column)
        return frozenset(with_dictionary - without)

    def code_shares(self, path: str) -> dict[str, float]:
        """The greatest `share_of_codes` of each column in any row group."""
        found: dict[str, float] = {}
        for group in self._groups(path):
            for chunk in group.chunks:
                found[chunk.path] = max(found.get(chunk.path, 0.0), chunk.share_of_codes)
        return found

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

    def _read_groups(self, path: str) -> tuple[Group, ...]:
        footer, last = self.of(path), self._last_groups
        return last[1] if last is not None and last[0] == path else groups_of(footer)

    def _read(self, path: str, most_at_once: int) -> _Known:
        with reading(path, "Parquet"), self._storage.open(path) as source:
            size = source.size()
            data = source.read_buffer(size) if size <= most_at_once else None
            footer = with_fixed_bytes(pq.read_metadata(source if data is None else pa.BufferReader(data)))
            _check_names(footer)
            groups = groups_of(footer)
            figures = figures_of(groups, self._fetched, is_local=self._storage.is_local)
            self._last_groups = path, groups
        if data is not None:
            with self._lock:
                self._files.hold(path, data)
        return _Known(footer, figures)


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
    """Reads the names of the schema's columns, which PyArrow decodes whenever it is asked for one.

    Raises:
        UnicodeDecodeError: one is no text.
    """
    for number in range(footer.num_columns):
        _ = footer.schema.column(number).path
