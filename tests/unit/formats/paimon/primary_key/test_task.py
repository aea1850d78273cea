"""A task merges its files, or says for good what is wrong with them; the inline runner runs one by one."""

from __future__ import annotations

import errno
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lithify.clock import Clock, SystemClock
from lithify.columns.key_range import EVERYTHING, KeyRange
from lithify.engine.attempts.names import writer_id
from lithify.engine.rewrite.budget import Budget
from lithify.engine.rewrite.functions import Deduplicate
from lithify.engine.run.runner import InlineRunner
from lithify.errors import (
    CommitUnknown,
    CorruptTable,
    LithifyError,
    MissingFile,
    OutOfMemory,
    StorageError,
)
from lithify.formats.paimon.manifests.entries import FileMeta
from lithify.formats.paimon.primary_key.merge_specs import merge_spec
from lithify.formats.paimon.primary_key.merge_task import MergeTask
from lithify.formats.protocol.results import TaskFailure, TaskOutputs, TaskResult
from support.data_files import input_file, local_storage, read, target, write
from support.manifests import schema

SCHEMA = schema([("id", "INT NOT NULL"), ("v", "INT")], ["id"])
PREFIX = "12345678-1234-1234-1234"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Stopped(SystemClock):
    """A clock that shows one time; it may fail once it was looked at a number of times."""

    def __init__(self, failing: BaseException | None = None, after: int = 0) -> None:
        super().__init__(UTC)
        self._failing = failing
        self._left = after

    def now(self) -> datetime:
        if self._failing is not None and not self._left:
            raise self._failing
        self._left -= 1
        return NOON


@pytest.fixture
def inputs(tmp_path: Path) -> list[FileMeta]:
    """Two files of one bucket: keys 0 to 9, then every other of them anew."""
    old = [{"id": number, "v": 0, "_SEQUENCE_NUMBER": number} for number in range(10)]
    new = [{"id": number, "v": 1, "_SEQUENCE_NUMBER": 100 + number} for number in range(0, 10, 2)]
    return [write(tmp_path / "old", SCHEMA, [old]), write(tmp_path / "new", SCHEMA, [new])]


@pytest.fixture
def task(tmp_path: Path, inputs: list[FileMeta]) -> MergeTask:
    old, new = inputs
    runs = ((input_file(tmp_path / "new", new, run=0),), (input_file(tmp_path / "old", old, run=1),))
    return MergeTask(
        index=7,
        prefix=PREFIX,
        sections=(runs,),
        keys=EVERYTHING,
        is_last=True,
        spec=merge_spec(SCHEMA, (), Deduplicate(), drop_deletes=False),
        schemas={SCHEMA.id: SCHEMA},
        target=target(tmp_path / "out", SCHEMA),
        storage=local_storage(tmp_path),
        budget=Budget(16 << 20),
    )


def output(task: MergeTask) -> list[Path]:
    """Everything in the folder of a task's output."""
    return sorted(Path(task.target.folder).glob("*"))


def values(task: MergeTask, results: Sequence[TaskResult]) -> dict[int, int]:
    """What the files of some results hold."""
    files = [
        input_file(Path(task.target.folder), file)
        for result in sorted(results, key=lambda result: result.index)
        for file in result.outputs.data
    ]
    return {row["id"]: row["v"] for row in read(files, [SCHEMA])}


def in_many_files(task: MergeTask) -> MergeTask:
    """The task with a file for every row or so: a clock is looked at once a file."""
    return replace(task, target=target(Path(task.target.folder), SCHEMA, {"target-file-size": "1 b"}))


MERGED = {number: number % 2 == 0 for number in range(10)}


class TestSuccess:
    def test_result_has_metadata_of_what_was_written(self, task: MergeTask) -> None:
        result = task.run(Stopped(), attempt=2, attempt_id=5)

        assert values(task, [result]) == MERGED
        assert [Path(task.target.folder, file.name) for file in result.outputs.data] == output(task)
        assert (result.index, result.attempt, result.failure) == (7, 2, None)
        assert [(file.rows, file.level, file.created_millis) for file in result.outputs.data] == [
            (10, task.target.level, 1_772_366_400_000)
        ]
        assert result.seconds > 0
        assert result.peak_bytes > 1 << 20

    def test_files_are_named_after_the_try(self, task: MergeTask) -> None:
        result = task.run(Stopped(), attempt_id=5)
        assert [writer_id(PREFIX, 7, 5) in file.name for file in result.outputs.data] == [True]

    def test_two_tries_do_not_share_files(self, task: MergeTask) -> None:
        first, second = (task.run(Stopped(), attempt=n, attempt_id=n) for n in (0, 1))
        assert (
            len(output(task)) == len({file.name for file in (*first.outputs.data, *second.outputs.data)}) == 2
        )

    def test_files_are_cut_at_the_target_size(self, task: MergeTask) -> None:
        result = in_many_files(task).run(Stopped())
        assert len(result.outputs.data) == len(output(task)) > 3
        assert values(task, [result]) == MERGED

    def test_task_and_result_can_be_shipped(self, task: MergeTask) -> None:
        there = pickle.loads(pickle.dumps(task))
        result = there.run(Stopped())
        assert pickle.loads(pickle.dumps(result)) == result
        assert values(task, [result]) == MERGED


