"""The operator's plans open no data file, whatever the table: the kernel reports each file that is opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.clock import SystemClock
from lithify.controller.observing.request import PlanRequest
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from lithify.formats.registry import open_table
from lithify.io.access_policy import UNBOUNDED
from support.observing.watching import PATIENCE, pool_in, request_for, target_of
from support.opened_files import opened_files
from support.small_tables import SmallTable

KEYED = {"dt": "STRING NOT NULL", "id": "INT NOT NULL", "v": "STRING"}
ROWS = [["+I", day, number, f"{number}"] for day in "ab" for number in range(200)]
EVERYTHING = Selection(strategy=Strategy.FULL)


def folders_of_buckets(table: Path) -> list[Path]:
    found = [path for path in table.glob("**/bucket-*") if path.is_dir()]
    assert found
    return found


@pytest.fixture
def hidden(tmp_path: Path) -> SmallTable:
    """A table of pypaimon, which does not count deletes; each file is about to be upgraded to the top."""
    made = SmallTable(tmp_path / "warehouse", options={"target-file-size": "1 kb"}).create()
    made.append()
    return made


@pytest.mark.asyncio
async def test_uncounted_deletes_are_left_to_the_driver(hidden: SmallTable, tmp_path: Path) -> None:
    folders = folders_of_buckets(hidden.folder)
    async with pool_in(tmp_path, workers=1) as pool:
        with opened_files(folders) as opened:
            found = await pool.plan(PlanRequest(target_of(hidden), EVERYTHING), PATIENCE)
    assert (found.groups, found.files) == (4, 0)
    assert found.totals == {"upgraded_files": 4, "unread_files": 4}
    assert opened == set()

    # The driver's plan of the same table looks into all of them.
    table = open_table(target_of(hidden))
    with opened_files(folders) as opened:
        plan = table.plan(table.pin_view(EVERYTHING), EVERYTHING, SystemClock())
    assert len([name for name in opened if name.startswith("data-")]) == 4
    assert plan.totals["unread_files"] == 0


TABLES: dict[str, tuple[list[str], dict[str, str]]] = {
    "keyed": (["dt", "id"], {"bucket": "2"}),
    "vectors": (["dt", "id"], {"bucket": "2", "deletion-vectors.enabled": "true"}),
    "lookups": (["dt", "id"], {"bucket": "2", "changelog-producer": "lookup"}),
    "dynamic_orc": (["dt", "id"], {"bucket": "-1", "file.format": "orc"}),
    "append": ([], {"bucket": "-1"}),
    "append_avro": ([], {"bucket": "2", "bucket-key": "id", "file.format": "avro"}),
    "clustered": ([], {"bucket": "-1", "clustering.incremental": "true", "clustering.columns": "id"}),
}


@pytest.mark.oracle
@pytest.mark.asyncio
async def test_plans_and_observations_open_metadata_only(oracle: Oracle, tmp_path: Path) -> None:
    tables = {name: Table(tmp_path / "warehouse", f"db.{name}") for name in TABLES}
    for name, (keys, options) in TABLES.items():
        given = {"write-only": "true", **({"target-file-size": "1 kb"} if keys else {}), **options}
        oracle.create_table(tables[name], KEYED, keys, ["dt"], given)
        for _ in range(3):
            oracle.write(tables[name], ROWS)

    async with pool_in(tmp_path, workers=1) as pool:
        for table in tables.values():
            address = TableAddress(str(table.warehouse), table.name, {}, reach=UNBOUNDED)
            with opened_files(folders_of_buckets(table.folder)) as opened:
                full = await pool.plan(PlanRequest(address, EVERYTHING), PATIENCE)
                await pool.plan(PlanRequest(address), PATIENCE)
                await pool.observe(request_for(address, is_full=True), PATIENCE)
            assert full.groups > 0, table.name
            assert opened == set(), table.name
