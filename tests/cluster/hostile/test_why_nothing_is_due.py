"""The status of a LakeTable that is not due says what its files wait for, with numbers and dates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from support.operators.scene import Care, message
from support.operators.server import CATALOGS, condition
from support.operators.stage import Stage

COLUMNS = {"day": "STRING NOT NULL", "id": "INT NOT NULL"}
GENTLE = {"bucket": "1", "changelog-producer": "lookup", "lookup-compact": "gentle"}
CLUSTERED = {
    "clustering.incremental": "true",
    "clustering.columns": "id",
    "clustering.history-partition.idle-to-full-sort": "2 d",
}
DAYS = ("a", "b")


def made(oracle: Oracle, folder: Path, options: Mapping[str, str], keys: Sequence[str] = ()) -> Table:
    """A table of two days, with three commits."""
    table = Table(folder, "db.t")
    options = {"write-only": "true", **options}
    oracle.create_table(table, COLUMNS, keys, ["day"], options=options)
    for number in range(3):
        oracle.write(table, [["+I", day, number] for day in DAYS])
    return table


@pytest.fixture
def cares(oracle: Oracle, stage: Stage, tmp_path: Path) -> dict[str, Care]:
    """One table for each question, all of them looked at by one operator."""
    key = ("day", "id")
    small = made(oracle, tmp_path / "small", {})
    gentle = made(oracle, tmp_path / "gentle", GENTLE, key)
    clustered = made(oracle, tmp_path / "clustered", CLUSTERED)
    many = made(oracle, tmp_path / "many", {"bucket": "1", "num-sorted-run.compaction-trigger": "2"}, key)
    busy = made(oracle, tmp_path / "busy", {"bucket": "1"}, key)
    full = {"full": {"intervalSeconds": 60}, "partitionIdleSeconds": 86400}
    return {
        "small": stage.care_for(small, "small"),
        "gentle": stage.care_for(gentle, "gentle", under={}),
        "clustered": stage.care_for(clustered, "clustered"),
        "outside": stage.care_for(many, "outside", under={"partitions": [{"day": "c"}]}),
        "busy": stage.care_for(busy, "busy", under=full),
        "typo": stage.care_for(small, "typo", tableOptions={"num-sorted-run.compaction-triger": "3"}),
    }


def test_what_files_wait_for_is_told_and_what_is_wrong(stage: Stage, cares: Mapping[str, Care]) -> None:
    expected = {
        "small": ["at most 3 small files", "from 5 on", "for 1 h: 2 partitions", " UTC"],
        "gentle": ["at most 3 level-0 files", "from 10 on", "1 h old", " UTC"],
        "clustered": ["2 partitions with files below the top level", "for 2 d", " UTC"],
        "outside": ["none of the policy's partitions", "2 partitions outside"],
        "busy": ["at most 3 sorted runs", "without writes for 1 d", "2 other partitions", " UTC"],
    }
    _says_whose_option_is_wrong(stage, cares["typo"])
    for name, said in expected.items():
        found = stage.table_says(cares[name], "CompactionNeeded", "False")
        told = message(found, "CompactionNeeded")
        assert [text for text in said if text not in told] == [], name
        assert found["status"]["due"] == told


def _says_whose_option_is_wrong(stage: Stage, care: Care) -> None:
    """The Catalog has nothing to do with it."""
    found = stage.table_says(care, "Ready", "False", "InvalidTableOption")
    assert found["status"]["health"] == "InvalidOption"
    assert "spec.tableOptions" in message(found, "Ready")
    stage.story.until(CATALOGS, care.catalog, lambda found: condition(found, "Ready").get("status") == "True")
