"""Reads ORC files as streams of batches; no stripe is ever held whole.

Made by `registry`, a `FormatReader`. PyArrow's `ORCFile` decodes whole stripes, which Java makes of 64 MiB of
*encoded* data; its dataset reader decodes so many rows at a time from the same file, in an eighth of the
memory. Whatever Java reads otherwise than the C++ library is in `values`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from lithify.errors import UnsupportedTable
from lithify.tables.paimon.formats.model import InputFile, Wanted, check_rows
from lithify.tables.paimon.formats.orc.columns import ColumnFooter
from lithify.tables.paimon.formats.orc.footers import OrcFooter, OrcFooters
from lithify.tables.paimon.formats.orc.time_zones import ahead_in_1970, provide
from lithify.tables.paimon.formats.orc.timestamps import keep_their_nanos
from lithify.tables.paimon.formats.orc.values import as_java_reads
from lithify.tables.paimon.formats.reading import gathered, reading
from lithify.tables.paimon.schema import RETRACTING_KINDS, VALUE_KIND
from lithify.tables.paimon.storage import Fetching, Storage
from lithify.tables.paimon.types import ColumnType

_READ_BYTES = 128 << 10
"""What the C++ library asks of a stream at a time."""

_UNPACKED = 4
"""How much larger than stored the rest of a small stream is taken to be."""

_STREAMS = 3
"""A column has so many streams at most: which values are there, the values, and lengths or fractions."""

_MOST_FETCHED = 4 << 20
_FEW_ROWS, _FEW_BYTES, _MOST_ROWS = 64, 128 << 10, 65_536
_FIXED_BYTES = 8
_KINDS_AT_ONCE = 65_536
_UTC = frozenset({"", "UTC", "GMT", "Z", "Etc/UTC", "Etc/GMT", "Zulu", "Etc/Zulu", "UCT", "Etc/UCT"})


class OrcReader:
    """Reads ORC files.

    Args:
        storage: access to the files.
        fetched: bytes of a column that may be fetched at a time, where every fetch is a request.
    """

    def __init__(self, storage: Storage, fetched: int = 0) -> None:
        provide()
        self._storage = storage
        self._fetched = max(_READ_BYTES, min(_MOST_FETCHED, fetched))
        self.footers = OrcFooters(storage)

    def overhead(self, file: InputFile) -> int:
        """The buffers of every stream, the dictionary of every column of text, and what was fetched."""
        footer = self.footers.of(file.path)
        kept = 0 if self._storage.is_local else self._fetching(file, footer).kept
        return kept + sum(_column_overhead(column, footer) for column in footer.columns.values())

    def columns_with_dictionary(self, paths: Collection[str]) -> frozenset[str]:
        """None: PyArrow hands out the values."""
        del paths
        return frozenset()

    def stored_type(self, path: str, column: str) -> pa.DataType | None:
        """No type is stored otherwise than declared."""
        del path, column
        return None

    def holds_deletes(self, path: str) -> bool:
        """Whether any row of a file retracts its key: by the statistics, else by the column."""
        kinds = self.footers.of(path).columns.get(VALUE_KIND)
        if kinds is not None and kinds.integers is not None:
            largest = kinds.integers[1]
            if largest == 0 or largest in RETRACTING_KINDS:
                return largest != 0
        with reading(path, "ORC"), self._storage.open(path) as source:
            batches = _streamed(source, [VALUE_KIND], _KINDS_AT_ONCE)
            values = pa.array(RETRACTING_KINDS, pa.int8())
            return any(pc.any(pc.is_in(batch.column(0), values)).as_py() for batch in batches)

    def batches(self, file: InputFile, wanted: Wanted) -> Iterator[pa.RecordBatch]:
        """All rows; which of them are in the range, their reader has to find out."""
        footer = self.footers.of(file.path)
        check_rows(file, footer.rows)
        self._check_time_zone(file, wanted, footer)
        if not footer.rows:
            return
        _check_range(file, wanted, footer)
        rows = _rows_at_once(footer, wanted)
        how = self._fetching(file, footer)
        with reading(file.path, "ORC"), self._storage.open(file.path, file.size, how) as source:
            names, ahead = wanted.names, _ahead(footer, wanted)
            for batch in gathered(_streamed(source, names, rows), wanted.piece_bytes // 2):
                columns = [
                    as_java_reads(batch.column(position), column.type, footer.columns.get(column.name), ahead)
                    for position, column in enumerate(wanted.columns)
                ]
                yield pa.RecordBatch.from_arrays(columns, names)

    def _fetching(self, file: InputFile, footer: OrcFooter) -> Fetching:
        """How a file is fetched from where every fetch is a request: each stream has its own place in it."""
        parts = sum(column.parts for column in footer.columns.values())
        return Fetching(self._fetched, min(file.size, _STREAMS * parts * self._fetched))

    def _check_time_zone(self, file: InputFile, wanted: Wanted, footer: OrcFooter) -> None:
        """Java's old way to store instants is to store the reading of a clock in the writer's time zone."""
        zoned = [column.name for column in wanted.columns if _has(column.type, "TIMESTAMP_LTZ")]
        if wanted.instants_are_local and zoned and footer.time_zone not in _UTC:
            problem = (
                f"column {zoned[0]}: in ORC files written in the time zone {footer.time_zone} it says "
                "another time to every reader (orc.timestamp-ltz.legacy.type = true)"
            )
            raise UnsupportedTable(file.path, (problem,))


def _check_range(file: InputFile, wanted: Wanted, footer: OrcFooter) -> None:
    """Makes sure that no nanoseconds that are wanted wrap around as PyArrow reads them: nothing tells later.

    Raises:
        UnsupportedTable: some do, or the footer does not say that none do.
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
    """Parts of a column whose nanoseconds may wrap around, and whether their bounds are known."""
    is_empty = told is not None and told.rows == 0
    millis = told.millis if told else None
    if kind.is_nanos and not is_empty and not keep_their_nanos(millis):
        yield name, millis is not None
    for part in wanted.parts_of(kind):
        within = told.fields.get(part.name) if told else None
        yield from _wrapped(f"{name}.{part.name}", part.type, within, wanted)


