"""Small files that tasks of one rewrite leave side by side become one; everything else is left alone.

Files are sizes in per cent of the target: below 70 they are small. A task is a list of files, a rewrite a
list of tasks; FAILED stands for a task that has none because it failed. Files are named `<task>.<number>`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.columns.key_range import EVERYTHING, KeyRange
from lithify.columns.order_key import OrderKey
from lithify.engine.rewrite.budget import Budget
from lithify.engine.rewrite.functions import Deduplicate
from lithify.formats.paimon.model import Bucket, BucketId
from lithify.formats.paimon.planning.merge_tree.plan import Unit, plan_bucket
from lithify.formats.paimon.planning.merge_tree.policy import MergeTreeOptions
from lithify.formats.paimon.primary_key.joining import (
    Join,
    UnitTask,
    changelog_joins_of,
    joins_of,
    without_joined,
)
from lithify.formats.paimon.primary_key.merge_specs import merge_spec
from lithify.formats.paimon.primary_key.merge_task import MergeTask
from lithify.formats.protocol.results import TaskFailure, TaskOutputs, TaskResult
from lithify.formats.protocol.strategy import Strategy
from support.data_files import local_storage, target
from support.manifests import file_meta, schema
from support.merge_trees import MIDNIGHT, repeatable, stack

FOLDER = Path("/warehouse/db.db/t/bucket-0")
OLD = schema([("id", "INT NOT NULL")], ["id"], number=1)
NEWEST = schema([("id", "INT NOT NULL"), ("v", "INT")], ["id"], number=4)
TO = target(FOLDER, NEWEST, {"target-file-size": "100 b"})
SMALL = 70
FAILED: list[int] = [-1]

Rewrites = Sequence[Sequence[Sequence[int]]]


def unit_of(bucket: int) -> Unit:
    found = plan_bucket(
        Bucket(BucketId(b"", bucket, f"bucket-{bucket}"), stack((0, 1), (0, 1)), 2),
        MergeTreeOptions(),
        Strategy.FULL,
        MIDNIGHT,
    )
    assert isinstance(found, Unit)
    return found


UNITS = [unit_of(0), unit_of(1)]


def task_of(index: int, *, is_last: bool) -> MergeTask:
    return MergeTask(
        index=index,
        prefix="attempt",
        sections=(),
        keys=KeyRange((index,), (index + 1,)),
        is_last=is_last,
        spec=merge_spec(OLD, (), Deduplicate(), drop_deletes=True),
        schemas={1: OLD},
        target=TO,
        storage=local_storage(),
        budget=Budget(1 << 20),
    )


def work_of(rewrites: Rewrites) -> list[UnitTask]:
    """A task for each list of files; rewrites belong to one unit or the other in turn."""
    shapes = [
        (UNITS[number % 2], is_last)
        for number, tasks in enumerate(rewrites)
        for is_last in [*(False for _ in tasks[1:]), True]
    ]
    return [(unit, task_of(index, is_last=is_last)) for index, (unit, is_last) in enumerate(shapes)]


def results_of(rewrites: Rewrites) -> list[TaskResult]:
    return [result_of(index, sizes) for index, sizes in enumerate(chain.from_iterable(rewrites))]


def result_of(index: int, sizes: Sequence[int]) -> TaskResult:
    if sizes is FAILED:
        failure = TaskFailure("StorageError", "/warehouse", "full")
        return TaskResult(index, TaskOutputs(), 0.5, 1000, attempt=1, failure=failure)
    files = tuple(
        file_meta(f"{index}.{number}", 5, size=size, rows=size * 2) for number, size in enumerate(sizes)
    )
    return TaskResult(index, TaskOutputs(files), 0.25, 2000)


def groups(joins: Sequence[Join]) -> list[list[str]]:
    return [[file.name for file in join.files] for join in joins]


def case(rewrites: Rewrites, expected: list[list[str]], id: str) -> Any:  # noqa: A002
    return pytest.param(rewrites, expected, id=id)


CASES = [
    case([], [], "no tasks"),
    case([[[100, 100, 30]]], [], "one task puts its rest where it belongs by itself"),
    case([[[100], [100], [100]]], [], "no small files"),
    case([[[], [], []]], [], "no files at all"),
    case([[[30]], [[30]], [[30]]], [], "small ones of different rewrites"),
    case([[[30], [30]]], [["0.0", "1.0"]], "two in a row"),
    case([[[100, 40], [40, 100]]], [["0.1", "1.0"]], "the rest of a task and the head of the next"),
    case([[[100, 20], [20, 100]]], [["0.1", "1.0", "1.1"]], "they take the next if they are small together"),
    case([[[30], [30], [30], [100]]], [["0.0", "1.0", "2.0"]], "three in a row across tasks"),
    case([[[100], [10], [100]]], [["1.0", "2.0"]], "a lone one in the middle goes with the next"),
    case([[[10], [100], [100]]], [["0.0", "1.0"]], "a lone one at the front goes with the next"),
    case([[[20], [20], [100], [100]]], [["0.0", "1.0", "2.0"]], "two that come to a small one take the next"),
    case([[[35], [35], [100]]], [["0.0", "1.0"]], "two that come to one that is not small do not"),
    case([[[10], [100], [10], [100]]], [["0.0", "1.0"], ["2.0", "3.0"]], "each lone one takes its next"),
    case([[[100], [100], [10]]], [], "a lone one at the end stays"),
    case([[[10], [100], [10]]], [["0.0", "1.0"]], "a lone one at the end stays, the other goes"),
    case([[[100], [30], [30]]], [["1.0", "2.0"]], "two at the end"),
    case([[[69], [100]]], [["0.0", "1.0"]], "just small"),
    case([[[70], [69]]], [], "just not small"),
    case([[[30], [], [], [30]]], [["0.0", "3.0"]], "tasks without files between them"),
    case([[[30], FAILED, [30]]], [["0.0", "2.0"]], "a failed task between them"),
    case([[FAILED, [100], FAILED]], [], "failed tasks around a file"),
    case([[[100], [30]], [[30], [100]]], [["2.0", "3.0"]], "rewrites are kept apart"),
    case(
        [[[30], [30]], [[30], [30]], [[100]]],
        [["0.0", "1.0"], ["2.0", "3.0"]],
        "in a row within each rewrite",
    ),
]


@pytest.mark.parametrize(("rewrites", "expected"), CASES)
def test_small_outputs_are_joined_with_their_neighbours(
    rewrites: Rewrites, expected: list[list[str]]
) -> None:
    assert groups(joins_of(work_of(rewrites), results_of(rewrites))) == expected


@pytest.mark.parametrize(("rewrites", "expected"), CASES)
def test_results_come_in_any_order(rewrites: Rewrites, expected: list[list[str]]) -> None:
    assert groups(joins_of(work_of(rewrites), results_of(rewrites)[::-1])) == expected


SEVERAL: Rewrites = [[[100, 30], [30, 100]], [[100], [20], [50]], [[30], [100]]]


class TestTasks:
    work = work_of(SEVERAL)
    joins = joins_of(work, results_of(SEVERAL))

    def test_read_exactly_the_files_as_one_run(self) -> None:
        for join in self.joins:
            ((run,),) = join.task.sections
            assert [(file.path, file.size, file.rows) for file in run] == [
                (f"{FOLDER}/{file.name}", file.size, file.rows) for file in join.files
            ]
            assert {(file.schema_id, file.run) for file in run} == {(NEWEST.id, 0)}
            assert join.task.keys == EVERYTHING
            assert join.task.schemas == {NEWEST.id: NEWEST}

    def test_write_like_the_tasks_before_them(self) -> None:
        _, before = self.work[0]
        for join in self.joins:
            assert join.task.prefix == before.prefix
            assert join.task.target == before.target
            assert join.task.spec == before.spec
            assert join.task.budget == before.budget

    def test_leave_no_small_file_at_their_end(self) -> None:
        assert not any(join.task.is_last for join in self.joins)

    def test_belong_to_the_unit_of_their_rewrite(self) -> None:
        assert [join.unit.bucket.bucket for join in self.joins] == [0, 1, 0]

    def test_have_indexes_of_their_own(self) -> None:
        taken = [task.index for _, task in self.work]
        added = [join.task.index for join in self.joins]
        assert len({*taken, *added}) == len(taken) + len(added)


def test_results_lose_the_joined_files_and_nothing_else() -> None:
    rewrites: Rewrites = [[[100, 40], [40, 100], FAILED, [100]]]
    results = results_of(rewrites)

    left = without_joined(results, joins_of(work_of(rewrites), results))

    assert [[file.name for file in result.outputs.data] for result in left] == [["0.0"], ["1.1"], [], ["3.0"]]
    assert [replace(result, outputs=TaskOutputs()) for result in left] == [
        replace(result, outputs=TaskOutputs()) for result in results
    ]


def test_results_without_joins_stay_as_they_are() -> None:
    results = results_of([[[100, 30], [100]]])
    assert without_joined(results, []) == results


SIZES = st.integers(1, 130) | st.sampled_from([SMALL - 1, SMALL, 1, 34, 35, 100])
REWRITES = st.lists(
    st.lists(st.lists(SIZES, max_size=4) | st.just(FAILED), min_size=1, max_size=5), max_size=3
)


@given(REWRITES)
@repeatable
def test_joining_leaves_no_small_file_before_another(rewrites: Rewrites) -> None:
    work, results = work_of(rewrites), results_of(rewrites)
    joins = joins_of(work, results)
    joined = groups(joins)
    indexes = [task.index for _, task in work] + [join.task.index for join in joins]

    assert len(set(indexes)) == len(indexes)
    assert all(len(group) > 1 for group in joined)
    assert len(set(chain(*joined))) == len(list(chain(*joined))), "a file is in two groups"
    in_order = list(chain(*(files_of(rewrite) for rewrite in numbered(rewrites, results))))
    assert [name for name, _ in in_order if name in set(chain(*joined))] == list(chain(*joined))
    for files in numbered(rewrites, results):
        assert_rewrite_is_joined(files_of(files), joined)
    left = {file.name for result in without_joined(results, joins) for file in result.outputs.data}
    assert left | set(chain(*joined)) == {name for name, _ in in_order}
    assert left.isdisjoint(chain(*joined))


def numbered(rewrites: Rewrites, results: Sequence[TaskResult]) -> list[list[TaskResult]]:
    """The results of each rewrite."""
    ends = [sum(map(len, rewrites[:number])) for number in range(len(rewrites) + 1)]
    return [list(results[ends[number] : ends[number + 1]]) for number in range(len(rewrites))]


def files_of(results: Sequence[TaskResult]) -> list[tuple[str, int]]:
    return [(file.name, file.size) for result in results for file in result.outputs.data]


def assert_rewrite_is_joined(files: Sequence[tuple[str, int]], joined: Sequence[Sequence[str]]) -> None:
    """Groups lie within the rewrite without gaps, hold what is small, and one that is not at their end."""
    names = [name for name, _ in files]
    sizes = dict(files)
    inside = [group for group in joined if set(group) & set(names)]
    for group in inside:
        start = names.index(group[0])
        assert names[start : start + len(group)] == list(group)
        assert all(sizes[name] < SMALL for name in group[:-1])
        assert sizes[group[-1]] < SMALL or sum(sizes[name] for name in group[:-1]) < SMALL
    in_groups = set(chain(*inside))
    assert [name for name, size in files[:-1] if size < SMALL and name not in in_groups] == []


class TestChangelogs:
    """Small changelog files become one across the tasks of a bucket, in key order; tasks here are in it."""

    @staticmethod
    def work(sizes: Sequence[Sequence[int]]) -> tuple[list[UnitTask], list[TaskResult]]:
        """A task in each list, of one bucket and the other in turn; the last task has the lowest keys."""
        work = [
            (UNITS[number % 2], replace(task_of(number, is_last=True), changelog=TO))
            for number in range(len(sizes))
        ]
        results = [
            TaskResult(
                index,
                TaskOutputs(
                    changelog=tuple(
                        file_meta(f"{index}.{n}", 5, size=size, min_key=key_of(-index, n))
                        for n, size in enumerate(of_task)
                    )
                ),
                0.25,
                2000,
            )
            for index, of_task in enumerate(sizes)
        ]
        return work, results

    @pytest.mark.parametrize(
        ("sizes", "expected"),
        [
            ([[10]], []),
            ([[10], [], [10]], [["2.0", "0.0"]]),
            ([[10], [10], [10], [10]], [["2.0", "0.0"], ["3.0", "1.0"]]),
            ([[100], [], [10], [], [10]], [["4.0", "2.0"]]),
            ([[10], [], [100], [], [10]], []),
            ([[40, 40, 40], [], [40]], [["2.0", "0.0"], ["0.1", "0.2"]]),
        ],
        ids=["one", "two", "two in each bucket", "beside a large one", "around a large one", "of the size"],
    )
    def test_small_changelog_files_are_joined_up_to_the_target_size(
        self, sizes: Sequence[Sequence[int]], expected: list[list[str]]
    ) -> None:
        work, results = self.work(sizes)
        assert groups(changelog_joins_of(work, results, OrderKey, 9)) == expected

    def test_tasks_read_the_files_and_write_like_the_tasks_before_them(self) -> None:
        work, results = self.work([[10], [], [10]])
        (join,) = changelog_joins_of(work, results, OrderKey, 9)
        assert [file.path for file in join.task.files] == [f"{FOLDER}/2.0", f"{FOLDER}/0.0"]
        assert (join.task.index, join.task.prefix, join.task.target) == (9, "attempt", TO)
        left = without_joined(results, [join])
        assert [result.outputs.changelog for result in left] == [(), (), ()]


def key_of(task: int, number: int) -> bytes:
    return bytes([100 + task, number])
