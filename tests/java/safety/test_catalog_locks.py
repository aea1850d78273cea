"""Commits to tables of a JDBC catalog with `lock.enabled`, beside Java's own lock on the same database."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from time import sleep

import pytest

from infrastructure.oracle.client import Oracle, OracleError, Table
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.report import Report
from lithify.engine.run.runner import InlineRunner
from lithify.errors import CatalogLocked
from lithify.formats.paimon.catalog.jdbc_lock import JdbcLock
from lithify.formats.paimon.catalog.locks import LockSettings, lock_settings
from lithify.formats.paimon.snapshots.writable_snapshots import WritableSnapshots, _LinkWriter
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from support.catalog_locks import (
    age_locks,
    die_with_the_lock,
    jdbc_catalog,
    locks,
    step_while_waiting,
    with_lock,
)
from support.crashes import SETTLED
from support.merged_manifests import merge
from support.races import step_after, step_before
from support.runs import ShiftedClock
from support.tables import append, journals, make_plain, stray_files, upserts

pytestmark = pytest.mark.oracle

DEADLINE = 60


@pytest.fixture
def table(oracle: Oracle, tmp_path: Path) -> Table:
    """A table whose writers take the lock."""
    catalog = with_lock(jdbc_catalog(tmp_path / "catalog.db"))
    return make_plain(oracle, tmp_path / "warehouse", commits=2, catalog=catalog)


def run(table: Table, *, hours: int = 0, **options: str) -> Report:
    address = TableAddress(str(table.warehouse), str(table.name), {**table.catalog, **options})
    request = Request(address, Selection(strategy=Strategy.FULL))
    return compact(request, InlineRunner(), ShiftedClock(hours * SETTLED))


def in_a_hurry(table: Table, timeout: str = "300 ms") -> Table:
    """The same table for a writer that does not wait long, and whose own lock is soon too old."""
    return replace(table, catalog=with_lock(table.catalog, timeout))


def settings_of(table: Table, **options: str) -> LockSettings:
    found = lock_settings(str(table.name), {**table.catalog, **options}, on_objects=False)
    assert found is not None
    return found


def kinds(oracle: Oracle, table: Table) -> list[str]:
    return [snapshot["commitKind"] for snapshot in oracle.snapshots(table)]


def test_merged_manifests_are_committed_under_the_lock(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        append(oracle, table, f"more{number}")
    rows, seen = oracle.read(table), []
    step_before(monkeypatch, (_LinkWriter, "write"), lambda: seen.extend(locks(table.catalog)))

    assert merge(table).status == "Done"

    assert seen == [("jdbc.db.t", 480)]
    assert locks(table.catalog) == []
    assert oracle.read(table) == rows


@pytest.mark.parametrize("branch", [None, "b"], ids=["table", "branch"])
def test_java_cannot_take_the_lock_while_a_snapshot_is_written(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch, branch: str | None
) -> None:
    files = replace(table, catalog={})  # Java's JDBC catalog opens no branches
    if branch is not None:
        oracle.create_tag(files, "t")
        oracle.create_branch(files, branch, "t")
        table, files = table.branch(branch), files.branch(branch)
    rows = oracle.read(files)
    seen: list[tuple[str, int]] = []

    def try_to_lock() -> None:
        seen.extend(locks(table.catalog))
        with pytest.raises(OracleError, match="Acquire lock failed"):
            oracle.lock(in_a_hurry(table))

    step_before(monkeypatch, (_LinkWriter, "write"), try_to_lock)

    assert run(table).status == "Compacted"

    assert seen == [(f"jdbc.{table.name}", 480)]
    assert locks(table.catalog) == []
    assert oracle.read(files) == rows
    oracle.unlock(oracle.lock(table))


def test_another_catalog_key_is_another_lock(oracle: Oracle, table: Table) -> None:
    token = oracle.lock(table)
    seen: list[tuple[str, int]] = []
    own = JdbcLock(settings_of(table, **{"catalog-key": "other"}))

    with own.held() as had_to_wait:
        seen.extend(locks(table.catalog))

    assert not had_to_wait
    assert sorted(name for name, _ in seen) == ["jdbc.db.t", "other.db.t"]
    oracle.unlock(token)
    assert locks(table.catalog) == []


def test_run_waits_until_java_releases_the_lock(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, rows, token = kinds(oracle, table), oracle.read(table), oracle.lock(table)

    def release() -> None:
        assert kinds(oracle, table) == before
        oracle.unlock(token)

    pauses = step_while_waiting(monkeypatch, release)

    assert run(table).status == "Compacted"

    assert pauses == [0.1]
    assert kinds(oracle, table) == [*before, "COMPACT"]
    assert oracle.read(table) == rows


def test_commit_of_java_before_ours_is_kept_and_ours_is_built_again(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, token = kinds(oracle, table), oracle.lock(table)

    def commit_first() -> None:
        oracle.unlock(token)
        append(oracle, table)

    step_while_waiting(monkeypatch, commit_first)

    report = run(table)

    assert (report.status, report.commit_tries) == ("Compacted", 2)
    assert kinds(oracle, table) == [*before, "APPEND", "COMPACT"]
    assert len([row for row in oracle.read(table) if str(row[2]).startswith("late-")]) == 15
    assert (stray_files(oracle, table), journals(table)) == (set(), set())


def test_commit_of_java_that_begins_while_ours_is_written_comes_after_it(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, begun = kinds(oracle, table), []

    with ThreadPoolExecutor(1) as other:

        def begin() -> None:
            manifests = set((table.folder / "manifest").iterdir())
            begun.append(other.submit(append, oracle, table))
            while len(set((table.folder / "manifest").iterdir()) - manifests) < 3:
                sleep(0.01)  # then Java has nothing left to write but the snapshot

        step_before(monkeypatch, (_LinkWriter, "write"), begin)
        report = run(table)
        newest = begun[0].result(DEADLINE)

    assert (report.status, report.commit_tries) == ("Compacted", 1)
    assert kinds(oracle, table) == [*before, "COMPACT", "APPEND"]
    assert newest == len(before) + 2
    assert len([row for row in oracle.read(table) if str(row[2]).startswith("late-")]) == 15


def test_run_gives_up_after_the_timeout_and_leaves_nothing_behind(oracle: Oracle, table: Table) -> None:
    before, rows, token = kinds(oracle, table), oracle.read(table), oracle.lock(table)

    with pytest.raises(CatalogLocked) as caught:
        run(in_a_hurry(table))

    assert (caught.value.exit_code, caught.value.lock) == (3, "jdbc.db.t")
    assert kinds(oracle, table) == before
    oracle.unlock(token)
    assert stray_files(oracle, table) == set()
    assert run(table, hours=1).status == "Compacted"
    assert oracle.read(table) == rows
    assert (stray_files(oracle, table), journals(table)) == (set(), set())


def test_attempt_that_was_fenced_while_it_waited_commits_nothing(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, token = kinds(oracle, table), oracle.lock(table)

    def fence() -> None:
        for path in (table.folder / "lithify" / "attempts").glob("*.json"):
            path.unlink()
        oracle.unlock(token)

    step_while_waiting(monkeypatch, fence)

    with pytest.raises(Exception, match="the journal is gone") as caught:
        run(table)

    assert type(caught.value).__name__ == "AttemptFenced"
    assert kinds(oracle, table) == before


def test_lock_of_a_dead_java_writer_is_taken_when_it_is_too_old(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = oracle.read(table)
    with Oracle.start() as other:
        other.lock(in_a_hurry(table, "1 min"))
    assert locks(table.catalog) == [("jdbc.db.t", 60)]
    pauses = step_while_waiting(monkeypatch, lambda: age_locks(table.catalog, seconds=61))

    assert run(table).status == "Compacted"

    assert pauses, "it was taken before its time"
    assert oracle.read(table) == rows
    assert locks(table.catalog) == []


def test_java_takes_the_lock_of_a_killed_run_when_it_is_too_old(oracle: Oracle, table: Table) -> None:
    dead = multiprocessing.get_context("spawn").Process(
        target=die_with_the_lock, args=(settings_of(in_a_hurry(table, "1 s")),)
    )
    dead.start()
    dead.join(DEADLINE)
    assert dead.exitcode == -signal.SIGKILL
    assert locks(table.catalog) == [("jdbc.db.t", 1)]

    assert append(oracle, table) == len(kinds(oracle, table))

    assert locks(table.catalog) == []


def test_lock_that_java_took_over_is_not_released_and_the_snapshot_is_read_under_it(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours was too old before the snapshot was written: Java may be between its check and its renaming."""
    rows, tokens = oracle.read(table), []
    seen: list[tuple[str, int]] = []
    step_before(monkeypatch, (_LinkWriter, "write"), lambda: tokens.append(oracle.lock(table)))

    def release() -> None:
        seen.extend(locks(table.catalog))
        oracle.unlock(tokens[0])

    pauses = step_while_waiting(monkeypatch, release)

    report = run(in_a_hurry(table, "1 s"))

    assert (report.status, report.commit_tries) == ("Compacted", 1)
    assert seen == [("jdbc.db.t", 480)]
    assert pauses
    assert oracle.read(table) == rows
    assert locks(table.catalog) == []


