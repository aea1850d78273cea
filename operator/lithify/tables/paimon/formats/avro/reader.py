"""Reads Avro files, block by block.

Made by `registry`, a `FormatReader`. Nothing in an Avro file says what is in it: its rows are counted as they
are read, and no block can be left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import lru_cache
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc

from lithify.tables.paimon.formats.avro.container import (
    Header,
    blocks,
    decompress,
    read_header,
)
from lithify.tables.paimon.formats.avro.decoding import Decoder
from lithify.tables.paimon.formats.avro.schema import has_nested
from lithify.tables.paimon.formats.model import FileColumn, InputFile, Wanted, check_rows
from lithify.tables.paimon.formats.reading import gathered, reading
from lithify.tables.paimon.schema import RETRACTING_KINDS, SYSTEM_COLUMNS, VALUE_KIND
from lithify.tables.paimon.storage import Fetching, Storage

_FETCHED = 1 << 20
_KEPT = 128
_LOOKED_AT = 16
"""Blocks at the beginning of a file by which the others are judged."""

_VALUE_BYTES = 96
"""About what Python takes for a value, besides its bytes."""

_LEAST_BYTES = 2
"""What a value within others takes at least, about."""

_COPIES = 3
"""A block is held compressed, decompressed and as Python's values."""


class AvroReader:
    """Reads Avro files.

    Args:
        storage: access to the files.
        fetched: is not needed: a file is read from its beginning to its end.
    """

    def __init__(self, storage: Storage, fetched: int = 0) -> None:
        del fetched
        self._storage = storage
        self._overhead = lru_cache(_KEPT)(self._estimated)

    def overhead(self, file: InputFile) -> int:
        """The largest of the first blocks, in all forms that it takes until it is a batch."""
        return self._overhead(file.path)

    def columns_with_dictionary(self, paths: Collection[str]) -> frozenset[str]:
        """None: Avro has no dictionaries."""
        del paths
        return frozenset()

    def stored_type(self, path: str, column: str) -> pa.DataType | None:
        """No type is stored otherwise than declared."""
        del path, column
        return None

    def holds_deletes(self, path: str) -> bool:
        """Whether any row of a file retracts its key, for which all rows are read."""
        kinds = [FileColumn(VALUE_KIND, SYSTEM_COLUMNS[VALUE_KIND])]
        values = pa.array(RETRACTING_KINDS, pa.int8())
        with reading(path, "Avro"), self._storage.open(path) as source:
            header = read_header(source)
            batches = _decoded(source, header, Decoder(header.schema, kinds))
            return any(pc.any(pc.is_in(batch.column(0), values)).as_py() for batch in batches)

    def batches(self, file: InputFile, wanted: Wanted) -> Iterator[pa.RecordBatch]:
        """All rows; which of them are in the range, their reader has to find out."""
        how = Fetching(_FETCHED)
        with reading(file.path, "Avro"), self._storage.open(file.path, file.size, how) as source:
            header = read_header(source)
            rows = 0
            decoded = _decoded(source, header, Decoder(header.schema, wanted.columns))
            for batch in gathered(decoded, wanted.piece_bytes // 2):
                rows += batch.num_rows
                if rows > file.rows:
                    check_rows(file, rows)
                yield batch
            check_rows(file, rows)

    def _estimated(self, path: str) -> int:
        with reading(path, "Avro"), self._storage.open(path) as source:
            header = read_header(source)
            columns, is_nested = len(header.schema["fields"]), has_nested(header.schema)
            sizes = []
            for head in islice(blocks(source, header), _LOOKED_AT):
                source.seek(head.start)
                data = decompress(header.codec, source.read(head.size))
                values = head.rows * columns
                if is_nested:
                    values = max(values, len(data) // _LEAST_BYTES)
                sizes.append(_COPIES * len(data) + values * _VALUE_BYTES)
            return max(sizes, default=0) + (0 if self._storage.is_local else _FETCHED)


def _decoded(source: pa.NativeFile, header: Header, decoder: Decoder) -> Iterator[pa.RecordBatch]:
    for head in blocks(source, header):
        source.seek(head.start)
        yield decoder.decode(head.rows, decompress(header.codec, source.read(head.size)))
