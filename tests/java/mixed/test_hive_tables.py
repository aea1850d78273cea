"""Hive-compatible tables beside Arctic 0.4.1 and a real Hive metastore: both read the same rows."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from infrastructure.arctic.client import Arctic
from infrastructure.arctic.model import KeyedTable
from infrastructure.hive.metastore import HiveMetastore
from lithify.clock import SystemClock
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.report import Report
from lithify.engine.run.runner import InlineRunner
from lithify.errors import CatalogUnavailable, UnsupportedTable
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.mixed.hive_metastore import HiveTable
from lithify.formats.mixed.observing.observer import OBSERVED
from lithify.formats.mixed.stores import open_mixed_table
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from support.cases import case
from support.hive_tables import AT_ONCE, ROOT, HiveTables, root_of
from support.runs import ShiftedClock

COLUMNS = {"id": "long", "amount": "decimal(10, 2)", "v": "string", "p": "string"}
RUN = """
import pickle, sys
from lithify.clock import SystemClock
from lithify.engine.run.driver import compact
from lithify.engine.run.runner import InlineRunner
compact(pickle.loads(bytes.fromhex(sys.argv[1])), InlineRunner(), SystemClock())
"""


@pytest.fixture
def hive(hive_metastore: HiveMetastore) -> HiveTables:
    return HiveTables.fresh(hive_metastore)


@pytest.fixture
def table(arctic: Arctic, hive: HiveTables, tmp_path: Path) -> KeyedTable:
    """A keyed table without partitions, empty."""
    return hive.make(arctic, KeyedTable(tmp_path / "t", COLUMNS, ["id"]))


def request(hive: HiveTables, table: KeyedTable) -> Request:
    return Request(hive.address_of(table, AT_ONCE), Selection(strategy=Strategy.MINOR))


def run(hive: HiveTables, table: KeyedTable) -> Report:
    return compact(request(hive, table), InlineRunner(), SystemClock())


def row(number: int, partition: str = "a", value: str = "x") -> list[Any]:
    return [number, f"{number}.50", value, partition]


def by_key(rows: list[list[Any]]) -> list[list[str]]:
    return sorted([str(value) for value in each] for each in rows)


def in_folder(hive: HiveTables, table: KeyedTable) -> list[list[str]]:
    """The rows of the files in the folder that Hive reads, of a table without partitions."""
    files = [each for each in hive.folder(table).iterdir() if each.suffix == ".parquet"]
    assert not [each.name for each in files if each.name.startswith(".")]
    return by_key([[*each.values()] for file in files for each in pq.read_table(file).to_pylist()])


@pytest.mark.parametrize("partition", [[], ["p"]], ids=["unpartitioned", "partitioned"])
def test_hive_and_arctic_read_the_same_rows_after_two_runs(
    arctic: Arctic, hive: HiveTables, tmp_path: Path, partition: list[str]
) -> None:
    table = hive.make(arctic, KeyedTable(tmp_path / "t", COLUMNS, ["id"], partition))
    arctic.write_base(table, [row(1), row(2, "b")], arctic.begin_transaction(table))
    arctic.write_change(table, [["DELETE", *row(1)], ["INSERT", *row(3)]])
    before = by_key(arctic.read(table))

    run(hive, table)

    assert by_key(arctic.read(table)) == before
    arctic.write_change(table, [["INSERT", *row(4, "b")], ["DELETE", *row(3)]])
    run(hive, table)
    expected = by_key([row(2, "b"), row(4, "b")])
    assert by_key(hive.read(table)) == by_key(arctic.read(table)) == expected


def test_the_metastore_says_of_what_a_partition_was_made_and_when(
    arctic: Arctic, hive: HiveTables, table: KeyedTable
) -> None:
    arctic.write_base(table, [row(1)], arctic.begin_transaction(table))
    run(hive, table)
    assert hive.found(table).parameters["lithify.source"] == "Base"
    arctic.write_change(table, [["INSERT", *row(2)], ["INSERT", *row(3)]])

    run(hive, table)

    base = open_mixed_table(hive.address_of(table, {})).base
    facts = json.loads(base.properties["table.partition-properties"])[""]
    found = hive.found(table)
    assert found.parameters["lithify.source"] == facts["lithify.source"] == "BaseAndChange"
    assert (
        found.parameters["transient_lastDdlTime"] == facts["transient-time"]
    )  # else readers look for changes
    assert (found.sd.location, found.parameters["arctic.enabled"]) == (facts["hive-location"], "true")
    assert found.parameters["numRows"] == "3"
    assert int(found.parameters["numFiles"]) == len(list(hive.folder(table).iterdir()))


def test_files_of_keyless_tables_are_hidden_until_they_are_finished(
    arctic: Arctic, hive: HiveTables, tmp_path: Path
) -> None:
    table = KeyedTable(tmp_path / "t", COLUMNS, ["id"])
    hive.make(arctic, table, parameters={"arctic.table.primary-keys": ""})
    for number in (1, 2):
        arctic.write_base(table, [row(number)], plain_names=True)

    assert killed_at("tasks-done", request(hive, table)) == -signal.SIGKILL

    (folder,) = [each for each in (table.location / "hive").iterdir() if each.is_dir()]
    assert {each.name[0] for each in folder.iterdir()} == {"."}
    run(hive, table)
    assert in_folder(hive, table) == by_key([row(1), row(2)])
    for hours in (48, 96):
        compact(request(hive, table), InlineRunner(), ShiftedClock(timedelta(hours=hours)))
    assert not [*folder.iterdir()]  # what the killed run has left


def test_keyless_tables_are_rewritten_by_several_tasks(
    arctic: Arctic, hive: HiveTables, tmp_path: Path
) -> None:
    table = KeyedTable(tmp_path / "t", COLUMNS, ["id"])
    tiny = {"self-optimizing.target-size": "100"}  # so that no two files are of one task
    hive.make(arctic, table, tiny, {"arctic.table.primary-keys": ""})
    for number in (1, 2, 3):
        arctic.write_base(table, [row(number)], plain_names=True)

    run(hive, table)

    assert len([*hive.folder(table).glob("*.parquet")]) == 3
    assert in_folder(hive, table) == by_key([row(1), row(2), row(3)])


def test_a_run_that_dies_between_commit_and_metastore_is_completed_by_the_next(
    arctic: Arctic, hive: HiveTables, table: KeyedTable
) -> None:
    arctic.write_change(table, [["INSERT", *row(1)], ["INSERT", *row(2)]])
    assert killed_at("snapshot-written", request(hive, table)) == -signal.SIGKILL
    assert hive.found(table).sd.location == root_of(table)

    run(hive, table)  # has nothing to merge

    assert in_folder(hive, table) == by_key([row(1), row(2)])
    assert hive.found(table).parameters["lithify.source"] == "BaseAndChange"


def test_a_run_says_that_the_metastore_does_not_answer_and_the_next_completes_it(
    arctic: Arctic, hive: HiveTables, table: KeyedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(*_: Any) -> None:
        raise CatalogUnavailable(hive.metastore.uri, "the metastore gives no answer")

    arctic.write_change(table, [["INSERT", *row(1)]])
    with monkeypatch.context() as patched:
        patched.setattr(HiveTable, "move", silent)
        report = run(hive, table)
    assert report.commits == 1
    assert any("gives no answer" in problem for problem in report.uncleaned)
    assert hive.found(table).sd.location == root_of(table)

    assert run(hive, table).uncleaned == ()
    assert in_folder(hive, table) == by_key([row(1)])


def test_a_partition_without_rows_is_an_empty_folder(
    arctic: Arctic, hive: HiveTables, table: KeyedTable
) -> None:
    arctic.write_change(table, [["INSERT", *row(1)]])
    run(hive, table)
    arctic.write_change(table, [["DELETE", *row(1)]])

    run(hive, table)

    assert arctic.read(table) == []
    assert hive.folder(table).is_dir()
    assert in_folder(hive, table) == []


def test_rows_that_somebody_has_written_by_hive_stay(
    arctic: Arctic, hive: HiveTables, table: KeyedTable
) -> None:
    arctic.write_change(table, [["INSERT", *row(1)]])
    run(hive, table)
    ours = next(hive.folder(table).glob("*.parquet"))
    ours.with_name("000000_0").write_bytes(ours.read_bytes())
    arctic.write_change(table, [["INSERT", *row(2)]])
    folder, rows = hive.folder(table), arctic.read(table)

    with pytest.raises(UnsupportedTable) as caught:
        run(hive, table)

    assert any("000000_0" in reason for reason in caught.value.reasons)
    assert (hive.folder(table), arctic.read(table)) == (folder, rows)


@pytest.mark.parametrize(
    ("columns", "partition", "properties", "word"),
    [
        case({**COLUMNS, "t": "timestamp"}, [], {}, "column t", id="timestamps"),
        case({**COLUMNS, "d": "date"}, ["d"], {}, "field d", id="dates of partitions"),
        case(COLUMNS, ["bucket(2, id)"], {}, "id_bucket", id="transforms"),
        case(COLUMNS, [], {"base.hive.auto-sync-data-write": "true"}, "auto-sync", id="synced from Hive"),
        case(COLUMNS, [], {ROOT: ""}, ROOT, id="no folder"),
    ],
)
def test_what_hive_reads_otherwise_is_refused(
    arctic: Arctic,
    hive: HiveTables,
    tmp_path: Path,
    columns: dict[str, str],
    partition: list[str],
    properties: dict[str, str],
    word: str,
) -> None:
    table = KeyedTable(tmp_path / "t", columns, ["id"], partition)
    arctic.create(table, {ROOT: root_of(table), **properties})
    known = {"arctic.table.primary-keys": "id", "arctic.table.root-location": str(table.location)}
    hive.register(replace(table, partition=[each for each in partition if each in columns]), known)

    with pytest.raises(UnsupportedTable) as caught:
        run(hive, table)

    assert any(word in reason for reason in caught.value.reasons)


def test_a_catalog_of_another_metastore_does_not_compact_it(
    arctic: Arctic, hive: HiveTables, table: KeyedTable
) -> None:
    name = f"{table.location.parent.name}.{table.location.name}"
    address = TableAddress(str(table.location.parent.parent), name, format="mixed-iceberg")
    assert any(ROOT in reason for reason in open_mixed_table(address).refusals)
    base = TableAddress(str(table.location.parent), f"{table.location.name}.base", format="iceberg")
    assert any(ROOT in reason for reason in open_iceberg_table(base).refusals)


def test_tables_are_discovered(hive: HiveTables, table: KeyedTable) -> None:
    assert f"{hive.database}.t" in OBSERVED.list_tables(hive.address_of(table, {}))


def killed_at(point: str, what: Request) -> int:
    """The code of a run in a process of its own that is killed at a point."""
    environment = {**os.environ, "LITHIFY_FAULTS": f"{point}=kill"}
    words = [sys.executable, "-c", RUN, pickle.dumps(what).hex()]
    return subprocess.run(words, env=environment, check=False, timeout=120).returncode
