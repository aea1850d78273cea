"""Too many changes are cut where transactions keep their order, as a search over all cuts finds it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.errors import InvalidOption
from lithify.formats.mixed.sequences import merged_sequence, most_change_files
from support.cases import case

Changes = list[tuple[int, int]]
"""Sequence number and transaction of each file."""

ORDERED = st.integers(1, 8).map(lambda number: (number, number))
CHANGES = st.lists(ORDERED | st.tuples(st.integers(1, 8), st.integers(1, 8)), min_size=1, max_size=10)


def searched(changes: Changes, most_files: int) -> int:
    """The largest cut with few enough files; the smallest of all where there is none."""
    cuts = []
    for cut in sorted({sequence for sequence, _ in changes}):
        below = [transaction for sequence, transaction in changes if sequence <= cut]
        above = [transaction for sequence, transaction in changes if sequence > cut]
        if not above or max(below) < min(above):
            cuts.append((cut, len(below)))
    few = [cut for cut, files in cuts if files <= most_files]
    return max(few) if few else cuts[0][0]


def merged(changes: Changes, most_files: int) -> int:
    columns = np.array(changes, np.int64)
    return merged_sequence(columns[:, 0], columns[:, 1], most_files)


@given(CHANGES, st.integers(1, 11))
def test_cuts_are_those_of_a_search(changes: Changes, most_files: int) -> None:
    assert merged(changes, most_files) == searched(changes, most_files)


@pytest.mark.parametrize(
    ("changes", "most_files", "expected"),
    [
        case([(1, 1), (2, 2), (3, 3)], 3, 3, id="all"),
        case([(1, 1), (2, 2), (3, 3)], 2, 2, id="in order"),
        case([(3, 3), (1, 1), (2, 2)], 2, 2, id="files in any order"),
        case([(1, 1), (2, 2), (2, 2), (3, 3)], 2, 1, id="a commit is not divided"),
        case([(2, 2), (3, 1), (4, 4)], 2, 3, id="a late transaction stays with those that it precedes"),
        case([(2, 2), (3, 1), (4, 4)], 1, 3, id="too many at once, but no cut has fewer"),
        case([(1, 5), (2, 5), (3, 6)], 1, 2, id="equal transactions are not divided"),
        case([(4, 3), (5, 3), (6, 3)], 1, 6, id="no cut at all"),
    ],
)
def test_cuts_keep_the_order(changes: Changes, most_files: int, expected: int) -> None:
    assert merged(changes, most_files) == expected


def test_the_largest_transaction_is_no_end() -> None:
    largest = (1 << 63) - 1

    assert merged([(1, 1), (2, largest), (3, largest)], 2) == 1


@pytest.mark.parametrize(
    ("properties", "files"), [({}, 10_000), ({"self-optimizing.max-file-count": "3"}, 3)]
)
def test_the_number_of_files_is_a_property_of_amoro(properties: dict[str, str], files: int) -> None:
    assert most_change_files(properties) == files


def test_a_number_below_one_is_refused() -> None:
    with pytest.raises(InvalidOption):
        most_change_files({"self-optimizing.max-file-count": "0"})
