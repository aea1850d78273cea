"""Statistics of whole files from those of their row groups: exact, or none."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.errors import CorruptTable
from lithify.files.parquet.copying.bounds import ExactBounds, exact_bounds
from lithify.files.parquet.copying.footers import (
    CREATED_BY,
    METADATA,
    ROW_GROUPS,
    STATISTICS,
)
from lithify.files.parquet.copying.source import RowGroupSource
from lithify.files.parquet.structs import (
    Struct,
    Value,
    binary,
    encode_struct,
    read_struct,
    struct,
    structs,
)
from lithify.files.parquet.thrift import Thrift
from support.properties import examples

_TRUE, _FALSE = Value(1, b""), Value(2, b"")
_MIN, _MAX, _MAX_EXACT, _MIN_EXACT = 6, 5, 7, 8


def file_of(column: pa.Array, groups: int = 2, **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    size = max(1, -(-len(column) // groups))
    pq.write_table(pa.table({"x": column}), sink, row_group_size=size, store_schema=False, **options)
    return bytes(sink.getvalue())


def bounds_of(*files: bytes) -> ExactBounds | None:
    sources = [RowGroupSource(pa.BufferReader(data), "file.parquet") for data in files]
    return exact_bounds([(each.footer, each.footer.row_groups) for each in sources]).get("x")


EXACT = {
    "tinyint": ([3, None, -3], pa.int8()),
    "unsigned": ([1, 2**32 - 1], pa.uint32()),
    "unsigned long": ([1, 2**64 - 1], pa.uint64()),
    "bigint": ([-(2**63), 2**63 - 1], pa.int64()),
    "boolean": ([True, False, None], pa.bool_()),
    "date": ([dt.date(1905, 1, 1), dt.date(2020, 2, 29)], pa.date32()),
    "time": ([1, 86_399_999], pa.time32("ms")),
    "nanoseconds": ([1, 86_399_999_999_999], pa.time64("ns")),
    "timestamp": ([-1, 1], pa.timestamp("ns")),
    "instant": ([-1, 1], pa.timestamp("us", "UTC")),
    "decimal": ([Decimal("-1.23"), Decimal("4.56")], pa.decimal128(5, 2)),
    "long decimal": ([Decimal("-1.23"), Decimal(10) ** 35], pa.decimal128(38, 2)),
    "text": (["é", "a", "z", "", None], pa.string()),
    "binary": ([b"\xff", b"\x00", b"a"], pa.binary()),
}


@pytest.mark.parametrize("in_integers", [False, True], ids=["plain", "decimals as integers"])
@pytest.mark.parametrize("name", EXACT)
def test_exact_statistics_are_the_minimum_and_maximum(name: str, *, in_integers: bool) -> None:
    values, kind = EXACT[name]
    column = pa.array(values, kind)
    found = bounds_of(file_of(column, store_decimal_as_integer=in_integers))
    expected = pc.min_max(column)
    assert found == ExactBounds(expected["min"], expected["max"], column.null_count)


@given(
    files=st.lists(st.lists(st.integers(-(2**31), 2**31 - 1) | st.none(), max_size=9), min_size=1, max_size=3)
)
@settings(max_examples=examples(60), deadline=None)
def test_several_files_have_the_bounds_of_all_rows(files: list[list[int | None]]) -> None:
    columns = [pa.array(values, pa.int32()) for values in files]
    every = pa.chunked_array(columns)
    found = bounds_of(*map(file_of, columns))
    assert found is not None
    assert found.nulls == every.null_count
    bounds = pc.min_max(every)
    assert [each and each.as_py() for each in (found.minimum, found.maximum)] == [
        bounds["min"].as_py(),
        bounds["max"].as_py(),
    ]


INEXACT = {
    "floats hide NaN": pa.array([1.0, float("nan")]),
    "floats hide the sign of zero": pa.array([0.0, -0.0], pa.float32()),
    "nested": pa.array([[1], [2, 3]]),
    "parts of rows": pa.array([{"y": 1}]),
    "long texts have none": pa.array(["a", "b" * 5000]),
}


@pytest.mark.parametrize("name", INEXACT)
def test_other_columns_have_to_be_read(name: str) -> None:
    assert bounds_of(file_of(INEXACT[name])) is None


def test_without_statistics_columns_have_to_be_read() -> None:
    assert bounds_of(file_of(pa.array([1, 2]), write_statistics=False)) is None


def changed(
    data: bytes, *, writer: str | None = None, without_orders: bool = False, **of_column: Value | None
) -> bytes:
    """The file with other statistics of its first column chunk, or another writer."""
    length = int.from_bytes(data[-8:-4], "little")
    fields = dict(read_struct(Thrift(data[-8 - length : -8])))
    if writer is not None:
        fields[CREATED_BY] = binary(writer.encode())
    if without_orders:
        del fields[7]
    group, *groups = fields[ROW_GROUPS].structs
    (chunk,) = group[1].structs
    metadata = dict(chunk[METADATA].struct)
    metadata[STATISTICS] = struct(_with(metadata[STATISTICS].struct, of_column))
    group = {**group, 1: structs([{**chunk, METADATA: struct(metadata)}])}
    footer = encode_struct({**fields, ROW_GROUPS: structs([group, *groups])})
    return data[: -8 - length] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def _with(statistics: Struct, changes: dict[str, Value | None]) -> Struct:
    numbered = {int(name.removeprefix("f")): value for name, value in changes.items()}
    both = {**statistics, **numbered}
    return {number: value for number, value in both.items() if value is not None}


TEXTS = file_of(pa.array(["a", "b"]), 1)
NUMBERS = file_of(pa.array([1, 2], pa.int32()), 1)
OTHER = "parquet-rs version 55.0.0"


@pytest.mark.parametrize(
    ("data", "is_exact"),
    [
        (changed(TEXTS, f7=_TRUE, f8=_FALSE), False),
        (changed(TEXTS, f7=_FALSE, f8=_TRUE), False),
        (changed(TEXTS, writer=OTHER), False),
        (changed(TEXTS, writer=OTHER, f7=_TRUE, f8=_TRUE), True),
        (changed(NUMBERS, writer=OTHER), True),
        (changed(NUMBERS, f5=None), False),
        (changed(NUMBERS, f6=None), False),
        (changed(NUMBERS, f3=None), False),
        (changed(NUMBERS, without_orders=True), False),
        (changed(NUMBERS, f5=binary(b"\x00\x00\x00\x80")), False),
        (changed(TEXTS, f5=binary(b"b\xff")), False),
    ],
    ids=[
        "minimum was cut",
        "maximum was cut",
        "a writer that cuts silently",
        "a writer that says that it did not cut",
        "numbers are never cut",
        "only the older maximum",
        "only the older minimum",
        "no count of nulls",
        "no order",
        "minimum above maximum",
        "no UTF-8",
    ],
)
def test_only_certain_statistics_count(data: bytes, *, is_exact: bool) -> None:
    assert (bounds_of(data) is not None) == is_exact


def test_statistics_of_another_width_are_corrupt() -> None:
    with pytest.raises(CorruptTable):
        bounds_of(changed(NUMBERS, f5=binary(b"\x00\x00\x00")))


def test_row_groups_are_those_that_are_asked_for() -> None:
    opened = RowGroupSource(pa.BufferReader(file_of(pa.array([1, 2, 8, 9]))), "file.parquet")
    found = exact_bounds([(opened.footer, opened.footer.row_groups[1:])])["x"]
    assert (found.minimum.as_py(), found.maximum.as_py()) == (8, 9)
