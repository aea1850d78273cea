"""What manifests say of columns: as much as the mode allows, and always bounds that hold."""

from __future__ import annotations

import io
import math
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lithify.files.parquet.statistics import footer_stats
from lithify.files.statistics import (
    ColumnStats,
    FloatStats,
    StatsModes,
    reduced,
)
from lithify.files.types import ColumnType, arrow_type
from lithify.formats.paimon.data_files.statistics import key_stats, value_stats
from lithify.formats.paimon.rows.binary_row import decode_row
from lithify.formats.paimon.schema.type_texts import parse_type
from support.atomic_types import exact_decimal
from support.properties import examples

STRING, INT, BYTES = parse_type("STRING"), parse_type("INT"), parse_type("BYTES")
PROPERTY = settings(max_examples=examples(60), deadline=None)

MODES: dict[str, tuple[ColumnType, str, ColumnStats, ColumnStats]] = {
    "none": (INT, "none", ColumnStats(1, 9, 2), ColumnStats()),
    "counts": (INT, "counts", ColumnStats(1, 9, 2), ColumnStats(nulls=2)),
    "full": (STRING, "full", ColumnStats(b"a" * 50, b"b" * 50, 0), ColumnStats(b"a" * 50, b"b" * 50, 0)),
    "truncate leaves numbers": (INT, "truncate(1)", ColumnStats(1, 999, 0), ColumnStats(1, 999, 0)),
    "truncate leaves short texts": (
        STRING,
        "truncate(3)",
        ColumnStats(b"a", b"abc", 0),
        ColumnStats(b"a", b"abc", 0),
    ),
    "truncate rounds up": (
        STRING,
        "truncate(3)",
        ColumnStats(b"abcd", b"abcd", 0),
        ColumnStats(b"abc", b"abd", 0),
    ),
    "truncate of nulls only": (STRING, "truncate(3)", ColumnStats(nulls=5), ColumnStats(nulls=5)),
    "truncate of nothing known": (STRING, "truncate(3)", ColumnStats(), ColumnStats()),
    "counts of nothing known": (STRING, "counts", ColumnStats(), ColumnStats()),
    "truncate of an empty text": (STRING, "truncate(3)", ColumnStats(b"", b"", 0), ColumnStats(b"", b"", 0)),
    "truncate without an upper bound": (
        STRING,
        "truncate(1)",
        ColumnStats(b"a", "\U0010ffff\U0010ffff".encode(), 3),
        ColumnStats(nulls=3),
    ),
}

TRUNCATED = {
    "code points, not bytes": ("éàüö", 3, "éàý"),
    "code points, not UTF-16": ("\U0001f600\U0001f600\U0001f600", 2, "\U0001f600\U0001f601"),
    "the last code point is carried": ("a\U0010ffffb", 2, "b"),
    "and again": ("a\U0010ffff\U0010ffffb", 3, "b"),
    "nothing above it": ("\U0010ffff\U0010ffffx", 2, None),
    "surrogates are passed over": ("a\ud7ffz", 2, "b"),
    "no wrapping at 16 bits": ("\uffffx", 1, "\U00010000"),
    "one byte becomes two": ("\x7fz", 1, "\x80"),
    "exactly as long": ("abc", 3, "abc"),
    "longer than it is": ("ab", 3, "ab"),
}


class TestModes:
    @pytest.mark.parametrize(("column", "mode", "before", "after"), MODES.values(), ids=MODES)
    def test_what_a_mode_leaves(
        self, column: ColumnType, mode: str, before: ColumnStats, after: ColumnStats
    ) -> None:
        assert reduced(before, column, mode) == after

    @pytest.mark.parametrize(("text", "length", "upper"), TRUNCATED.values(), ids=TRUNCATED)
    def test_maxima_are_rounded_up(self, text: str, length: int, upper: str | None) -> None:
        stats = reduced(ColumnStats(text.encode(), text.encode(), 0), STRING, f"truncate({length})")
        assert stats.maximum == (None if upper is None else upper.encode())
        assert stats.minimum == (None if upper is None else text[:length].encode())

    @PROPERTY
    @given(
        texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), min_size=1, max_size=5),
        length=st.integers(1, 4),
    )
    @example(texts=["\ud7ff\U0010ffff"], length=1)
    def test_truncated_bounds_hold(self, texts: list[str], length: int) -> None:
        values = sorted(text.encode() for text in texts)
        stats = reduced(ColumnStats(values[0], values[-1], 0), STRING, f"truncate({length})")
        if stats.maximum is not None:
            assert isinstance(stats.minimum, bytes)
            assert isinstance(stats.maximum, bytes)
            assert stats.minimum <= values[0] <= values[-1] <= stats.maximum
            assert len(stats.minimum.decode()) <= length
            assert len(stats.maximum.decode()) <= length


