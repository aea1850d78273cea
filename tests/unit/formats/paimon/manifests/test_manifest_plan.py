"""Which manifests are merged, against what Paimon's classes say in words."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.formats.paimon.manifests.entries import Stats
from lithify.formats.paimon.manifests.manifest_plan import (
    as_stats,
    full_is_due,
    may_hold,
    minor_groups,
    partition_ranges,
)
from lithify.formats.paimon.options.snapshot_options import ManifestOptions
from lithify.formats.paimon.rows.binary_row import encode_row
from lithify.formats.paimon.schema.type_texts import parse_type
from support.cases import case
from support.manifest_lists import TYPES, random_partition
from support.merge_trees import repeatable

OPTIONS = ManifestOptions(target_size=100, merge_min_count=3, full_threshold=250)
UNKNOWN = Stats(encode_row([None, None], TYPES), encode_row([None, None], TYPES), None)


@dataclass(frozen=True)
class Sized:
    file_size: int
    num_deleted_files: int = 0
    num_added_files: int = 1


@pytest.mark.parametrize(
    ("sizes", "groups"),
    [
        case([], [], id="nothing"),
        case([10, 10], [[10], [10]], id="too few"),
        case([1, 1, 1], [[1, 1, 1]], id="enough, however small"),
        case([60, 40, 1], [[60, 40], [1]], id="up to the target"),
        case([100, 1, 1], [[100], [1], [1]], id="a large one stays"),
        case([1, 100, 1], [[1, 100], [1]], id="small ones before a large one are joined with it"),
        case([60, 60, 1, 1, 1], [[60, 60], [1, 1, 1]], id="the rest is counted by itself"),
    ],
)
def test_small_manifests_are_grouped_up_to_the_target_size(sizes: list[int], groups: list[list[int]]) -> None:
    found = minor_groups([Sized(size) for size in sizes], OPTIONS)
    assert [[each.file_size for each in group] for group in found] == groups


@repeatable
@given(st.lists(st.integers(1, 120)), st.integers(0, 6))
def test_minor_groups_keep_every_manifest_and_leave_less_than_is_due(sizes: list[int], count: int) -> None:
    options = ManifestOptions(target_size=100, merge_min_count=count)
    manifests = [Sized(size) for size in sizes]
    groups = minor_groups(manifests, options)
    assert [each for group in groups for each in group] == manifests
    assert len(groups) <= sum(sizes) // 100 + max(count - 1, 1)


@pytest.mark.parametrize(
    ("manifests", "due"),
    [
        case([], False, id="nothing"),
        case([Sized(99), Sized(99)], False, id="small ones below the threshold"),
        case([Sized(99), Sized(99), Sized(52)], True, id="small ones at the threshold"),
        case([Sized(1000), Sized(10)], False, id="large ones without deletions do not count"),
        case([Sized(1000, num_deleted_files=1)], True, id="large ones with deletions do"),
    ],
)
def test_a_full_merge_is_due_above_its_threshold(manifests: list[Sized], due: bool) -> None:
    assert full_is_due(manifests, OPTIONS) is due


@repeatable
@given(st.randoms(use_true_random=False), st.integers(1, 5), st.integers(1, 5))
def test_partition_that_was_deleted_from_is_never_taken_for_untouched(
    rng: Random, there: int, deleted: int
) -> None:
    """False alarms are allowed, but not where one column alone tells the two apart."""
    ours = {random_partition(rng): 1 for _ in range(there)}
    theirs = {random_partition(rng): 1 for _ in range(deleted)}
    stats = as_stats(partition_ranges(ours, TYPES), TYPES)
    may = may_hold(len(ours), stats, partition_ranges(theirs, TYPES), TYPES)
    assert may or not ours.keys() & theirs.keys()


@pytest.mark.parametrize(
    ("there", "deleted", "may"),
    [
        case(("a", 1), ("a", 1), True, id="the same"),
        case(("a", 1), ("b", 1), False, id="another day"),
        case(("a", 1), ("a", 2), False, id="another number"),
        case((None, 1), ("a", 1), False, id="null there"),
        case(("a", 1), (None, 1), False, id="null deleted"),
        case((None, 1), (None, 1), True, id="null in both"),
    ],
)
def test_one_partition_each(
    there: tuple[str | None, int], deleted: tuple[str | None, int], may: bool
) -> None:
    ours, theirs = (
        partition_ranges({encode_row([day.encode() if day else None, number], TYPES): 1}, TYPES)
        for day, number in (there, deleted)
    )
    assert may_hold(1, as_stats(ours, TYPES), theirs, TYPES) is may


def test_without_statistics_a_manifest_may_hold_anything() -> None:
    deleted = partition_ranges({encode_row([b"a", 1], TYPES): 1}, TYPES)
    assert may_hold(1, UNKNOWN, deleted, TYPES)


def test_without_partition_columns_a_manifest_may_hold_anything() -> None:
    assert may_hold(1, as_stats([], ()), partition_ranges({encode_row([], []): 1}, ()), ())


def test_binary_columns_have_no_bounds() -> None:
    types = [parse_type("BYTES")]
    (column,) = partition_ranges({encode_row([b"x"], types): 2, encode_row([None], types): 3}, types)
    assert (column.low, column.high, column.nulls) == (None, None, 3)
    assert may_hold(1, as_stats([column], types), [column], types)
