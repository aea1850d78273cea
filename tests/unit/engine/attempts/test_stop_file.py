"""Tasks stop when the stop file of their own attempt names them, and never for another reason."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from lithify.engine.attempts.stop_file import StopCheck, StopFile
from lithify.errors import StorageUnavailable, TaskStopped
from lithify.io.local_storage import local_storage
from lithify.io.storage import Storage
from support.cases import case


@pytest.fixture
def file(tmp_path: Path) -> StopFile:
    return StopFile(local_storage((str(tmp_path),)), f"{tmp_path}/stop-run-1", "prefix-", seconds=0.0)


def test_names_the_tasks_that_were_written_last(file: StopFile) -> None:
    assert not file.has(3)
    file.write([3])
    file.write({3, 5})
    assert [number for number in range(7) if file.has(number)] == [3, 5]
    file.delete()
    assert not file.has(3)


@pytest.mark.parametrize(
    "text",
    [
        case('{"prefix": "another-", "tasks": [3]}', id="of another attempt of that number"),
        case('{"prefix": "prefix-", "tasks": 3}', id="no list"),
        case('{"prefix": "prefix-"}', id="no tasks"),
        case("[3]", id="no object"),
        case("{", id="cut off"),
        case("[" * 100_000, id="nested"),
        case("", id="empty"),
    ],
)
def test_what_this_attempt_has_not_written_stops_nothing(file: StopFile, text: str) -> None:
    Path(file.path).write_text(text)
    assert not file.has(3)


def test_a_store_that_does_not_answer_stops_nothing(file: StopFile, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> str:
        raise StorageUnavailable(file.path, "no answer")

    monkeypatch.setattr(Storage, "read_text", fails)
    assert not file.has(3)


class TestCheck:
    def test_a_task_that_has_not_begun_does_not_begin(self, file: StopFile) -> None:
        file.write([3])
        with pytest.raises(TaskStopped):
            StopCheck(pickle.loads(pickle.dumps(file)), 3).check()

    def test_a_running_task_stops_before_its_next_batch(self, file: StopFile) -> None:
        batches = StopCheck(file, 3).between("abc")
        assert next(batches) == "a"
        file.write([3])
        with pytest.raises(TaskStopped):
            next(batches)

    def test_other_tasks_run_on(self, file: StopFile) -> None:
        file.write([3])
        assert [*StopCheck(file, 4).between("abc")] == ["a", "b", "c"]

    def test_a_task_looks_only_now_and_then(self, file: StopFile) -> None:
        check = StopCheck(replace(file, seconds=3600.0), 3)
        check.check()
        file.write([3])
        check.check()

    def test_without_a_file_nothing_stops(self) -> None:
        assert [*StopCheck(None, 3).between("abc")] == ["a", "b", "c"]