COLUMNS = ["a", "b", "c", "d"]

OF_COLUMNS: dict[str, tuple[StatsModes, frozenset[str], list[str]]] = {
    "the default": (StatsModes(), frozenset(), ["truncate(16)"] * 4),
    "a mode of a column": (
        StatsModes("counts", {"b": "full"}), frozenset(), ["counts", "full", "counts", "counts"]
    ),
    "the first two": (StatsModes("full", first_columns=2), frozenset(), ["full", "full", "none", "none"]),
    "the first none": (StatsModes("full", first_columns=0), frozenset(), ["none"] * 4),
    "a column with a mode counts as one of the first": (
        StatsModes("full", {"a": "counts"}, first_columns=2), frozenset(), ["counts", "full", "none", "none"]
    ),
    "a column with a mode may be behind the first": (
        StatsModes("full", {"d": "counts"}, first_columns=1), frozenset(), ["full", "none", "none", "counts"]
    ),
    "keys keep theirs": (StatsModes("none"), frozenset({"a"}), ["truncate(128)", "none", "none", "none"]),
    "keys do not count": (
        StatsModes("full", first_columns=1), frozenset({"a", "c"}),
        ["truncate(128)", "full", "truncate(128)", "none"],
    ),
    "a mode of a key": (
        StatsModes("none", {"a": "counts"}), frozenset({"a"}), ["counts", "none", "none", "none"]
    ),
}  # fmt: skip


@pytest.mark.parametrize(("modes", "always", "expected"), OF_COLUMNS.values(), ids=OF_COLUMNS)
def test_modes_of_columns(modes: StatsModes, always: frozenset[str], expected: list[str]) -> None:
    assert modes.of_columns(COLUMNS, always) == expected


TYPES = {"a": INT, "b": STRING, "c": INT}
STATS = [ColumnStats(1, 2, 0), ColumnStats(b"x", b"y", 1), ColumnStats(nulls=7)]

STORED: dict[str, tuple[list[str], bool, tuple[str, ...] | None, list[Any], list[int | None]]] = {
    "all columns": (["full", "full", "full"], True, None, [1, b"x", None], [0, 1, 7]),
    "dense, some left out": (["full", "none", "counts"], True, ("a", "c"), [1, None], [0, 7]),
    "dense, all left out": (["none"] * 3, True, (), [], []),
    "sparse": (["full", "none", "counts"], False, None, [1, None, None], [0, None, 7]),
}


class TestStored:
    @pytest.mark.parametrize(("modes", "dense", "names", "minima", "nulls"), STORED.values(), ids=STORED)
    def test_stored_value_statistics_have_the_columns_of_their_modes(
        self,
        modes: list[str],
        dense: bool,
        names: tuple[str, ...] | None,
        minima: list[Any],
        nulls: list[int | None],
    ) -> None:
        stats, columns = value_stats(STATS, TYPES, modes, dense=dense)
        assert columns == names
        stored = list(TYPES.values()) if names is None else [TYPES[name] for name in names]
        assert list(decode_row(stats.min_values, stored)) == minima
        assert stats.null_counts == tuple(nulls)

    def test_a_column_without_statistics_is_left_out_whatever_its_mode(self) -> None:
        _, columns = value_stats([ColumnStats(), *STATS[1:]], TYPES, ["full"] * 3, dense=True)
        assert columns == ("b", "c")

    def test_key_columns_are_always_stored(self) -> None:
        stats = key_stats(STATS, list(TYPES.values()), ["none", "truncate(128)", "counts"])
        assert decode_row(stats.min_values, list(TYPES.values())) == (None, b"x", None)
        assert decode_row(stats.max_values, list(TYPES.values())) == (None, b"y", None)
        assert stats.null_counts == (None, 1, 7)


def footer_of(kind: str, groups: list[list[Any]], *, statistics: bool = True) -> pq.FileMetaData:
    sink = io.BytesIO()
    schema = pa.schema([("other", pa.int32()), ("x", arrow_type(parse_type(kind)))])
    with pq.ParquetWriter(
        sink, schema, write_statistics=statistics, store_decimal_as_integer=True, store_schema=False
    ) as writer:
        for group in groups:
            writer.write_table(
                pa.table([pa.nulls(len(group), pa.int32()), pa.array(group, schema.field("x").type)], schema)
            )
    return pq.read_metadata(sink)


