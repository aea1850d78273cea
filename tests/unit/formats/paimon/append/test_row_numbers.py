"""Sequence numbers of the files that a compaction of a table without a primary key writes."""

from __future__ import annotations

from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.formats.paimon.append.row_numbers import RowNumbers, ordered, unordered
from lithify.formats.paimon.model import DataFile
from support.cases import case
from support.merge_trees import repeatable
from support.small_files import file


def test_files_of_one_writer_keep_their_numbers() -> None:
    files = [file("a", first=5, rows=10), file("b", first=15, rows=3)]
    numbers = ordered(files, file("c", first=18))
    assert [numbers.of(0, 6), numbers.of(6, 13)] == [(5, 10), (11, 17)]


def test_without_buckets_every_file_begins_as_java_numbers_it() -> None:
    numbers = unordered([file("a", first=0, rows=4), file("b", first=0, rows=3)])
    assert [numbers.of(0, 5), numbers.of(5, 7)] == [(0, 4), (0, 1)]


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        case(RowNumbers(0, 100, 49), [(0, 24), (25, 49)], id="as after a full compaction by Java"),
        case(RowNumbers(7, 100, 7), [(7, 7), (7, 7)], id="one number for all"),
        case(RowNumbers(7, 100, 3), [(7, 7), (7, 7)], id="no number at all"),
    ],
)
def test_rows_share_numbers_that_were_given_twice(numbers: RowNumbers, expected: list[object]) -> None:
    assert [numbers.of(0, 50), numbers.of(50, 100)] == expected


@repeatable
@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(1, 30)), min_size=2, max_size=12),
    st.lists(st.integers(1, 40), min_size=1, max_size=10),
)
def test_new_files_stay_between_their_neighbours(given_files: list[tuple[int, int]], cuts: list[int]) -> None:
    """Files of any writers, even concurrent ones: what is written for all but the last is before the last."""
    files = sorted(
        (file(str(n), first=first, rows=rows) for n, (first, rows) in enumerate(given_files)), key=first_of
    )
    *joined, last = files
    numbers = ordered(joined, last)
    ends = [end for end in accumulate(cuts) if end < numbers.rows]
    bounds = [numbers.of(*part) for part in pairwise([0, *ends, numbers.rows])]
    assert bounds == sorted(bounds)
    assert all(low <= high for low, high in bounds)
    assert bounds[0][0] == joined[0].min_sequence
    if last.min_sequence > joined[-1].min_sequence:
        assert bounds[-1][0] < last.min_sequence


def first_of(one: DataFile) -> int:
    return one.min_sequence
