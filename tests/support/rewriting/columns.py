"""Columns of every type that has an order, with values at the edges, and Paimon's order written naively."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

Value = Any

_EXACT = decimal.Context(prec=60)


@dataclass(frozen=True)
class Kind:
    """A column type: its values, and what compares in Python as Paimon compares them."""

    id: str
    type: pa.DataType
    values: st.SearchStrategy[Value]
    order: Callable[[Value], Any] = lambda value: value

    def compare(self, one: Value, other: Value, *, ascending: bool = True) -> int:
        """Paimon's comparison of two nullable values: nulls are first, also where the order is descending."""
        if one is None or other is None:
            return (one is not None) - (other is not None)
        a, b = self.order(one), self.order(other)
        return ((a > b) - (a < b)) * (1 if ascending else -1)


def ranks_by(values: Sequence[Value], comparison: Callable[[Value, Value], int]) -> list[int]:
    """The dense rank of each value, by comparing every pair."""
    firsts = [value for row, value in enumerate(values) if all(comparison(v, value) for v in values[:row])]
    return [sum(comparison(first, value) < 0 for first in firsts) for value in values]


def ranks(values: Sequence[Any]) -> list[int]:
    """The dense rank of each of some values that Python orders."""
    distinct = {value: rank for rank, value in enumerate(sorted(set(values)))}
    return [distinct[value] for value in values]


def double_order(value: float) -> tuple[bool, float]:
    """As Java's operators compare: both zeros are one; NaN, which has no order there, is the largest."""
    return (True, 0.0) if math.isnan(value) else (False, value)


def integers(bits: int) -> st.SearchStrategy[int]:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    return st.integers(low, high) | st.sampled_from([low, low + 1, -1, 0, 1, high - 1, high])


def decimals(precision: int, scale: int) -> st.SearchStrategy[decimal.Decimal]:
    top = 10**precision - 1
    words = [unscaled for word in (1 << 63, 1 << 64) for unscaled in (word - 1, word, -word, -word - 1)]
    edges = [unscaled for unscaled in (-top, -1, 0, 1, top, *words) if abs(unscaled) <= top]
    unscaled = st.integers(-top, top) | st.sampled_from(edges)
    return unscaled.map(lambda value: decimal.Decimal(value).scaleb(-scale, _EXACT))


TEXTS = st.text(
    st.sampled_from("\x00\x01aAz\x7f\x80éß\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0001f600\U0010ffff"),
    max_size=4,
)
BLOBS = st.binary(max_size=6) | st.lists(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]), max_size=4).map(bytes)

KINDS = [
    Kind("boolean", pa.bool_(), st.booleans()),
    Kind("tinyint", pa.int8(), integers(8)),
    Kind("smallint", pa.int16(), integers(16)),
    Kind("int", pa.int32(), integers(32)),
    Kind("bigint", pa.int64(), integers(64)),
    Kind("date", pa.date32(), st.dates()),
    Kind("time", pa.time32("ms"), st.integers(0, 86_399_999)),
    Kind("timestamp-ms", pa.timestamp("ms"), integers(60)),
    Kind("timestamp-us", pa.timestamp("us"), integers(64)),
    Kind("timestamp-ltz", pa.timestamp("us", "UTC"), integers(64)),
    Kind("decimal-1", pa.decimal128(1, 1), decimals(1, 1)),
    Kind("decimal-18", pa.decimal128(18, 4), decimals(18, 4)),
    Kind("decimal-19", pa.decimal128(19, 4), decimals(19, 4)),
    Kind("decimal-38", pa.decimal128(38, 10), decimals(38, 10)),
    Kind("float", pa.float32(), st.floats(width=32), double_order),
    Kind("double", pa.float64(), st.floats() | st.sampled_from([-0.0, 0.0, math.nan]), double_order),
    Kind("string", pa.string(), TEXTS, str.encode),
    Kind("large-string", pa.large_string(), TEXTS, str.encode),
    Kind("binary", pa.binary(), BLOBS),
    Kind("large-binary", pa.large_binary(), BLOBS),
]
