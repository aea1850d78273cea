"""The plan of a bucket: units and rests by example, and what a compaction does to any tree by property."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime
from itertools import chain, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.columns.order_key import OrderKey
from lithify.errors import CorruptTable
from lithify.formats.paimon.model import DataFile
from lithify.formats.paimon.planning.merge_tree.levels import build_levels
from lithify.formats.paimon.planning.merge_tree.plan import Unit, plan_bucket
from lithify.formats.paimon.planning.merge_tree.policy import LoggedUpgrades, MergeTreeOptions
from lithify.formats.paimon.planning.merge_tree.rewrites import Rewrite
from lithify.formats.paimon.planning.universal.triggers import Trigger
from lithify.formats.paimon.planning.work import FULL, Idle
from lithify.formats.protocol.strategy import Strategy
from support.cases import case
from support.merge_trees import (
    MIDNIGHT,
    SMALL_FILE,
    bucket_of,
    file,
    moments,
    names,
    policies,
    repeatable,
    stack,
    trees,
)

POLICY = MergeTreeOptions(run_trigger=3, small_file_size=SMALL_FILE)
FORCING = replace(POLICY, force_rewrite=True)
ONE_BUCKET = {"files": trees(), "policy": policies(), "strategy": st.sampled_from(Strategy), "now": moments()}

Files = tuple[DataFile, ...]


def plan(
    files: Files,
    strategy: Strategy = Strategy.MINOR,
    policy: MergeTreeOptions = POLICY,
    now: datetime = MIDNIGHT,
) -> Unit | Idle:
    return plan_bucket(bucket_of(files), policy, strategy, now)


def unit_of(files: Files, strategy: Strategy = Strategy.MINOR, policy: MergeTreeOptions = POLICY) -> Unit:
    unit = plan(files, strategy, policy)
    assert isinstance(unit, Unit)
    return unit


class TestRests:
    @pytest.mark.parametrize(
        ("files", "strategy"),
        [
            case((), Strategy.MINOR, id="an empty bucket"),
            case((), Strategy.FULL, id="an empty bucket, fully"),
            case(stack((0, 1), (5, 100)), Strategy.MINOR, id="no trigger fires"),
            case(stack((5, 100)), Strategy.FULL, id="everything is in the top level already"),
            case(
                (file("a", level=5, deletes=1, size=1),),
                Strategy.FULL,
                id="even where the top level holds small files and deletes",
            ),
        ],
    )
    def test_buckets_without_work_say_why(self, files: Files, strategy: Strategy) -> None:
        rest = plan(files, strategy)
        assert isinstance(rest, Idle)
        assert rest.bucket == bucket_of(files).id
        assert rest.reason


@given(**ONE_BUCKET)
@repeatable
def test_a_bucket_that_writers_compact_too_is_compacted_as_a_whole(
    files: Files, policy: MergeTreeOptions, strategy: Strategy, now: datetime
) -> None:
    """With a file of level 0, so that no writer can commit a compaction that began before."""
    marked = replace(policy, force_level0=True, has_vectors=True)
    planned, alone = (
        plan(files, strategy, replace(marked, writers_compact=shared), now) for shared in (True, False)
    )
    level0 = {file.name for file in files if file.level == 0}
    if isinstance(planned, Unit):
        assert planned == alone
        assert level0
        assert {*names(planned.files)} == {file.name for file in files}
        assert level0 <= {*names(planned.inputs)}
    elif isinstance(alone, Unit):
        assert not level0 or len(alone.files) < len(files)


class TestUnits:
    def test_tell_what_is_done_and_why(self) -> None:
        files = (
            file("new", (0, 9), size=100, sequences=(5, 6)),
            file("next", (5, 14), size=100, sequences=(3, 4)),
            file("apart", (20, 29), level=2, size=SMALL_FILE, deletes=2),
            file("old", (0, 99), level=5, size=10**6),
        )
        policy = replace(POLICY, run_trigger=2, size_ratio=1000)
        unit = unit_of(files, policy=policy)
        assert (unit.bucket, unit.levels) == (bucket_of(files).id, build_levels(files, 6))
        assert (unit.verdict.trigger, unit.output_level, unit.drop_deletes) == (Trigger.SIZE_RATIO, 4, False)
        assert names(unit.files) == ["new", "next", "apart"]
        assert unit.run_numbers == {"new": 0, "next": 1, "apart": 2}
        assert names(unit.inputs) == ["new", "next", "apart"]
        assert (names(unit.work.upgrades), unit.read_bytes) == (["apart"], 200)

    def test_minor_plans_force_level_0_only_where_the_table_asks(self) -> None:
        files = stack((0, 1), (5, 100))
        unit = unit_of(files, policy=replace(POLICY, force_level0=True))
        assert (unit.verdict.trigger, unit.output_level, names(unit.inputs)) == (
            Trigger.FORCED_LEVEL0,
            4,
            ["L0-0"],
        )

    @pytest.mark.parametrize("strategy", Strategy)
    def test_overlap_in_a_level_is_corruption(self, strategy: Strategy) -> None:
        with pytest.raises(CorruptTable) as caught:
            plan((file("a", (0, 5), level=1), file("b", (3, 9), level=1)), strategy)
        assert caught.value.path == "b"


class TestFull:
    def test_takes_everything_to_the_top(self) -> None:
        unit = unit_of(stack((0, 1), (2, 10), (5, 10**6)), Strategy.FULL)
        assert (unit.verdict.trigger, unit.output_level, unit.drop_deletes) == (FULL.trigger, 5, True)
        assert names(unit.inputs) == ["L0-0", "L2-1", "L5-2"]

    @pytest.mark.parametrize("level", [0, 1, 4])
    def test_a_single_run_below_the_top_moves_up(self, level: int) -> None:
        unit = unit_of(stack((level, 1)), Strategy.FULL)
        assert (unit.work.rewrites, len(unit.work.upgrades)) == ((), 1)

    def test_large_files_of_the_top_level_stay_untouched(self) -> None:
        files = (
            file("new", (0, 4)),
            file("top, small", (0, 4), level=5),
            file("top, large", (5, 9), level=5, size=SMALL_FILE),
        )
        unit = unit_of(files, Strategy.FULL)
        assert names(unit.files) == ["new", "top, small", "top, large"]
        assert sorted(names(unit.inputs)) == ["new", "top, small"]

    def test_a_forced_rewrite_takes_the_files_of_a_settled_bucket_one_by_one(self) -> None:
        files = (file("b", (5, 9), level=5), file("a", (0, 4), level=5))
        unit = unit_of(files, Strategy.FULL, FORCING)
        assert [names(rewrite.files) for rewrite in unit.work.rewrites] == [["a"], ["b"]]
        assert (unit.drop_deletes, unit.work.upgrades) == (True, ())


@given(**ONE_BUCKET)
@repeatable
def test_every_picked_file_is_rewritten_moved_or_left_in_place(
    files: Files, policy: MergeTreeOptions, strategy: Strategy, now: datetime
) -> None:
    unit = plan(files, strategy, policy, now)
    if isinstance(unit, Idle):
        return
    leaving, picked = Counter(unit.inputs), Counter(unit.files)
    assert leaving
    assert leaving <= picked
    assert unit.run_numbers.items() <= unit.levels.run_numbers().items()
    assert set(unit.run_numbers) == set(names(unit.files))
    assert unit.read_bytes + sum(file.size for file in unit.work.upgrades) == sum(
        file.size for file in unit.inputs
    )
    for stays in picked - leaving:
        assert stays.level == unit.output_level
        assert not policy.force_rewrite
    for moves in unit.work.upgrades:
        assert moves.level < unit.output_level
        assert not policy.force_rewrite
    if unit.output_level == unit.levels.max_level:
        kept = chain(picked - leaving, unit.work.upgrades)
        assert not any(file.may_hold_deletes for file in kept)


@given(**ONE_BUCKET)
@repeatable
def test_work_is_in_key_order_and_no_rewrite_spans_a_file_that_it_does_not_take(
    files: Files, policy: MergeTreeOptions, strategy: Strategy, now: datetime
) -> None:
    unit = plan(files, strategy, policy, now)
    if isinstance(unit, Idle):
        return
    spans = [span_of(rewrite) for rewrite in unit.work.rewrites]
    assert all(before.max_key < after.min_key for before, after in pairwise(unit.work.upgrades))
    assert all(before[1] < after[0] for before, after in pairwise(spans))
    for rewrite, (first, last) in zip(unit.work.rewrites, spans, strict=True):
        taken = set(rewrite.files)
        inside = {file for file in unit.files if file.max_key >= first and file.min_key <= last}
        assert inside == taken
        assert len(taken) > 1 or policy.force_rewrite or any(file.may_hold_deletes for file in taken)


@given(**ONE_BUCKET)
@repeatable
def test_deletes_vanish_exactly_when_every_run_is_picked(
    files: Files, policy: MergeTreeOptions, strategy: Strategy, now: datetime
) -> None:
    unit = plan(files, strategy, policy, now)
    if isinstance(unit, Unit):
        assert unit.drop_deletes == (Counter(unit.files) == Counter(files))


@given(**ONE_BUCKET)
@repeatable
def test_the_same_bucket_gets_the_same_plan(
    files: Files, policy: MergeTreeOptions, strategy: Strategy, now: datetime
) -> None:
    assert plan(files, strategy, policy, now) == plan(files[::-1], strategy, policy, now)


@given(files=trees(), policy=policies())
@repeatable
def test_a_full_compaction_leaves_one_sorted_run_and_nothing_more_to_do(
    files: Files, policy: MergeTreeOptions
) -> None:
    policy = replace(policy, force_rewrite=False)
    unit = plan(files, Strategy.FULL, policy)
    settled = compacted(files, unit) if isinstance(unit, Unit) else files
    levels = build_levels(settled, policy.num_levels)
    assert [run.level for run in levels.runs] == [levels.max_level]
    assert isinstance(plan(settled, Strategy.FULL, policy), Idle)


@given(files=trees(), policy=policies(), now=moments())
@repeatable
def test_minor_compactions_come_to_rest(files: Files, policy: MergeTreeOptions, now: datetime) -> None:
    """Each leaves fewer runs, or at least fewer in level 0, and levels that are still sorted."""
    unit = plan(files, Strategy.MINOR, policy, now)
    while isinstance(unit, Unit):
        files = compacted(files, unit)
        after = build_levels(files, policy.num_levels)
        assert len(after.runs) + len(after.level0) < len(unit.levels.runs) + len(unit.levels.level0)
        unit = plan(files, Strategy.MINOR, policy, now)


def compacted(files: Files, unit: Unit) -> Files:
    """The bucket after a unit whose rewrites made one file each."""
    inputs = set(unit.inputs)
    written = [
        replace(
            rewrite.files[0],
            name=f"of {rewrite.files[0].name}",
            size=rewrite.size,
            level=unit.output_level,
            min_key=first,
            max_key=last,
            max_sequence=max(file.max_sequence for file in rewrite.files),
            delete_rows=0 if unit.drop_deletes else 1,
        )
        for rewrite in unit.work.rewrites
        for first, last in [span_of(rewrite)]
    ]
    moved = [replace(file, level=unit.output_level) for file in unit.work.upgrades]
    return (*(file for file in files if file not in inputs), *moved, *written)


def span_of(rewrite: Rewrite) -> tuple[OrderKey, OrderKey]:
    return rewrite.sections[0].min_key, rewrite.sections[-1].max_key


@pytest.mark.parametrize(
    ("logged", "strategy", "files"),
    [
        (LoggedUpgrades.NONE, Strategy.FULL, []),
        (LoggedUpgrades.TO_TOP, Strategy.FULL, ["new", "old"]),
        (LoggedUpgrades.TO_TOP, Strategy.MINOR, []),
        (LoggedUpgrades.OF_LEVEL0, Strategy.FULL, ["new"]),
        (LoggedUpgrades.OF_LEVEL0, Strategy.MINOR, ["new"]),
    ],
)
def test_upgraded_files_are_read_for_the_changelog(
    logged: LoggedUpgrades, strategy: Strategy, files: list[str]
) -> None:
    policy = replace(POLICY, logged_upgrades=logged, force_level0=True, size_amplification_percent=10**6)
    tree = [
        file("new", (1, 2), level=0, size=10 * SMALL_FILE),
        file("old", (3, 4), level=4, size=10**6 * SMALL_FILE),
        file("top", (5, 6), level=5, size=10**7 * SMALL_FILE),
    ]
    unit = plan_bucket(bucket_of(tree), policy, strategy, MIDNIGHT)
    assert isinstance(unit, Unit)
    assert sorted(names(unit.logged)) == files
    assert unit.read_bytes == sum(each.size for each in tree if each.name in files)
