"""Plans take what Java would take, compared with a simple model of its rules; clustered files keep apart."""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.columns.column_groups import Numbers
from lithify.engine.pack.next_fit import next_fit
from lithify.formats.iceberg.planning.clustering import ClusterColumn, clustering_of
from lithify.formats.iceberg.planning.figures import OTHER_SPECS, Figures, PartitionDeletes
from lithify.formats.iceberg.planning.options import JobOrder, PlanningOptions
from lithify.formats.iceberg.planning.plan import RewritePlan, plan_rewrites
from lithify.formats.iceberg.planning.statistics import group_statistics
from lithify.formats.iceberg.planning.triggers import verdicts
from support.cases import case
from support.properties import examples

SMALL = PlanningOptions(target_size=100, min_size=75, max_size=180, max_group_size=400)
KEY = ClusterColumn(1, "long", is_sorted=True)
Range = tuple[int, int] | None


def figures(
    sizes: Sequence[int],
    partitions: Sequence[int] | None = None,
    delete_files: Sequence[int] | None = None,
    deleted: Sequence[int] | None = None,
    rows: Sequence[int] | None = None,
    **more: Any,
) -> Figures:
    def numbers(values: Sequence[int] | None, default: int) -> Numbers:
        return np.array([default] * len(sizes) if values is None else values, dtype=np.int64)

    found = Figures(
        sizes=numbers(sizes, 0),
        rows=numbers(rows, 100),
        partitions=numbers(partitions, 0),
        delete_files=numbers(delete_files, 0),
        deleted_rows=numbers(deleted, 0),
        vector_rows=numbers(None, 0),
        is_doubled=np.zeros(len(sizes), dtype=bool),
        millis=numbers(None, 0),
        sequences=numbers(None, 1),
        position_files=numbers(None, 0),
        takes_positions=numbers(None, 1) > 0,
        equality=PartitionDeletes(*[numbers(None, 0)[:0]] * 4),
        shared=PartitionDeletes(*[numbers(None, 0)[:0]] * 4),
        puffins=numbers(None, 0),
        dead_bytes=numbers(None, 0),
    )
    return replace(found, **more)


def ranged(ranges: Sequence[Range], number: int = 1) -> pa.Table:
    """Data files with bounds of one column."""
    bounds = [[None if each is None else struct.pack("<q", each[side]) for each in ranges] for side in (0, 1)]
    names = [f"{side}_bounds.{number}" for side in ("lower", "upper")]
    return pa.table([pa.array(each, pa.binary()) for each in bounds], names)


def chosen_files(plan: RewritePlan) -> list[list[int]]:
    return [plan.files(place).tolist() for place in range(len(plan.chosen))]


def planned(found: Figures, options: PlanningOptions = SMALL) -> list[list[int]]:
    return chosen_files(plan_rewrites(ranged([None] * len(found)), found, options))


def naive(found: Figures, options: PlanningOptions) -> list[list[int]]:
    """The rules of Java's planner, one file after the other."""
    groups: dict[int, list[int]] = {}
    for row, partition in enumerate(found.partitions.tolist()):
        groups.setdefault(partition, []).append(row)
    return [
        each
        for partition in sorted(groups)
        for each in bins_of(
            [row for row in groups[partition] if is_candidate(found, row, options)], found, options
        )
        if is_worth_it(found, each, options)
    ]


def is_candidate(found: Figures, row: int, options: PlanningOptions) -> bool:
    size = int(found.sizes[row])
    return (
        options.rewrite_all
        or size < options.min_size
        or size > options.max_size
        or has_deletes(found, row, options)
    )


def has_deletes(found: Figures, row: int, options: PlanningOptions) -> bool:
    if options.delete_file_threshold is not None and found.delete_files[row] >= options.delete_file_threshold:
        return True
    rows = int(found.rows[row])
    return rows > 0 and min(int(found.deleted_rows[row]), rows) / rows >= options.delete_ratio_threshold


def bins_of(rows: list[int], found: Figures, options: PlanningOptions) -> list[list[int]]:
    bins: list[list[int]] = []
    for row in rows:
        size = sum(int(found.sizes[each]) for each in bins[-1]) if bins else 0
        is_full = options.max_group_files is not None and bins and len(bins[-1]) >= options.max_group_files
        if bins and not is_full and size + found.sizes[row] <= options.max_group_size:
            bins[-1].append(row)
        else:
            bins.append([row])
    return bins


