"""Positions of rows in their files, batch by batch, and which of them are deleted."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from lithify.engine.rewrite.row_positions import (
    Positions,
    is_deleted,
    places,
    positions_between,
    split_places,
)
from support.merge_trees import repeatable


class TestPositions:
    @given(
        st.lists(st.tuples(st.integers(0, 9), st.integers(1, 20)), max_size=6),
        st.lists(st.integers(0, 30), max_size=20),
        st.sets(st.integers(0, 200)),
    )
    @repeatable
    def test_of_rows_in_batches(
        self, gaps: list[tuple[int, int]], sizes: list[int], deleted: set[int]
    ) -> None:
        spans, start = [], 0
        for gap, rows in gaps:
            spans.append((start + gap, rows))
            start += gap + rows
        expected = [row for first, rows in spans for row in range(first, first + rows)]
        taken = Positions(spans)
        for size in sizes:
            part, expected = expected[:size], expected[size:]
            found = taken.take(len(part))
            assert found.tolist() == part
            assert is_deleted(found, BitMap(deleted)).tolist() == [row in deleted for row in part]

    def test_places_are_split_again(self) -> None:
        rows = np.array([0, 5, (1 << 33) + 1])
        files, found = split_places(places(77, rows).to_numpy())
        assert (files.tolist(), found.tolist()) == ([77] * 3, rows.tolist())


def test_positions_between_include_both_ends() -> None:
    assert positions_between(BitMap([1, 3, 5, 1 << 31]), 3, 1 << 31).tolist() == [3, 5, 1 << 31]
    assert positions_between(BitMap(), 0, 10).tolist() == []
