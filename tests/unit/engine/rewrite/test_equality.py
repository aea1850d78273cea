"""Equality of columns, value by value, as changelogs need it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lithify.engine.rewrite.equality import equal_values

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


NAN = math.nan


@pytest.mark.parametrize(
    ("kind", "one", "other", "equal", "equal_if_same"),
    [
        (
            pa.list_(pa.int8()),
            [[1, None], [None, 1], []],
            [[1, None], [1, None], [None]],
            [0, 0, 0],
            [1, 0, 0],
        ),
        (pa.list_(pa.float32()), [[NAN], [0.0, None]], [[NAN], [-0.0, None]], [0, 0], [1, 1]),
        (pa.list_(pa.list_(pa.int8())), [[None, [None]], [[1]]], [[None, [None]], [[2]]], [0, 0], [1, 0]),
        (pa.list_(PAIR), [[None], [{"a": None, "b": None}]], [[None], [{"a": 1, "b": None}]], [0, 0], [1, 0]),
        (
            pa.struct({"l": pa.list_(pa.float64()), "f": pa.float64()}),
            [{"l": [NAN, None], "f": 1.0}, {"l": [], "f": NAN}],
            [{"l": [NAN, None], "f": 1.0}, {"l": [], "f": NAN}],
            [0, 0],
            [1, 0],
        ),
        (pa.float64(), [NAN, 1.0], [NAN, 1.0], [0, 1], [0, 1]),
        (pa.list_(pa.int32()), [None, None], [None, [None]], [1, 0], [1, 0]),
    ],
    ids=["numbers", "floats", "lists", "structs", "in a struct", "no lists", "null lists"],
)
def test_the_same_lists_are_equal_whatever_they_hold(
    kind: pa.DataType, one: list[Any], other: list[Any], equal: list[int], equal_if_same: list[int]
) -> None:
    before, after = pa.array(one, kind), pa.array(other, kind)
    assert equal_values(before, after).tolist() == [*map(bool, equal)]
    assert equal_values(before, after, np.ones(len(one), bool)).tolist() == [*map(bool, equal_if_same)]
    assert equal_values(before, after, np.arange(len(one)) == 0).tolist() == [
        *map(bool, [*equal_if_same[:1], *equal[1:]])
    ]


def test_dictionaries_and_wide_offsets_do_not_matter() -> None:
    one = pa.array(["a", None, "b"]).dictionary_encode()
    other = pa.array(["a", None, "c"], pa.large_string())
    assert equal_values(one, other).tolist() == [True, True, False]


def test_maps_are_not_compared() -> None:
    values = pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int32()))
    with pytest.raises(NotImplementedError):
        equal_values(values, values)