def is_worth_it(found: Figures, rows: list[int], options: PlanningOptions) -> bool:
    size = sum(int(found.sizes[row]) for row in rows)
    enough = len(rows) > 1 and (len(rows) >= options.min_input_files or size > options.target_size)
    deletes = any(has_deletes(found, row, options) for row in rows)
    return options.rewrite_all or enough or size > options.max_size or deletes


@st.composite
def many_figures(draw: st.DrawFn) -> Figures:
    count = draw(st.integers(0, 25))

    def some(values: st.SearchStrategy[int]) -> list[int]:
        return draw(st.lists(values, min_size=count, max_size=count))

    sizes = some(st.integers(0, 250))
    deletes, rows = some(st.integers(0, 3)), some(st.integers(0, 100))
    deleted = [draw(st.integers(0, 60)) if number else 0 for number in deletes]
    return figures(sizes, some(st.integers(OTHER_SPECS, 2)), deletes, deleted, rows)


@settings(max_examples=examples(300), deadline=None)
@given(
    many_figures(),
    st.builds(
        replace,
        st.just(SMALL),
        min_input_files=st.integers(1, 6),
        rewrite_all=st.booleans(),
        max_group_size=st.integers(1, 600),
        max_group_files=st.none() | st.integers(1, 6),
        delete_file_threshold=st.none() | st.integers(0, 3),
        delete_ratio_threshold=st.sampled_from([0.3, 0.5, 1.0]),
    ),
)
def test_plan_takes_what_java_would_take(found: Figures, options: PlanningOptions) -> None:
    assert planned(found, options) == naive(found, options)


@settings(deadline=None)
@given(st.lists(st.integers(0, 30)), st.integers(1, 60), st.none() | st.integers(1, 5))
def test_next_fit_ends_a_bin_where_the_next_weight_does_not_fit(
    weights: list[int], capacity: int, most: int | None
) -> None:
    options = replace(SMALL, max_group_size=capacity, max_group_files=most)
    expected = bins_of([*range(len(weights))], figures(weights), options)
    assert next_fit(np.array(weights, dtype=np.int64), capacity, most).tolist() == [
        each[0] for each in expected
    ]


def test_first_bins_are_taken_up_to_the_limit_of_files() -> None:
    found = figures([10] * 15, [0] * 5 + [1] * 5 + [2] * 5)
    options = replace(SMALL, max_files=7)
    assert planned(found, options) == [[0, 1, 2, 3, 4], [5, 6]]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (JobOrder.NONE, [0, 1]),
        (JobOrder.FEWEST_BYTES, [1, 0]),
        (JobOrder.MOST_BYTES, [0, 1]),
        (JobOrder.FEWEST_FILES, [0, 1]),
        (JobOrder.MOST_FILES, [1, 0]),
    ],
)
def test_bins_are_in_the_order_of_the_job(order: JobOrder, expected: list[int]) -> None:
    found = figures([60, 60, 5, 5, 5, 5, 5], [0, 0, 1, 1, 1, 1, 1])
    plan = plan_rewrites(ranged([None] * 7), found, replace(SMALL, job_order=order))
    assert [plan.group_of(place) for place in range(2)] == expected


def test_file_with_several_vectors_is_rewritten_alone() -> None:
    assert planned(figures([100, 100], is_doubled=np.array([False, True]))) == [[1]]


def test_file_with_a_large_vector_is_rewritten_alone() -> None:
    found = figures([100, 100], vector_rows=np.array([999_999, 1_000_000]))
    assert planned(found) == [[1]]


