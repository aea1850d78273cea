"""Writes Parquet files that Java Paimon's readers of all versions understand.

Opened by `registry`; a `FormatWriter`. Every write is a row group, followed by its bloom filters. Footer
entries that PyArrow cannot write are added at the end: offsets of filters, and which 12-byte columns are
INT96.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lithify.columns.order import INSTANT
from lithify.files.options import FileOptions, ParquetOptions
from lithify.files.parquet.bloom_filters import Place, filters_of, with_places
from lithify.files.parquet.int96 import with_fixed_bytes, with_int96
from lithify.files.parquet.physical import Leaf, leaves_of_rows
from lithify.files.parquet.sound_statistics import flat_columns
from lithify.files.parquet.statistics import footer_stats
from lithify.files.parquet.thrift import with_footer
from lithify.files.parquet.uuids import uuid_columns, with_uuids
from lithify.files.statistics import ColumnStats
from lithify.files.types import ColumnType
from lithify.files.variants.columns import VariantColumns

_CODECS = {"none": "none", "uncompressed": "none", "lz4_raw": "lz4"}
"""Paimon's names of codecs that have other names in PyArrow."""

_PAGE_BYTES = 256 << 10
"""Approximate size of 20,000 rows of a narrow column, parquet-mr's limit; readers hold a page of each column.
"""

_DICTIONARY_BYTES = 1 << 20
_MAX_ROWS_PER_CHECK = 32_768
_SAMPLE_ROWS = 16_384
_PROBED_ROWS = 1024
"""Rows at either end of the first ones that tell of columns in which next to nothing is repeated."""
_DIFFERENT = 0.95
_TELLING_SHARE = 0.625
"""Share of the first rows that tells of most columns whether enough of their values are repeated."""

_MINIBLOCK = 32
"""Differences that are stored with the same number of bits."""
_INT_BITS = 32
_REPETITIONS = 4
"""A column gets a dictionary if each value occurs this often on average in the first rows."""


class ParquetWriter:
    """Writes one Parquet file.

    Args:
        sink: output stream.
        options: file options.
        types: the types of the columns.
    """

    def __init__(self, sink: pa.NativeFile, options: FileOptions, types: Mapping[str, ColumnType]) -> None:
        self._sink = self._out = sink
        self._options = options
        self._uuids = uuid_columns(types)
        self._variants = VariantColumns(types, options.parquet.variants)
        self._footers: list[pq.FileMetaData] = []
        self._writer: pq.ParquetWriter | None = None
        self._end: HeldEnd | None = None
        self._filters: list[dict[int, Place]] = []
        self._nulls: Counter[str] = Counter()
        self.rows = 0

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return int(self._sink.tell())

    def write(self, rows: pa.Table) -> None:
        """Adds one row group."""
        rows = _with_whole_dictionaries(self._variants.in_file(rows))
        is_looked_at = self._writer is None or self._options.parquet.filters.is_wanted
        leaves = list(leaves_of_rows(rows)) if is_looked_at else []
        if self._writer is None:
            self._writer = self._begun(rows, leaves)
        self._writer.write_table(rows, row_group_size=max(1, rows.num_rows))
        self._filters.append(dict(self._write_filters(leaves)))
        self._nulls.update({name: rows.column(name).null_count for name in rows.column_names})
        self.rows += rows.num_rows

    def finish(self) -> int:
        """Writes the footer; returns the size of the file."""
        if self._writer is not None:
            if self._end is not None:
                self._end.hold()
            self._writer.close()
        if self._end is not None:
            self._end.release(self._changed)
        return self.size

    @property
    def footer(self) -> pq.FileMetaData:
        """The footer of the finished file, without labels that PyArrow cannot write."""
        (footer,) = self._footers
        return footer

    def column_stats(self, name: str, column: ColumnType) -> ColumnStats:
        """The statistics that Java takes from the footer (not for floats); none for nested columns."""
        if column.is_nested:
            return ColumnStats()
        if column.is_nanos:
            return ColumnStats(nulls=self._nulls[name])
        (footer,) = self._footers
        return footer_stats(footer, self._indexes[name], column)

    @cached_property
    def _indexes(self) -> Mapping[str, int]:
        """The index of each column in the footer, by its name; not of nested columns."""
        (footer,) = self._footers
        return flat_columns(footer)

    def read_back(self, source: pa.NativeFile, rows_schema: pa.Schema) -> Iterator[pa.Table]:
        """Iterates over the row groups."""
        footer = with_fixed_bytes(pq.read_metadata(source))
        for rows in read_row_groups(source, footer, rows_schema):
            columns = [
                self._variants.read_back(field.name, rows.column(field.name), field.type)
                for field in rows_schema
            ]
            yield pa.table(columns, rows_schema.names).cast(rows_schema)

    def abort(self) -> None:
        """Keeps PyArrow from finishing the file, or warning, when the writer is garbage-collected."""
        if self._writer is not None:
            self._writer.is_open = False

    def _begun(self, rows: pa.Table, leaves: Sequence[Leaf]) -> pq.ParquetWriter:
        has_int96 = any(leaf.values.type.equals(INSTANT) for leaf in leaves)
        if has_int96 or self._uuids or self._options.parquet.filters.is_wanted:
            self._end = HeldEnd(self._sink)
            self._out = pa.PythonFile(self._end, "w")
        return _opened(self._out, rows, leaves, self._options, self._footers)

    def _write_filters(self, leaves: Sequence[Leaf]) -> Iterator[tuple[int, Place]]:
        """Writes the filters of the last row group after it and records their offsets."""
        for number, data in filters_of(leaves, self._options.parquet.filters):
            place = Place(self.size, len(data))
            self._out.write(data)
            yield number, place

    def _changed(self, footer: bytes) -> bytes:
        footer = with_int96(with_places(footer, self._filters))
        return with_uuids(footer, self._uuids) if self._uuids else footer


