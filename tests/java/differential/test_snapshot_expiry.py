"""Expiry of snapshots beside Java's, by name: what random histories (`java.fuzz`) do not reach."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, OracleError, Table
from infrastructure.paimon_versions.archive import VERSIONS, unpack
from lithify.formats.paimon.commit.references import unreferenced
from support.expired_snapshots import (
    Rules,
    answers,
    expire_both,
    expiry_of,
    files_of,
    numbers,
    opened,
)
from support.runs import ShiftedClock, run_inline
from support.tables import append, data_files, make_plain, stray_files, upserts

pytestmark = pytest.mark.oracle

LATER = ShiftedClock(timedelta(days=1))
LAST = Rules(most=1)


def expire(table: Table) -> int:
    """Expires all snapshots but the newest; returns how many there were."""
    expiry = expiry_of(table, LAST)
    return expiry.execute(expiry.plan(LATER)).figures["snapshots"]


def test_compacted_table_of_a_write_only_writer_shrinks_to_its_live_files(
    oracle: Oracle, tmp_path: Path
) -> None:
    table = make_plain(oracle, tmp_path / "table", buckets=2)
    run_inline(table)
    rows = oracle.read(table)

    assert expire_both(oracle, table, LAST, tmp_path / "java") == 6

    assert data_files(table) == {file.name for file in oracle.files(table)}
    assert oracle.read(table) == rows
    assert stray_files(oracle, table) == set()


def test_tag_keeps_its_files_until_java_deletes_it(oracle: Oracle, tmp_path: Path) -> None:
    table = make_plain(oracle, tmp_path / "table", **{"changelog-producer": "input"})
    oracle.create_tag(table, "kept", 3)
    oracle.compact(table)
    tagged = oracle.read(table, tag="kept")

    expire_both(oracle, table, LAST, tmp_path / "java")
    assert oracle.read(table, tag="kept") == tagged
    oracle.delete_tag(table, "kept")

    assert stray_files(oracle, table) == set()
    assert data_files(table) == {file.name for file in oracle.files(table)}


def test_branch_keeps_what_java_takes_away_with_its_tag(oracle: Oracle, tmp_path: Path) -> None:
    """Java asks only tags: a branch whose tag is gone cannot be read after its expiry."""
    table = make_plain(oracle, tmp_path / "table", commits=3)
    oracle.create_tag(table, "first", 2)
    oracle.create_branch(table, "b", "first")
    oracle.delete_tag(table, "first")
    run_inline(table)
    rows = oracle.read(table.branch("b"))
    java = Table(tmp_path / "java", table.name)

    expire_both(oracle, table, LAST, java.warehouse)

    assert oracle.read(table.branch("b")) == rows
    with pytest.raises(OracleError):
        oracle.read(java.branch("b"))


def test_consumer_of_java_goes_on_after_expiry(oracle: Oracle, tmp_path: Path) -> None:
    table = make_plain(oracle, tmp_path / "table", commits=2, **{"changelog-producer": "input"})
    oracle.consume(table, "c", plans=1)
    late = [append(oracle, table, f"late {number}") for number in range(3)]
    oracle.compact(table)

    assert expire_both(oracle, table, LAST, tmp_path / "java") > 0

    assert numbers(table)[0] == late[0]
    assert list(oracle.consume(table, "c")) == late


def test_external_files_go_as_with_java(oracle: Oracle, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    table = make_plain(
        oracle,
        tmp_path / "table",
        **{
            "data-file.external-paths": f"file://{outside}",
            "data-file.external-paths.strategy": "round-robin",
        },
    )
    run_inline(table)
    shutil.copytree(outside, tmp_path / "saved")
    java = Table(tmp_path / "java", table.name)
    shutil.copytree(str(table.warehouse), str(java.warehouse))
    before = [*outside.rglob("*.parquet")]

    oracle.expire_snapshots(java, retain_max=1)
    theirs = {str(path.relative_to(outside)) for path in outside.rglob("*")}
    shutil.rmtree(outside)
    shutil.copytree(tmp_path / "saved", outside)
    expire(table)

    assert {str(path.relative_to(outside)) for path in outside.rglob("*")} == theirs
    assert len([*outside.rglob("*.parquet")]) < len(before)
    assert files_of(table) == files_of(java)


def test_java_writer_commits_between_plan_and_deletion(oracle: Oracle, tmp_path: Path) -> None:
    table = make_plain(oracle, tmp_path / "table", **{"manifest.merge-min-count": "2"})
    expiry = expiry_of(table, LAST)
    plan = expiry.plan(LATER)
    append(oracle, table)
    oracle.compact(table)
    before = answers(oracle, table)

    expiry.execute(plan)

    after = answers(oracle, table)
    assert len(after) == 3
    assert after == {name: before[name] for name in after}
    assert unreferenced(opened(table), data_files(table)) == set()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("version", VERSIONS)
def test_tables_of_old_releases_expire_as_with_java(oracle: Oracle, tmp_path: Path, version: str) -> None:
    """Their snapshots, lists and manifests lack fields; a compaction adds manifests that have them."""
    table = unpack(version, tmp_path / "table", "t")
    run_inline(table)
    append_old(oracle, table)
    rows = oracle.read(table)

    assert expire_both(oracle, table, Rules(most=1), tmp_path / "java") > 1

    assert oracle.read(table) == rows
    assert stray_files(oracle, table) == set()


def append_old(oracle: Oracle, table: Table) -> None:
    """Deletes a row of the archives' table and adds another one."""
    oracle.write(table, [["-D", "a", 2, None, None], ["+I", "b", 9, "late", "z"]])


def test_java_goes_on_expiring_after_us(oracle: Oracle, tmp_path: Path) -> None:
    table = make_plain(oracle, tmp_path / "table", commits=3)
    oracle.compact(table)
    expire(table)
    oracle.write(table, upserts(range(9), "after"))
    oracle.compact(table)

    assert oracle.expire_snapshots(table, retain_max=1) == 2

    assert stray_files(oracle, table) == set()
    assert data_files(table) == {file.name for file in oracle.files(table)}