ranges = st.none() | st.tuples(st.integers(0, 30), st.integers(0, 12)).map(lambda each: (each[0], sum(each)))


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.tuples(ranges, st.integers(0, 1)), max_size=20))
def test_depth_counts_the_files_around_the_start_of_a_file(files: list[tuple[Range, int]]) -> None:
    groups = np.array([group for _, group in files], dtype=np.int64)
    clustering = clustering_of(ranged([each for each, _ in files]), groups, [KEY])
    if clustering is None:
        assert all(each is None for each, _ in files)
        return
    expected = [
        0
        if one is None
        else sum(
            group == there and other is not None and other[0] <= one[0] <= other[1] for other, there in files
        )
        for one, group in files
    ]
    assert clustering.depths(clustering.is_known).tolist() == expected


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.tuples(ranges, st.integers(0, 1), st.integers(50, 100)), max_size=20))
def test_files_are_joined_with_neighbours_only(files: list[tuple[Range, int, int]]) -> None:
    """No file that stays lies in a gap between the files of a bin, unless another one spans the gap."""
    found = figures([size for _, _, size in files], [group for _, group, _ in files])
    options = replace(SMALL, max_group_size=10**9)
    plan = plan_rewrites(ranged([each for each, _, _ in files]), found, options, [KEY])
    joined = set(plan.bins.files.tolist())
    for rows in np.split(plan.bins.files, plan.bins.starts[1:]) if joined else []:
        group = files[rows[0]][1]
        stay = [
            each for n, (each, there, _) in enumerate(files) if n not in joined and there == group and each
        ]
        ordered = sorted(each for each in (files[row][0] for row in rows.tolist()) if each)
        reached = ordered[0][1] if ordered else 0
        for lower, upper in ordered:
            inside = [each for each in stay if reached < each[0] and each[1] < lower]
            spanning = [each for each in stay if each[0] <= reached and each[1] >= lower]
            assert len(inside) <= len(spanning)
            reached = max(reached, upper)


def test_small_files_of_different_neighbourhoods_are_not_joined() -> None:
    apart: list[Range] = [(0, 1), (2, 50), (51, 52), (53, 99), (100, 101), (200, 201), (202, 203), (204, 205)]
    found = figures([60, 100, 60, 100, 60, 60, 60, 60])
    assert chosen_files(plan_rewrites(ranged(apart), found, SMALL, [KEY])) == [[4, 5, 6, 7]]
    anywhere = replace(SMALL, keeps_clustering=False)
    assert chosen_files(plan_rewrites(ranged(apart), found, anywhere, [KEY])) == [[0, 2, 4, 5, 6, 7]]


def test_files_are_joined_in_the_order_of_their_bounds() -> None:
    found = figures([10] * 6)
    places: list[Range] = [(40, 50), (0, 9), None, (30, 39), (10, 19), (20, 29)]
    assert chosen_files(plan_rewrites(ranged(places), found, SMALL, [KEY])) == [[1, 4, 5, 3, 0, 2]]


def test_most_clustered_column_is_found_without_a_sort_order() -> None:
    spread: list[Range] = [(0, 90)] * 10
    neat: list[Range] = [(n * 10, n * 10 + 9) for n in reversed(range(10))]
    data = pa.table(
        {
            name: each
            for table in (ranged(spread, 1), ranged(neat, 2))
            for name, each in zip(table.column_names, table.columns, strict=True)
        }
    )
    columns = [ClusterColumn(1, "long"), ClusterColumn(2, "long")]
    plan = plan_rewrites(data, figures([10] * 10), SMALL, columns)
    assert plan.clustering is not None
    assert plan.clustering.column.id == 2
    assert chosen_files(plan) == [[*reversed(range(10))]]
    assert plan_rewrites(data, figures([10] * 10), SMALL, columns[:1]).clustering is None


def test_overlapping_files_of_a_sorted_table_are_rewritten() -> None:
    """Healthy sizes alone would leave them for ever."""
    places: list[Range] = [(n, 100 + n) for n in range(10)] + [(500 + n, 500 + n) for n in range(5)]
    found = figures([100] * 15)
    options = replace(SMALL, max_group_size=10**9)
    assert chosen_files(plan_rewrites(ranged(places), found, options, [KEY])) == [[*range(10)]]
    assert chosen_files(plan_rewrites(ranged(places), found, options, [replace(KEY, is_sorted=False)])) == []


def test_files_with_one_value_are_not_rewritten_again_and_again() -> None:
    same: list[Range] = [(7, 7)] * 20
    assert chosen_files(plan_rewrites(ranged(same), figures([100] * 20), SMALL, [KEY])) == []