class HeldEnd:
    """A sink that passes bytes on until it is told to hold back the rest, which ends with the footer."""

    closed = False

    def __init__(self, sink: pa.NativeFile) -> None:
        self._sink = sink
        self._is_holding = False
        self._held = b""

    def hold(self) -> None:
        """Holds back all bytes from now on."""
        self._is_holding = True

    def write(self, data: bytes) -> int:
        """Writes bytes."""
        if self._is_holding:
            self._held += data
        else:
            self._sink.write(data)
        return len(data)

    def tell(self) -> int:
        """The position of the next byte."""
        return int(self._sink.tell()) + len(self._held)

    def flush(self) -> None:
        """Does nothing: only held-back bytes are buffered."""

    def release(self, change: Callable[[bytes], bytes]) -> None:
        """Writes the held-back bytes, with the footer changed."""
        self._sink.write(with_footer(self._held, change))


def read_row_groups(
    source: pa.NativeFile, footer: pq.FileMetaData, rows_schema: pa.Schema
) -> Iterator[pa.Table]:
    """Iterates over the row groups of a file, as they are stored but for dictionaries."""
    dictionaries = [field.name for field in rows_schema if pa.types.is_dictionary(field.type)]
    parquet = pq.ParquetFile(
        source,
        metadata=footer,
        read_dictionary=dictionaries,
        pre_buffer=False,
        page_checksum_verification=True,
    )
    for number in range(parquet.num_row_groups):
        yield parquet.read_row_group(number, columns=rows_schema.names, use_threads=False)


def _opened(
    sink: pa.NativeFile,
    first: pa.Table,
    leaves: Sequence[Leaf],
    options: FileOptions,
    footers: list[pq.FileMetaData],
) -> pq.ParquetWriter:
    """A writer whose encodings suit the first rows.

    Only columns with repeated values get dictionaries: for others they cost time and, once they overflow,
    space. Wide decimals never get one: Java Paimon looks for the shortest bytes of a number among the padded
    ones of a dictionary, so that `=` and `in` would find nothing. Other encodings are smaller, but Java
    Paimon cannot read them before 1.1. Floats get no statistics, for the reason given at `FloatStats`.
    """
    codec = _CODECS.get(options.compression, options.compression)
    allowed = [leaf for leaf in leaves if _may_have_dictionary(leaf.path, options.parquet)]
    dictionary = [leaf.path for leaf in allowed if _gets_dictionary(leaf.values)]
    packed = _packed(leaves, dictionary, options.parquet.packed)
    with_statistics = [leaf.path for leaf in leaves if _gets_statistics(leaf.values.type)]
    page = options.parquet.page or _PAGE_BYTES
    return pq.ParquetWriter(
        sink,
        first.schema,
        compression=codec,
        compression_level=_levels(leaves, options) if codec == "zstd" else None,
        use_dictionary=dictionary,
        column_encoding=packed or None,
        data_page_size=page,
        write_batch_size=_values_per_check(leaves, page),
        dictionary_pagesize_limit=options.parquet.dictionary or _DICTIONARY_BYTES,
        store_schema=False,
        store_decimal_as_integer=options.parquet.decimals_as_integers,
        write_statistics=with_statistics,
        write_page_index=True,
        write_page_checksum=True,
        metadata_collector=footers,
    )


