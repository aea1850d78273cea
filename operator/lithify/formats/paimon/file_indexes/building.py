"""Makes the indexes of one data file while its rows are written.

Used by `data_files.writer`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

from lithify.files.types import ColumnType
from lithify.formats.paimon.file_indexes.bit_slices import BitSliceIndex
from lithify.formats.paimon.file_indexes.bitmap import BitmapIndex
from lithify.formats.paimon.file_indexes.bloom_filter import BloomFilter
from lithify.formats.paimon.file_indexes.container import encode
from lithify.formats.paimon.file_indexes.java_hashing import column_hash, hash_map_order, in_map_order
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
        made: dict[tuple[str, str], bytes] = {}
        for indexed, index in self._indexes:
            with _naming(indexed):
                made[indexed.name, indexed.kind] = index.finish()
        by_column: dict[str, dict[str, bytes]] = {}
        for name, kind in _in_javas_order([indexed for indexed, _ in self._indexes]):
            by_column.setdefault(name, {})[kind] = made[name, kind]
        return encode(by_column)


def _in_javas_order(indexed: Sequence[IndexedColumn]) -> Iterator[tuple[str, str]]:
    """Names and kinds of indexes in the order in which Java's `DataFileIndexWriter` adds them."""
    kinds: dict[tuple[str, str | None], list[str]] = {}
    for each in indexed:
        kinds.setdefault((each.column, each.key), []).append(each.kind)
    by_kind: dict[str, dict[str, list[str | None]]] = {}
    for column, key in in_map_order([*kinds], column_hash):
        for kind in hash_map_order(kinds[column, key]):
            by_kind.setdefault(kind, {}).setdefault(column, []).append(key)
    for kind in hash_map_order([*by_kind]):
        for column in hash_map_order([*by_kind[kind]], computed=False):
            keys = [key for key in by_kind[kind][column] if key is not None]
            keys = hash_map_order(keys, computed=False)
            names = hash_map_order([f"{column}[{key}]" for key in keys], computed=False)
            yield from ((name, kind) for name in names or [column])


@contextmanager
def _naming(indexed: IndexedColumn) -> Iterator[None]:
    """Adds the column and the index to an error."""
    try:
        yield
    except Unindexable as error:
        problem = f"column {indexed.name}: {error}, so that Paimon cannot make its {indexed.kind} index"
        raise Unindexable(problem) from error
