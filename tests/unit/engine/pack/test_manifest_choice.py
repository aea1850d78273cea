"""A merge rewrites what is small, changed or overlapping, and only where a snapshot is worth it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lithify.engine.pack.manifest_choice import (
    ManifestChoice,
    ManifestFigures,
    choose_manifests,
    is_worthwhile,
)

TARGET = 1000


def figures(*manifests: tuple[int, int, int], **columns: Any) -> ManifestFigures:
    """Manifests by size, least and greatest partition, of a hundred entries each."""
    sizes, low, high = (np.array(column, dtype=np.int64) for column in zip(*manifests, strict=True))
    count = len(manifests)
    known = {"entries": np.full(count, 100), "dropped": np.zeros(count, dtype=np.int64)}
    found = {name: np.array(values) for name, values in {**known, **columns}.items()}
    must_change = found.pop("must_change", found["dropped"] > 0)
    return ManifestFigures(sizes=sizes, low=low, high=high, must_change=must_change, **found)


def chosen(found: ManifestFigures) -> list[int]:
    return np.flatnonzero(choose_manifests(found, TARGET).rewritten).tolist()


def worth(found: ManifestFigures) -> bool:
    return is_worthwhile([choose_manifests(found, TARGET)], int(found.entries.sum()))


def test_small_manifests_are_merged_and_full_ones_stay() -> None:
    found = figures((1000, 0, 1), (10, 0, 9), (760, 1, 2), (20, 0, 9), (740, 3, 3))
    assert chosen(found) == [1, 3, 4]
    assert choose_manifests(found, TARGET).new == 1


def test_one_small_manifest_would_only_be_copied() -> None:
    assert chosen(figures((1000, 0, 1), (10, 0, 9))) == []


def test_full_manifest_with_entries_that_vanish_is_rewritten() -> None:
    assert chosen(figures((1000, 0, 1), (1000, 1, 2), dropped=[0, 5])) == [1]


def test_manifest_of_which_little_is_left_is_small() -> None:
    found = figures((1000, 0, 1), (1000, 1, 2), (100, 2, 2), dropped=[90, 0, 0])
    assert chosen(found) == [0, 2]
    assert choose_manifests(found, TARGET).new == 1


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        ([(0, 9)] * 4, [0, 1, 2, 3]),
        ([(0, 9)] * 3, []),
        ([(0, 1), (1, 2), (2, 3), (3, 4)], []),
        ([(5, 5)] * 9, []),
        ([(0, 2), (1, 3), (2, 4), (3, 5)], [0, 1, 2, 3]),
        ([(0, 3), (1, 2), (1, 2), (1, 2), (3, 9), (9, 9)], [0, 1, 2, 3]),
        ([(-1, -1)] * 9, []),
    ],
)
def test_full_manifests_are_sorted_once_enough_overlap(
    ranges: list[tuple[int, int]], expected: list[int]
) -> None:
    """Sharing an end is no overlap, and neither is that a partition fills many manifests."""
    assert chosen(figures(*((1000, low, high) for low, high in ranges))) == expected


def test_few_manifests_are_not_worth_a_snapshot() -> None:
    assert not worth(figures(*[(10, 0, 0)] * 4))
    assert worth(figures(*[(10, 0, 0)] * 5))


def test_many_entries_that_vanish_are_worth_a_snapshot() -> None:
    few = figures((10, 0, 0), (10, 0, 0), entries=[5000, 5000], dropped=[900, 0])
    many = figures((10, 0, 0), (10, 0, 0), entries=[5000, 5000], dropped=[1000, 0])
    small_share = figures((10, 0, 0), (10, 0, 0), entries=[5000, 50_000], dropped=[1000, 0])
    assert [worth(each) for each in (few, many, small_share)] == [False, True, False]


def test_sorted_manifests_are_not_sorted_again() -> None:
    assert not worth(figures(*((1000, each, each + 1) for each in range(30)), (300, 0, 31)))


def test_merges_of_several_kinds_are_counted_together() -> None:
    choice = choose_manifests(figures(*[(10, 0, 0)] * 3), TARGET)
    assert [is_worthwhile([choice] * count, 600) for count in (1, 2)] == [False, True]


def test_snapshot_without_manifests_has_nothing_to_merge() -> None:
    none = np.empty(0, dtype=np.int64)
    found = choose_manifests(ManifestFigures(none, none, none, none, none, none.astype(bool)), TARGET)
    assert found.count == 0
    assert not is_worthwhile([found], 0)
    assert isinstance(found, ManifestChoice)
