"""Rewrites cut into tasks: key spans that leave nothing out, even bytes, and not too much read twice."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.columns.order_key import OrderKey
from lithify.formats.paimon.model import DataFile
from lithify.formats.paimon.planning.merge_tree.rewrites import Rewrite
from lithify.formats.paimon.planning.merge_tree.sections import partition_sections
from lithify.formats.paimon.planning.merge_tree.tasks import KeySpan, TaskPlan, split_rewrite
from support.cases import case
from support.merge_trees import file, key, key_number, names, repeatable, trees

Files = tuple[DataFile, ...]
TASK_BYTES = st.integers(1, 10_000)


def rewrite_of(files: Files) -> Rewrite:
    return Rewrite(tuple(partition_sections(files)))


def side_by_side(*sizes: int) -> Files:
    """Files of these sizes, the first with keys 0 to 9, the next with keys 10 to 19 and so on."""
    return tuple(
        file(f"f{number}", (10 * number, 10 * number + 9), size=size) for number, size in enumerate(sizes)
    )


def ends(tasks: list[TaskPlan]) -> list[int | None]:
    return [None if task.span.upto is None else key_number(task.span.upto) for task in tasks]


class TestCuts:
    @pytest.mark.parametrize(
        ("files", "task_bytes", "expected"),
        [
            case(side_by_side(100), 1, [None], id="one file cannot be cut"),
            case(side_by_side(100, 100), 200, [None], id="one task's worth"),
            case(side_by_side(100, 100), 140, [None], id="less than one and a half tasks"),
            case(side_by_side(100, 100), 100, [9, None], id="two tasks"),
            case(side_by_side(10, 10, 10, 10, 10, 10), 20, [19, 39, None], id="pairs"),
            case(side_by_side(5, 100, 5, 5), 10, [19, None], id="a large file takes the place of many"),
            case(side_by_side(100, 1, 1, 1), 25, [None], id="crumbs at the end are not worth a task"),
            case(side_by_side(100, 100, 1), 100, [9, None], id="crumbs at the end do not undo a cut"),
            case(side_by_side(36, 1, 35), 5, [9, None], id="sums that floating point would get wrong"),
            case(
                (file("a", (0, 9)), file("b", (0, 9)), file("c", (0, 9))),
                1,
                [None],
                id="files that end together cannot be parted",
            ),
            case(
                (file("a", (0, 4)), file("b", (5, 9)), file("c", (0, 9), size=1)),
                100,
                [4, None],
                id="a section is cut inside",
            ),
            case(
                tuple(file(f"w{n}", (0, 990 + n)) for n in range(6)),
                200,
                [None],
                id="wide files that end one after the other leave no crumbs at the end",
            ),
            case(
                (file("a", (0, 500)), file("w", (0, 999)), file("x", (0, 998))),
                150,
                [500, None],
                id="wide files weigh on both sides of a cut",
            ),
        ],
    )
    def test_are_at_the_ends_of_files(
        self, files: Files, task_bytes: int, expected: list[int | None]
    ) -> None:
        assert ends(split_rewrite(rewrite_of(files), task_bytes)) == expected

    @pytest.mark.parametrize(
        ("wide", "tasks"),
        [
            case(1, 10, id="a small wide file is read by every task"),
            case(50, 4, id="a wide file of a third of the bytes is read four times"),
            case(10_000, 2, id="a wide file that outweighs the rest is cut once"),
        ],
    )
    def test_are_fewer_where_a_wide_file_would_be_read_too_often(self, wide: int, tasks: int) -> None:
        rewrite = rewrite_of((*side_by_side(*[10] * 10), file("wide", (0, 99), size=wide)))
        parts = split_rewrite(rewrite, rewrite.size // 10)
        assert len(parts) == tasks
        assert all("wide" in names(section.files) for part in parts for section in part.sections)

    def test_leave_a_single_task_unclipped(self) -> None:
        rewrite = rewrite_of((file("a", (0, 5)), file("b", (3, 9)), file("c", (20, 29))))
        (task,) = split_rewrite(rewrite, rewrite.size)
        assert task == TaskPlan(rewrite.sections, KeySpan(), rewrite.size, is_last=True)

    @given(sizes=st.lists(st.integers(1, 1000), min_size=1, max_size=30), task_bytes=TASK_BYTES)
    @repeatable
    def test_of_separate_files_make_even_tasks(self, sizes: list[int], task_bytes: int) -> None:
        """Within a quarter of a task, and a file more where it cannot be avoided."""
        tasks = split_rewrite(rewrite_of(side_by_side(*sizes)), task_bytes)
        total, count = sum(sizes), max(1, round(sum(sizes) / task_bytes))
        assert sum(task.size for task in tasks) == total
        assert len(tasks) <= count
        assert all(4 * count * (task.size - max(sizes)) < 5 * total for task in tasks)
        reached = accumulate(task.size for task in tasks)
        assert all(
            4 * count * done >= (4 * number - 1) * total for number, done in enumerate(reached, start=1)
        )


class TestSpans:
    @pytest.mark.parametrize(
        ("span", "touches", "covers"),
        [
            case(KeySpan(), True, True, id="the whole key space"),
            case(KeySpan(key(9), None), True, True, id="begins after the key before the file"),
            case(KeySpan(key(10), None), True, False, id="begins after the first key of the file"),
            case(KeySpan(key(19), None), True, False, id="has the last key only"),
            case(KeySpan(key(20), None), False, False, id="begins after the file"),
            case(KeySpan(None, key(20)), True, True, id="ends with the file"),
            case(KeySpan(None, key(19)), True, False, id="ends before the last key"),
            case(KeySpan(None, key(10)), True, False, id="has the first key only"),
            case(KeySpan(None, key(9)), False, False, id="ends before the file"),
            case(KeySpan(key(12), key(14)), True, False, id="lies inside the file"),
        ],
    )
    def test_touch_and_cover_files(self, span: KeySpan, touches: bool, covers: bool) -> None:
        ten_to_twenty = file("f", (10, 20))
        assert (span.touches(ten_to_twenty), span.covers(ten_to_twenty)) == (touches, covers)

    @given(files=trees(), task_bytes=TASK_BYTES)
    @repeatable
    def test_divide_the_key_space_in_order(self, files: Files, task_bytes: int) -> None:
        tasks = split_rewrite(rewrite_of(files), task_bytes)
        spans = [task.span for task in tasks]
        assert [span.after for span in spans] == [None, *(span.upto for span in spans[:-1])]
        assert spans[-1].upto is None
        cuts: list[OrderKey] = [span.upto for span in spans[:-1] if span.upto is not None]
        assert cuts == sorted(set(cuts))
        assert len(cuts) == len(tasks) - 1
        assert [task.is_last for task in tasks] == [False] * len(cuts) + [True]


@pytest.mark.thorough
@given(files=trees(), task_bytes=TASK_BYTES)
@repeatable
def test_a_task_reads_exactly_the_files_that_its_span_touches(files: Files, task_bytes: int) -> None:
    rewrite = rewrite_of(files)
    for task in split_rewrite(rewrite, task_bytes):
        runs = [run for section in task.sections for run in section.runs]
        whole = (
            tuple(filter(task.span.touches, run)) for section in rewrite.sections for run in section.runs
        )
        assert runs == [run for run in whole if run]
        assert task.sections
        assert all(section.runs for section in task.sections)
        assert task.size == sum(file.size for run in runs for file in run)


@given(files=trees(), task_bytes=TASK_BYTES)
@repeatable
def test_a_file_is_read_whole_by_one_task_or_in_parts_by_neighbours(files: Files, task_bytes: int) -> None:
    tasks = split_rewrite(rewrite_of(files), task_bytes)
    for file_ in files:
        readers = [number for number, task in enumerate(tasks) if task.span.touches(file_)]
        covered_by = [number for number, task in enumerate(tasks) if task.span.covers(file_)]
        assert readers == list(range(readers[0], readers[-1] + 1))
        assert covered_by == (readers if len(readers) == 1 else [])


@given(files=trees(), task_bytes=TASK_BYTES)
@repeatable
def test_no_more_than_twice_the_bytes_are_read(files: Files, task_bytes: int) -> None:
    rewrite = rewrite_of(files)
    assert sum(task.size for task in split_rewrite(rewrite, task_bytes)) <= 2 * rewrite.size
