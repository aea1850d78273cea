"""The optimized line: which changes are above it, and how it moves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.formats.mixed.optimized_line import NOTHING_MERGED, OptimizedLine

KEYS = st.sampled_from("abcd")
NUMBERS = st.integers(0, 5)
LINES = st.dictionaries(KEYS, NUMBERS)


@given(LINES, LINES, st.lists(st.tuples(KEYS, NUMBERS, NUMBERS), max_size=10))
def test_changes_above_the_line_are_unmerged(
    sequences: dict[str, int], transactions: dict[str, int], files: list[tuple[str, int, int]]
) -> None:
    """The model is `shouldKeepFile` of Arctic 0.4.1: the transaction counts where there is no sequence."""
    line = OptimizedLine(sequences, {}, transactions)
    partitions = np.array(["abcd".index(key) for key, _, _ in files], np.int64)
    numbers = np.array([numbers for _, *numbers in files], np.int64).reshape(-1, 2)

    found = line.unmerged("abcd", partitions, numbers[:, 0], numbers[:, 1])

    assert found.tolist() == [
        sequence > sequences[key]
        if key in sequences
        else key not in transactions or transaction > transactions[key]
        for key, sequence, transaction in files
    ]


def test_the_line_moves_for_some_partitions_only() -> None:
    line = OptimizedLine({"a": 3, "b": 4}, {"a": 100, "b": 200}, {"c": 1})

    moved = line.moved({"a": 7, "c": 2}, 300)

    assert moved == OptimizedLine({"a": 7, "b": 4, "c": 2}, {"a": 300, "b": 200, "c": 300}, {"c": 1})
    assert (moved.sequence_of("a"), moved.sequence_of("d")) == (7, NOTHING_MERGED)


def test_the_line_may_stay_where_it_is() -> None:
    assert OptimizedLine({"a": 3}).moved({"a": 3}, 1).sequences == {"a": 3}


def test_the_line_never_goes_back() -> None:
    with pytest.raises(ValueError, match="a"):
        OptimizedLine({"a": 3}).moved({"a": 2}, 1)
