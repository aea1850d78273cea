"""Rollbacks beside Spark's rollback_to_snapshot: the same metadata, the same rows, and writers go on."""

from __future__ import annotations

from typing import Any

import pytest

from infrastructure.iceberg.tables import SparkTable
from java.iceberg.test_keeping import row_ids
from lithify.formats.iceberg.maintenance.rollback import IcebergRollback
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.protocol.maintenance import MaintenanceSettings
from lithify.formats.protocol.model import SnapshotId
from support.iceberg_runs import CLOCK, address_of, run


def roll_back(table: SparkTable, to: int, *, lose: bool = False) -> None:
    """Rolls back with Lithify; Spark sees the result."""
    settings = MaintenanceSettings(snapshot=SnapshotId(str(to)), loses_commits=lose)
    made = IcebergRollback(open_iceberg_table(address_of(table)), settings, CLOCK)
    made.execute(made.plan(CLOCK))
    table.run(f"REFRESH TABLE {table.name}")


def metadata(table: SparkTable) -> dict[str, Any]:
    found: dict[str, Any] = dict(table.spark.state(table.name).metadata)
    return found


def shape(found: dict[str, Any]) -> dict[str, Any]:
    """What a rollback changes or keeps, without times and places."""
    fields = ("current-snapshot-id", "last-sequence-number", "next-row-id", "properties", "statistics")
    return {
        **{name: found.get(name) for name in fields},
        "refs": found["refs"],
        "snapshots": [each["snapshot-id"] for each in found["snapshots"]],
        "log": [each["snapshot-id"] for each in found["snapshot-log"]],
        "metadata files": len(found["metadata-log"]),
    }


@pytest.mark.sampled(1)
@pytest.mark.parametrize("version", [1, 2, 3])
def test_metadata_is_that_of_spark(sql_table: SparkTable, version: int) -> None:
    """Rolled back by Lithify, brought forward again, and rolled back by Spark."""
    table = sql_table.create(version).append_many(2, 20)
    target, rows = table.snapshot_id, table.read().combine_chunks()
    table.append(40, 20)
    if version > 1:
        table.delete("id % 3 = 0")
    head = table.snapshot_id

    roll_back(table, target, lose=True)
    ours = shape(metadata(table))
    assert table.read().combine_chunks() == rows
    table.procedure("set_current_snapshot", f"snapshot_id => {head}")
    table.rollback(target)
    theirs = shape(metadata(table))

    assert theirs.pop("log") == [*ours["log"], head, target]
    assert theirs.pop("metadata files") == ours["metadata files"] + 2
    assert theirs == {name: ours[name] for name in theirs}


def test_compaction_is_undone_and_row_ids_stay_unique(sql_table: SparkTable) -> None:
    table = sql_table.create(3).append_many(4, 20)
    table.delete("id % 10 = 3")
    before, rows, known = table.snapshot_id, table.read().combine_chunks(), row_ids(table)
    assert run(table).status == "Compacted"

    roll_back(table, before)

    assert table.snapshot_id == before
    assert (table.read().combine_chunks(), row_ids(table)) == (rows, known)
    table.append(100, 20)
    after = row_ids(table)
    assert {key: value for key, value in after.items() if key < 100} == known
    assert run(table).status == "Compacted"
    assert row_ids(table) == after


def test_spark_expires_what_a_rollback_has_undone(sql_table: SparkTable) -> None:
    table = sql_table.create(2).append_many(3, 20)
    before, rows = table.snapshot_id, table.read().combine_chunks()
    assert run(table).status == "Compacted"
    roll_back(table, before)

    table.expire_snapshots()

    assert [each["snapshot-id"] for each in metadata(table)["snapshots"]] == [before]
    assert table.read().combine_chunks() == rows
    table.append(100, 5)
    assert run(table).status == "Compacted"
