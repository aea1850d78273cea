"""Clustering beside Java writers: a compaction never overwrites, so nothing that others insert is lost.

Sorting by an overwrite of whole partitions, as Paimon's sort compaction does, loses what comes meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from threading import Thread

import pytest

from infrastructure.oracle.client import Oracle
from infrastructure.oracle.model import Table
from lithify.engine.attempts.clean_up import recover
from lithify.errors import CommitConflict
from lithify.formats.paimon.commit.remains import PaimonRemains
from lithify.formats.paimon.opening import open_table
from lithify.formats.protocol.address import TableAddress
from support.cases import case
from support.races import Meanwhile, step_at
from support.runs import ShiftedClock, run_inline
from support.tables import copy_of, journals, kept_journals, stray_files

pytestmark = pytest.mark.oracle

OPTIONS = {
    "clustering.incremental": "true",
    "clustering.columns": "a,b",
    "num-sorted-run.compaction-trigger": "2",
    "commit.max-retries": "50",
}
INSERTS = 25
MOMENTS = ("planned", "journal-written", "tasks-done", "manifests-written", "snapshot-written")
Step = Callable[[Oracle, Table], object]


@pytest.fixture
def table(oracle: Oracle, tmp_path: Path) -> Table:
    """Three files in each of two partitions."""
    table = Table(tmp_path / "warehouse", "db.t")
    columns = {"a": "INT", "b": "STRING", "p": "INT"}
    oracle.create_table(table, columns, partition_keys=["p"], options=OPTIONS)
    for number in range(3):
        insert(oracle, table, number)
    return table


def insert(oracle: Oracle, table: Table, number: int) -> object:
    rows = [["+I", key * 31 % 97, f"{number}-{key}", key % 2] for key in range(40)]
    return oracle.write(table, rows)


def is_ours(manifest: str) -> bool:
    """Whether it has a name of our commits: its UUID ends with the number of an attempt, which is 0.

    Java's are random. Java leaves them behind when another commit is faster ("Skip clean up and try again" in
    its `FileStoreCommitImpl`), to its orphan clean; ours are deleted before the next try.
    """
    return manifest.rpartition("-")[0].endswith("0000000")


def insert_late(oracle: Oracle, table: Table) -> object:
    return insert(oracle, table, 99)


def cluster_one_partition(oracle: Oracle, table: Table) -> object:
    return oracle.compact(table, partitions=[{"p": 0}], full=True)


def overwrite_one_partition(oracle: Oracle, table: Table) -> object:
    return oracle.write(table, [["+I", 1, "new", 0]], overwrite_partition={"p": "0"})


def drop_one_partition(oracle: Oracle, table: Table) -> object:
    return oracle.drop_partition(table, {"p": "0"})


def test_a_writer_that_inserts_all_the_while_loses_nothing(oracle: Oracle, table: Table) -> None:
    def write() -> None:
        for number in range(INSERTS):
            insert(oracle, table, 100 + number)

    statuses = []
    writer = Thread(target=write)
    writer.start()
    while writer.is_alive() or len(statuses) < 3:
        statuses.append(run_inline(table, full=len(statuses) % 2 == 0).status)
    writer.join()

    assert set(statuses) <= {"Compacted", "NothingToDo"}
    assert "Compacted" in statuses
    rows = oracle.read(table)
    assert len({row[2] for row in rows}) == len(rows) == 40 * (3 + INSERTS)
    kinds = [snapshot["commitKind"] for snapshot in oracle.snapshots(table)]
    assert kinds.count("APPEND") == 3 + INSERTS
    assert kinds.count("COMPACT") == len(kinds) - 3 - INSERTS > 0
    if own_strays(oracle, table):
        # Java looks whether a snapshot is there, and renames its own over it: a lost attempt keeps its files
        # for an hour, because somebody may have built on them.
        assert journals(table) | kept_journals(table), "no journal names these files"
        for days in (3, 4):
            recover(PaimonRemains(open_table(address(table))), ShiftedClock(timedelta(days=days)))
    assert own_strays(oracle, table) == set()


def own_strays(oracle: Oracle, table: Table) -> set[str]:
    """Data files, and files of ours, that no snapshot references."""
    return {name for name in stray_files(oracle, table) if name.startswith("data-") or is_ours(name)}


def address(table: Table) -> TableAddress:
    return TableAddress(str(table.warehouse), str(table.name))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("full", [False, True], ids=["minor", "full"])
@pytest.mark.parametrize(
    ("step", "is_conflict"),
    [
        case(insert_late, False, id="an insert"),
        case(cluster_one_partition, True, id="Java's clustering"),
        case(overwrite_one_partition, True, id="an overwrite"),
        case(drop_one_partition, True, id="a dropped partition"),
    ],
)
def test_what_others_commit_meanwhile_stays(
    oracle: Oracle, table: Table, tmp_path: Path, step: Step, is_conflict: bool, full: bool
) -> None:
    twin = copy_of(table, tmp_path / "twin")
    step(oracle, twin)

    report = run_inline(table, full=full, max_rounds=1, runner=Meanwhile(after=lambda: step(oracle, table)))

    assert report.status == "Compacted"
    assert sorted(report.skipped) == (["p=0/bucket-0"] if is_conflict else [])
    assert oracle.read(table) == oracle.read(twin)
    assert stray_files(oracle, table) == set()
    oracle.compact(table, full=True)
    assert oracle.read(table) == oracle.read(twin), "Java goes on from there"


def test_inserts_at_every_moment_of_several_runs(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    inserted = 3
    for number, at in enumerate(MOMENTS):
        insert(oracle, table, 200 + number)
        with monkeypatch.context() as patch:
            step_at(patch, at, lambda number=number: insert(oracle, table, 100 + number))
            report = run_inline(table, full=True)
        inserted += 2
        assert report.status == "Compacted", at
        assert len({row[2] for row in oracle.read(table)}) == len(oracle.read(table)) == 40 * inserted
    assert stray_files(oracle, table) == set()


def test_an_insert_between_the_last_check_and_the_commit(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    step_at(monkeypatch, "manifests-written", lambda: insert_late(oracle, table))
    report = run_inline(table, full=True)
    assert (report.status, report.commit_tries) == ("Compacted", 2)
    assert len(oracle.read(table)) == 160
    assert stray_files(oracle, table) == set()


def test_a_java_clustering_that_lost_the_race_is_refused(oracle: Oracle, table: Table) -> None:
    """Java checks its inputs as we check ours."""
    rows = oracle.read(table)
    late = oracle.compact(table, full=True, commit=False)
    assert run_inline(table, full=True).status == "Compacted"
    with pytest.raises(Exception, match="conflict"):
        oracle.commit_prepared(late.token)
    oracle.abort_prepared(late.token)
    assert oracle.read(table) == rows


def test_nothing_is_committed_if_all_of_it_is_in_conflict(oracle: Oracle, table: Table) -> None:
    rows = oracle.read(table)
    runner = Meanwhile(after=lambda: oracle.compact(table, full=True))
    with pytest.raises(CommitConflict):
        run_inline(table, full=True, max_rounds=1, runner=runner)
    assert oracle.read(table) == rows
    assert stray_files(oracle, table) == set()
