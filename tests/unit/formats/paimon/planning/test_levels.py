"""Files of a bucket as sorted runs: order, number of levels, and the refusal of overlapping levels."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.errors import CorruptTable
from lithify.formats.paimon.model import DataFile
from lithify.formats.paimon.planning.merge_tree.levels import build_levels
from lithify.formats.paimon.planning.universal.levels import SortedRun
from support.cases import case
from support.merge_trees import file, names, repeatable, stack, trees

MIXED = (
    file("b", (10, 19), level=5, size=200),
    file("newer", sequences=(3, 4), size=5),
    file("a", (0, 9), level=5, size=100),
    file("older", sequences=(1, 2), size=7),
    file("middle", level=2, size=50),
)


class TestOrder:
    @pytest.mark.parametrize(
        ("first", "second"),
        [
            case(
                file("b", sequences=(5, 9)),
                file("a", sequences=(0, 8)),
                id="the larger last sequence is newer",
            ),
            case(
                file("b", sequences=(3, 9)),
                file("a", sequences=(4, 9)),
                id="of equal last sequences the smaller first one comes first",
            ),
            case(
                file("b", sequences=(3, 9), created=1),
                file("a", sequences=(3, 9), created=2),
                id="of equal sequences the file that was made earlier comes first",
            ),
            case(file("a"), file("b"), id="the name decides between twins"),
        ],
    )
    def test_files_of_level_0_are_runs_by_sequence(self, first: DataFile, second: DataFile) -> None:
        for files in ((first, second), (second, first)):
            levels = build_levels(files, 6)
            assert [run.files for run in levels.runs] == [(first,), (second,)]

    def test_of_levels_above_is_newest_first_with_files_in_key_order(self) -> None:
        levels = build_levels(MIXED, 6)
        assert [(run.level, names(run.files)) for run in levels.runs] == [
            (0, ["newer"]),
            (0, ["older"]),
            (2, ["middle"]),
            (5, ["a", "b"]),
        ]

    def test_numbers_runs_from_the_newest(self) -> None:
        numbers = build_levels(MIXED, 6).run_numbers()
        assert numbers == {"newer": 0, "older": 1, "middle": 2, "a": 3, "b": 3}


class TestNumbers:
    def test_of_a_mixed_tree(self) -> None:
        levels = build_levels(MIXED, 6)
        assert (levels.number_of_levels, levels.max_level, levels.highest_non_empty) == (6, 5, 5)
        assert [names(run.files) for run in levels.level0] == [["newer"], ["older"]]
        assert (levels.size, levels.runs[-1].size) == (362, 300)

    def test_of_an_empty_bucket(self) -> None:
        levels = build_levels((), 6)
        assert (levels.runs, levels.level0, levels.size) == ((), (), 0)
        assert (levels.max_level, levels.highest_non_empty) == (5, -1)

    @pytest.mark.parametrize(
        ("highest", "num_levels", "number"),
        [
            case(0, 6, 6, id="an option above the files counts"),
            case(4, 5, 5, id="the files just fit"),
            case(5, 3, 6, id="a lowered option leaves the old levels in place"),
        ],
    )
    def test_of_levels_grow_with_the_files(self, highest: int, num_levels: int, number: int) -> None:
        levels = build_levels(stack((highest, 1)), num_levels)
        assert (levels.number_of_levels, levels.highest_non_empty) == (number, highest)


class TestOverlap:
    @pytest.mark.parametrize(
        ("keys", "culprit"),
        [
            case([(0, 5), (5, 9)], "f1", id="files that share one key"),
            case([(0, 9), (3, 4)], "f1", id="a file inside another"),
            case([(3, 4), (3, 4)], "f1", id="twins"),
            case([(8, 9), (0, 8)], "f0", id="the later file in key order is named"),
            case([(0, 1), (2, 5), (4, 7), (8, 9)], "f2", id="the second pair of four"),
        ],
    )
    def test_of_a_level_above_0_is_refused_by_name(self, keys: list[tuple[int, int]], culprit: str) -> None:
        files = [file(f"f{number}", bounds, level=3) for number, bounds in enumerate(keys)]
        with pytest.raises(CorruptTable) as caught:
            build_levels(files, 6)
        assert caught.value.path == culprit

    def test_of_level_0_or_of_two_levels_is_normal(self) -> None:
        levels = build_levels([file("a"), file("b"), file("c", level=1), file("d", level=2)], 6)
        assert len(levels.runs) == 4

    def test_is_not_seen_in_files_that_touch(self) -> None:
        (run,) = build_levels([file("a", (0, 4), level=1), file("b", (5, 9), level=1)], 6).runs
        assert names(run.files) == ["a", "b"]


@given(files=trees(), num_levels=st.integers(2, 7))
@repeatable
def test_every_file_is_in_exactly_one_run(files: tuple[DataFile, ...], num_levels: int) -> None:
    levels = build_levels(files, num_levels)
    assert Counter(file for run in levels.runs for file in run.files) == Counter(files)
    assert [run.level for run in levels.runs] == sorted(run.level for run in levels.runs)
    assert all(is_sorted_run(run) for run in levels.runs)
    assert levels.max_level >= max(file.level for file in files)


def is_sorted_run(run: SortedRun) -> bool:
    of_one_level = all(file.level == run.level for file in run.files)
    if run.level == 0:
        return of_one_level and len(run.files) == 1
    return of_one_level and all(before.max_key < after.min_key for before, after in pairwise(run.files))
