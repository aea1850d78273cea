"""Statistics with which row groups are copied, and those of several column chunks: exact, or none."""

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
from lithify.files.parquet.copying.bounds import bounds_reading, has_exact_statistics, joined_statistics
from lithify.files.parquet.copying.footers import (
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
    i32,
    integer_of,
    read_struct,
    struct,
    structs,
)
from lithify.files.parquet.thrift import Thrift
from support.cases import case
from support.properties import examples

_TRUE, _FALSE = Value(1, b""), Value(2, b"")
_MIN, _MAX = 6, 5


def file_of(column: pa.Array, groups: int = 2, **options: Any) -> bytes:
    sink = pa.BufferOutputStream()
    size = max(1, -(-len(column) // groups))
    pq.write_table(pa.table({"x": column}), sink, row_group_size=size, store_schema=False, **options)
    return bytes(sink.getvalue())


def is_exact(data: bytes) -> bool:
    footer = RowGroupSource(pa.BufferReader(data), "file.parquet").footer
    return all(has_exact_statistics(footer, number) for number in range(len(footer.row_groups)))


def joined(*files: bytes) -> Struct | None:
    """The statistics of the first column of files."""
    footers = [RowGroupSource(pa.BufferReader(data), "file.parquet").footer for data in files]
    column = footers[0].metadata.schema.column(0)
    chunks = [group.chunks[0] for footer in footers for group in footer.row_groups]
    read = bounds_reading(column)
    assert read is not None
    return joined_statistics(chunks, column, read)


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
def test_joined_statistics_are_those_of_one_row_group(name: str, *, in_integers: bool) -> None:
    values, kind = EXACT[name]
    options = {"store_decimal_as_integer": in_integers}
    parts, whole = (file_of(pa.array(values, kind), groups, **options) for groups in (2, 1))
    assert is_exact(parts)
    found, expected = joined(parts), joined(whole)
    assert found is not None
    assert expected is not None
    assert encode_struct(found) == encode_struct(expected)


@given(
    files=st.lists(
        st.lists(st.integers(-(2**31), 2**31 - 1) | st.none(), min_size=1, max_size=9), min_size=1, max_size=3
    )
)
@settings(max_examples=examples(60), deadline=None)
def test_several_files_have_the_bounds_of_all_rows(files: list[list[int | None]]) -> None:
    columns = [pa.array(values, pa.int32()) for values in files]
    every = pa.chunked_array(columns)
    found = joined(*map(file_of, columns))
    assert found is not None
    bounds = [number in found and found[number].binary for number in (_MIN, _MAX)]
    expected = [value.as_py() for value in pc.min_max(every).values()]
    assert integer_of(found, 3) == every.null_count
    assert bounds == [value is not None and value.to_bytes(4, "little", signed=True) for value in expected]


UNIMPORTANT = {
    "floats hide NaN": pa.array([1.0, float("nan")]),
    "floats hide the sign of zero": pa.array([0.0, -0.0], pa.float32()),
    "nested": pa.array([[1], [2, 3]]),
    "parts of rows": pa.array([{"y": 1}]),
    "long texts have none": pa.array(["a", "b" * 5000]),
}


@pytest.mark.parametrize("name", UNIMPORTANT)
def test_columns_whose_bounds_nobody_takes_from_footers_do_not_matter(name: str) -> None:
    assert is_exact(file_of(UNIMPORTANT[name]))


def test_without_statistics_columns_have_to_be_read() -> None:
    assert not is_exact(file_of(pa.array([1, 2]), write_statistics=False))


def changed(data: bytes, **of_column: Value | None) -> bytes:
    """The file with other statistics of its first column chunk."""
    length = int.from_bytes(data[-8:-4], "little")
    fields = dict(read_struct(Thrift(data[-8 - length : -8])))
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


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        case(changed(TEXTS, f7=_TRUE, f8=_FALSE), False, id="minimum was cut"),
        case(changed(TEXTS, f7=_FALSE, f8=_TRUE), False, id="maximum was cut"),
        case(changed(TEXTS, f7=_TRUE, f8=_TRUE), True, id="nothing was cut"),
        case(changed(TEXTS, f5=None, f6=None), True, id="texts may have none"),
        case(changed(NUMBERS, f5=None), False, id="only the older maximum"),
        case(changed(NUMBERS, f6=None), False, id="only the older minimum"),
        case(changed(NUMBERS, f3=None), False, id="no count of nulls"),
        case(changed(NUMBERS, f5=binary(b"\x00\x00\x00\x80")), False, id="minimum above maximum"),
        case(changed(NUMBERS, f5=binary(b"\x00\x00\x00")), False, id="another width"),
    ],
)
def test_only_certain_statistics_count(data: bytes, *, expected: bool) -> None:
    assert is_exact(data) == expected
    assert (joined(data) is not None) == expected


def test_malformed_statistics_are_corrupt() -> None:
    with pytest.raises(CorruptTable):
        is_exact(changed(NUMBERS, f5=i32(1)))