def lose(task: MergeTask) -> str:
    path = task.inputs[0].path
    Path(path).unlink()
    return path


def cut(task: MergeTask) -> str:
    path = Path(task.inputs[1].path)
    path.write_bytes(path.read_bytes()[:-20])
    return str(path)


def block(task: MergeTask) -> str:
    """A file lies where the folder should be."""
    Path(task.target.folder).write_text("in the way")
    return task.target.folder


FOR_GOOD = [
    pytest.param(lose, MissingFile, id="a missing input"),
    pytest.param(cut, CorruptTable, id="an input that is cut off"),
    pytest.param(block, StorageError, id="a folder that cannot be made"),
]


class TestFailure:
    @pytest.mark.parametrize(("damage", "error"), FOR_GOOD)
    def test_what_no_retry_can_mend_is_returned(
        self, task: MergeTask, damage: Callable[[MergeTask], str], error: type[LithifyError]
    ) -> None:
        named = damage(task)

        result = task.run(Stopped(), attempt=1)
        came_back = pickle.loads(pickle.dumps(result))

        assert came_back.outputs == TaskOutputs()
        assert (came_back.index, came_back.attempt) == (7, 1)
        found = came_back.failure.as_error()
        assert type(found) is error
        assert found.path.startswith(named)
        assert named == task.target.folder or output(task) == []

    @pytest.mark.parametrize("after", [0, 3])
    def test_running_out_of_memory_is_returned_and_files_are_deleted(
        self, task: MergeTask, after: int
    ) -> None:
        result = in_many_files(task).run(Stopped(MemoryError("malloc of size 64"), after))

        assert result.outputs == TaskOutputs()
        assert result.failure is not None
        assert isinstance(result.failure.as_error(), OutOfMemory)
        assert result.failure.path == task.target.folder
        assert output(task) == []

    @pytest.mark.parametrize("error", [OSError(errno.EIO, "flaky"), ValueError("a bug"), KeyboardInterrupt()])
    @pytest.mark.parametrize("after", [0, 3])
    def test_anything_else_is_raised_and_files_are_deleted(
        self, task: MergeTask, error: BaseException, after: int
    ) -> None:
        with pytest.raises(type(error)):
            in_many_files(task).run(Stopped(error, after))

        assert output(task) == []

    def test_a_try_that_fails_leaves_the_files_of_others_alone(self, task: MergeTask) -> None:
        first = task.run(Stopped(), attempt_id=0)
        cut(task)
        task.run(Stopped(), attempt_id=1)
        assert [path.name for path in output(task)] == [file.name for file in first.outputs.data]


RETURNED = (CorruptTable, StorageError, OutOfMemory)
"""What a task returns instead of raising it, subclasses included."""


def kinds(roots: Sequence[type[Any]] = RETURNED) -> Iterator[type[Any]]:
    for root in roots:
        yield root
        yield from kinds(root.__subclasses__())


@pytest.mark.parametrize("kind", list(kinds()), ids=lambda kind: kind.__name__)
def test_every_kind_of_failure_becomes_the_error_again(kind: type[Any]) -> None:
    error = kind("/t/data-0") if kind is MissingFile else kind("/t/data-0", "what is wrong")

    found = TaskFailure(type(error).__name__, error.path, error.problem).as_error()

    assert type(found) is kind
    assert str(found) == str(error)
    assert found.__dict__ == error.__dict__


def test_kinds_are_what_is_thought() -> None:
    assert {*RETURNED, MissingFile, CommitUnknown} <= set(kinds())


class TestInlineRunner:
    def run(
        self, tasks: Sequence[MergeTask], clock: Clock | None = None
    ) -> tuple[list[TaskResult], list[int]]:
        told: list[int] = []
        return InlineRunner().run(tasks, clock or Stopped(), told.append), told

    def test_runs_every_task_once_and_tells_how_many_are_done(self, task: MergeTask) -> None:
        halves = [
            replace(task, index=0, keys=KeyRange(None, (4,)), is_last=False),
            replace(task, index=1, keys=KeyRange((4,), None)),
        ]

        results, told = self.run(halves)

        assert [(result.index, result.attempt, len(result.outputs.data)) for result in results] == [
            (0, 0, 1),
            (1, 0, 1),
        ]
        assert told == [1, 2]
        assert values(task, results) == MERGED

    def test_no_tasks_have_no_results(self) -> None:
        assert self.run([]) == ([], [])

    def test_a_failure_does_not_stop_the_others(self, task: MergeTask, tmp_path: Path) -> None:
        broken = replace(task, index=0, sections=(((replace(task.inputs[0], path=f"{tmp_path}/no"),),),))

        results, told = self.run([broken, replace(task, index=1)])

        assert [result.failure is not None for result in results] == [True, False]
        assert told == [1, 2]

    def test_what_is_raised_is_not_retried(self, task: MergeTask) -> None:
        with pytest.raises(OSError, match="flaky"):
            self.run([task], Stopped(OSError("flaky")))
        assert output(task) == []
