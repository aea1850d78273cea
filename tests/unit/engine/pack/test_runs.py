"""Which adjacent files of an ordered group are joined, and how runs are divided."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given

from lithify.engine.pack.options import PackingOptions
from lithify.engine.pack.runs import chunks, full_run, minor_runs, parts_of
from support.cases import case
from support.merge_trees import names, repeatable
from support.packed_files import BY_FIRST, File, cases

ORDERED = PackingOptions(
    is_ordered=True, target_file_size=100, small_file_size=70, open_file_cost=1, min_files=3
)
Case = tuple[PackingOptions, tuple[File, ...]]


def files(*sizes: int) -> list[File]:
    return [File(f"f{number}", size, 10 * number) for number, size in enumerate(sizes)]


class TestRuns:
    @pytest.mark.parametrize(
        ("sizes", "expected"),
        [
            case([10, 10], [], id="too few"),
            case([10, 10, 10], [["f0", "f1", "f2"]], id="enough"),
            case([10] * 4, [["f0", "f1", "f2"]], id="the rest waits"),
            case([10] * 6, [["f0", "f1", "f2", "f3", "f4", "f5"]], id="neighbours become one"),
            case([60] * 6, [["f0", "f1", "f2"], ["f3", "f4", "f5"]], id="but no more than a bin"),
            case([150, 10, 10, 10], [["f0", "f1", "f2"]], id="a large file counts, too"),
            case([190, 20, 10, 10], [["f1", "f2", "f3"]], id="the window moves past a large file"),
        ],
    )
    def test_minor_runs_are_of_files_side_by_side(self, sizes: list[int], expected: list[list[str]]) -> None:
        assert [names(run) for run in minor_runs(files(*sizes), ORDERED, BY_FIRST)] == expected

    @pytest.mark.parametrize(
        ("sizes", "expected"),
        [
            case([10, 10], [], id="too few"),
            case([100, 10, 10, 10], ["f1", "f2", "f3"], id="large ones at the start stay"),
            case([10, 100, 10], ["f0", "f1", "f2"], id="those between do not"),
            case([10, 100, 100], [], id="more large ones than small ones"),
            case([100, 100, 100], [], id="nothing small"),
        ],
    )
    def test_full_runs_leave_out_large_files_at_the_ends(self, sizes: list[int], expected: list[str]) -> None:
        assert names(full_run(files(*sizes), ORDERED, BY_FIRST)) == expected

    def test_a_forced_full_compaction_takes_all(self) -> None:
        assert len(full_run(files(100, 100), replace(ORDERED, force_rewrite=True), BY_FIRST)) == 2

    def test_files_with_the_same_first_number_stay_together(self) -> None:
        same = [File(name, 10, 0) for name in "abcd"]
        (run,) = minor_runs([*same, File("e", 10, 50)], ORDERED, BY_FIRST)
        assert names(run) == ["a", "b", "c", "d"]
        grown = [File("a", 100, 0), *(File(name, 10, 0) for name in "bcd")]
        assert names(full_run(grown, ORDERED, BY_FIRST)) == ["a", "b", "c", "d"]

    @repeatable
    @given(cases(is_ordered=True))
    def test_are_adjacent_files_and_do_not_overlap(self, drawn: Case) -> None:
        options, given_files = drawn
        place = {each.name: number for number, each in enumerate(sorted(given_files, key=BY_FIRST))}
        runs = minor_runs(given_files[::-1], options, BY_FIRST)
        for run in (*runs, full_run(given_files, options, BY_FIRST)):
            assert all(place[b.name] - place[a.name] == 1 for a, b in pairwise(run))
            assert len(run) != 1
        numbers = [place[each.name] for run in runs for each in run]
        assert numbers == sorted(set(numbers))


def test_long_run_is_divided_between_files_of_different_ranks() -> None:
    run = tuple(File(name, 50, first) for name, first in zip("abcdef", (0, 0, 9, 19, 29, 39), strict=True))
    assert [names(part) for part in chunks(run, 50, BY_FIRST)] == [["a", "b"], ["c"], ["d"], ["e"], ["f"]]
    assert [names(part) for part in chunks(run, 150, BY_FIRST)] == [["a", "b", "c"], ["d", "e", "f"]]
    assert [names(part) for part in chunks(run, 151, BY_FIRST)] == [["a", "b", "c", "d", "e", "f"]]


def test_parts_have_at_most_the_wanted_size_unless_a_file_is_larger() -> None:
    assert [names(part) for part in parts_of(files(10, 20, 90, 5, 30), 35)] == [
        ["f0", "f1"],
        ["f2"],
        ["f3", "f4"],
    ]
