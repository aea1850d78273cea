"""Makes the indexes of one data file while its rows are written.

Used by `data_files.writer`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow as pa

from lithify.files.types import ColumnType
from lithify.formats.paimon.file_indexes.bit_slices import BitSliceIndex
from lithify.formats.paimon.file_indexes.bitmap import BitmapIndex
from lithify.formats.paimon.file_indexes.bloom_filter import BloomFilter
from lithify.formats.paimon.file_indexes.container import encode
from lithify.formats.paimon.file_indexes.map_values import values_of_key
from lithify.formats.paimon.file_indexes.model import (
    ColumnIndex,
    FileIndexOptions,
    IndexedColumn,
    IndexKind,
    IndexSettings,
    Unindexable,
    indexed_type,
)
from lithify.formats.paimon.file_indexes.range_bitmap import RangeBitmap
from lithify.formats.paimon.file_indexes.values import plain
from lithify.formats.paimon.schema.schema import Schema

_MAKERS: dict[IndexKind, Callable[[ColumnType, IndexSettings], ColumnIndex]] = {
    IndexKind.BLOOM_FILTER: BloomFilter,
    IndexKind.BITMAP: BitmapIndex,
    IndexKind.BIT_SLICES: BitSliceIndex,
    IndexKind.RANGE_BITMAP: RangeBitmap,
}


class FileIndexes:
    """The indexes of one data file.

    Args:
        options: what is indexed.
        schema: the schema of the rows.
    """

    def __init__(self, options: FileIndexOptions, schema: Schema) -> None:
        self._indexes = [
            (each, _MAKERS[each.kind](indexed_type(schema.column(each.column).type, each), each.settings))
            for each in options.indexed
        ]

    def add(self, rows: pa.Table) -> None:
        """Adds further rows.

        Raises:
            Unindexable: Java Paimon cannot index a value; names the column and the index.
        """
        for indexed, index in self._indexes:
            for chunk in rows.column(indexed.column).chunks:
                with _naming(indexed):
                    index.add(plain(chunk) if indexed.key is None else values_of_key(chunk, indexed.key))

    def finish(self) -> bytes:
        """The indexes of all rows as Java Paimon stores them.

        Raises:
            Unindexable: as `add`.
        """
        by_column: dict[str, dict[str, bytes]] = {}
        for indexed, index in self._indexes:
            with _naming(indexed):
                by_column.setdefault(indexed.name, {})[indexed.kind] = index.finish()
        return encode(by_column)


@contextmanager
def _naming(indexed: IndexedColumn) -> Iterator[None]:
    """Adds the column and the index to an error."""
    try:
        yield
    except Unindexable as error:
        problem = f"column {indexed.name}: {error}, so that Paimon cannot make its {indexed.kind} index"
        raise Unindexable(problem) from error
