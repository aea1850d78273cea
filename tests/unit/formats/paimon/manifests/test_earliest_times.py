"""The earliest time of a file as its statistics say it, whatever schema and columns these are of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.errors import CorruptTable
from lithify.formats.paimon.manifests.earliest_times import EarliestTimes
from lithify.formats.paimon.rows.binary_row import encode_row
from lithify.formats.paimon.schema.schema import Column, Schema
from lithify.formats.paimon.schema.type_texts import parse_type
from support.cases import case

STATS = pa.schema(
    {"schema_id": pa.int64(), "value_stats_columns": pa.list_(pa.string()), "value_min": pa.binary()}
)
NONE = bytes(12)
"""Statistics of no column."""


def schema(number: int, *columns: tuple[int, str, str]) -> Schema:
    return Schema(
        number, tuple(Column(each, name, parse_type(kind)) for each, name, kind in columns), (), (), {}
    )


OLD = schema(0, (1, "id", "INT"), (2, "when", "INT"), (3, "v", "STRING"))
BEFORE = schema(1, (1, "id", "INT"))
NEWEST = schema(2, (3, "v", "STRING"), (2, "t", "BIGINT"), (1, "id", "INT"))
SCHEMAS = {0: OLD, 1: BEFORE, 2: NEWEST}


def read_schema(number: int) -> Schema:
    if number not in SCHEMAS:
        raise CorruptTable(f"schema-{number}", "it is gone")
    return SCHEMAS[number]


def lowest(number: int, values: Sequence[Any], stored: Sequence[str] | None = None) -> tuple[Any, ...]:
    """A file's statistics: the least value of each column, or of those that are stored."""
    of = SCHEMAS[number]
    names = [column.name for column in of.columns] if stored is None else stored
    return number, stored, encode_row(values, [of.column(name).type for name in names])


def earliest(*files: tuple[Any, ...]) -> list[int | None]:
    columns = zip(*files, strict=True)
    frame = pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, STATS, strict=True)], STATS
    )
    return list(EarliestTimes("t", NEWEST, read_schema).of(frame).to_pylist())


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        case(lowest(2, [b"a", 77, 1]), 77, id="seconds"),
        case(lowest(2, [b"a", 1_600_000_000_999, 1]), 1_600_000_000, id="milliseconds"),
        case(lowest(2, [b"much longer than a slot", -5, 1]), -5, id="beside a long text"),
        case(lowest(2, [b"a", None, 1]), None, id="null"),
        case((2, None, NONE), None, id="no statistics"),
        case((2, None, b"\x00"), None, id="less than a row"),
        case(lowest(0, [1, 88, b"a"]), 88, id="an older schema, where it had another name, place and type"),
        case(lowest(1, [1]), None, id="an older schema without it"),
        case((9, None, lowest(2, [b"a", 1, 1])[2]), None, id="a schema that is gone"),
        case(lowest(2, [99, 1], ["t", "id"]), 99, id="statistics of some columns"),
        case(lowest(2, [1], ["id"]), None, id="statistics of other columns"),
        case(lowest(2, [], []), None, id="statistics of no column"),
    ],
)
def test_the_earliest_time_is_that_of_the_statistics(file: tuple[Any, ...], expected: int | None) -> None:
    other = lowest(2, [b"other", 5, 5])
    assert earliest(other, file, other) == [5, expected, 5]


@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=1), st.integers(0, 130))
def test_files_of_wide_tables_are_read_as_one_by_one(times: list[int | None], before: int) -> None:
    wide = schema(
        2, *((number, f"c{number}", "INT") for number in range(10, 10 + before)), (2, "t", "BIGINT")
    )
    kinds = [column.type for column in wide.columns]
    rows = [encode_row([*([7] * before), time], kinds) for time in times]
    frame = pa.table(
        {"schema_id": [2] * len(rows), "value_stats_columns": [None] * len(rows), "value_min": rows}
    )
    found = EarliestTimes("t", wide, lambda _: wide).of(frame.cast(STATS)).to_pylist()
    assert found == [time if time is None or time < 10**12 else time // 1000 for time in times]


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        case("TIMESTAMP(0)", -1500, -1, id="rounded towards zero, as by Java"),
        case("TIMESTAMP(3)", 1999, 1, id="milliseconds"),
        case("TIMESTAMP(6)", -1, 0, id="microseconds"),
        case("TIMESTAMP(9)", 3 * 10**9, 3, id="nanoseconds"),
        case("TIMESTAMP(6) WITH LOCAL TIME ZONE", 2_000_000, 2, id="an instant"),
    ],
)
def test_timestamps_are_seconds_since_the_epoch(kind: str, value: int, expected: int) -> None:
    of = schema(0, (2, "t", kind))
    row = encode_row([value], [of.columns[0].type])
    frame = pa.table({"schema_id": [0], "value_stats_columns": [None], "value_min": [row]}).cast(STATS)
    assert EarliestTimes("t", of, lambda _: of).of(frame).to_pylist() == [expected]


def test_statistics_that_are_cut_off_are_damage() -> None:
    with pytest.raises(ValueError, match="cut off"):
        earliest((2, None, lowest(2, [b"a", 77, 1])[2][:20]))


def test_a_pointer_beyond_the_end_is_damage() -> None:
    of = schema(0, (2, "t", "TIMESTAMP(6)"))
    row = bytearray(encode_row([1], [of.columns[0].type]))
    row[12:20] = (1000 << 32).to_bytes(8, "little")
    frame = pa.table({"schema_id": [0], "value_stats_columns": [None], "value_min": [bytes(row)]}).cast(STATS)
    with pytest.raises(ValueError, match="beyond"):
        EarliestTimes("t", of, lambda _: of).of(frame)
