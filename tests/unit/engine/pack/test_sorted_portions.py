"""Portions together are all rows in the order of their keys, each within its budget."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lithify.engine.pack.sorted_portions import sorted_portions

SOURCES = st.lists(st.lists(st.integers(0, 5), max_size=20), max_size=6)


@given(keys=SOURCES, budget=st.integers(1, 400))
def test_portions_are_the_sorted_rows(keys: list[list[int]], budget: int) -> None:
    arrays = [np.array(each, dtype=np.int64) for each in keys]
    sizes = [10 * len(each) for each in keys]
    found: list[tuple[int, int, int]] = []
    for portion in sorted_portions(arrays, sizes, budget):
        assert all(one < two for _, rows in portion.rows for one, two in pairwise(rows.tolist()))
        joined = [(keys[source][row], source, row) for source, rows in portion.rows for row in rows.tolist()]
        assert len(joined) <= max(1, budget // 10 + 1)
        found += [joined[place] for place in portion.order.tolist()]

    assert found == sorted(
        (key, source, row) for source, each in enumerate(keys) for row, key in enumerate(each)
    )


def test_sorted_sources_are_read_once() -> None:
    keys = [np.arange(100) + 100 * number for number in range(4)]
    portions = [*sorted_portions(keys, [1000] * 4, 1000)]
    assert [[source for source, _ in portion.rows] for portion in portions] == [[0], [1], [2], [3]]
