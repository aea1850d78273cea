"""The commands as users run them: real processes, real Spark, tables that Java made and reads back."""

from __future__ import annotations

import errno
import json
import os
import pickle
import subprocess
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify import library
from lithify.cli.output import SOME_BLOCKED
from lithify.clock import SystemClock
from lithify.engine.run.driver import compact
from lithify.engine.run.runner import Progress
from lithify.engine.run.spark import SparkRunner, SparkSettings
from lithify.formats.paimon.primary_key.merge_task import MergeTask
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.results import TaskResult
from support.runs import LITHIFY, request
from support.tables import copy_of, make_plain, stray_files

pytestmark = [pytest.mark.oracle, pytest.mark.spark]

MASTER = "local[2]"
LARGEST_RESULT = 4096
"""Bytes of a pickled task result with a handful of files: metadata, never rows."""


def lithify(
    command: str, table: Table, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs a command on a table."""
    words = [LITHIFY, command, "--warehouse", str(table.warehouse), "--table", str(table.name), *arguments]
    return subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=240, env={**os.environ, **environment}
    )


def answer(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The JSON that a command printed."""
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def table(oracle: Oracle, tmp_path: Path) -> Table:
    return make_plain(oracle, tmp_path, buckets=3, commits=6, keys=200)


def test_inspect_then_plan_then_compact_tell_one_story(oracle: Oracle, table: Table) -> None:
    rows = oracle.read(table)

    inspected = answer(lithify("inspect", table, "--json"))
    planned = answer(lithify("plan", table, "--json"))
    report = answer(lithify("compact", table, "--json", "--master", MASTER))
    assert report["core_seconds"] > report["task_seconds"] + 1 > 1, "Spark's JVM is part of the costs"

    assert len(inspected["buckets"]) == 3
    due = {bucket["bucket"] for bucket in inspected["buckets"] if bucket["due"]}
    assert due == {unit["bucket"] for unit in planned["units"]} == {b["bucket"] for b in report["buckets"]}
    assert report["status"] == "Compacted"
    assert report["snapshot_after"] == str(oracle.snapshots(table)[-1]["id"])
    assert report["after"]["rows"] == len(rows)
    assert oracle.read(table) == rows
    assert stray_files(oracle, table) == set()


def test_a_canary_compares_the_rows_of_a_copy_on_spark(oracle: Oracle, table: Table, tmp_path: Path) -> None:
    without = copy_of(table, tmp_path / "without")
    plain = answer(lithify("compact", without, "--strategy", "full", "--json", "--master", MASTER))

    report = answer(lithify("compact", table, "--canary", "--strategy", "full", "--json", "--master", MASTER))

    rows = oracle.read(table)
    assert report["canary"] == {"groups": 3, "rows": len(rows)}
    assert rows == oracle.read(without)
    assert report["after"] == plain["after"]
    assert stray_files(oracle, table) == set()


def test_plan_writes_nothing(table: Table) -> None:
    before = sorted(table.folder.rglob("*"))

    assert "SortedRuns" in lithify("inspect", table).stdout
    assert "3 buckets to compact" in lithify("plan", table, "--strategy", "full").stdout

    assert sorted(table.folder.rglob("*")) == before


def test_only_the_selected_buckets_are_compacted(oracle: Oracle, table: Table) -> None:
    report = answer(
        lithify("compact", table, "--strategy", "full", "--bucket", "0,2", "--json", "--master", MASTER)
    )

    assert {bucket["bucket"] for bucket in report["buckets"]} == {"bucket-0", "bucket-2"}
    assert {file.bucket for file in oracle.files(table) if file.level == 0} == {1}


def test_a_run_in_steps_commits_each_bucket(oracle: Oracle, table: Table) -> None:
    rows = oracle.read(table)
    in_steps = ("--strategy", "full", "--commit-every", "1b")
    report = answer(lithify("compact", table, *in_steps, "--json", "--master", MASTER))
    assert (report["commits"], report["tasks"], len(report["buckets"])) == (3, 3, 3)
    assert oracle.read(table) == rows
    assert stray_files(oracle, table) == set()


def test_nothing_to_do_starts_no_spark_and_ends_well(table: Table) -> None:
    done = lithify(
        "compact", table, "--option", "num-sorted-run.compaction-trigger=50", "--master", "spark://nowhere:1"
    )

    assert done.returncode == 0
    assert "nothing to do" in done.stdout


def test_write_only_never_stops_a_compaction(oracle: Oracle, tmp_path: Path) -> None:
    table = make_plain(oracle, tmp_path, **{"write-only": "true"})

    assert answer(lithify("compact", table, "--json", "--master", MASTER))["status"] == "Compacted"


def test_failed_task_is_retried_and_cleans_up(oracle: Oracle, table: Table) -> None:
    rows = oracle.read(table)

    report = answer(
        lithify(
            *("compact", table, "--strategy", "full", "--json", "--master", MASTER),
            LITHIFY_FAULTS=f"file-written=raise:{errno.EIO}",
        )
    )

    assert report["task_retries"] == report["tasks"] == 3
    assert oracle.read(table) == rows
    assert stray_files(oracle, table) == set()


def test_task_that_never_succeeds_is_an_error_and_changes_nothing(oracle: Oracle, table: Table) -> None:
    snapshots = oracle.snapshots(table)

    done = lithify(
        *("compact", table, "--strategy", "full", "--master", MASTER), LITHIFY_FAULTS="file-written=kill"
    )

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert oracle.snapshots(table) == snapshots
    assert answer(lithify("compact", table, "--json", "--master", MASTER))["status"] == "Compacted"
    assert stray_files(oracle, table) == set()


def test_missing_data_file_is_told_of_its_bucket_and_not_retried(table: Table) -> None:
    lost = next(table.folder.glob("bucket-1/data-*"))
    lost.unlink()

    done = lithify("compact", table, "--strategy", "full", "--master", MASTER, "--json")

    assert done.returncode == SOME_BLOCKED
    report = json.loads(done.stdout)
    (blocked,) = report["blocked"]
    assert blocked["bucket"] == "bucket-1"
    assert lost.name in blocked["problem"]
    assert report["task_retries"] == 0


class Weighed:
    """A runner that remembers how large the results were that came back from Spark."""

    def __init__(self, runner: SparkRunner) -> None:
        self._runner = runner
        self.sizes: list[int] = []

    def run(self, tasks: list[MergeTask], clock: SystemClock, progress: Progress) -> list[TaskResult]:
        results = self._runner.run(tasks, clock, progress)
        self.sizes = [len(pickle.dumps(result)) for result in results]
        return results


def test_driver_receives_metadata_only(oracle: Oracle, tmp_path: Path) -> None:
    table = make_plain(oracle, tmp_path, keys=20_000)

    with SparkRunner(SparkSettings(MASTER)) as runner:
        weighed = Weighed(runner)
        report = compact(request(table), weighed, SystemClock())

    assert report.after.bytes > 20 * LARGEST_RESULT
    assert weighed.sizes
    assert max(weighed.sizes) < LARGEST_RESULT


def test_a_run_is_charged_its_own_processor_time_and_that_of_its_jvm(table: Table) -> None:
    began = monotonic()
    report = library.compact(TableAddress(str(table.warehouse), str(table.name)))
    assert report.status == "Compacted"
    assert report.task_seconds < report.core_seconds <= (monotonic() - began) * (os.cpu_count() or 1)


def test_demo_shows_the_table_before_and_after(tmp_path: Path) -> None:
    command = [LITHIFY, "demo", "--folder", str(tmp_path / "demo"), "--master", MASTER]

    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)

    assert done.returncode == 0, done.stderr
    assert "identical" in done.stdout
    assert "The same scan took" in done.stdout
