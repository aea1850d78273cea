"""Comparing rows by their parts is comparing them as Paimon does, whatever the type and the slice."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.columns.order import (
    KeyValue,
    Part,
    concat_parts,
    count_upto,
    decode_key,
    dense_rank,
    descending,
    encode_key,
    first_disorder,
    fold_float,
    key_at,
    parts_of_column,
    rank_rows,
    slice_parts,
    sorted_stably,
    total_order,
)
from support.key_parts import part_kinds
from support.properties import examples
from support.rewriting.columns import KINDS, Kind, integers, ranks, ranks_by

FEW = settings(max_examples=examples(15), deadline=None)
MANY = settings(max_examples=examples(80), deadline=None)

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.id)

BYTES = st.lists(st.sampled_from([0, 1, 0x7F, 0x80, 0xFE, 0xFF]), max_size=5).map(bytes)


def rows_of(parts: list[Part]) -> list[Row]:
    return [key_at(parts, row) for row in range(len(parts[0]))]


def sliced(kind: Kind, values: list[Any], around: list[Any]) -> pa.Array:
    """The values as a slice of a longer column, so that it has an offset and more rows behind it."""
    whole = pa.array([*around, *values, *around], kind.type)
    return whole.slice(len(around), len(values))


class TestColumns:
    @every_kind
    @FEW
    @given(data=st.data())
    def test_rows_compare_by_parts_as_paimon_compares_values(self, kind: Kind, data: st.DataObject) -> None:
        values = data.draw(st.lists(kind.values, max_size=9))
        around = data.draw(st.lists(kind.values | st.none(), max_size=3))
        parts = parts_of_column(sliced(kind, values, around))
        expected = ranks_by(values, kind.compare)
        encoded = [encode_key(key) for key in rows_of(parts)]
        assert ranks(rows_of(parts)) == expected
        assert ranks(rank_rows(parts).tolist()) == expected
        assert ranks(encoded) == expected
        assert [decode_key(key, part_kinds(parts)) for key in encoded] == rows_of(parts)

    @every_kind
    @FEW
    @given(data=st.data())
    def test_nulls_come_first(self, kind: Kind, data: st.DataObject) -> None:
        values = data.draw(st.lists(kind.values | st.none(), max_size=9))
        around = data.draw(st.lists(kind.values | st.none(), max_size=3))
        parts = parts_of_column(sliced(kind, values, around), nullable=True)
        assert ranks(rows_of(parts)) == ranks_by(values, kind.compare)
        assert ranks(rank_rows(parts).tolist()) == ranks_by(values, kind.compare)

    @every_kind
    @FEW
    @given(data=st.data())
    def test_descending_reverses_the_values_of_one_column(self, kind: Kind, data: st.DataObject) -> None:
        values = data.draw(st.lists(kind.values, max_size=9))
        around = data.draw(st.lists(kind.values, max_size=3))
        parts = [descending(part) for part in parts_of_column(sliced(kind, values, around))]
        assert ranks(rows_of(parts)) == ranks_by(values, lambda a, b: kind.compare(a, b, ascending=False))

    @every_kind
    @pytest.mark.parametrize("nullable", [False, True], ids=["not-null", "nullable"])
    def test_an_empty_column_has_empty_parts(self, kind: Kind, nullable: bool) -> None:
        parts = parts_of_column(pa.array([], kind.type), nullable=nullable)
        assert {len(part) for part in parts} == {0}
        assert len(rank_rows(parts)) == 0
        assert first_disorder(parts) is None
        whole = parts_of_column(pa.nulls(3, kind.type).slice(3), nullable=nullable)
        assert part_kinds(whole) == part_kinds(parts)

    @every_kind
    def test_a_column_of_nulls_ties(self, kind: Kind) -> None:
        parts = parts_of_column(pa.nulls(3, kind.type).slice(1), nullable=True)
        assert len(set(rows_of(parts))) == 1

    @pytest.mark.parametrize(
        "nested",
        [
            pa.list_(pa.int32()),
            pa.struct([("a", pa.int32())]),
            pa.map_(pa.string(), pa.int32()),
            pa.dictionary(pa.int32(), pa.string()),
            pa.null(),
        ],
        ids=str,
    )
    def test_a_type_without_order_is_refused(self, nested: pa.DataType) -> None:
        with pytest.raises(TypeError):
            parts_of_column(pa.nulls(1, nested))

    def test_all_nan_are_one_and_the_largest(self) -> None:
        bits = [0x7FF8000000000000, 0xFFF8000000000000, 0x7FF0000000000001, 0xFFFFFFFFFFFFFFFF]
        values = [struct.unpack("<d", struct.pack("<Q", each))[0] for each in bits]
        folded = {fold_float(value) for value in values}
        assert len(folded) == 1
        assert folded.pop() > fold_float(math.inf)

    @MANY
    @given(st.floats())
    def test_one_float_folds_as_a_column_of_doubles_does(self, value: float) -> None:
        (part,) = parts_of_column(pa.array([value], pa.float64()))
        assert fold_float(value) == part[0]

    def test_the_total_order_is_javas(self) -> None:
        ordered = [-math.inf, -1.5, -5e-324, -0.0, 0.0, 5e-324, 1.5, math.inf, math.nan]
        places = [total_order(value) for value in ordered]
        assert places == sorted(set(places))
        assert total_order(-math.nan) == places[-1]


SHAPES = {
    "small": st.integers(-3, 3),
    "constant": st.just(7),
    "63 bits": st.integers(0, (1 << 62) - 1),
    "64 bits": integers(64),
    "lowest": st.sampled_from([-(1 << 63), -(1 << 63) + 1]),
    "highest": st.sampled_from([(1 << 63) - 1, (1 << 63) - 2]),
    "bytes": BYTES,
}

Row = tuple[KeyValue, ...]
Rows = tuple[list[Part], list[Row]]


@st.composite
def keyed_rows(draw: st.DrawFn) -> Rows:
    """Parts of many shapes, and the same rows as tuples."""
    shapes = draw(st.lists(st.sampled_from(sorted(SHAPES)), min_size=1, max_size=5))
    rows = draw(st.lists(st.tuples(*(SHAPES[shape] for shape in shapes)), max_size=10))
    return parts_of(rows, [bytes if shape == "bytes" else int for shape in shapes]), rows


def parts_of(rows: Sequence[Row], kinds: Sequence[type]) -> list[Part]:
    columns = zip(*rows, strict=True) if rows else ((),) * len(kinds)
    return [
        pa.array(column, pa.large_binary()) if kind is bytes else np.array(column, dtype=np.int64)
        for column, kind in zip(columns, kinds, strict=True)
    ]


def keys_of(kinds: Sequence[type]) -> st.SearchStrategy[Row]:
    return st.tuples(*(integers(64) | st.integers(-2, 2) if kind is int else BYTES for kind in kinds))


class TestSorting:
    @MANY
    @given(numbers=st.lists(st.integers(-3, 3)) | st.lists(integers(64) | st.integers(-2, 2)))
    def test_equal_numbers_stay_in_order(self, numbers: list[int]) -> None:
        ordered, positions = sorted_stably(np.array(numbers, dtype=np.int64))
        assert positions.tolist() == sorted(range(len(numbers)), key=numbers.__getitem__)
        assert ordered.tolist() == sorted(numbers)

    @pytest.mark.parametrize("bits", [60, 61, 62, 63])
    def test_numbers_may_leave_no_bits_for_positions(self, bits: int) -> None:
        numbers = np.array([(1 << bits) - 1, 0, (1 << bits) - 1, -1], dtype=np.int64)
        ordered, positions = sorted_stably(numbers)
        assert positions.tolist() == [3, 1, 0, 2]
        assert ordered.tolist() == sorted(numbers.tolist())


class TestRows:
    @pytest.mark.thorough
    @settings(MANY, max_examples=examples(120))
    @given(keyed_rows())
    def test_ranks_order_rows_as_tuples_do(self, drawn: Rows) -> None:
        parts, rows = drawn
        assert ranks(rank_rows(parts).tolist()) == ranks(rows)

    @pytest.mark.parametrize("width", [2, 3, 8])
    def test_ranges_that_overflow_63_bits_are_ranked_first(self, width: int) -> None:
        extremes = np.array([-(1 << 63), (1 << 63) - 1, 0, -1, (1 << 63) - 1], dtype=np.int64)
        parts: list[Part] = [np.roll(extremes, by) for by in range(width)]
        rows = list(zip(*(part.tolist() for part in parts), strict=True))
        assert ranks(rank_rows(parts).tolist()) == ranks(rows)

    @pytest.mark.thorough
    @MANY
    @given(keyed_rows(), st.data())
    def test_count_upto_counts_the_rows_at_or_below(self, drawn: Rows, data: st.DataObject) -> None:
        parts, rows = drawn
        kinds = part_kinds(parts)
        key = data.draw(st.sampled_from(rows) | keys_of(kinds) if rows else keys_of(kinds))
        assert count_upto(parts_of(sorted(rows), kinds), key) == sum(row <= key for row in rows)

    @MANY
    @given(keyed_rows())
    def test_disorder_is_found_where_it_begins(self, drawn: Rows) -> None:
        parts, rows = drawn
        naive = next((row for row in range(1, len(rows)) if rows[row] <= rows[row - 1]), None)
        assert first_disorder(parts) == naive

    @pytest.mark.thorough
    @MANY
    @given(keyed_rows())
    def test_strictly_increasing_rows_have_no_disorder(self, drawn: Rows) -> None:
        parts, rows = drawn
        assert first_disorder(parts_of(sorted(set(rows)), part_kinds(parts))) is None

    @MANY
    @given(keyed_rows(), st.data())
    def test_slices_put_together_are_the_whole(self, drawn: Rows, data: st.DataObject) -> None:
        parts, rows = drawn
        cut = data.draw(st.integers(0, len(rows)))
        pieces = [slice_parts(parts, 0, cut), slice_parts(parts, cut, len(rows))]
        assert rows_of(list(pieces[1])) == rows[cut:]
        assert rows_of(concat_parts(pieces)) == rows

    @pytest.mark.parametrize(
        ("part", "expected"),
        [
            pytest.param(np.array([5, -1, 5], dtype=np.int64), [1, 0, 1], id="integers"),
            pytest.param(pa.array([b"b", b"", b"\xff", b"b"], pa.large_binary()), [1, 0, 2, 1], id="bytes"),
            pytest.param(np.array([], dtype=np.int64), [], id="no rows"),
        ],
    )
    def test_dense_ranks_have_no_gaps(self, part: Part, expected: list[int]) -> None:
        assert dense_rank(part).tolist() == expected


class TestEncodedKeys:
    @pytest.mark.thorough
    @settings(MANY, max_examples=examples(120))
    @given(data=st.data(), kinds=st.lists(st.sampled_from([int, bytes]), min_size=1, max_size=4))
    def test_order_is_preserved_and_nothing_lost(self, data: st.DataObject, kinds: list[type]) -> None:
        one, other = data.draw(keys_of(kinds)), data.draw(keys_of(kinds))
        assert (encode_key(one) < encode_key(other)) == (one < other)
        assert (encode_key(one) == encode_key(other)) == (one == other)
        assert decode_key(encode_key(one), kinds) == one

    @pytest.mark.parametrize(
        ("smaller", "larger"),
        [
            pytest.param((b"", 9), (b"\x00", 0), id="a shorter text, whatever follows"),
            pytest.param((b"\x00", 9), (b"\x00\x00", 0), id="zeros"),
            pytest.param((b"\x00\xff", 9), (b"\x01", 0), id="what an escape looks like"),
            pytest.param((b"\x00", 9), (b"\x00\xff", 0), id="the prefix of what an escape looks like"),
            pytest.param((b"\xff", 9), (b"\xff\x00", 0), id="the last byte"),
            pytest.param((-(1 << 63), b"z"), (-1, b""), id="negative numbers"),
            pytest.param((-1, b"z"), (0, b""), id="around zero"),
            pytest.param((0, b"z"), ((1 << 63) - 1, b""), id="positive numbers"),
        ],
    )
    def test_encoded_keys_at_the_edges_keep_their_order_and_come_back(
        self, smaller: Row, larger: Row
    ) -> None:
        assert encode_key(smaller) < encode_key(larger)
        assert [decode_key(encode_key(key), [type(part) for part in key]) for key in (smaller, larger)] == [
            smaller,
            larger,
        ]
