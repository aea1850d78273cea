"""Instants beyond int64 nanoseconds survive; files are labelled column by column, as Java's are."""

from __future__ import annotations

import io
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lithify.columns.order import (
    DAY_NANOS,
    INSTANT,
    instants,
    key_at,
    parts_of_column,
    timestamps_as_instants,
)
from lithify.files.parquet.int96 import has_int96, with_fixed_bytes, with_int96
from lithify.files.parquet.physical import stored_as
from lithify.files.parquet.thrift import with_footer
from lithify.files.types import order_parts
from lithify.formats.paimon.rows.binary_row import decode_row, encode_row
from lithify.formats.paimon.schema.type_texts import parse_type
from support.data_files import input_file, read, write
from support.manifests import schema
from support.properties import examples

NANOS = parse_type("TIMESTAMP(9)")
FAR = [datetime(9999, 12, 31, 23, 59, 59, 999_999), datetime(1, 1, 1), datetime(2262, 4, 12), None]
MIXED = schema(
    [
        ("id", "INT NOT NULL"),
        ("nanos", "TIMESTAMP(9)"),
        ("micros", "TIMESTAMP(6)"),
        ("hash", "BINARY(12)"),
        ("long", "DECIMAL(28, 2)"),
        ("many", {"type": "ARRAY", "element": "TIMESTAMP(7) WITH LOCAL TIME ZONE"}),
    ],
    ["id"],
)
INT96_PLACES = {"nanos", "many.list.element"}


def instant(raw: int) -> bytes:
    """An instant as Parquet has it, by nanoseconds since 1970."""
    days, nanos = divmod(raw, DAY_NANOS)
    return nanos.to_bytes(8, "little") + (days + 2_440_588).to_bytes(4, "little", signed=True)


def rows(count: int) -> list[dict[str, Any]]:
    step = 3_652_058 * DAY_NANOS // count + 1
    return [
        {
            "id": number,
            "nanos": None if number % 5 == 0 else instant(number * step - 719_162 * DAY_NANOS),
            "micros": FAR[number % 4],
            "hash": b"twelve bytes",
            "long": None,
            "many": [None, instant(-1)] * (number % 3),
        }
        for number in range(count)
    ]


def int96_places(footer: pq.FileMetaData) -> set[str]:
    columns = [footer.schema.column(index) for index in range(footer.num_columns)]
    assert [column.physical_type for column in columns] == [
        footer.row_group(0).column(index).physical_type for index in range(footer.num_columns)
    ]
    return {column.path for column in columns if column.physical_type == "INT96"}


@pytest.mark.parametrize("codec", ["zstd", "none"])
def test_only_timestamps_of_nanoseconds_are_int96(tmp_path: Path, codec: str) -> None:
    groups = [rows(700), rows(3)]
    for row in groups[1]:
        row["id"] += 700
    meta = write(tmp_path, MIXED, groups, {"file.compression": codec})
    path = f"{tmp_path}/{meta.name}"
    assert int96_places(pq.read_metadata(path)) == INT96_PLACES
    assert int96_places(with_fixed_bytes(pq.read_metadata(path))) == set()
    found = read([input_file(tmp_path, meta)], [MIXED])
    assert [{name: row[name] for name in groups[0][0]} for row in found] == [*groups[0], *groups[1]]
    assert meta.size == Path(path).stat().st_size
    near = pq.read_table(path, columns=["micros", "many"])
    assert near.num_rows == 703


def test_a_file_without_them_is_left_as_it_is(tmp_path: Path) -> None:
    plain = schema([("id", "INT NOT NULL")], ["id"])
    footer = pq.read_metadata(f"{tmp_path}/{write(tmp_path, plain, [[{'id': 1}]]).name}")
    assert not has_int96(footer)
    assert with_fixed_bytes(footer) is footer


@pytest.mark.parametrize("columns", [1, 3, 40])
def test_labels_come_and_go_without_a_trace(columns: int) -> None:
    moments = pa.array(FAR, pa.timestamp("us"))
    names = [f"t{number}" for number in range(columns)]
    table = pa.table([moments] * columns + [pa.array([1, 2, 3, 4])], [*names, "n"])
    file = io.BytesIO()
    pq.write_table(table, file, use_deprecated_int96_timestamps=True, row_group_size=2)
    footer = pq.read_metadata(pa.BufferReader(file.getvalue()))
    fixed = with_fixed_bytes(footer)
    whole = io.BytesIO()
    fixed.write_metadata_file(whole)
    assert with_footer(whole.getvalue(), with_int96)[4:] == file.getvalue()[-footer.serialized_size - 8 :]
    found = pq.ParquetFile(pa.BufferReader(file.getvalue()), metadata=fixed).read()
    assert found.column("t0").type == INSTANT
    assert stored_as(found.column("t0").combine_chunks(), pa.timestamp("us")).to_pylist() == FAR


@settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(raw=st.integers(-(10**21), 10**21))
def test_an_instant_orders_by_its_nanoseconds(raw: int) -> None:
    column = pa.array([None, instant(raw), instant(raw + 1)], INSTANT)[1:]
    parts = parts_of_column(column)
    assert key_at(parts, 0) == order_parts(NANOS, raw)
    assert key_at(parts, 0) < key_at(parts, 1)
    assert decode_row(encode_row([raw], [NANOS]), [NANOS]) == (raw,)


def test_an_instant_may_be_stated_in_several_ways() -> None:
    """Java counts from noon of 1970 backwards: the nanoseconds of earlier days are negative."""
    backwards = (-1).to_bytes(8, "little", signed=True) + (2_440_588).to_bytes(4, "little")
    days, nanos = instants(pa.array([backwards, instant(-1)], INSTANT))
    assert days[0] == days[1]
    assert nanos[0] == nanos[1]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_any_unit_become_instants(unit: str) -> None:
    moments = pa.array([None, -1, 0, 1, 2**33], pa.int64()).cast(pa.timestamp(unit))[1:]
    per_tick = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[unit]
    expected = [instant(ticks * per_tick) for ticks in (-1, 0, 1, 2**33)]
    assert timestamps_as_instants(moments).to_pylist() == expected
