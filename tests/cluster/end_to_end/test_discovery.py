"""Discovery over hundreds of tables: what it makes, what it takes back, and what it leaves to people."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from lithify.resources.names import LABEL_CATALOG
from support.operators.objects import QUIET, catalog, lake_table, policy
from support.operators.scene import message
from support.operators.server import CATALOGS, COMPACTIONS, TABLES, Object, condition
from support.operators.stage import Stage
from support.small_tables import SmallTable

COUNT = 300
NAMES = frozenset(f"db.t{number:03}" for number in range(COUNT))
UNSUPPORTED = "db.odd"
ALL = NAMES | {UNSUPPORTED, "pond.a", "pond.b"}


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """Hundreds of tables that are nothing but a schema, and one that is not supported."""
    folder = tmp_path / "warehouse"
    model = SmallTable(folder, "db.model").create()
    for name in NAMES:
        shutil.copytree(model.folder, folder / "db.db" / name.removeprefix("db."))
    model.drop()
    SmallTable(folder, UNSUPPORTED, {"row-tracking.enabled": "true"}).create()
    for name in ("pond.a", "pond.b"):
        SmallTable(folder, name).create()
    return folder


@pytest.fixture
def lake(alone: Stage, warehouse: Path) -> Iterator[Stage]:
    """An operator that has discovered them all."""
    alone.operator.restart()
    found = {"include": ["db.*"], "policyRef": {"name": "p"}, "prune": "Delete", "recreate": "Never"}
    pond = {**found, "include": ["pond.*"], "prune": "Orphan"}
    alone.kubectl.apply(
        policy("p", triggers=QUIET),
        catalog("lake", warehouse, discovery=found),
        catalog("pond", warehouse, discovery=pond),
    )
    assert alone.story.wait(lambda: tables(alone) == ALL, 120), len(tables(alone))
    yield alone
    assert alone.operator.is_running, alone.operator.said


def tables(stage: Stage) -> frozenset[str]:
    """The tables that have a LakeTable."""
    return frozenset(table["spec"]["identifier"] for table in stage.story.all(TABLES))


def says(stage: Stage, kind: str, reason: str, saying: str = "") -> Object:
    """The Catalog as soon as a condition has a reason and says something."""
    return stage.story.until(
        CATALOGS,
        "lake",
        lambda one: condition(one, kind).get("reason") == reason and saying in message(one, kind),
    )


def list_again(stage: Stage, name: str = "lake", **discovery: object) -> None:
    """Changes a Catalog's spec, so that its tables are listed now."""
    seconds = stage.server.get(CATALOGS, name)["spec"].get("timeoutSeconds", 30)
    spec = {"timeoutSeconds": seconds + 1, "discovery": discovery}
    stage.server.patch(CATALOGS, name, {"spec": spec})


def test_what_is_made_taken_back_and_left_to_people(lake: Stage, warehouse: Path) -> None:
    says(lake, "AllDiscovered", "Discovered", f"all {COUNT + 1} tables")
    unsupported = says(
        lake, "AllSupported", "UnsupportedTables", f"1 table cannot be compacted: {UNSUPPORTED}"
    )
    assert condition(unsupported, "Ready")["status"] == "True"

    lake.server.delete(TABLES, "db-t005")
    says(lake, "AllDiscovered", "Discovered", "db.t005")

    lake.server.patch(TABLES, "db-t001", {"spec": {"suspend": True}})
    shutil.rmtree(warehouse / "db.db" / "t000")
    shutil.rmtree(warehouse / "db.db" / "t001")
    lake.operator.stop()
    lake.operator.restart()
    list_again(lake, exclude=["db.t002"])
    list_again(lake, "pond", include=["pond.b*"])
    assert lake.story.wait(lambda: tables(lake) == ALL - {"db.t000", "db.t002", "db.t005"}, 120)
    says(lake, "Pruned", "ChangedByPeople", "db.t001")
    assert (warehouse / "db.db" / "t002" / "schema" / "schema-0").is_file()
    assert lake.story.all(COMPACTIONS) == []
    orphan = lake.story.until(TABLES, "pond-a", lambda one: not one["metadata"].get("labels"))
    assert not orphan["metadata"].get("annotations")
    assert lake.server.get(TABLES, "pond-b")["metadata"]["labels"] == {LABEL_CATALOG: "pond"}

    left = tables(lake)
    (warehouse / "db.db").rename(warehouse / "elsewhere")
    (warehouse / "db.db").mkdir()
    list_again(lake)
    said = says(lake, "Pruned", "NothingListed")
    assert "pruneLimitPercent" in message(said, "Pruned")
    (warehouse / "db.db").rmdir()
    (warehouse / "elsewhere").rename(warehouse / "db.db")
    assert tables(lake) == left


def test_the_younger_of_two_laketables_says_whose_duplicate_it_is(alone: Stage, tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse"
    table = SmallTable(warehouse, "db.busy").create()
    alone.operator.restart()
    eager = {"triggers": {"primaryKey": {"sortedRuns": 2}}}
    alone.kubectl.apply(
        policy("quiet", triggers=QUIET),
        policy("eager", **eager),
        catalog("lake", warehouse),
        catalog("same", f"{warehouse}//"),
    )
    alone.server.create(TABLES, lake_table("older", catalog="lake", policy="quiet", identifier=table.name))
    alone.story.until(TABLES, "older", lambda one: condition(one, "Ready").get("status") == "True")
    younger = lake_table("a-younger", catalog="same", policy="eager", identifier=table.name)
    alone.server.create(TABLES, younger)
    found = alone.story.until(TABLES, "a-younger", lambda one: bool(condition(one, "Duplicate")))
    assert "LakeTable older" in message(found, "Duplicate")
    for _ in range(4):
        table.append("a")
    alone.story.until(TABLES, "a-younger", lambda one: condition(one, "CompactionNeeded")["status"] == "True")
    assert alone.story.all(COMPACTIONS) == []
    assert not condition(alone.server.get(TABLES, "older"), "Duplicate")
    alone.server.delete(TABLES, "older")
    alone.story.until(TABLES, "a-younger", lambda one: not condition(one, "Duplicate"))
    assert alone.story.wait(lambda: bool(alone.story.all(COMPACTIONS)), 60)
