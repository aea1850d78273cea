"""Kills and other writers around compactions with a changelog: no change is lost, none comes twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from support.comparing.streams import assert_stream_is_the_table
from support.runs import Held, clean_up, run_inline, start
from support.tables import append, make_plain, stray_files, upserts

pytestmark = pytest.mark.oracle

PRODUCERS = ["full-compaction", "lookup"]


def make(oracle: Oracle, warehouse: Path, producer: str) -> Table:
    """A table with a compaction behind it, and more commits since."""
    options = {"changelog-producer": producer, "write-only": "true"}
    table = make_plain(oracle, warehouse, buckets=2, commits=2, keys=30, **options)
    run_inline(table)
    oracle.write(table, [*upserts(range(20, 50), "new"), ["-D", 5, None, None]])
    return table


@pytest.mark.sampled(2, each="producer")
@pytest.mark.parametrize("producer", PRODUCERS)
@pytest.mark.parametrize(
    "point", ["file-written", "tasks-done", "manifests-written", "snapshot-written", "leftovers-deleted"]
)
def test_a_kill_loses_no_change_and_repeats_none(
    oracle: Oracle, tmp_path: Path, producer: str, point: str
) -> None:
    table = make(oracle, tmp_path, producer)
    start(table, "--run", "run-a", faults={point: "kill"}).wait()

    run_inline(table, run="run-a")
    append(oracle, table)
    run_inline(table)
    clean_up(table, 24.1, 26)

    assert_stream_is_the_table(oracle, table)
    assert stray_files(oracle, table) == set()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("producer", PRODUCERS)
@pytest.mark.parametrize("point", ["tasks-done", "manifests-written"])
def test_a_bucket_in_conflict_loses_no_change(
    oracle: Oracle, tmp_path: Path, producer: str, point: str
) -> None:
    table, held = make(oracle, tmp_path / "warehouse", producer), Held(tmp_path)
    run = start(table, faults={point: held.action})
    held.reached()
    append(oracle, table)
    oracle.compact(table, full=True, buckets=[1])
    held.release()

    outcome = run.wait()
    run_inline(table)

    assert outcome.code == 0, outcome.error
    assert_stream_is_the_table(oracle, table)
    assert stray_files(oracle, table) == set()


def test_a_consumer_reads_on_across_compactions(oracle: Oracle, tmp_path: Path) -> None:
    """A reader that has the first compaction gets exactly the changes since."""
    table = make(oracle, tmp_path, "lookup")
    seen = oracle.snapshots(table)[-1]["id"]
    run_inline(table, full=False)
    (changes,) = oracle.changelog(table, from_snapshot=seen + 1).values()
    assert sorted({row[0] for row in changes}) == ["+I", "+U", "-D", "-U"]
    assert_stream_is_the_table(oracle, table)
