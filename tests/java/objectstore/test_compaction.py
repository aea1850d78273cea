"""Compaction on object stores, end to end: real Spark, killed runs, and Java that reads the same rows."""

from __future__ import annotations

import json
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from infrastructure.objectstore.fixtures import Bucket
from infrastructure.objectstore.tables import address, java_table, run
from infrastructure.oracle.client import Oracle, Table
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.runner import InlineRunner
from lithify.formats.paimon.commit.table_writing import journal_of
from lithify.formats.paimon.opening import open_table
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.strategy import Strategy
from support.crashes import SETTLED
from support.runs import Outcome, ShiftedClock, ShippingRunner, compact_on_spark, start
from support.tables import journals, make_plain, stray_files

pytestmark = pytest.mark.oracle

REWRITTEN = {"compaction.force-rewrite-all-files": "true"}


def test_a_canary_leaves_no_branch_on_s3(oracle: Oracle, s3: Bucket) -> None:
    table = java_table(oracle, s3, buckets=2, keys=200)
    rows = oracle.read(table)

    report = run(s3, runner=ShippingRunner(), canary=True)

    assert report.canary is not None
    assert (report.canary.groups, report.canary.rows) == (2, len(rows))
    assert oracle.read(table) == rows
    assert stray_files(oracle, table) == set()
    assert {
        path for name in ("branch", "lithify/canaries") for path in files_in(table.folder / name)
    } == set()


def files_in(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


@pytest.mark.sampled(1)
@pytest.mark.spark
@pytest.mark.stores("gcs", "azure", "s3")  # OSS differs from S3 in creations only
def test_spark_compacts_and_java_reads_the_same_rows(oracle: Oracle, bucket: Bucket) -> None:
    table = java_table(oracle, bucket, buckets=2, keys=200)
    rows = oracle.read(table)
    options = [f"--catalog-option={key}={value}" for key, value in bucket.options().items()]

    done = compact_on_spark(f"{bucket.url}/lake", *options)

    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["status"], report["tasks"]) == ("Compacted", 2)
    bucket.fetch()
    assert oracle.read(table) == rows
    assert {file.level for file in oracle.files(table)} == {5}
    assert (stray_files(oracle, table), journals(table)) == (set(), set())
    assert bucket.server.secret not in done.stdout + done.stderr


@pytest.mark.parametrize("kind", ["orc", "avro"])
def test_tables_of_other_file_formats_keep_their_rows(oracle: Oracle, s3: Bucket, kind: str) -> None:
    """PyArrow reads ORC in threads of its own, also what Python fetches for it."""
    table = Table(s3.folder / "lake", "db.t")
    columns = {"id": "BIGINT NOT NULL", "text": "STRING", "at": "TIMESTAMP(3)"}
    options = {"bucket": "1", "file.format": kind}
    oracle.create_table(table, columns, primary_key=["id"], options=options)
    oracle.generate(table, rows=60_000, commits=3)
    before = oracle.digest(table)

    run(s3)

    assert oracle.digest(table) == before
    assert {(file.level, file.name.rpartition(".")[2]) for file in oracle.files(table)} == {(5, kind)}
    assert stray_files(oracle, table) == set()


def test_partitions_with_unusual_names(oracle: Oracle, s3: Bucket) -> None:
    table = Table(s3.folder / "lake", "db.t")
    names = ["plain", "a b", "ü/ö", "100%", "x=y", "a+b&c", "#1", "?", "~", "{[]}", "\\", "'", '"']
    oracle.create_table(
        table,
        {"p": "STRING NOT NULL", "id": "INT NOT NULL", "v": "STRING"},
        primary_key=["p", "id"],
        partition_keys=["p"],
        options={"bucket": "1"},
    )
    for mark in ("one", "two"):
        oracle.write(table, [["+I", name, 1, mark] for name in names])
    rows = oracle.read(table)

    report = run(s3)

    assert len(report.groups) == len(names)
    assert oracle.read(table) == rows
    assert {file.level for file in oracle.files(table)} == {5}
    assert stray_files(oracle, table) == set()


def killed_at(s3: Bucket, point: str, run_id: str) -> Outcome:
    """A run through S3 in a process of its own, killed at a point."""
    where = Table(f"{s3.url}/lake", "db.t")
    arguments = ("--run", run_id, "--catalog", json.dumps(s3.options()))
    return start(where, *arguments, faults={point: "kill"}).wait()


@pytest.mark.parametrize(
    ("point", "status"),
    [
        ("file-written", "Compacted"),
        ("manifests-written", "Compacted"),
        ("snapshot-written", "AlreadyCommitted"),
    ],
)
def test_a_killed_run_commits_once_and_leaves_nothing(
    oracle: Oracle, s3: Bucket, point: str, status: str
) -> None:
    table = make_plain(oracle, s3.folder / "lake", commits=2)
    rows, snapshots = oracle.read(table), len(oracle.snapshots(table))

    assert killed_at(s3, point, "run-a").code == -signal.SIGKILL
    assert oracle.read(table) == rows

    assert run(s3, run="run-a").status == status
    for later in range(1, 5):
        run(s3, shift=later * SETTLED)
    assert oracle.read(table) == rows
    assert len(oracle.snapshots(table)) == snapshots + 1
    assert (stray_files(oracle, table), journals(table)) == (set(), set())


def test_files_of_a_killed_run_wait_until_what_it_sent_must_have_arrived(oracle: Oracle, s3: Bucket) -> None:
    table = make_plain(oracle, s3.folder / "lake", commits=2)
    killed_at(s3, "manifests-written", "run-a")
    orphans = stray_files(oracle, table)
    run(s3)

    run(s3)
    assert journal_of(open_table(address(s3))).recorded().open != []
    assert stray_files(oracle, table) == orphans != set()

    run(s3, shift=SETTLED)
    assert stray_files(oracle, table) == set()


def test_branches_and_external_paths(oracle: Oracle, s3: Bucket) -> None:
    """A branch whose new files go to another folder of the bucket, and are read and rewritten from there."""
    table = java_table(oracle, s3, commits=2, keys=30)
    oracle.create_tag(table, "old")
    oracle.create_branch(table, "b", "old")
    outside = f"{s3.url}/outside"
    oracle.alter_table(
        table.branch("b"),
        {"set_option": ["data-file.external-paths", f"{outside}/a,{outside}/b"]},
        {"set_option": ["data-file.external-paths.strategy", "entropy-inject"]},
    )
    rows = oracle.read(table)
    where = replace(address(s3), name="db.t$branch_b")
    request = Request(where, Selection(strategy=Strategy.FULL))

    for each in (request, replace(request, table=replace(where, overrides=REWRITTEN))):
        assert compact(each, InlineRunner(), ShiftedClock()).status == "Compacted"

    opened = open_table(where)
    (entry,) = opened.manifests.live(opened.snapshots.latest())
    files = sorted(path for end in "ab" for path in opened.storage.files_below(f"{outside}/{end}"))
    assert len(files) == 2
    assert opened.path(entry) in files
    assert all(opened.storage.exists(path) for path in files)
    assert oracle.read(table) == rows
    assert stray_files(oracle, table) == set()
