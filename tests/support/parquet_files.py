"""Parquet files for tests of copying, in memory: drawn schemas, rows and layouts."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from lithify.files.parquet.copying.copier import RowGroupCopier
from lithify.files.parquet.copying.footers import CREATED_BY
from lithify.files.parquet.copying.source import RowGroupSource
from lithify.files.parquet.structs import binary, encode_struct, read_struct
from lithify.files.parquet.thrift import Thrift

CODECS = ("none", "snappy", "gzip", "brotli", "lz4", "zstd")
LEAVES = (
    *(pa.bool_(), pa.int8(), pa.int32(), pa.int64(), pa.uint32(), pa.uint64(), pa.float32(), pa.float64()),
    *(pa.string(), pa.binary(), pa.binary(3), pa.date32(), pa.time32("ms"), pa.time64("us")),
    *(pa.timestamp("ms"), pa.timestamp("us", "UTC"), pa.timestamp("ns"), pa.decimal128(9, 2)),
    *(pa.decimal128(38, 10), pa.dictionary(pa.int32(), pa.string())),
)


@dataclass(frozen=True, slots=True)
class Layout:
    """How a file is written: rows of each row group, and options of PyArrow's writer."""

    groups: Sequence[int]
    options: dict[str, Any] = field(default_factory=dict)


def types() -> st.SearchStrategy[pa.DataType]:
    def nest(inner: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[pa.DataType]:
        return st.one_of(
            st.builds(pa.list_, inner),
            st.builds(pa.map_, st.just(pa.string()), inner),
            st.lists(inner, min_size=1, max_size=3).map(
                lambda kinds: pa.struct([pa.field(f"f{n}", kind) for n, kind in enumerate(kinds)])
            ),
        )

    return st.recursive(st.sampled_from(LEAVES), nest, max_leaves=4)


def schemas() -> st.SearchStrategy[pa.Schema]:
    def named(kinds: list[pa.DataType]) -> pa.Schema:
        fields = [
            pa.field(f"c{n}", kind, metadata={"PARQUET:field_id": str(n)}) for n, kind in enumerate(kinds)
        ]
        return pa.schema([pa.field("id", pa.int64(), nullable=False), *fields])

    return st.lists(types(), min_size=1, max_size=4).map(named)


def layouts() -> st.SearchStrategy[Layout]:
    options = st.fixed_dictionaries(
        {
            "compression": st.sampled_from(CODECS),
            "data_page_version": st.sampled_from(["1.0", "2.0"]),
            "use_dictionary": st.booleans(),
            "write_page_index": st.booleans(),
            "write_statistics": st.booleans(),
            "data_page_size": st.sampled_from([64, 1 << 20]),
            "write_batch_size": st.sampled_from([3, 1024]),
            "store_decimal_as_integer": st.just(value=True),
        }
    )
    return st.builds(Layout, st.lists(st.integers(0, 30), max_size=4), options)


def rows(schema: pa.Schema, count: int, seed: int) -> pa.Table:
    """Rows with nulls, repeated values, empty and longer lists."""
    columns = [pa.array(range(seed, seed + count), pa.int64())]
    for field_ in list(schema)[1:]:
        values = [_value(field_.type, seed * 31 + n * 7) for n in range(count)]
        columns.append(pa.array(values, field_.type))
    return pa.table(columns, schema=schema)


def _value(kind: pa.DataType, number: int) -> Any:
    if number % 11 == 0:
        return None
    if pa.types.is_struct(kind):
        return {each.name: _value(each.type, number + 1) for each in kind}
    if pa.types.is_map(kind):
        return [(f"k{n}", _value(kind.item_type, number + n)) for n in range(number % 4)]
    if pa.types.is_list(kind):
        return [_value(kind.value_type, number + n) for n in range(number % 4)]
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return _leaf(kind, number)


def _leaf(kind: pa.DataType, number: int) -> Any:
    small = number % 100
    made: list[tuple[Callable[[pa.DataType], bool], Callable[[], Any]]] = [
        (pa.types.is_boolean, lambda: number % 2 == 0),
        (pa.types.is_integer, lambda: small),
        (pa.types.is_floating, lambda: [small / 3, float("nan"), -0.0][number % 3]),
        (pa.types.is_string, lambda: f"é{small}" * (number % 3)),
        (pa.types.is_fixed_size_binary, lambda: bytes([small, 0, 255])),
        (pa.types.is_binary, lambda: bytes([small, 255])),
        (pa.types.is_date, lambda: dt.date(1960 + small, 1, 1)),
        (pa.types.is_time, lambda: dt.time(small % 24, 1, 2)),
        (pa.types.is_timestamp, lambda: dt.datetime(1960 + small, 1, 1)),
        (pa.types.is_decimal, lambda: Decimal(small - 50) / 4),
    ]
    return next(make() for is_kind, make in made if is_kind(kind))


def written(schema: pa.Schema, layout: Layout, seed: int = 0) -> tuple[bytes, pa.Table]:
    """A file, and its rows."""
    sink, tables = io.BytesIO(), [schema.empty_table()]
    with pq.ParquetWriter(sink, schema, **layout.options) as writer:
        for number, count in enumerate(layout.groups):
            tables.append(rows(schema, count, seed + number * 1000))
            writer.write_table(tables[-1], row_group_size=max(1, count))
    return sink.getvalue(), pa.concat_tables(tables).unify_dictionaries()


def source(data: bytes, path: str = "file.parquet") -> RowGroupSource:
    return RowGroupSource(pa.BufferReader(data), path)


def joined(files: Sequence[bytes]) -> bytes:
    """The files as one."""
    sources = [source(data, f"file-{number}.parquet") for number, data in enumerate(files)]
    sink = pa.BufferOutputStream()
    copier = RowGroupCopier(sink, sources[0])
    for each in sources:
        copier.append(each)
    copier.finish()
    return bytes(sink.getvalue())


def with_footer(data: bytes, **changes: Any) -> bytes:
    """A file with other fields in its footer."""
    length = int.from_bytes(data[-8:-4], "little")
    fields = dict(read_struct(Thrift(data[-8 - length : -8])))
    for change in changes.values():
        fields = change(fields)
    footer = encode_struct(fields)
    return data[: -8 - length] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def by(writer: str) -> Any:
    return lambda fields: {**fields, CREATED_BY: binary(writer.encode())}
