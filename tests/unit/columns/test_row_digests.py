"""Digests of rows: any order gives the same one, and every lost, doubled or changed row another one."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.columns.row_digests import RowsDigest, digest_of
from support.cases import case

NAN = float("nan")
_PAIRS = pa.struct([pa.field("a", pa.int32()), pa.field("b", pa.string())])
_COUNTS = pa.map_(pa.string(), pa.int32())
VALUES = [
    case(pa.bool_(), [True, False], id="booleans"),
    case(pa.int8(), [0, -1, 127], id="small integers"),
    case(pa.int64(), [0, -1, 2**63 - 1], id="integers"),
    case(pa.uint64(), [0, 2**64 - 1], id="integers without a sign"),
    case(pa.float32(), [0.0, 1.5, NAN, float("inf")], id="floats"),
    case(pa.float64(), [0.0, -1.5, NAN, float("-inf")], id="doubles"),
    case(pa.decimal128(38, 2), [Decimal("0.00"), Decimal("-0.01"), Decimal(10) ** 35], id="decimals"),
    case(pa.decimal256(60, 1), [Decimal(0), Decimal(10) ** 50, Decimal(-1)], id="large decimals"),
    case(pa.string(), ["", "a", "ab", "abcdefgh", "abcdefghi", "ä" * 50], id="texts"),
    case(pa.large_string(), ["", "x"], id="large texts"),
    case(pa.binary(), [b"", b"\0", b"\0\0", b"\xff\xfe"], id="binaries"),
    case(pa.binary(3), [b"abc", b"\0\0\0"], id="fixed binaries"),
    case(pa.date32(), [0, 20_000], id="dates"),
    case(pa.time32("ms"), [0, 5], id="times"),
    case(pa.time64("us"), [0, 86_399_999_999], id="exact times"),
    case(pa.timestamp("us"), [0, -1, 2**60], id="timestamps"),
    case(pa.timestamp("ns", "UTC"), [0, 1], id="instants"),
    case(pa.dictionary(pa.int8(), pa.string()), ["a", "b"], id="dictionaries"),
    case(_PAIRS, [{"a": 1, "b": None}, {"a": None, "b": "1"}, {"a": None, "b": None}], id="structs"),
    case(pa.list_(pa.int32()), [[], [0], [None], [0, 1], [1, 0], [0, 0]], id="lists"),
    case(pa.list_(pa.float32(), 2), [[0.0, 1.0], [1.0, 0.0], [None, 1.0]], id="vectors"),
    case(pa.list_(pa.list_(pa.string())), [[], [[]], [[], []], [["a"], []], [[], ["a"]]], id="nested lists"),
    case(_COUNTS, [[], [("a", 1)], [("a", None)], [("a", 1), ("b", 2)], [("a", 2), ("b", 1)]], id="maps"),
    case(pa.list_(_PAIRS), [[{"a": 1, "b": "x"}], [None], [{"a": None, "b": None}]], id="lists of structs"),
]  # fmt: skip


def column(kind: pa.DataType, values: list[Any]) -> pa.Array:
    return pa.array(values, kind)


def digest(*columns: pa.Array) -> RowsDigest:
    return digest_of([pa.record_batch(list(columns), names=[str(n) for n in range(len(columns))])])


@pytest.mark.parametrize(("kind", "values"), VALUES)
class TestEveryType:
    def test_different_values_have_different_digests(self, kind: pa.DataType, values: list[Any]) -> None:
        each = [digest(column(kind, [value])) for value in [*values, None]]
        assert len(set(each)) == len(each)

    def test_order_and_batches_change_nothing(self, kind: pa.DataType, values: list[Any]) -> None:
        rows = column(kind, [*values, None, values[0]])
        turned = rows.take(pa.array(range(len(rows) - 1, -1, -1)))
        cut = sum((digest(rows.slice(start, 1)) for start in range(len(rows))), RowsDigest())
        assert digest(rows) == digest(turned) == cut

    def test_a_slice_has_the_digest_of_its_own_rows(self, kind: pa.DataType, values: list[Any]) -> None:
        rows = column(kind, [values[-1], None, *values])
        assert digest(rows.slice(2)) == digest(column(kind, values))

    def test_a_row_that_is_there_twice_counts_twice(self, kind: pa.DataType, values: list[Any]) -> None:
        once, twice = (digest(column(kind, [*values, *more])) for more in ([], [values[0]]))
        assert once.sums != twice.sums
        assert twice.rows == once.rows + 1


_ROWS = st.lists(st.tuples(st.integers(-3, 3), st.text(max_size=3)), min_size=1, max_size=8)


def of_rows(rows: list[tuple[int, str]]) -> RowsDigest:
    return digest(pa.array([number for number, _ in rows]), pa.array([text for _, text in rows], pa.string()))


@given(_ROWS, _ROWS, st.randoms())
def test_digests_are_equal_exactly_where_the_same_rows_are(
    one: list[tuple[int, str]], other: list[tuple[int, str]], random: Any
) -> None:
    shuffled = random.sample(one, len(one))
    assert of_rows(shuffled) == of_rows(one)
    assert (of_rows(one) == of_rows(other)) == (sorted(one) == sorted(other))


@given(_ROWS, _ROWS)
def test_digests_of_disjoint_rows_add_up(one: list[tuple[int, str]], other: list[tuple[int, str]]) -> None:
    assert of_rows(one) + of_rows(other) == of_rows([*one, *other])


SAME = [
    case(pa.float64(), [-0.0], [0.0], id="both zeros"),
    case(_COUNTS, [[("a", 1), ("b", 2)]], [[("b", 2), ("a", 1)]], id="orders of a map"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "one", "other"), SAME)
def test_values_that_mean_the_same_have_one_digest(kind: Any, one: list[Any], other: list[Any]) -> None:
    assert digest(column(kind, one)) == digest(column(kind, other))


def test_values_that_change_their_columns_are_noticed() -> None:
    one, other = pa.array([1, 2]), pa.array([2, 1])
    assert digest(one, other) != digest(other, other)
    assert digest(pa.array([1]), pa.array([2])) != digest(pa.array([2]), pa.array([1]))
    assert digest(pa.array([1]), pa.nulls(1, pa.int64())) != digest(pa.nulls(1, pa.int64()), pa.array([1]))


def test_every_process_computes_the_same_digest() -> None:
    code = (
        "import pyarrow as pa; from lithify.columns.row_digests import digest_of;"
        "print(digest_of([pa.record_batch([pa.array([1, 2]), pa.array(['a', None])], names=['a', 'b'])]))"
    )
    there = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert there.stdout.strip() == str(digest(pa.array([1, 2]), pa.array(["a", None])))


def test_types_without_a_hash_are_refused() -> None:
    with pytest.raises(TypeError, match="month_day_nano"):
        digest(pa.array([pa.MonthDayNano([1, 2, 3])]))
