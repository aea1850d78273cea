"""Reads Parquet files: row groups that may hold wanted keys, decoded in pieces.

Created by `registry`; a `FormatReader`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate

import pyarrow as pa
import pyarrow.parquet as pq

from lithify.columns.key_range import EVERYTHING
from lithify.errors import CorruptTable
from lithify.files.model import (
    FileColumn,
    InputFile,
    Wanted,
    check_rows,
)
from lithify.files.parquet.footers import FETCH_BYTES, MOST_FETCHED, Footers
from lithify.files.parquet.physical import Declared
from lithify.files.parquet.statistics import raw_bounds
from lithify.files.reading import gathered, reading
from lithify.io.storage import Storage

_SIP_BYTES = 64 << 10
"""Bytes that PyArrow requests at a time where prefetched bytes are cached elsewhere."""

_FEW_ROWS = 1024
"""Rows to decode at a time if their width is unknown."""


class ParquetReader:
    """Reads Parquet files.

    Args:
        storage: access to the files.
        fetched: bytes of a column chunk to prefetch at a time, for stores where every read is a request.
    """

    def __init__(self, storage: Storage, fetched: int = 0) -> None:
        self._storage = storage
        most = FETCH_BYTES if storage.is_local else max(FETCH_BYTES, min(MOST_FETCHED, fetched))
        self.footers = Footers(storage, most)

    def overhead(self, file: InputFile) -> int:
        """The decoded page, dictionary and prefetched bytes of every column."""
        return self.footers.overhead(file.path)

    def columns_with_dictionary(self, paths: Collection[str]) -> frozenset[str]:
        """Columns that every file stores with a small dictionary, or lacks."""
        return self.footers.columns_with_dictionary(paths)

    def stored_type(self, path: str, column: str) -> pa.DataType | None:
        """The type of a column in Parquet's schema."""
        schema = self.schema(path)
        return schema.field(column).type if column in schema.names else None

    def schema(self, path: str) -> pa.Schema:
        """Parquet's schema in Arrow's types."""
        return self.footers.of(path).schema.to_arrow_schema()

    def holds_any(self, path: str, column: FileColumn, values: Collection[int]) -> bool:
        """Whether any row has one of the values: by the statistics, else by reading the column."""
        return self.footers.holds_any(path, column.name, values)

    def spans(self, file: InputFile, wanted: Wanted) -> Sequence[tuple[int, int]]:
        """The row groups that may hold keys of the range."""
        footer = self.footers.of(file.path)
        rows = [footer.row_group(number).num_rows for number in range(footer.num_row_groups)]
        starts = list(accumulate(rows, initial=0))
        return [(starts[number], rows[number]) for number in self.row_groups(file, wanted)]

    def batches(self, file: InputFile, wanted: Wanted) -> Iterator[pa.RecordBatch]:
        """The rows of the row groups that may hold keys of the range.

        Raises:
            MissingFile: the file does not exist.
            CorruptTable: it cannot be read, or has other rows than its footer says.
        """
        footer = self.footers.of(file.path)
        check_rows(file, footer.num_rows)
        groups = self.row_groups(file, wanted)
        expected = sum(footer.row_group(number).num_rows for number in groups)
        dictionaries = [column.name for column in wanted.columns if column.as_dictionary]
        with reading(file.path, "Parquet"), self._open(file) as source:
            parquet = pq.ParquetFile(
                source,
                metadata=footer,
                read_dictionary=dictionaries,
                buffer_size=FETCH_BYTES if self._storage.is_local else _SIP_BYTES,
                pre_buffer=False,
                page_checksum_verification=True,
            )
            names, declared = wanted.names, Declared(wanted.columns)
            for batch in self._decoded(parquet, file, wanted, groups, set(names) - set(dictionaries)):
                expected -= batch.num_rows
                # PyArrow ignores columns that the file lacks, and reads too many if names contain dots.
                yield declared.rows(batch if batch.schema.names == names else batch.select(names))
        if expected:  # PyArrow returns fewer rows if pages end before
            raise CorruptTable(file.path, f"its pages have {-expected:+} rows more than its footer says")

    def _open(self, file: InputFile) -> pa.NativeFile:
        """The file as it was read with its footer, or opened."""
        held = self.footers.take_file(file.path)
        if held is not None:
            return held
        return self._storage.open(file.path, file.size, self.footers.fetching(file.path))

    def _decoded(
        self,
        parquet: pq.ParquetFile,
        file: InputFile,
        wanted: Wanted,
        groups: Sequence[int],
        plain: Collection[str],
    ) -> Iterator[pa.RecordBatch]:
        """The rows of row groups as stored: whole ones if that takes no more memory, else in pieces."""
        names = wanted.names
        if self.footers.figures(file.path).is_read_whole:
            for group in groups:
                rows = parquet.read_row_group(group, columns=names, use_threads=False)
                yield from rows.combine_chunks().to_batches()
            return
        rows_at_once = self._rows_at_once(file, plain, wanted.piece_bytes)
        batches = parquet.iter_batches(rows_at_once, row_groups=groups, columns=names, use_threads=False)
        yield from gathered(batches, wanted.piece_bytes // 2)

    def row_groups(self, file: InputFile, wanted: Wanted) -> list[int]:
        """The row groups of a file that may hold wanted keys, by the first column of the key."""
        groups: Collection[int] = range(self.footers.of(file.path).num_row_groups)
        if wanted.row_groups is not None:
            groups = [number for number in groups if number in wanted.row_groups]
        first = wanted.first_key
        is_whole = (file.is_inside or wanted.keys == EVERYTHING) and wanted.among is None
        if is_whole or first is None:
            return list(groups)
        return [number for number in groups if self._may_hold_keys(file, number, wanted, first)]

    def _may_hold_keys(self, file: InputFile, row_group: int, wanted: Wanted, first: FileColumn) -> bool:
        bounds = raw_bounds(self.footers.statistics(file.path, row_group, first.name), first.type)
        return bounds is None or wanted.may_hold(*bounds)

    def _rows_at_once(self, file: InputFile, plain: Collection[str], piece_bytes: int) -> int:
        """Rows to decode at a time: about `piece_bytes`, and few if their width is unknown.

        A dictionary that is decoded hides how long its values are; `plain` are the columns that may have one.
        """
        rows = max(1, int(piece_bytes / max(1.0, self.footers.figures(file.path).bytes_per_row)))
        hidden = self.footers.bytes_behind_dictionaries(file.path, plain)
        return min(rows, max(_FEW_ROWS, piece_bytes // hidden)) if hidden else rows
