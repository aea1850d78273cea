"""Snapshots of a table on S3 that nobody expires, on a real node, from `kubectl apply` to `Maintained`."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from infrastructure.oracle.client import Oracle, Table
from lithify.resources.compaction import Reason
from node.installed.site import Site
from support.operators.objects import QUIET
from support.small_tables import SmallTable


def test_old_snapshots_are_expired_by_a_driver_without_executors(
    oracle: Oracle, site: Site, tmp_path: Path
) -> None:
    old = SmallTable(tmp_path / "old", options={"snapshot.num-retained.min": "1"}).create()
    for _ in range(3):
        old.append()
    old.grow_old(timedelta(days=1))
    table = site.copied(Table(old.warehouse, old.name))
    rows = oracle.read(table)

    care = site.care_for(table, under={"triggers": QUIET})
    run = site.first_run(care)
    done = site.ended(run)

    site.stands(run, Reason.MAINTAINED)
    assert done["spec"]["kind"] == "ExpireSnapshots"
    assert [each["id"] for each in oracle.snapshots(table)] == [3]
    assert oracle.read(table) == rows
    assert site.executors(run) == []
    site.table_says(care, "SnapshotsExpire", "True", "OperatorExpires")
    site.until_clean()
