"""Rolls back a table that Java wrote, and a copy of it with Java's own classes."""

from __future__ import annotations

from pathlib import Path

from infrastructure.oracle.client import Oracle, Table
from lithify.errors import CommitsWouldBeLost
from lithify.formats.paimon.maintenance.table_rollback import TableRollback
from lithify.formats.protocol.maintenance import Maintained, MaintenanceSettings
from lithify.formats.protocol.model import SnapshotId
from support.expired_snapshots import files_of, opened
from support.runs import ShiftedClock
from support.tables import copy_of

CLOCK = ShiftedClock()


def rollback_of(table: Table, number: int, *, lose: bool = True) -> TableRollback:
    """The rollback of a table to a snapshot."""
    settings = MaintenanceSettings(snapshot=SnapshotId(str(number)), loses_commits=lose)
    return TableRollback(opened(table), settings)


def roll_back(table: Table, number: int, *, lose: bool = True) -> Maintained:
    """Rolls a table back."""
    made = rollback_of(table, number, lose=lose)
    return made.execute(made.plan(CLOCK))


def roll_back_both(oracle: Oracle, table: Table, number: int, warehouse: Path) -> Maintained:
    """Rolls the table back with Lithify, and a copy with Java; the same files are left, hints included."""
    twin = copy_of(table, warehouse)
    kinds = {each["id"]: each["commitKind"] for each in oracle.snapshots(table) if each["id"] > number}
    before = files_of(table)
    rows = oracle.read(table, snapshot_id=number)
    oracle.rollback_to(twin, snapshot_id=number)

    done = _only_compactions_without_permission(table, number, kinds)

    assert files_of(table) == files_of(twin)
    assert latest(table) == latest(twin) == str(number)
    assert before - files_of(table) >= {f"snapshot/snapshot-{each}" for each in kinds}
    assert len(before - files_of(table)) == sum(done.figures.values()) - done.figures["lostCommits"]
    assert done.figures["lostCommits"] == len([kind for kind in kinds.values() if kind != "COMPACT"])
    assert oracle.read(table) == rows
    return done


def latest(table: Table) -> str:
    """The LATEST hint."""
    return (table.folder / "snapshot" / "LATEST").read_text()


def _only_compactions_without_permission(table: Table, number: int, kinds: dict[int, str]) -> Maintained:
    before = files_of(table)
    try:
        return roll_back(table, number, lose=False)
    except CommitsWouldBeLost:
        assert set(kinds.values()) != {"COMPACT"}
        assert files_of(table) == before
        return roll_back(table, number)
