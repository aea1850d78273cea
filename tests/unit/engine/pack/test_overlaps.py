"""Overlaps of files by ranks of their bounds, compared with loops over all pairs of files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.engine.pack.overlaps import Overlaps, least_overlapping, overlap_of
from support.cases import case


@dataclass(frozen=True)
class File:
    group: int
    lower: int
    upper: int

    @property
    def is_known(self) -> bool:
        return 0 <= self.lower <= self.upper

    def has(self, other: File) -> bool:
        """Whether the other one begins in its range."""
        return self.is_known and self.group == other.group and self.lower <= other.lower <= self.upper


FILES = st.lists(
    st.builds(File, st.integers(0, 2), st.integers(-1, 8), st.integers(-1, 8)), min_size=1, max_size=20
)


def overlaps(files: Sequence[File]) -> Overlaps:
    groups, lower, upper = (
        np.array([getattr(file, name) for file in files], dtype=np.int64)
        for name in ("group", "lower", "upper")
    )
    return Overlaps(groups, lower, upper, lower == upper)


def known(files: Sequence[File]) -> list[File]:
    return [file for file in files if file.is_known]


@given(FILES)
def test_depths_count_the_files_in_whose_range_a_file_begins(files: list[File]) -> None:
    found = overlaps(files).depths(np.ones(len(files), dtype=bool))
    assert found.tolist() == [sum(each.has(file) for each in files) if file.is_known else 0 for file in files]


@given(FILES, st.data())
def test_only_files_that_count_have_a_depth(files: list[File], data: st.DataObject) -> None:
    counts = np.array(data.draw(st.lists(st.booleans(), min_size=len(files), max_size=len(files))))
    alone = [file for file, is_counted in zip(files, counts, strict=True) if is_counted]
    found = overlaps(files).depths(counts)
    if alone:
        expected = overlaps(alone).depths(np.ones(len(alone), dtype=bool))
        assert found[counts].tolist() == expected.tolist()
    assert not found[~counts].any()


@given(FILES)
def test_overlap_is_the_average_share_of_a_group(files: list[File]) -> None:
    pairs = sum(one.has(other) for one in files for other in known(files)) - len(known(files))
    others = sum(
        len([each for each in known(files) if each.group == file.group]) - 1 for file in known(files)
    )
    is_told = 2 * len(known(files)) >= len(files) and others
    assert overlaps(files).overlap() == (pairs / others if is_told else 1.0)


@given(FILES, st.integers(1, 5))
def test_crowded_files_have_a_value_that_many_have(files: list[File], threshold: int) -> None:
    """Files with one value do not count: sorting divides them no further."""
    wide = [file for file in known(files) if file.lower < file.upper]

    def depth(group: int, value: int) -> int:
        return sum(each.group == group and each.lower <= value <= each.upper for each in wide)

    expected = [
        file in wide
        and any(
            depth(file.group, each.lower) >= threshold
            for each in wide
            if each.group == file.group and file.lower <= each.lower <= file.upper
        )
        for file in files
    ]
    assert overlaps(files).crowded(threshold).tolist() == expected


def sort_key(file: File) -> tuple[int, ...]:
    return (file.group, 0, file.lower, file.upper) if file.is_known else (file.group, 1)


@given(FILES)
def test_files_are_ordered_by_group_and_bounds_those_without_last(files: list[File]) -> None:
    found = overlaps(files).order(np.arange(len(files)))
    keys = [
        (
            files[row].group,
            not files[row].is_known,
            *((files[row].lower, files[row].upper) if files[row].is_known else (0, 0)),
        )
        for row in found
    ]
    assert keys == sorted(keys)
    assert sorted(found.tolist()) == [*range(len(files))]


@pytest.mark.parametrize(
    ("files", "others", "expected"),
    [
        case([(0, 1), (4, 5)], [], [False, False], id="nothing between"),
        case([(0, 1), (4, 5)], [(2, 3)], [False, True], id="another file between"),
        case([(0, 4), (4, 5)], [(2, 3)], [False, False], id="not entirely between"),
        case([(0, 1), (4, 5)], [(1, 3)], [False, False], id="it touches the first"),
        case([(0, 1), (4, 5), (8, 9)], [(2, 3)], [False, True, False], id="once"),
    ],
)
def test_a_gap_is_where_another_file_lies_between(
    files: list[tuple[int, int]], others: list[tuple[int, int]], expected: list[bool]
) -> None:
    found = overlaps([File(0, *bounds) for bounds in (*files, *others)])
    stays = np.arange(len(files) + len(others)) >= len(files)
    assert found.gaps(np.arange(len(files)), stays).tolist() == expected


def test_gaps_are_those_of_the_own_group() -> None:
    files = [File(0, 0, 1), File(0, 4, 5), File(1, 2, 3)]
    found = overlaps(files).gaps(np.arange(2), np.array([False, False, True]))
    assert not found.any()


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        case([], None, id="no column"),
        case([0.5, 0.9], None, id="all overlap"),
        case([0.4, 0.1, 0.2], 1, id="the least"),
        case([0.1, 0.1], 0, id="of equal ones the first"),
    ],
)
def test_the_column_with_the_least_overlap_clusters(shares: list[float], expected: int | None) -> None:
    assert least_overlapping(shares) == expected


def test_few_bounds_tell_nothing() -> None:
    assert overlap_of(files=10, known=4, pairs=0, others=12) == 1.0
    assert overlap_of(files=10, known=5, pairs=3, others=12) == 0.25
