"""Equality of columns, value by value, as changelogs need it."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

from lithify.rewriting.equality import equal_values

PAIR = pa.struct({"a": pa.int32(), "b": pa.string()})


@pytest.mark.parametrize(
    ("kind", "one", "other", "equal"),
    [
        (pa.int32(), [1, 1, None, None], [1, 2, 1, None], [True, False, False, True]),
        (pa.float64(), [0.0, math.nan, None], [-0.0, math.nan, None], [True, False, True]),
        (pa.binary(12), [b"a" * 12, b"a" * 12], [b"a" * 12, b"b" * 12], [True, False]),
        (pa.list_(pa.int32()), [[], [1], [1, 2], [1, None]], [[], [2], [1], [1, None]], [True, *[False] * 3]),
        (
            pa.list_(pa.int32()),
            [[1, 2], None, None, [3]],
            [[1, 2], None, [1], None],
            [True, True, False, False],
        ),
        (
            PAIR,
            [{"a": 1, "b": None}, {"a": 1, "b": "x"}, None],
            [{"a": 1, "b": None}, {"a": 1, "b": "y"}, None],
            [True, False, True],
        ),
        (pa.list_(PAIR), [[{"a": 1, "b": None}], [None]], [[{"a": 1, "b": None}], [None]], [True, False]),
        (pa.list_(pa.list_(pa.int8())), [[[1], []], [[1]]], [[[1], []], [[2]]], [True, False]),
    ],
    ids=[
        "numbers",
        "floats",
        "instants",
        "lists",
        "null lists",
        "structs",
        "lists of structs",
        "nested lists",
    ],
)
def test_values_are_compared(kind: pa.DataType, one: list[Any], other: list[Any], equal: list[bool]) -> None:
    assert equal_values(pa.array(one, kind), pa.array(other, kind)).tolist() == equal


def test_dictionaries_and_wide_offsets_do_not_matter() -> None:
    one = pa.array(["a", None, "b"]).dictionary_encode()
    other = pa.array(["a", None, "c"], pa.large_string())
    assert equal_values(one, other).tolist() == [True, True, False]


def test_maps_are_not_compared() -> None:
    values = pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int32()))
    with pytest.raises(NotImplementedError):
        equal_values(values, values)
