"""Rows that Spark deletes while a run rewrites their files stay deleted: the commit has their deletes."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from infrastructure.iceberg import second_reader as go
from infrastructure.iceberg import tables
from infrastructure.iceberg.tables import LINEAGE, SparkTable
from java.iceberg.test_runs import ordered
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.report import Report
from lithify.engine.run.runner import InlineRunner
from lithify.faults import CARRYING_POINTS
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.strategy import Strategy
from support.cases import case
from support.iceberg_checks import assert_whole, data_files, path_of
from support.iceberg_runs import CLOCK, address_of
from support.races import steps_at
from support.runs import Held, ShiftedClock, start

Step = Callable[[], None]
Maker = Callable[[SparkTable, int], SparkTable]


def plain(table: SparkTable, version: int, partitions: str = "none", **properties: str) -> SparkTable:
    """Files of 240 rows in all, some of which are deleted before the plan."""
    table.create(version, partitions, {name.replace("_", "-"): each for name, each in properties.items()})
    table.append_many(6, 40)
    table.delete("id % 11 = 4")
    return table


def ordered_by_kind(table: SparkTable, version: int) -> SparkTable:
    plain(table, version).alter("WRITE ORDERED BY kind, id DESC")
    return table


def repartitioned(table: SparkTable, version: int) -> SparkTable:
    plain(table, version).alter("ADD PARTITION FIELD bucket(3, id)")
    return table


def with_equality_deletes(table: SparkTable, version: int) -> SparkTable:
    return tables.with_equality_deletes(table, version)


def delete(table: SparkTable) -> None:
    table.delete("id % 5 = 1")


def update(table: SparkTable) -> None:
    table.update("id % 13 = 6")


def merge(table: SparkTable) -> None:
    table.run(
        f"MERGE INTO {table.name} t USING (SELECT id * 7 AS id FROM range(60)) s ON t.id = s.id "
        "WHEN MATCHED AND t.id % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET amount = amount + 7 "
        "WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"
    )


class Beside:
    """Steps that others take at points of a run, each at the first time; the rows after the last one."""

    def __init__(self, table: SparkTable, patch: pytest.MonkeyPatch, steps: Mapping[str, Step]) -> None:
        self._table = table
        self._left = dict(steps)
        self.rows: pa.Table | None = None
        steps_at(patch, {point: self._taking(point) for point in steps})

    def _taking(self, point: str) -> Step:
        def take() -> None:
            if step := self._left.pop(point, None):
                step()
                self.rows = read(self._table)

        return take


def read(table: SparkTable) -> pa.Table:
    """All rows, with their lineage where the table has any."""
    lineage = LINEAGE if table.load().metadata.format_version > 2 else ()
    return table.read("*", *lineage).combine_chunks()


def run(table: SparkTable) -> Report:
    """One round, so that no other one takes the deletes away again."""
    request = Request(address_of(table), Selection(strategy=Strategy.FULL), max_rounds=1)
    report = compact(request, InlineRunner(), CLOCK)
    table.run(f"REFRESH TABLE {table.name}")
    return report


def maps(table: SparkTable) -> list[Path]:
    folder = path_of(table.spark.state(table.name).metadata["location"]) / "metadata"
    return [each for each in folder.iterdir() if "-places." in each.name or "-dropped." in each.name]


def strays(table: SparkTable) -> set[str]:
    """Files in the data folder that no snapshot names."""
    named = {path_of(path).name for path in table.metadata_table("all_files")["file_path"].to_pylist()}
    return {each.name for each in data_files(table) if each.suffix != ".crc"} - named


@pytest.mark.sampled(2)
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(
    "make",
    [
        case(plain, id="plain"),
        case(lambda table, version: plain(table, version, "identity"), id="partitions"),
        case(
            lambda table, version: plain(table, version, **{"write.delete.granularity": "partition"}),
            id="deletes for whole partitions",
        ),
        case(ordered_by_kind, id="sorted"),
        case(repartitioned, id="partitioned again"),
        case(with_equality_deletes, id="equality deletes"),
    ],
)
def test_rows_deleted_at_any_moment_of_a_run_stay_deleted(
    sql_table: SparkTable,
    second_reader: object,
    monkeypatch: pytest.MonkeyPatch,
    make: Maker,
    version: int,
) -> None:
    table = make(sql_table, version)
    beside = Beside(
        table,
        monkeypatch,
        {
            "tasks-done": lambda: delete(table),
            "late-deletes-read": lambda: update(table),
            "prepared": lambda: merge(table),
        },
    )

    report = run(table)

    assert (report.status, report.commit_tries, report.skipped) == ("Compacted", 2, {})
    assert report.totals["carried_rows"] > 0
    assert beside.rows is not None
    assert read(table) == beside.rows
    assert_whole(table, "main")
    assert strays(table) == set()
    assert maps(table) == []
    plain_rows = table.read().combine_chunks()
    assert ordered(go.read(table.metadata_location), plain_rows) == plain_rows

    monkeypatch.delenv("LITHIFY_FAULTS")
    table.delete("id % 3 = 0")
    rows = read(table)
    assert run(table).status == "Compacted", "the carried deletes are a reason to rewrite"
    assert read(table) == rows


@pytest.mark.sampled(2)
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("point", [*CARRYING_POINTS, "manifests-written", "prepared", "snapshot-written"])
def test_a_run_that_is_killed_while_it_carries_deletes_leaves_nothing(
    sql_table: SparkTable, tmp_path: Path, point: str, version: int
) -> None:
    table, held = plain(sql_table, version), Held(tmp_path)
    address = address_of(table)
    options = ("--format", "iceberg", "--catalog", json.dumps(dict(address.catalog_options)))
    killed = start(address, *options, "--run", "a", faults={"tasks-done": held.action, point: "kill"})
    if point != "map-written":
        held.reached()
        delete(table)
        held.release()
    assert killed.wait().code == -signal.SIGKILL
    table.run(f"REFRESH TABLE {table.name}")
    rows, has_committed = read(table), point == "snapshot-written"

    request = Request(address, Selection(strategy=Strategy.FULL), run="a", max_rounds=1)
    report = compact(request, InlineRunner(), CLOCK)
    for hours in (24.1, 25.2):
        compact(Request(address), InlineRunner(), ShiftedClock(timedelta(hours=hours)))
    table.run(f"REFRESH TABLE {table.name}")

    assert report.status == ("AlreadyCommitted" if has_committed else "Compacted")
    assert read(table) == rows
    assert (strays(table), maps(table)) == (set(), [])
