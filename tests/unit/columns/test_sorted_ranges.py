"""Items belong to the rows of their key from a certain number on, as a loop over all pairs says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.columns.sorted_ranges import Numbered, Side, expanded, sorted_ranges
from support.properties import examples

PAIRS = st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 4)), max_size=8)
SIDES: tuple[Side, ...] = ("left", "right")


def numbered(pairs: list[tuple[int, int]]) -> Numbered:
    keys, numbers = (np.array([pair[at] for pair in pairs], dtype=np.int64) for at in (0, 1))
    return Numbered(keys, numbers)


def belongs(item: tuple[int, int], row: tuple[int, int], side: Side) -> bool:
    is_late = item[1] >= row[1] if side == "left" else item[1] > row[1]
    return row[0] >= 0 and item[0] == row[0] and is_late


@pytest.mark.parametrize("side", SIDES)
@settings(max_examples=examples(60), deadline=None)
@given(items=PAIRS, rows=PAIRS)
def test_ranges_are_those_of_a_loop(
    side: Side, items: list[tuple[int, int]], rows: list[tuple[int, int]]
) -> None:
    items = [item for item in items if item[0] >= 0]
    found = sorted_ranges(np.arange(len(items)), numbered(items), numbered(rows), side)

    counts, flat = expanded([found], np.arange(len(rows)))

    parts = np.split(flat, np.cumsum(counts)[:-1]) if rows else []
    expected = [[n for n, item in enumerate(items) if belongs(item, row, side)] for row in rows]
    assert [sorted(part.tolist()) for part in parts] == expected
    weights = np.arange(len(items)) + 1
    assert found.sums(weights).tolist() == [sum(n + 1 for n in each) for each in expected]


def test_rows_can_be_left_without_items() -> None:
    found = sorted_ranges(np.array([7]), numbered([(0, 5)]), numbered([(0, 1), (0, 2)]), "left")

    assert found.without(np.array([True, False])).counts.tolist() == [0, 1]
