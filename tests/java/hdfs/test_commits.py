"""Snapshots on HDFS: whatever becomes of a rename and its answer, a commit is there once, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic

import pytest

from infrastructure.hdfs.fixtures import HdfsFolder
from infrastructure.hdfs.proxy import Exchange, Late, RpcProxy, Step, hang, lose_answer, lose_request
from infrastructure.oracle.client import Oracle, Table
from lithify.errors import CommitConflict
from lithify.io.hdfs.client import RPC_SECONDS
from support.cases import case
from support.crashes import SETTLED
from support.hdfs_runs import run
from support.tables import append, journals, stray_files

pytestmark = pytest.mark.oracle


@pytest.fixture
def proxy(hdfs: HdfsFolder) -> Iterator[RpcProxy]:
    with RpcProxy(hdfs.cluster.ports[0]) as started:
        yield started


def kinds(oracle: Oracle, table: Table) -> list[str]:
    return [snapshot["commitKind"] for snapshot in oracle.snapshots(table)]


def assert_nothing_is_left(oracle: Oracle, hdfs: HdfsFolder) -> None:
    copy = hdfs.copy()
    assert (stray_files(oracle, copy), journals(copy)) == (set(), set())


UNANSWERED: list[tuple[list[Step], int]] = [
    case([lose_answer], 1, id="the answer is lost"),
    case([lose_request], 2, id="the request is lost"),
    case([lose_request, lose_answer], 2, id="first a request, then an answer"),
]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("steps", "renames"), UNANSWERED)
def test_what_became_of_a_rename_is_found_out(
    oracle: Oracle, hdfs: HdfsFolder, hdfs_table: Table, proxy: RpcProxy, steps: list[Step], renames: int
) -> None:
    rows, before = oracle.read(hdfs_table), kinds(oracle, hdfs_table)
    proxy.steps = list(steps)

    report = run(hdfs, proxy)

    assert (report.status, report.commit_tries) == ("Compacted", 1)
    assert proxy.seen == renames
    assert kinds(oracle, hdfs_table) == [*before, "COMPACT"]
    assert oracle.read(hdfs_table) == rows
    assert_nothing_is_left(oracle, hdfs)


def overtaken(oracle: Oracle, table: Table, then: Step) -> Step:
    """Somebody else commits first, by Java's own file system."""

    def step(exchange: Exchange) -> None:
        append(oracle, table)
        then(exchange)

    return step


def test_a_commit_that_java_was_before_is_built_again(
    oracle: Oracle, hdfs: HdfsFolder, hdfs_table: Table, proxy: RpcProxy
) -> None:
    proxy.steps = [overtaken(oracle, hdfs_table, lambda exchange: exchange.forward())]

    report = run(hdfs, proxy)

    assert (report.status, report.commit_tries) == ("Compacted", 2)
    assert kinds(oracle, hdfs_table)[-2:] == ["APPEND", "COMPACT"]
    assert len([row for row in oracle.read(hdfs_table) if str(row[2]).startswith("late-")]) == 15
    assert_nothing_is_left(oracle, hdfs)


def test_a_commit_that_was_before_java_is_built_on(
    oracle: Oracle, hdfs: HdfsFolder, hdfs_table: Table
) -> None:
    """Java prepares its commit first, and finds the name of its snapshot taken."""
    prepared = oracle.prepare(hdfs_table, [["+I", 1000, "java", 1]])

    assert run(hdfs).status == "Compacted"
    oracle.commit_prepared(prepared.token)

    assert kinds(oracle, hdfs_table)[-2:] == ["COMPACT", "APPEND"]
    assert [row[1:3] for row in oracle.read(hdfs_table) if row[1] == 1000] == [[1000, "java"]]


def test_a_rename_that_was_given_up_never_takes_effect(
    oracle: Oracle, hdfs: HdfsFolder, hdfs_table: Table, proxy: RpcProxy
) -> None:
    """Not even after a roll-back of what overtook it: the file that it would rename is gone."""
    base = oracle.snapshots(hdfs_table)[-1]["id"]
    rows = oracle.read(hdfs_table)
    late = Late()
    of_java: set[str] = set()

    def overtake(exchange: Exchange) -> None:
        before = hdfs.names()
        append(oracle, hdfs_table)
        of_java.update(name.rpartition("/")[2] for name in hdfs.names() - before)
        late.keep(exchange)

    proxy.steps = [overtake]

    with pytest.raises(CommitConflict):
        run(hdfs, proxy, max_rounds=1)
    oracle.rollback_to(hdfs_table, snapshot_id=base)
    assert late.arrive() == 1

    assert oracle.snapshots(hdfs_table)[-1]["id"] == base
    assert oracle.read(hdfs_table) == rows
    for later in (SETTLED, 2 * SETTLED):
        run(hdfs, shift=later)
    assert oracle.read(hdfs_table) == rows
    assert stray_files(oracle, hdfs.copy()) <= of_java


def test_a_rename_that_hangs_is_given_up_soon_and_sent_again(
    oracle: Oracle, hdfs: HdfsFolder, hdfs_table: Table, proxy: RpcProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lithify.io.hdfs.cluster.RENAME_SECONDS", 1.0)
    proxy.steps = [hang]
    started = monotonic()

    report = run(hdfs, proxy)

    assert (report.status, report.commit_tries, proxy.seen) == ("Compacted", 1, 2)
    assert monotonic() - started < RPC_SECONDS
    assert_nothing_is_left(oracle, hdfs)
