"""Sections and their runs: which files belong together, and how few runs they need."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.formats.paimon.model import DataFile
from lithify.formats.paimon.planning.merge_tree.sections import Section, partition_sections
from support.cases import case
from support.merge_trees import file, key, names, repeatable, trees

Keys = tuple[int, int]


def sections_of(*keys: Keys) -> list[Section]:
    return partition_sections(file(f"{first}-{last}", (first, last)) for first, last in keys)


def run_names(section: Section) -> list[list[str]]:
    return sorted(names(run) for run in section.runs)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        case([], [], id="no files"),
        case([(3, 3)], [[["3-3"]]], id="a single key"),
        case([(0, 4), (5, 9)], [[["0-4"]], [["5-9"]]], id="touching files are two sections"),
        case([(0, 5), (5, 9)], [[["0-5"], ["5-9"]]], id="one shared key makes one section"),
        case([(5, 9), (0, 2), (3, 4)], [[["0-2"]], [["3-4"]], [["5-9"]]], id="sections come in key order"),
        case(
            [(0, 3), (2, 6), (5, 9)],
            [[["0-3", "5-9"], ["2-6"]]],
            id="overlap is transitive and the ends are chained into one run",
        ),
        case(
            [(0, 9), (0, 1), (2, 3), (4, 5)],
            [[["0-1", "2-3", "4-5"], ["0-9"]]],
            id="small files under a wide one need one run",
        ),
        case([(0, 9), (0, 9), (0, 9)], [[["0-9"]] * 3], id="twins need a run each"),
        case([(0, 9), (1, 2), (20, 29)], [[["0-9"], ["1-2"]], [["20-29"]]], id="a wide file sets the bound"),
    ],
)
def test_files_whose_keys_overlap_are_in_one_section(
    keys: list[Keys], expected: list[list[list[str]]]
) -> None:
    assert [run_names(section) for section in sections_of(*keys)] == expected


def test_a_file_joins_the_run_that_ends_first() -> None:
    """So the run that ends late stays free for a file that begins late."""
    (section,) = sections_of((0, 5), (0, 2), (3, 9), (6, 9))
    assert run_names(section) == [["0-2", "3-9"], ["0-5", "6-9"]]


def test_a_section_knows_its_files_bounds_and_bytes() -> None:
    (section,) = partition_sections([file("a", (2, 7), size=5), file("b", (4, 9), size=6)])
    assert (section.min_key, section.max_key, section.size) == (key(2), key(9), 11)
    assert names(section.files) == ["a", "b"]


@given(files=trees())
@repeatable
def test_sections_partition_the_files_and_never_overlap(files: tuple[DataFile, ...]) -> None:
    sections = partition_sections(files)
    assert Counter(file for section in sections for file in section.files) == Counter(files)
    assert all(before.max_key < after.min_key for before, after in pairwise(sections))
    for section in sections:
        assert (section.min_key, section.max_key) == (
            min(file.min_key for file in section.files),
            max(file.max_key for file in section.files),
        )


@given(files=trees())
@repeatable
def test_a_section_cannot_be_divided(files: tuple[DataFile, ...]) -> None:
    for section in partition_sections(files):
        ordered = sorted(section.files, key=lambda file: file.min_key)
        for number, file_ in enumerate(ordered[1:], start=1):
            assert file_.min_key <= max(before.max_key for before in ordered[:number])


@given(files=trees())
@repeatable
def test_runs_ascend_and_are_as_many_as_files_overlap_at_a_key(files: tuple[DataFile, ...]) -> None:
    for section in partition_sections(files):
        for run in section.runs:
            assert run
            assert all(before.max_key < after.min_key for before, after in pairwise(run))
        assert len(section.runs) == deepest_overlap(section.files)


@given(files=trees(), seed=st.integers())
@repeatable
def test_the_order_of_the_files_does_not_matter(files: tuple[DataFile, ...], seed: int) -> None:
    shuffled = list(files)
    Random(seed).shuffle(shuffled)
    one, other = partition_sections(files), partition_sections(shuffled)
    assert [set(section.files) for section in one] == [set(section.files) for section in other]
    assert [len(section.runs) for section in one] == [len(section.runs) for section in other]


def deepest_overlap(files: tuple[DataFile, ...]) -> int:
    """The most files that share a key; overlap is always deepest where a file begins."""
    return max(sum(other.min_key <= start.min_key <= other.max_key for other in files) for start in files)
