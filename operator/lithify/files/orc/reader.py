"""Reads ORC files as streams of batches; never holds a whole stripe.

Created by `registry`; a `FormatReader`. PyArrow's `ORCFile` decodes whole stripes, for which Java takes 64
MiB of *encoded* data; its dataset reader decodes a given number of rows at a time, in an eighth of the
memory. Values that Java reads differently from the C++ library are handled in `values`.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace

import pyarrow as pa

from lithify.errors import UnsupportedTable
from lithify.files.field_ids import schema_with_ids
from lithify.files.isolated_reading import IsolatedReading
from lithify.files.model import (
    FileColumn,
    InputFile,
    Wanted,
    check_rows,
    typed_as_stored,
)
from lithify.files.orc.columns import ColumnFooter
from lithify.files.orc.footers import OrcFooter, OrcFooters
from lithify.files.orc.stored_fields import UNREADABLE
from lithify.files.orc.time_zones import ahead_in_1970, provide
from lithify.files.orc.timestamps import keep_their_nanos
from lithify.files.orc.totals import Totals
from lithify.files.orc.values import as_java_reads
from lithify.files.reading import (
    gathered,
    has_any,
    reading,
    told_by_bounds,
)
from lithify.files.types import AS_STORED, ColumnType
from lithify.io.storage import Fetching, Storage

_READ_BYTES = 128 << 10
"""Bytes that the C++ library requests from a stream at a time."""

_UNPACKED = 4
"""Assumed ratio of decompressed to stored size for the rest of a small stream."""

_STREAMS = 3
"""Maximum number of streams of a column: presence, values, and lengths or fractions."""

_MOST_FETCHED = 4 << 20
_FEW_ROWS, _FEW_BYTES, _MOST_ROWS = 64, 128 << 10, 65_536
_FIXED_BYTES = 8
_SMALL_AT_ONCE = 65_536
_UTC = frozenset({"", "UTC", "GMT", "Z", "Etc/UTC", "Etc/GMT", "Zulu", "Etc/Zulu", "UCT", "Etc/UCT"})


class OrcReader:
    """Reads ORC files.

    Args:
        storage: access to the files.
        fetched: bytes of a column to prefetch at a time, for stores where every read is a request.
    """

    def __init__(self, storage: Storage, fetched: int = 0) -> None:
        provide()
        self._storage = storage
        self._fetched = max(_READ_BYTES, min(_MOST_FETCHED, fetched))
        self.footers = OrcFooters(storage)
        self._isolated = IsolatedReading()

    def overhead(self, file: InputFile) -> int:
        """Buffers of every stream, dictionaries of text columns, and prefetched bytes."""
        footer = self.footers.of(file.path)
        kept = 0 if self._storage.is_local else self._fetching(file, footer).kept
        return kept + sum(_column_overhead(column, footer) for column in footer.columns.values())

    def columns_with_dictionary(self, paths: Collection[str]) -> frozenset[str]:
        """Always empty: PyArrow returns plain values."""
        del paths
        return frozenset()

    def stored_type(self, path: str, column: str) -> pa.DataType | None:
        """Always None: types are stored as declared."""
        del path, column
        return None

    def schema(self, path: str) -> pa.Schema:
        """The columns by the types in the footer and their attributes."""
        fields = self.footers.of(path).fields
        unread = [f"column {each.name}: its type in ORC" for each in fields if each.type.root == UNREADABLE]
        if unread:
            raise UnsupportedTable(path, tuple(unread))
        return schema_with_ids(fields)

    def holds_any(self, path: str, column: FileColumn, values: Collection[int]) -> bool:
        """Whether any row has one of the values: by the statistics, else by reading the column."""
        footer = self.footers.of(path)
        stored = footer.columns.get(column.name)
        told = None if stored is None or stored.integers is None else told_by_bounds(*stored.integers, values)
        if told is not None:
            return told
        with closing(self._decoded(path, footer, Fetching(), [column.name], _SMALL_AT_ONCE)) as batches:
            return has_any(batches, values)

    def spans(self, file: InputFile, wanted: Wanted) -> Sequence[tuple[int, int]]:
        """All rows."""
        del wanted
        return [(0, file.rows)]

    def batches(self, file: InputFile, wanted: Wanted) -> Iterator[pa.RecordBatch]:
        """Reads all rows; the caller must filter by key range."""
        footer = self.footers.of(file.path)
        is_declared = all(column.type is not AS_STORED for column in wanted.columns)
        if not is_declared:
            wanted = replace(wanted, columns=typed_as_stored(wanted.columns, footer.fields))
        check_rows(file, footer.rows)
        self._check_time_zone(file, wanted, footer)
        if not footer.rows:
            return
        _check_range(file, wanted, footer)
        rows = _rows_at_once(footer, wanted)
        how = self._fetching(file, footer)
        names = wanted.names
        with (
            reading(file.path, "ORC"),
            closing(self._decoded(file.path, footer, how, names, rows)) as batches,
        ):
            ahead = _ahead(footer, wanted)
            for batch in gathered(batches, wanted.piece_bytes // 2):
                columns = [
                    as_java_reads(
                        batch.column(position),
                        column.type,
                        footer.columns.get(column.name),
                        ahead,
                        drops_digits=not is_declared,
                    )
                    for position, column in enumerate(wanted.columns)
                ]
                yield pa.RecordBatch.from_arrays(columns, names)

    def _decoded(
        self, path: str, footer: OrcFooter, how: Fetching, names: list[str], rows: int
    ) -> Generator[pa.RecordBatch, None, None]:
        """The columns of a file in batches of `rows` rows, decoded in another process and checked.

        Raises:
            MissingFile: the file does not exist.
            CorruptTable: it cannot be read, or has other rows than its footer says.
        """
        arguments = {
            "names": names,
            "rows": rows,
            "streams": footer.zstd_streams,
            "block_size": footer.block_size,
        }
        with reading(path, "ORC"), self._storage.open_to_share(path, footer.size, how) as source:
            totals = Totals(footer, names)
            for batch in self._isolated.batches(path, source, "orc", arguments):
                totals.add(batch)
                yield batch
            totals.check()

    def _fetching(self, file: InputFile, footer: OrcFooter) -> Fetching:
        """How to prefetch a file where every read is a request: streams lie at different offsets."""
        parts = sum(column.parts for column in footer.columns.values())
        return Fetching(self._fetched, min(file.size, _STREAMS * parts * self._fetched))

    def _check_time_zone(self, file: InputFile, wanted: Wanted, footer: OrcFooter) -> None:
        """Refuses instants in Java's legacy form: local time in the writer's time zone."""
        zoned = [column.name for column in wanted.columns if _has(column.type, "TIMESTAMP_LTZ")]
        if wanted.instants_are_local and zoned and footer.time_zone not in _UTC:
            problem = (
                f"column {zoned[0]}: in ORC files written in the time zone {footer.time_zone} it says "
                "another time to every reader (orc.timestamp-ltz.legacy.type = true)"
            )
            raise UnsupportedTable(file.path, (problem,))


def _check_range(file: InputFile, wanted: Wanted, footer: OrcFooter) -> None:
    """Checks that no requested nanoseconds overflow when PyArrow reads them: it would not be detected later.

    Raises:
        UnsupportedTable: some do, or the footer has no bounds that rule it out.
    """
    problems = tuple(
        f"column {part}: {'it has' if is_known else 'nothing tells whether it has'} timestamps "
        "before 1678 or after 2261, of which this release cannot read nanoseconds from ORC files"
        for column in wanted.columns
        for part, is_known in _wrapped(column.name, column.type, footer.columns.get(column.name), wanted)
    )
    if problems:
        raise UnsupportedTable(file.path, problems)


def _wrapped(
    name: str, kind: ColumnType, told: ColumnFooter | None, wanted: Wanted
) -> Iterator[tuple[str, bool]]:
    """Parts of a column whose nanoseconds may overflow, and whether their bounds are known."""
    is_empty = told is not None and told.rows == 0
    millis = told.millis if told else None
    if kind.is_nanos and not is_empty and not keep_their_nanos(millis):
        yield name, millis is not None
    for part in wanted.parts_of(kind):
        within = told.fields.get(part.name) if told else None
        yield from _wrapped(f"{name}.{part.name}", part.type, within, wanted)


def _has(column: ColumnType, root: str) -> bool:
    """Whether a column, or a part of it, has a type."""
    return column.root == root or any(_has(part.type, root) for part in column.fields)


def _ahead(footer: OrcFooter, wanted: Wanted) -> int:
    """Seconds by which the writer's clock was ahead of UTC, 0 if no column depends on it."""
    has_clocks = any(_has(column.type, "TIMESTAMP") for column in wanted.columns)
    return ahead_in_1970(footer.time_zone) if has_clocks else 0


