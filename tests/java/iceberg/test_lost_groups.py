"""Spark rewrites a partition while tasks of ours are at it: those stop, and the other partitions commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pytest

from infrastructure.iceberg.tables import SparkTable
from lithify import faults
from lithify.clock import Clock
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.runner import Progress
from lithify.engine.run.spark import SparkRunner, SparkSettings
from lithify.formats.iceberg.rewriting.task import RewriteTask
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.results import TaskResult
from lithify.formats.protocol.strategy import Strategy
from lithify.formats.protocol.tasks import Sizing
from lithify.io.storage import Fetching, Storage
from support.iceberg_runs import CLOCK, address_of
from support.runs import TESTS, Held

# One slot: while the first task is held, the other ones of its partition have not begun.
SPARK = SparkSettings("local[1]", {"spark.executorEnv.PYTHONPATH": str(TESTS)})
SMALL_TARGET = {"target-file-size-bytes": "3000"}
"""So small that a partition of six files makes several tasks."""


class HeldReading(Storage):
    """Waits in front of each file that it opens, as `support.runs.Held` asks for."""

    def __init__(self, storage: Storage, action: str) -> None:
        super().__init__(storage._access, storage.roots)
        self._action = action

    def open(self, path: str, size: int | None = None, fetching: Fetching | None = None) -> pa.NativeFile:
        """Opens a file for reading."""
        faults._act(self._action, 0)
        return super().open(path, size, fetching)


class OneHeld(SparkRunner):
    """Tasks of one partition wait before they read; others take steps, one at each look of the driver."""

    def __init__(self, partition: str, action: str, steps: Sequence[Callable[[], object]]) -> None:
        super().__init__(SPARK)
        self._partition = partition
        self._action = action
        self._steps: Iterator[Callable[[], object]] = iter(steps)
        self.results: list[TaskResult] = []
        self.of_partition: set[int] = set()

    def run(self, tasks: Sequence[RewriteTask], clock: Clock, progress: Progress) -> list[TaskResult]:  # type: ignore[override]
        def stepping(done: int) -> None:
            progress(done)
            next(self._steps, lambda: None)()

        given = [self._held(task) if self._is_meant(task) else task for task in tasks]
        self.of_partition = {task.index for task in tasks if self._is_meant(task)}
        self.results = super().run(given, clock, stepping)
        return self.results

    def _is_meant(self, task: RewriteTask) -> bool:
        return all(f"/{self._partition}/" in path for path in task.input_sizes)

    def _held(self, task: RewriteTask) -> RewriteTask:
        assert task.stop_file is not None
        always = replace(task.stop_file, seconds=0.0)
        return replace(task, storage=HeldReading(task.storage, self._action), stop_file=always)


@pytest.mark.spark
def test_tasks_of_a_partition_that_spark_rewrote_stop_and_the_others_commit(
    sql_table: SparkTable, tmp_path: Path
) -> None:
    table = sql_table.create(2, "identity").append_many(6, 20)
    before, held = table.read().combine_chunks(), Held(tmp_path)

    def others_rewrite() -> None:
        held.reached()
        rewrite = "options => map('rewrite-all', 'true'), where => \"kind = 'a-0'\""
        assert table.procedure("rewrite_data_files", rewrite)["rewritten_data_files_count"][0].as_py() == 6

    address = replace(address_of(table), overrides=SMALL_TARGET)
    request = Request(
        address,
        Selection(strategy=Strategy.FULL),
        sizing=Sizing(task_bytes=1),
        max_rounds=1,
        check_seconds=0,
    )
    with OneHeld("kind=a-0", held.action, [others_rewrite, held.release]) as runner:
        report = compact(request, runner, CLOCK)
    table.run(f"REFRESH TABLE {table.name}")

    failures = {each.index: each.failure.kind for each in runner.results if each.failure is not None}
    assert len(runner.of_partition) > 1
    assert failures == dict.fromkeys(runner.of_partition, "TaskStopped")
    assert {group.partition("/")[0] for group in report.skipped} == {"kind=a-0"}
    assert {group.group.partition("/")[0] for group in report.groups} == {
        f"kind={kind}" for kind in ("a-1", "b-0", "b-1", "c-0", "c-1", "null")
    }
    assert table.read().combine_chunks() == before
    live = table.metadata_table("all_data_files")["file_path"].to_pylist()
    data = Path(unquote(urlparse(table.load().location()).path)) / "data"
    assert {path.name for path in data.rglob("*.parquet")} == {path.rpartition("/")[2] for path in live}
