"""Manifests are merged as the table's properties say, by the rules of Java's `ManifestMergeManager`."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.errors import InvalidOption
from lithify.formats.iceberg.manifests.manifest_lists import ManifestFile
from lithify.formats.iceberg.manifests.merging import MergeOptions, gathered, merge_options, merge_plan
from support.iceberg_manifests import listed


def named(lengths: list[tuple[int, int]]) -> list[ManifestFile]:
    return [listed(f"m{n}", length=length, spec_id=spec) for n, (length, spec) in enumerate(lengths)]


def paths(plan: list[tuple[ManifestFile, ...]]) -> list[list[str]]:
    return [[each.path for each in group] for group in plan]


def test_defaults_are_those_of_iceberg() -> None:
    assert merge_options({}) == MergeOptions(8 << 20, 100, True)


def test_properties_of_the_table_are_read() -> None:
    properties = {
        "commit.manifest.target-size-bytes": "10",
        "commit.manifest.min-count-to-merge": "2",
        "commit.manifest-merge.enabled": "False",
    }
    assert merge_options(properties) == MergeOptions(10, 2, False)


def test_property_that_is_no_number_is_named() -> None:
    with pytest.raises(InvalidOption, match="target-size"):
        merge_options({"commit.manifest.target-size-bytes": "8m"})


def test_bin_of_the_newest_manifest_waits_for_enough() -> None:
    manifests = named([(1, 0)] * 3)
    assert paths(merge_plan(manifests, MergeOptions(10, 4))) == [["m0"], ["m1"], ["m2"]]
    assert paths(merge_plan(manifests, MergeOptions(10, 3))) == [["m0", "m1", "m2"]]


def test_older_manifests_are_merged_however_few_they_are() -> None:
    assert paths(merge_plan(named([(9, 0), (5, 0), (5, 0)]), MergeOptions(10, 100))) == [["m0"], ["m1", "m2"]]


def test_manifests_of_newer_specs_come_first() -> None:
    assert paths(merge_plan(named([(1, 0), (1, 1), (1, 0), (1, 1)]), MergeOptions(10, 100))) == [
        ["m1", "m3"],
        ["m0"],
        ["m2"],
    ]


def test_nothing_is_merged_where_the_table_forbids_it() -> None:
    assert len(merge_plan(named([(1, 0)] * 9), MergeOptions(10, 1, enabled=False))) == 9


def test_emptied_manifests_of_a_spec_are_gathered_up_to_the_size_of_the_table() -> None:
    manifests = named([(4, 0), (4, 1), (4, 0), (4, 0), (12, 1)])
    found = gathered(manifests, MergeOptions(10, 100, enabled=False))
    assert paths(found) == [["m0"], ["m2", "m3"], ["m1"], ["m4"]]
    assert gathered([], MergeOptions()) == []


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 2)), max_size=12), st.integers(1, 4))
def test_every_manifest_stays_once_and_bins_fit(lengths: list[tuple[int, int]], count: int) -> None:
    manifests = named(lengths)
    plan = merge_plan(manifests, MergeOptions(10, count))
    assert sorted(each.path for group in plan for each in group) == sorted(each.path for each in manifests)
    for group in plan:
        assert len({each.spec_id for each in group}) == 1
        assert len(group) == 1 or sum(each.length for each in group) <= 10
        assert [each.path for each in group] == [each.path for each in manifests if each in group]


def test_equal_manifests_are_told_apart() -> None:
    one = listed("m", length=6)
    assert len(merge_plan([one, replace(one), replace(one)], MergeOptions(10, 2))) == 3