def _rows_at_once(footer: OrcFooter, wanted: Wanted) -> int:
    """Rows for about a quarter of `piece_bytes`, because only the average width is known; more if narrow."""
    columns = [footer.columns[name] for name in wanted.names if name in footer.columns]
    width = max(1.0, sum(_bytes_of(column, footer) for column in columns) / footer.rows)
    least = min(_FEW_ROWS, int(_FEW_BYTES / width))
    return max(1, least, min(_MOST_ROWS, int(wanted.piece_bytes / 4 / width)))


def _bytes_of(column: ColumnFooter, footer: OrcFooter) -> int:
    """Approximate bytes of all values of a column in Arrow."""
    return column.text_bytes + _FIXED_BYTES * max(footer.rows, column.values)


def _column_overhead(column: ColumnFooter, footer: OrcFooter) -> int:
    """Bytes that decoding one column holds: for each stream its read buffer and a block, plus the dictionary.

    Measured on Java's files with 20 columns, this is slightly more than a reader uses.
    """
    streams = max(1, len(footer.stripes)) * column.parts
    stored = column.stored_bytes // streams if column.stored_bytes else footer.block_size
    buffers = min(_READ_BYTES, stored) + min(footer.block_size, _UNPACKED * stored)
    width = column.text_bytes / max(1, column.values) + _FIXED_BYTES
    return column.parts * _STREAMS * buffers + int(column.dictionary * width)
