"""Append tables beside others in a warehouse: discovered, due by small files, compacted, refused by name."""

from __future__ import annotations

from pathlib import Path

from infrastructure.oracle.client import Oracle, Table
from support.operators.objects import QUIET, catalog, policy
from support.operators.server import COMPACTIONS, TABLES, condition
from support.operators.stage import Stage
from support.tables import stray_files


def test_an_append_table_is_discovered_and_compacted(oracle: Oracle, stage: Stage, tmp_path: Path) -> None:
    table = Table(tmp_path / "lake", "db.events")
    oracle.create_table(
        table, {"id": "INT", "dt": "STRING"}, partition_keys=["dt"], options={"write-only": "true"}
    )
    for number in range(6):
        oracle.write(table, [["+I", number, "a"]])
    oracle.write(table, [["+I", 9, "b"]])
    tracked = Table(table.warehouse, "db.tracked")
    oracle.create_table(tracked, {"id": "INT"}, options={"row-tracking.enabled": "true"})
    rows = oracle.read(table)
    name = stage.name("lake")

    found = {"include": ["db.*"], "policyRef": {"name": name}}
    stage.kubectl.apply(policy(name, triggers=QUIET), catalog(name, tmp_path / "lake", discovery=found))

    def lake_table(identifier: str) -> str:
        """The name of the LakeTable that discovery has made."""
        return next(
            one["metadata"]["name"]
            for one in stage.story.all(TABLES)
            if one["spec"]["identifier"] == identifier
        )

    assert stage.story.wait(
        lambda: {one["spec"]["identifier"] for one in stage.story.all(TABLES)} >= {table.name, tracked.name},
        60,
    )
    compacted = stage.story.until(
        TABLES,
        lake_table("db.events"),
        lambda one: (
            one.get("status", {}).get("lastCompaction", {}).get("reason") == "Compacted"
            and one["status"]["observation"]["files"] == 2
        ),
    )
    refused = stage.story.until(
        TABLES, lake_table("db.tracked"), lambda one: condition(one, "Ready").get("status") == "False"
    )

    assert oracle.read(table) == rows
    assert stray_files(oracle, table) == set()
    seen = compacted["status"]["observation"]
    assert seen["append"] == {
        "buckets": 2,
        "dueBuckets": 0,
        "maxSmallFiles": 1,
        "maxSmallFilesBucket": "dt=a/bucket-0",
        "deletedRows": 0,
    }
    assert "mergeTree" not in seen
    assert "at most 1 small file " in compacted["status"]["due"]
    assert "row-tracking.enabled" in condition(refused, "Ready")["message"]
    runs = [
        one
        for one in stage.story.all(COMPACTIONS)
        if one["spec"]["tableRef"]["name"] == lake_table("db.events")
    ]
    assert [condition(one, "Succeeded")["reason"] for one in runs] == ["Compacted"]