FOOTERS: dict[str, tuple[str, list[list[Any]], ColumnStats]] = {
    "bounds over row groups": ("INT", [[3, 1], [9, None]], ColumnStats(1, 9, 1)),
    "a row group of nulls": ("INT", [[3, 1], [None, None]], ColumnStats(1, 3, 2)),
    "nulls only": ("INT", [[None], [None]], ColumnStats(nulls=2)),
    "the whole range of a long": ("BIGINT", [[-(2**63), 2**63 - 1]], ColumnStats(-(2**63), 2**63 - 1, 0)),
    "booleans": ("BOOLEAN", [[True], [False]], ColumnStats(0, 1, 0)),
    "the smallest ints": ("TINYINT", [[-128, 127]], ColumnStats(-128, 127, 0)),
    "texts by their bytes": (
        "STRING", [["\uffff", "\U0001f600"]], ColumnStats("\uffff".encode(), "\U0001f600".encode(), 0)
    ),
    "an empty text": ("STRING", [["", "a"]], ColumnStats(b"", b"a", 0)),
    "a text too long for Parquet": ("STRING", [["a", "x" * 5000]], ColumnStats(nulls=0)),
    "a text too long in one row group": ("STRING", [["a", None], ["x" * 5000]], ColumnStats(nulls=1)),
    "binaries have no bounds": ("BYTES", [[b"\x01", b"\xff", None]], ColumnStats(nulls=1)),
    "fixed binaries neither": ("BINARY(1)", [[b"\x01"]], ColumnStats(nulls=0)),
    "timestamps in milliseconds": ("TIMESTAMP(3)", [[-1, 5]], ColumnStats(-1, 5, 0)),
    "timestamps in microseconds": ("TIMESTAMP(6)", [[-1, 5]], ColumnStats(-1, 5, 0)),
    "with a time zone": ("TIMESTAMP(6) WITH LOCAL TIME ZONE", [[-1, 5]], ColumnStats(-1, 5, 0)),
}  # fmt: skip

DECIMALS = [
    "DECIMAL(5, 2)",
    "DECIMAL(9, 0)",
    "DECIMAL(10, 3)",
    "DECIMAL(18, 18)",
    "DECIMAL(19, 2)",
    "DECIMAL(38, 9)",
]


class TestFooters:
    @pytest.mark.parametrize(("kind", "groups", "expected"), FOOTERS.values(), ids=FOOTERS)
    def test_statistics_of_a_file(self, kind: str, groups: list[list[Any]], expected: ColumnStats) -> None:
        assert footer_stats(footer_of(kind, groups), 1, parse_type(kind)) == expected

    @pytest.mark.parametrize("kind", DECIMALS)
    def test_decimals_are_unscaled(self, kind: str) -> None:
        column = parse_type(kind)
        top = 10**column.precision - 1
        lowest, zero, highest = (exact_decimal(unscaled, column.scale) for unscaled in (-top, 0, top))
        footer = footer_of(kind, [[lowest], [highest, zero]])
        assert footer_stats(footer, 1, column) == ColumnStats(-top, top, 0)

    def test_a_file_without_statistics(self) -> None:
        assert footer_stats(footer_of("INT", [[1]], statistics=False), 1, INT) == ColumnStats()


NAN, INF = math.nan, math.inf

FLOATS: dict[str, tuple[list[list[float | None]], tuple[float, float] | None, int]] = {
    "over row groups": ([[1.5, None], [-2.0]], (-2.0, 1.5), 1),
    "a NaN anywhere": ([[1.0], [NAN, 2.0], [3.0]], None, 0),
    "only NaN": ([[NAN]], None, 0),
    "only nulls": ([[None], [None]], None, 2),
    "no rows": ([[]], None, 0),
    "a row group of nulls": ([[1.0], [None]], (1.0, 1.0), 1),
    "infinities": ([[INF, -INF]], (-INF, INF), 0),
    "only one infinity": ([[INF]], (INF, INF), 0),
    "the other": ([[-INF]], (-INF, -INF), 0),
}


class TestFloats:
    """Parquet leaves NaN out of its statistics; Paimon and Spark hold it larger than every number."""

    @pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
    @pytest.mark.parametrize(("groups", "bounds", "nulls"), FLOATS.values(), ids=FLOATS)
    def test_statistics_of_the_rows(
        self, kind: pa.DataType, groups: list[list[Any]], bounds: tuple[float, float] | None, nulls: int
    ) -> None:
        stats = FloatStats()
        for group in groups:
            stats.add(pa.chunked_array([pa.array(group, kind)]))
        assert stats.stats == (ColumnStats(nulls=nulls) if bounds is None else ColumnStats(*bounds, nulls))

    @pytest.mark.parametrize("zero", [0.0, -0.0], ids=str)
    def test_a_zero_bounds_both_zeros(self, zero: float) -> None:
        stats = FloatStats()
        stats.add(pa.chunked_array([[zero]], pa.float64()))
        assert str((stats.stats.minimum, stats.stats.maximum)) == "(-0.0, 0.0)"
