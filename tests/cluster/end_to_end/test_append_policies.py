"""A policy compacts append tables: WHY says with numbers why they are due, and their rows stay right."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.resources.compaction import Reason
from support.operators.objects import policy
from support.operators.scene import Care, message, proves
from support.operators.server import TABLES, Object, condition
from support.operators.stage import Stage
from support.tables import stray_files

DUE = {
    "triggers": {
        "primaryKey": {"sizeAmplificationPercent": 300},
        "append": {"smallFiles": 100, "deleteRatioPercent": 20},
    }
}


@pytest.fixture
def clustered(oracle: Oracle, tmp_path: Path) -> Table:
    """Five runs of similar size, each with rows from all over the table."""
    table = Table(tmp_path / "clustered", "db.t")
    options = {"write-only": "true", "clustering.incremental": "true", "clustering.columns": "id"}
    oracle.create_table(table, {"id": "INT", "v": "STRING"}, options=options)
    for number in range(5):
        oracle.write(table, [["+I", row, "abc"] for row in range(number, 100, 5)])
    return table


@pytest.fixture
def deleted(oracle: Oracle, tmp_path: Path) -> Table:
    """Two large files of 60 rows, of which 18 and 6 are deleted."""
    table, random = Table(tmp_path / "deleted", "db.t"), Random(7)
    options = {"write-only": "true", "deletion-vectors.enabled": "true", "target-file-size": "2 kb"}
    oracle.create_table(table, {"id": "INT", "v": "STRING"}, options=options)
    for first in (0, 60):
        rows = range(first, first + 60)
        oracle.write(table, [["+I", row, "".join(random.choices("abcdef", k=40))] for row in rows])
    oracle.delete(table, {"column": "id", "op": "in", "literals": [*range(18), *range(60, 66)]})
    return table


@proves(Reason.COMPACTED)
def test_they_are_due_by_the_policy_and_keep_their_rows(
    oracle: Oracle, stage: Stage, clustered: Table, deleted: Table
) -> None:
    """Both at the same time: one is due by its levels, the other by a file with many deleted rows."""
    rows = {table.warehouse: oracle.read(table) for table in (clustered, deleted)}
    assert [len(found) for found in rows.values()] == [100, 96]
    sorting = stage.care_for(clustered, "clustered", under={**DUE, "suspend": True})
    dropping = stage.care_for(deleted, "deleted", under=sorting.policy)

    why = _why(stage, sorting)
    assert why.startswith("SizeAmplification: ")
    assert "the limit is 300 %" in why
    why = _why(stage, dropping)
    assert why.startswith("DeletedRows: ")
    assert "1 file with deleted rows to drop, 1 of them above 20 %" in why

    stage.kubectl.apply(policy(sorting.policy, **DUE))
    seen = {care.lake: _compacted(stage, care)["status"]["observation"] for care in (sorting, dropping)}

    assert oracle.read(clustered, in_order=True) == sorted(rows[clustered.warehouse])
    assert oracle.read(deleted) == rows[deleted.warehouse]
    assert sorted(file.rows for file in oracle.files(deleted)) == [42, 60]
    assert seen[sorting.lake]["mergeTree"]["sortedRuns"] == 1
    assert (seen[dropping.lake]["append"]["deletedRows"], seen[dropping.lake]["append"]["dueBuckets"]) == (
        6,
        0,
    )
    assert [stray_files(oracle, table) for table in (clustered, deleted)] == [set(), set()]


def _why(stage: Stage, care: Care) -> str:
    """What a LakeTable says of its due compaction, while its policy is suspended."""
    found = stage.table_says(care, "CompactionNeeded", "True")
    assert "suspend" in message(found, "CompactionNeeded")
    assert found["status"]["due"].startswith(f"{condition(found, 'CompactionNeeded')['reason']}: ")
    return str(found["status"]["due"])


def _compacted(stage: Stage, care: Care) -> Object:
    """A LakeTable as soon as its compaction has succeeded and nothing is due any more."""
    return stage.story.until(
        TABLES,
        care.lake,
        lambda found: (
            found.get("status", {}).get("lastCompaction", {}).get("reason") == "Compacted"
            and condition(found, "CompactionNeeded").get("status") == "False"
        ),
    )