def _gets_dictionary(values: pa.ChunkedArray) -> bool:
    if pa.types.is_dictionary(values.type):
        return True
    if pa.types.is_boolean(values.type):  # PyArrow ignores dictionaries for them
        return False
    if pa.types.is_decimal(values.type) and values.type.precision > 18:
        return False
    sample = values.slice(0, _SAMPLE_ROWS)
    most = len(sample) // _REPETITIONS
    if _hardly_repeats(sample):
        return False
    enough = int(len(sample) * _TELLING_SHARE)  # counting takes long with very many columns
    distinct = _count_distinct(sample.slice(0, enough))
    return distinct <= most // 2 or (distinct <= most and _count_distinct(sample) <= most)


def _hardly_repeats(sample: pa.ChunkedArray) -> bool:
    """Whether nearly all of the first and the last rows of a sample differ, which takes little time to count.

    Values of which few repeat here hardly repeat often enough for a dictionary; only a long cycle of distinct
    values would, and it is stored without one.
    """
    if len(sample) < _SAMPLE_ROWS:
        return False
    parts = (sample.slice(0, _PROBED_ROWS), sample.slice(len(sample) - _PROBED_ROWS))
    probed = pa.chunked_array([chunk for part in parts for chunk in part.chunks], sample.type)
    return _count_distinct(probed) > _DIFFERENT * len(probed)


def _levels(leaves: Sequence[Leaf], options: FileOptions) -> int | dict[str, int]:
    """The level of zstd, or that of each column."""
    numbers = options.parquet.numbers_level
    if numbers is None:
        return options.zstd_level
    return {leaf.path: options.zstd_level if _is_text(leaf.values.type) else numbers for leaf in leaves}


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


def _packed(leaves: Sequence[Leaf], dictionary: Collection[str], may_be: Collection[str]) -> dict[str, str]:
    """The columns whose values are stored as differences, with the name of that encoding."""
    plain = (leaf for leaf in leaves if leaf.path in may_be and leaf.path not in dictionary)
    return {leaf.path: "DELTA_BINARY_PACKED" for leaf in plain if _is_close(leaf.values)}


def _is_close(values: pa.ChunkedArray) -> bool:
    """Whether differences of neighbours take at most half of the bits of an integer, by the first rows."""
    kind = values.type
    if not (pa.types.is_integer(kind) or pa.types.is_temporal(kind)) or kind.bit_width < _INT_BITS:
        return False
    sample = values.slice(0, _SAMPLE_ROWS).drop_null().combine_chunks()
    numbers = sample.view(pa.int64() if kind.bit_width > _INT_BITS else pa.int32()).to_numpy()
    if len(numbers) < _MINIBLOCK:
        return False
    steps = np.diff(numbers.astype(np.float64))
    blocks = steps[: len(steps) // _MINIBLOCK * _MINIBLOCK].reshape(-1, _MINIBLOCK)
    if not len(blocks):
        return False
    bits = np.log2(blocks.max(axis=1) - blocks.min(axis=1) + 1)
    return bool(bits.mean() <= kind.bit_width / 2)


def _count_distinct(values: pa.ChunkedArray) -> int:
    return int(pc.count_distinct(values, mode="all").as_py())


def _may_have_dictionary(column: str, options: ParquetOptions) -> bool:
    return options.by_column.get(column, options.dictionaries)


def _gets_statistics(kind: pa.DataType) -> bool:
    return not (pa.types.is_floating(kind) or kind.equals(INSTANT))


def _values_per_check(leaves: Sequence[Leaf], page: int) -> int:
    """Values after which PyArrow checks the size of a page: rarely, but often enough for wide values."""
    widest = max(leaf.values.nbytes / max(1, len(leaf.values)) for leaf in leaves)
    return max(1, min(_MAX_ROWS_PER_CHECK, int(page / max(1.0, widest))))


def _with_whole_dictionaries(rows: pa.Table) -> pa.Table:
    """Joins the chunks of each column with a dictionary, so that bounds come only from values of rows.

    For the bounds of each chunk, Arrow looks for the entries that its rows refer to, which takes a third of
    the time of encoding; in one chunk it takes less. It counts null as one of them, and if that makes as many
    as there are, it takes bounds from all of them.
    """
    for number, column in enumerate(rows.columns):
        if pa.types.is_dictionary(column.type) and (column.null_count or column.num_chunks > 1):
            values = column.combine_chunks()
            if values.null_count and _has_one_unused(values):
                values = _reencoded(values)
            rows = rows.set_column(number, rows.field(number), values)
    return rows


def _has_one_unused(values: pa.DictionaryArray) -> bool:
    used = len(pc.unique(values.indices.drop_null()))
    return bool(values.null_count) and used + 1 == len(values.dictionary)


def _reencoded(values: pa.DictionaryArray) -> pa.DictionaryArray:
    return values.dictionary_decode().dictionary_encode()
