"""Which small files and files with deleted rows are packed into bins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given

from lithify.engine.pack.bins import has_many_deleted, pack, pack_fully
from lithify.engine.pack.options import PackingOptions
from support.cases import case
from support.merge_trees import names, repeatable
from support.packed_files import File, cases, marked

LOOSE = PackingOptions(target_file_size=100, small_file_size=70, open_file_cost=1, min_files=3)
MARKING = replace(LOOSE, delete_ratio=0.2)
Case = tuple[PackingOptions, tuple[File, ...]]


def files(*sizes: int) -> list[File]:
    return [File(f"f{number}", size, 10 * number) for number, size in enumerate(sizes)]


def bins(*given_files: File, options: PackingOptions = LOOSE) -> list[list[str]]:
    return [names(each) for each in pack(given_files, options).bins]


def sorted_names(packed: Iterable[File]) -> list[str]:
    return sorted(names(packed))


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        case([], [], id="no files"),
        case([10, 10], [], id="too few"),
        case([10, 10, 10], [["f0", "f1", "f2"]], id="enough files"),
        case([70, 70, 70], [], id="no small ones"),
        case([69, 30, 10], [["f2", "f1", "f0"]], id="smallest first"),
        case([69, 69, 69], [["f0", "f1", "f2"]], id="enough bytes"),
        case([69, 69, 69, 60], [["f3", "f0", "f1"]], id="a full bin leaves the rest"),
    ],
)
def test_small_files_are_packed(sizes: list[int], expected: list[list[str]]) -> None:
    assert bins(*files(*sizes)) == expected


@repeatable
@given(cases(is_ordered=False))
def test_every_small_file_is_in_one_bin_or_left_over(drawn: Case) -> None:
    options, given_files = drawn
    packed = pack(given_files, options)
    in_bins = [each for one in packed.bins for each in one]
    small = [each.name for each in given_files if each.size < options.small_file_size]
    many = [each.name for each in given_files if has_many_deleted(each, options)]
    assert sorted_names([*in_bins, *packed.leftovers]) == sorted({*small, *many})
    assert all(len(one) > 1 for one in packed.small_bins)
    assert len(packed.leftovers) < options.min_files
    assert all(each.vector_file is None for one in (*packed.small_bins, packed.leftovers) for each in one)
    last = options.small_file_size + options.open_file_cost
    for one in packed.small_bins:
        assert sum(each.size + options.open_file_cost for each in one) < max(
            options.full_bin_size + last, 2 * last
        )


def test_a_plan_takes_a_limited_number_of_files() -> None:
    packed = pack(files(1, 1, 1, 1, 1, 1), replace(LOOSE, max_files=4))
    assert names(f for one in packed.bins for f in one) == ["f0", "f1", "f2", "f3"]


@pytest.mark.parametrize(
    ("size", "deleted", "is_rewritten"),
    [
        case(99, 2, False, id="a large file with few"),
        case(99, 3, True, id="a large file with many"),
        case(99, None, True, id="a large file with an unknown number"),
        case(10, 1, True, id="a small file with few"),
    ],
)
def test_file_with_deleted_rows_is_rewritten_alone(
    size: int, deleted: int | None, is_rewritten: bool
) -> None:
    alone = marked(File("f", size), deleted=deleted)
    assert bins(alone, options=MARKING) == ([["f"]] if is_rewritten else [])
    assert [names(each) for each in pack_fully([alone], MARKING)] == [["f"]]


def test_files_of_one_file_of_vectors_are_packed_together() -> None:
    """The smallest group first, and no group is torn."""
    sizes = (60, 65, 69, 60, 65, 69)
    found = [marked(each, f"vectors-{place % 3}") for place, each in enumerate(files(*sizes))]
    expected = [["f0", "f3", "f1", "f4"], ["f2", "f5"]]
    assert bins(*found, options=MARKING) == expected
    assert bins(*found, File("g", 10), File("h", 11), options=MARKING) == expected


def test_files_with_deleted_rows_do_not_count_as_small_files() -> None:
    found = [*files(10, 10), marked(File("m", 10))]
    assert bins(*found, options=MARKING) == [["m"]]
    assert names(pack(found, MARKING).leftovers) == ["f0", "f1"]


def test_deleted_rows_do_not_count_without_a_ratio() -> None:
    assert not has_many_deleted(marked(File("f", 99), deleted=9), LOOSE)


def test_full_packing_joins_files_with_deleted_rows_and_small_ones() -> None:
    few = marked(File("f", 99), deleted=1)
    assert [names(each) for each in pack_fully([few, *files(10)], MARKING)] == [["f", "f0"]]
    assert pack_fully([File("f", 99)], MARKING) == ()
