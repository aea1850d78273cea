"""Compaction on HDFS, end to end: Spark, killed runs, two name nodes, and Java that reads the same rows."""

from __future__ import annotations

import json
import signal
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from infrastructure.hdfs.fixtures import HdfsFolder
from infrastructure.hdfs.server import HdfsCluster
from infrastructure.oracle.client import Oracle, Table
from lithify.formats.paimon.maintenance.orphan_removal import OrphanRemoval
from lithify.formats.paimon.opening import open_table
from support.crashes import SETTLED
from support.hdfs_runs import address, run
from support.orphan_files import ALL_GOES
from support.runs import ShiftedClock, ShippingRunner, compact_on_spark, start
from support.tables import append, journals, make_plain, stray_files

pytestmark = pytest.mark.oracle


@pytest.mark.spark
def test_spark_compacts_what_java_wrote_and_java_reads_the_same_rows(
    oracle: Oracle, hdfs: HdfsFolder
) -> None:
    table = make_plain(oracle, hdfs.url, buckets=2, keys=200, commits=2)
    rows = oracle.read(table)

    done = compact_on_spark(hdfs.url)

    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["status"], report["tasks"]) == ("Compacted", 2)
    assert oracle.read(table) == rows
    assert {file.level for file in oracle.files(table)} == {5}
    copy = hdfs.copy()
    assert (stray_files(oracle, copy), journals(copy)) == (set(), set())


@pytest.mark.parametrize("kind", ["orc", "avro"])
def test_tables_of_other_file_formats_keep_their_rows(oracle: Oracle, hdfs: HdfsFolder, kind: str) -> None:
    columns = {"id": "BIGINT NOT NULL", "text": "STRING", "at": "TIMESTAMP(3)"}
    options = {"bucket": "1", "file.format": kind}
    oracle.create_table(hdfs.table, columns, primary_key=["id"], options=options)
    oracle.generate(hdfs.table, rows=20_000, commits=2)
    before = oracle.digest(hdfs.table)

    run(hdfs)

    assert oracle.digest(hdfs.table) == before
    assert {(file.level, file.name.rpartition(".")[2]) for file in oracle.files(hdfs.table)} == {(5, kind)}


def test_partitions_with_unusual_names(oracle: Oracle, hdfs: HdfsFolder) -> None:
    names = ["plain", "a b", "ü/ö", "100%", "x=y", "a+b&c", "#1", "?", "a:b", "{[]}", "\\", "'"]
    oracle.create_table(
        hdfs.table,
        {"p": "STRING NOT NULL", "id": "INT NOT NULL", "v": "STRING"},
        primary_key=["p", "id"],
        partition_keys=["p"],
        options={"bucket": "1"},
    )
    for mark in ("one", "two"):
        oracle.write(hdfs.table, [["+I", name, 1, mark] for name in names])
    rows = oracle.read(hdfs.table)

    report = run(hdfs, runner=ShippingRunner())

    assert len(report.groups) == len(names)
    assert oracle.read(hdfs.table) == rows
    assert {file.level for file in oracle.files(hdfs.table)} == {5}


def test_a_canary_leaves_neither_branch_nor_directory(
    oracle: Oracle, hdfs: HdfsFolder, hdfs_table: Table
) -> None:
    rows = oracle.read(hdfs_table)

    report = run(hdfs, runner=ShippingRunner(), canary=True)

    assert report.canary is not None
    assert report.canary.rows == len(rows)
    assert oracle.read(hdfs_table) == rows
    assert stray_files(oracle, hdfs.copy()) == set()
    cluster, key = hdfs.files.bucket(f"{hdfs.url}/db.db/t")
    assert {
        listed.key.removeprefix(f"{key}/branch/") for listed in cluster.list_folder(f"{key}/branch")
    } == set()


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("point", "status"),
    [
        ("file-written", "Compacted"),
        ("manifests-written", "Compacted"),
        ("snapshot-written", "AlreadyCommitted"),
    ],
)
def test_a_killed_run_commits_once_and_leaves_nothing(
    oracle: Oracle, hdfs: HdfsFolder, hdfs_table: Table, point: str, status: str
) -> None:
    rows, snapshots = oracle.read(hdfs_table), len(oracle.snapshots(hdfs_table))

    killed = start(Table(hdfs.url, "db.t"), "--run", "run-a", faults={point: "kill"}).wait()
    assert killed.code == -signal.SIGKILL
    assert oracle.read(hdfs_table) == rows

    assert run(hdfs, run="run-a").status == status
    for later in range(1, 4):
        run(hdfs, shift=later * SETTLED)
    assert oracle.read(hdfs_table) == rows
    assert len(oracle.snapshots(hdfs_table)) == snapshots + 1
    copy = hdfs.copy()
    assert (stray_files(oracle, copy), journals(copy)) == (set(), set())


def test_orphans_go_and_with_them_files_that_crashed_commits_have_left(
    oracle: Oracle, hdfs: HdfsFolder, hdfs_table: Table
) -> None:
    rows, before = oracle.read(hdfs_table), hdfs.names()
    cluster, key = hdfs.files.bucket(f"{hdfs.url}/db.db/t")
    for name in (
        f"bucket-0/data-{uuid4()}-0.parquet",
        f"snapshot/.lithify-snapshot-4.{uuid4()}",
        f"snapshot/.snapshot-4.{uuid4()}.tmp",
    ):
        cluster.write(f"{key}/{name}", b"left")
    removal = OrphanRemoval(open_table(address(hdfs)), ALL_GOES)

    done = removal.execute(removal.plan(ShiftedClock(timedelta(days=2))))

    assert (done.figures["dataFiles"], done.figures["metadataFiles"]) == (1, 2)
    assert hdfs.names() == before
    assert oracle.read(hdfs_table) == rows


@pytest.fixture(scope="module")
def two_name_nodes(tmp_path_factory: pytest.TempPathFactory) -> HdfsCluster:
    return HdfsCluster(tmp_path_factory.mktemp("hdfs-ha"), name_nodes=2)


def test_runs_go_on_when_the_other_name_node_takes_over(
    oracle: Oracle, two_name_nodes: HdfsCluster, tmp_path: Path
) -> None:
    """Java is told which of them is active; we find out."""
    with two_name_nodes as cluster:
        hdfs = HdfsFolder(cluster, "/lake", tmp_path / "copy")
        by_first, by_second = (Table(f"hdfs://127.0.0.1:{port}/lake", "db.t") for port in cluster.ports)
        make_plain(oracle, str(by_first.warehouse), commits=2)
        assert run(hdfs).status == "Compacted"
        rows = oracle.read(by_first)
        cluster.fail_over()
        assert oracle.read(by_second) == rows
        append(oracle, by_second)
        rows = oracle.read(by_second)

        report = run(hdfs, runner=ShippingRunner())

        assert report.status == "Compacted"
        assert oracle.read(by_second) == rows
        assert [each["commitKind"] for each in oracle.snapshots(by_second)][-3:] == [
            "COMPACT",
            "APPEND",
            "COMPACT",
        ]
