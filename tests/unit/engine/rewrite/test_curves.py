"""Positions on curves against the definitions of the curves, point by point in Python's integers."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.engine.rewrite import curves
from lithify.engine.rewrite.curves import (
    hilbert,
    octets_of,
    words_of,
    z_order,
)
from support.properties import examples

WORD = st.integers(0, (1 << 64) - 1)


def as_number(words: np.ndarray) -> int:
    number = 0
    for word in words.tolist():
        number = number << 64 | word
    return number


def columns(points: list[tuple[int, ...]]) -> list[np.ndarray]:
    return [np.array(column, dtype=np.uint64) for column in zip(*points, strict=True)]


def interleaved(values: list[bytes]) -> int:
    """The bits of some numbers in turn, most significant first; a number without bits left is passed over."""
    size = sum(len(value) for value in values)
    bits = [f"{int.from_bytes(value, 'big'):0{8 * len(value)}b}" for value in values]
    turns = (text[place] for place in range(8 * max(map(len, values))) for text in bits if place < len(text))
    return int("".join(turns), 2) << (-size % 8 * 8)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.integers(1, 11), min_size=1, max_size=4), st.data())
def test_z_order_takes_a_bit_of_each_column_in_turn(widths: list[int], data: st.DataObject) -> None:
    row = st.tuples(*(st.binary(min_size=width, max_size=width) for width in widths))
    rows = data.draw(st.lists(row, min_size=1, max_size=9))
    arrays = [
        np.frombuffer(b"".join(column), dtype=np.uint8).reshape(len(rows), width)
        for column, width in zip(zip(*rows, strict=True), widths, strict=True)
    ]
    positions = [as_number(words) for words in z_order(arrays)]
    assert positions == [interleaved(list(row)) for row in rows]


@pytest.mark.parametrize(("dimensions", "bits"), [(2, 1), (2, 4), (3, 3), (5, 2)])
def test_the_hilbert_curve_visits_every_point_once_and_goes_to_neighbours(dimensions: int, bits: int) -> None:
    points = [*product(range(1 << bits), repeat=dimensions)]
    positions = [as_number(words) for words in hilbert(columns(points), bits)]
    assert sorted(positions) == [*range(len(points))]
    path = [point for _, point in sorted(zip(positions, points, strict=True))]
    steps = (sum(abs(a - b) for a, b in zip(*pair, strict=True)) for pair in pairwise(path))
    assert set(steps) == {1}


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(2, 6), st.data())
def test_the_hilbert_curve_of_whole_words(dimensions: int, data: st.DataObject) -> None:
    """A curve of more bits goes through the same points in the same order, up to a change of the axes."""
    points = data.draw(st.lists(st.tuples(*[WORD] * dimensions), min_size=1, max_size=9))
    positions = [as_number(words) for words in hilbert(columns(points))]
    assert positions == [skilling(list(point), 64) for point in points]


def skilling(point: list[int], bits: int) -> int:
    """The published algorithm for one point."""
    n, q = len(point), 1 << (bits - 1)
    while q > 1:
        for i in range(n):
            if point[i] & q:
                point[0] ^= q - 1
            else:
                t = (point[0] ^ point[i]) & (q - 1)
                point[0] ^= t
                point[i] ^= t
        q >>= 1
    for i in range(1, n):
        point[i] ^= point[i - 1]
    t, q = 0, 1 << (bits - 1)
    while q > 1:
        if point[-1] & q:
            t ^= q - 1
        q >>= 1
    return interleaved([(each ^ t).to_bytes(bits // 8, "big") for each in point])


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    points = columns([(number * 7919 % 65_537, number * 104_729 % 65_537) for number in range(1_000)])
    whole = hilbert(points), z_order([octets_of(column) for column in points])
    monkeypatch.setattr(curves, "_CHUNK", 7)
    parts = hilbert(points), z_order([octets_of(column) for column in points])
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)


def test_inputs_stay_as_they_are() -> None:
    points = columns([(5, 9), (1 << 63, 3)])
    before = [column.copy() for column in points]
    hilbert(points)
    for column, same in zip(points, before, strict=True):
        np.testing.assert_array_equal(column, same)


@given(st.lists(WORD, min_size=1))
def test_words_and_octets(words: list[int]) -> None:
    array = np.array(words, dtype=np.uint64)
    np.testing.assert_array_equal(words_of(octets_of(array))[:, 0], array)
