"""Files outside the table's folder: those of dead runs go, those of the original of a copied table stay."""

from __future__ import annotations

import signal
import time
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import Row
from lithify.errors import AttemptFenced
from lithify.formats.paimon.maintenance.orphan_removal import OrphanRemoval
from lithify.formats.protocol.maintenance import FOREIGN_FILES, Maintained
from support.expired_snapshots import opened
from support.orphan_files import ALL_GOES
from support.races import Meanwhile
from support.runs import ShiftedClock, clean_up, run_inline, start
from support.tables import copy_of, expire, journals, make_plain, upserts

pytestmark = pytest.mark.oracle

LATER = (0, 48, 50, 52)
"""Hours: at once, when attempts are too old to commit, and when whoever still wrote for them has stopped."""


@pytest.fixture
def outside(tmp_path: Path) -> list[Path]:
    return [tmp_path / "outside a", tmp_path / "outside b"]


@pytest.fixture
def table(oracle: Oracle, tmp_path: Path, outside: list[Path]) -> Table:
    """Two buckets, in directories four levels deep, and files from before anything was outside."""
    table = make_plain(oracle, tmp_path / "warehouse", buckets=2, commits=2, keys=30)
    oracle.alter_table(
        table,
        {"set_option": ["data-file.external-paths", ",".join(f"file:{path}" for path in outside)]},
        {"set_option": ["data-file.external-paths.strategy", "entropy-inject"]},
    )
    oracle.write(table, upserts(range(5, 25), "outside"))
    return table


def files_in(outside: list[Path]) -> set[str]:
    return {path.name for folder in outside for path in folder.rglob("data-*")}


def live_outside(oracle: Oracle, table: Table) -> set[str]:
    """Files outside that some snapshot refers to."""
    numbers = [snapshot["id"] for snapshot in oracle.snapshots(table)]
    files = [file for number in numbers for file in oracle.files(table, snapshot_id=number)]
    return {file.name for file in files if file.external_path is not None}


def test_files_of_a_dead_run_go_and_no_others(oracle: Oracle, table: Table, outside: list[Path]) -> None:
    rows, before = oracle.read(table), files_in(outside)
    assert start(table, faults={"tasks-done": "kill"}).wait().code == -signal.SIGKILL
    assert len(files_in(outside) - before) == 2

    oracle.compact(table)
    after = live_outside(oracle, table)
    assert len(after - before) == 2
    clean_up(table, *LATER)

    assert files_in(outside) == after
    assert oracle.read(table) == rows
    assert journals(table) == set()


def test_what_a_run_gives_up_is_gone(oracle: Oracle, table: Table, outside: list[Path]) -> None:
    before = files_in(outside)
    with pytest.raises(AttemptFenced):
        run_inline(table, runner=Meanwhile(before=lambda: clean_up(table, 48)))
    clean_up(table, *LATER)
    assert files_in(outside) == before


def test_buckets_in_conflict_leave_nothing(oracle: Oracle, table: Table, outside: list[Path]) -> None:
    report = run_inline(
        table, runner=Meanwhile(after=lambda: oracle.compact(table, buckets=[0])), max_rounds=1
    )
    assert len(report.skipped) == 1
    assert files_in(outside) == live_outside(oracle, table)


def test_a_copy_of_the_table_leaves_the_files_of_the_original_alone(
    oracle: Oracle, table: Table, tmp_path: Path, outside: list[Path]
) -> None:
    """It has the journal of a run that is under way, and snapshots by which that came to nothing."""
    copies = []
    run_inline(table, runner=Meanwhile(after=lambda: copies.append(copy_of(table, tmp_path / "copy"))))
    rows, before = oracle.read(table), files_in(outside)
    assert journals(copies[0]) != set()

    run_inline(copies[0])
    clean_up(copies[0], *LATER)

    assert files_in(outside) >= before
    assert oracle.read(table) == oracle.read(copies[0]) == rows


def test_the_journal_of_a_moved_table_is_kept_while_nobody_knows_whose_files_are_outside(
    oracle: Oracle, table: Table, tmp_path: Path, outside: list[Path]
) -> None:
    """It may as well be a copy, and the files those of the original."""
    before = files_in(outside)
    assert start(table, faults={"tasks-done": "kill"}).wait().code == -signal.SIGKILL
    strays = files_in(outside) - before
    assert len(strays) == 2
    (tmp_path / "warehouse").rename(tmp_path / "elsewhere")
    moved = Table(tmp_path / "elsewhere", table.name)
    (journal,) = journals(moved)

    reports = clean_up(moved, *LATER)

    assert files_in(outside) == before | strays
    assert journals(moved) == {journal}
    (problem,) = reports[-1].uncleaned
    assert all(said in problem for said in (journal, str(table.folder), str(outside[0]), str(outside[1])))


def test_another_spelling_of_the_warehouse_is_no_other_place(
    oracle: Oracle, table: Table, tmp_path: Path, outside: list[Path]
) -> None:
    before = files_in(outside)
    assert start(table, faults={"tasks-done": "kill"}).wait().code == -signal.SIGKILL
    (tmp_path / "link").symlink_to(tmp_path / "warehouse")
    same = Table(f"file://{tmp_path}/link", table.name)

    clean_up(same, *LATER)

    assert files_in(outside) == before
    assert journals(table) == set()


def test_old_and_new_places_are_read_and_expired(oracle: Oracle, table: Table, outside: list[Path]) -> None:
    rows: list[Row] = oracle.read(table)
    run_inline(table)
    expire(oracle, table)
    assert oracle.read(table) == rows
    assert files_in(outside) == live_outside(oracle, table) == {file.name for file in oracle.files(table)}


@pytest.mark.parametrize("strategy", ["round-robin", "entropy-inject"])
def test_orphans_that_java_would_delete_there_are_counted_and_stay(
    oracle: Oracle, table: Table, outside: list[Path], strategy: str
) -> None:
    oracle.alter_table(table, {"set_option": ["data-file.external-paths.strategy", strategy]})
    oracle.write(table, upserts(range(5, 15), strategy))
    rows, left, deeper = oracle.read(table), leftovers(outside), leftovers(outside, "0100/1010/1111/10110010")
    before = files_in(outside)

    done = removed(table)

    assert done.figures[FOREIGN_FILES] == 4
    assert {sample.partition(" (")[0].rpartition("/")[2] for sample in done.samples} == left | deeper
    assert files_in(outside) == before
    oracle.remove_orphan_files(table, older_than=time.time_ns() // 1_000_000 + 1000)
    assert before - files_in(outside) == left, "Java looks into the folders of buckets, and no deeper"
    assert oracle.read(table) == rows


def test_orphans_of_a_copy_are_no_reason_to_delete_files_of_the_original(
    oracle: Oracle, table: Table, tmp_path: Path, outside: list[Path]
) -> None:
    """The copy names none of the files that the original has written since; Java would delete them."""
    copied = copy_of(table, tmp_path / "copy")
    oracle.write(table, upserts(range(10), "since"))
    rows, before = oracle.read(table), files_in(outside)

    assert removed(copied).figures[FOREIGN_FILES] > 0

    assert files_in(outside) == before
    assert oracle.read(table) == rows


def leftovers(outside: list[Path], below: str = "") -> set[str]:
    """Leaves a file in a bucket of each path."""
    paths = [path / "bucket-0" / below / f"data-{uuid4()}-0.parquet" for path in outside]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    return {path.name for path in paths}


def removed(table: Table) -> Maintained:
    removal = OrphanRemoval(opened(table), ALL_GOES)
    return removal.execute(removal.plan(ShiftedClock(timedelta(days=2))))