def _has(column: ColumnType, root: str) -> bool:
    """Whether values, or parts of them, are of a type."""
    return column.root == root or any(_has(part.type, root) for part in column.fields)


def _ahead(footer: OrcFooter, wanted: Wanted) -> int:
    """What the clock of a file's writer was ahead of UTC, where it matters."""
    has_clocks = any(_has(column.type, "TIMESTAMP") for column in wanted.columns)
    return ahead_in_1970(footer.time_zone) if has_clocks else 0


def _streamed(source: pa.NativeFile, names: list[str], rows: int) -> Iterator[pa.RecordBatch]:
    """The columns, so many rows at a time, read by nobody ahead of time."""
    fragment = ds.OrcFileFormat().make_fragment(source)
    batches: Iterator[pa.RecordBatch] = fragment.to_batches(
        columns=names, batch_size=rows, batch_readahead=0, fragment_readahead=0, use_threads=False
    )
    return batches


def _rows_at_once(footer: OrcFooter, wanted: Wanted) -> int:
    """About a quarter of a piece, because only the average width is known; never a few short ones."""
    columns = [footer.columns[name] for name in wanted.names if name in footer.columns]
    width = max(1.0, sum(_bytes_of(column, footer) for column in columns) / footer.rows)
    least = min(_FEW_ROWS, int(_FEW_BYTES / width))
    return max(1, least, min(_MOST_ROWS, int(wanted.piece_bytes / 4 / width)))


def _bytes_of(column: ColumnFooter, footer: OrcFooter) -> int:
    """About what all values of a column take in Arrow."""
    return column.text_bytes + _FIXED_BYTES * max(footer.rows, column.values)


def _column_overhead(column: ColumnFooter, footer: OrcFooter) -> int:
    """What decoding one column holds: of its streams what is read at a time and a block, and a dictionary.

    Measured on files of Java with 20 columns, this is a little more than a reader takes.
    """
    streams = max(1, len(footer.stripes)) * column.parts
    stored = column.stored_bytes // streams if column.stored_bytes else footer.block_size
    buffers = min(_READ_BYTES, stored) + min(footer.block_size, _UNPACKED * stored)
    width = column.text_bytes / max(1, column.values) + _FIXED_BYTES
    return column.parts * _STREAMS * buffers + int(column.dictionary * width)