def test_commits_of_java_and_of_runs_at_the_same_time_all_count(oracle: Oracle, table: Table) -> None:
    before, reports = len(kinds(oracle, table)), []

    with ThreadPoolExecutor(1) as other:
        writing: Future[None] = other.submit(write_often, oracle, table, 15)
        while not writing.done():
            reports.append(run(table))
        writing.result(DEADLINE)

    snapshots = oracle.snapshots(table)
    compacted = [report for report in reports if report.status == "Compacted"]
    assert [snapshot["id"] for snapshot in snapshots] == list(range(1, len(snapshots) + 1))
    found = [snapshot["commitKind"] for snapshot in snapshots[before:]]
    assert (found.count("APPEND"), found.count("COMPACT")) == (15, len(compacted))
    assert {int(str(report.snapshot_after)) for report in compacted} <= {
        snapshot["id"] for snapshot in snapshots if snapshot["commitKind"] == "COMPACT"
    }
    written = {f"w{number}-{100 + number}" for number in range(15)}
    assert written <= {str(row[2]) for row in oracle.read(table)}
    assert locks(table.catalog) == []


def write_often(oracle: Oracle, table: Table, times: int) -> None:
    for number in range(times):
        oracle.write(table, upserts(range(100 + number, 101 + number), f"w{number}"))


def test_without_the_option_no_lock_is_taken_on_a_local_file_system(
    oracle: Oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog: Mapping[str, str] = jdbc_catalog(tmp_path / "catalog.db")
    table = make_plain(oracle, tmp_path / "warehouse", commits=2, catalog=catalog)
    token = oracle.lock(replace(table, catalog=with_lock(catalog)))
    step_after(monkeypatch, (WritableSnapshots, "write"), lambda: oracle.unlock(token))

    assert run(table).status == "Compacted"
