"""What becomes of picked files: rewritten together, rewritten alone, moved up or left where they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lithify.formats.paimon.model import DataFile
from lithify.formats.paimon.planning.merge_tree.levels import build_levels
from lithify.formats.paimon.planning.merge_tree.policy import MergeTreeOptions
from lithify.formats.paimon.planning.merge_tree.rewrites import (
    UnitWork,
    drops_deletes,
    work_of_top_files,
    work_of_unit,
)
from support.cases import case
from support.merge_trees import SMALL_FILE, file, levels_of, names

TOP = 5
POLICY = MergeTreeOptions(small_file_size=SMALL_FILE)


def large(name: str, *keys: int, **changes: Any) -> DataFile:
    return file(name, (keys[0], keys[-1]), **{"size": SMALL_FILE, **changes})


def small(name: str, *keys: int, **changes: Any) -> DataFile:
    return file(name, (keys[0], keys[-1]), **{"size": SMALL_FILE - 1, **changes})


def fate(work: UnitWork) -> tuple[list[list[str]], list[str]]:
    return [sorted(names(rewrite.files)) for rewrite in work.rewrites], names(work.upgrades)


@pytest.mark.parametrize(
    ("files", "rewrites", "upgrades"),
    [
        case([large("a", 0, 9)], [], ["a"], id="a large file moves up"),
        case([small("a", 0, 9)], [], ["a"], id="a small file without neighbours moves up, too"),
        case([large("a", 0, 9, level=TOP)], [], [], id="a large file of the output level stays"),
        case([small("a", 0, 9, level=TOP)], [], [], id="a small lone file of the output level stays, too"),
        case([large("a", 0, 9, deletes=1)], [["a"]], [], id="deletes must not reach the top"),
        case([large("a", 0, 9, deletes=None)], [["a"]], [], id="an unknown count means deletes"),
        case([small("a", 0, 9, deletes=1)], [["a"]], [], id="a small file with deletes"),
        case([large("a", 0, 9, level=TOP, deletes=1)], [["a"]], [], id="deletes at the top are cleaned away"),
        case([large("a", 0, 5), large("b", 5, 9)], [["a", "b"]], [], id="overlapping files are merged"),
        case([small("b", 5, 9), small("a", 0, 4)], [["a", "b"]], [], id="small neighbours become one"),
        case(
            [small("a", 0, 4), large("b", 5, 9, level=4), small("c", 10, 14)],
            [],
            ["a", "b", "c"],
            id="a large file between two small ones keeps them apart",
        ),
        case(
            [small("a", 0), small("b", 1), large("c", 2, level=TOP), small("d", 3), small("e", 4)],
            [["a", "b"], ["d", "e"]],
            [],
            id="so it does when it stays where it is",
        ),
        case(
            [small("a", 0), small("b", 1), large("c", 2, deletes=1), small("d", 3), small("e", 4)],
            [["a", "b"], ["c"], ["d", "e"]],
            [],
            id="and when it is rewritten by itself",
        ),
        case(
            [small("a", 0, 4), large("b", 5, 9), large("c", 9, 19), small("d", 20), large("e", 30)],
            [["a", "b", "c", "d"]],
            ["e"],
            id="small files go along with the overlap next to them",
        ),
    ],
)
def test_work_to_the_top(files: list[DataFile], rewrites: list[list[str]], upgrades: list[str]) -> None:
    work = work_of_unit(files, TOP, build_levels(files, TOP + 1), POLICY)
    assert fate(work) == (rewrites, upgrades)


@pytest.mark.parametrize("deletes", [0, 1, None])
def test_deletes_may_move_up_below_the_top(deletes: int | None) -> None:
    files = [large("a", 0, 9, deletes=deletes)]
    assert fate(work_of_unit(files, TOP - 1, build_levels(files, TOP + 1), POLICY)) == ([], ["a"])


def test_the_top_is_that_of_the_tree_not_of_the_option() -> None:
    """A lowered num-levels: level 2 is no longer the top while level 5 has files."""
    picked = large("a", 0, 9, deletes=1)
    levels = build_levels([picked, large("old", 0, 9, level=TOP)], 3)
    assert fate(work_of_unit([picked], 2, levels, POLICY)) == ([], ["a"])


def test_forced_rewrites_move_nothing_in_metadata() -> None:
    files = [large("a", 0), small("b", 1), small("c", 2), large("d", 3, level=TOP), small("e", 4)]
    policy = MergeTreeOptions(small_file_size=SMALL_FILE, force_rewrite=True)
    work = work_of_unit(files, TOP, build_levels(files, TOP + 1), policy)
    assert fate(work) == ([["a"], ["b", "c"], ["d"], ["e"]], [])


def test_files_with_expired_rows_do_not_move_up_in_metadata() -> None:
    times = {"a": 99, "b": 100, "c": None, "d": 99}
    files = [
        replace(large(name, number, level=TOP if name == "d" else 0), earliest=times[name])
        for number, name in enumerate(times)
    ]
    work = work_of_unit(files, TOP, build_levels(files, TOP + 1), POLICY, expired_before=100)
    assert fate(work) == ([["a"], ["d"]], ["b", "c"])


def test_files_of_the_top_level_are_rewritten_one_by_one() -> None:
    files = [small("a", 0, level=TOP), small("b", 1, level=TOP), large("c", 2, level=TOP)]
    assert fate(work_of_top_files(files)) == ([["a"], ["b"], ["c"]], [])


def test_a_rewrite_knows_its_files_and_bytes() -> None:
    files = [small("a", 0, 4), small("b", 2, 6), small("c", 8)]
    (rewrite,) = work_of_unit(files, TOP, build_levels(files, TOP + 1), POLICY).rewrites
    assert (len(rewrite.sections), names(rewrite.files)) == (2, ["a", "b", "c"])
    assert rewrite.size == 3 * (SMALL_FILE - 1)


@pytest.mark.parametrize(
    ("runs", "output", "drops"),
    [
        case([(0, 1), (5, 1)], 5, True, id="the top level holds the oldest rows"),
        case([(0, 1), (5, 1)], 4, False, id="a level below still has rows"),
        case([(0, 1), (3, 1)], 3, True, id="nothing lies below the output"),
        case([(0, 1), (3, 1)], 4, True, id="the output lies below everything"),
        case([(0, 1), (3, 1)], 2, False, id="the next level would get its row back"),
        case([(0, 1), (0, 1)], 5, True, id="level 0 alone goes to the top"),
        case([(0, 1), (0, 1)], 0, False, id="older rows may lie beside it in level 0"),
    ],
)
def test_deletes_vanish_only_where_no_older_row_is_left(
    runs: list[tuple[int, int]], output: int, drops: bool
) -> None:
    assert drops_deletes(levels_of(*runs), output, POLICY) is drops
    marking = replace(POLICY, has_vectors=True)
    assert drops_deletes(levels_of(*runs), output, marking) is (output > 0)


def test_files_with_deletes_leave_level_0_by_a_rewrite_where_rows_are_deleted_by_vectors() -> None:
    deletes = {"a": 0, "b": 1, "c": None, "d": 1}
    files = [
        replace(large(name, number, level=2 if name == "d" else 0), delete_rows=deletes[name])
        for number, name in enumerate(deletes)
    ]
    for policy, rewritten in ((replace(POLICY, has_vectors=True), [["b"], ["c"]]), (POLICY, [])):
        work = work_of_unit(files, TOP - 1, build_levels(files, TOP + 1), policy)
        moved = [name for name in deletes if [name] not in rewritten]
        assert fate(work) == (rewritten, moved)