def test_bounds_that_were_cut_off_do_not_count_as_overlap() -> None:
    cut = pa.table(
        {
            "lower_bounds.1": pa.array([b"https://example."] * 20, pa.binary()),
            "upper_bounds.1": pa.array([b"https://example/"] * 20, pa.binary()),
        }
    )
    plan = plan_rewrites(cut, figures([100] * 20), SMALL, [ClusterColumn(1, "string", is_sorted=True)])
    assert chosen_files(plan) == []


def test_statistics_count_each_group() -> None:
    found = figures([10, 10, 200, 100, 60], [0, 0, 0, 1, OTHER_SPECS], [1, 0, 0, 2, 0], [40, 0, 0, 5, 0])
    plan = plan_rewrites(ranged([None] * 5), found, SMALL)
    rows = {row["partition"]: row for row in group_statistics(plan).to_pylist()}
    assert [*rows] == [OTHER_SPECS, 0, 1]
    first = rows[0]
    assert (first["files"], first["bytes"], first["rows"]) == (3, 220, 300)
    assert (first["small_files"], first["large_files"], first["due_files"], first["due_bytes"]) == (
        2,
        1,
        3,
        220,
    )
    assert (first["delete_files"], first["deleted_rows"], first["files_many_deleted"]) == (1, 40, 1)
    assert rows[1]["due_files"] == rows[OTHER_SPECS]["due_files"] == 0


def test_verdicts_have_the_numbers() -> None:
    found = figures(
        [10, 10, 200, 100],
        None,
        [1, 0, 0, 2],
        [40, 0, 0, 5],
        is_doubled=np.array([True, False, False, False]),
    )
    options = replace(SMALL, delete_file_threshold=2)
    plan = plan_rewrites(ranged([(0, 5), (5, 9), (9, 12), None]), found, options, [KEY])
    (row,) = group_statistics(plan).to_pylist()
    assert [(each.trigger, each.fired, each.detail) for each in verdicts(row, options, is_sorted=True)] == [
        (
            "SeveralVectors",
            True,
            "1 file with several deletion vectors, which readers refuse; their union counts",
        ),
        ("DeletedRows", True, "1 file with 30 % deleted rows or more; 11.2 % in the group"),
        ("DeleteFiles", True, "1 file with 2 delete files or more"),
        ("LargeVectors", False, "0 files with a deletion vector of 1000000 rows or more"),
        (
            "Overlap",
            False,
            "0 files where 10 or more overlap in the sort order's first column; 1.7 on average",
        ),
        ("FileSizes", True, "2 files below 75 B, 1 above 180 B; 4 files to rewrite"),
    ]


def test_group_without_work_says_what_it_waits_for() -> None:
    plan = plan_rewrites(ranged([None] * 2), figures([10, 100]), SMALL)
    (row,) = group_statistics(plan).to_pylist()
    last = verdicts(row, SMALL, is_sorted=False)[-1]
    assert not last.fired
    assert last.detail == "1 file below 75 B; rewritten from 5 side by side on, or if they make a whole file"


def test_a_million_files_are_planned_without_a_loop_over_files() -> None:
    count = 1_000_000
    found = figures([10] * count, [*range(1000)] * 1000)
    begin = time.process_time()
    plan = plan_rewrites(pa.table({}), found, SMALL)
    assert plan.due_files.all()
    assert time.process_time() - begin < 5


@pytest.mark.parametrize(
    ("sizes", "millis", "expected"),
    [
        case([10, 10], [5_000, 9_999], [[0, 1]], id="one has waited"),
        case([10, 10], [5_001, 9_999], [], id="none has"),
        case([10], [0], [], id="one alone"),
        case([10, 100], [0, 0], [], id="the other is not small"),
        case([10, 10], [0, 0], [[0, 1]], id="at a time that nobody knows any more"),
    ],
)
def test_few_small_files_are_joined_after_a_time(
    sizes: list[int], millis: list[int], expected: list[list[int]]
) -> None:
    found = figures(sizes, millis=np.array(millis, dtype=np.int64))
    waiting = replace(SMALL, small_millis=5_000)
    assert planned(found, waiting.at(10_000)) == expected
    assert planned(found, waiting) == planned(found, SMALL) == []
