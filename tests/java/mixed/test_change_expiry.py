"""Consumed files leave the change store of tables of Arctic 0.4.1, and no reader sees another row."""

from __future__ import annotations

import json
import re
import signal
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import StaticTable

from infrastructure.arctic.client import Arctic
from infrastructure.arctic.mixed import MixedTable, MixedTables
from infrastructure.arctic.model import KeyedTable
from infrastructure.iceberg import catalogs
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.report import Report
from lithify.engine.run.runner import InlineRunner
from lithify.formats.mixed.expiring import EXPIRY
from lithify.formats.mixed.stored_line import is_in_files
from lithify.formats.mixed.stores import PRIMARY_KEY, open_mixed_table
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from support.cases import case
from support.races import step_at
from support.runs import ShiftedClock, start

COLUMNS = {"id": "long", "p": "string", "v": "string"}
PROPERTIES = {
    "base.file-index.hash-bucket": "2",
    "change.file-index.hash-bucket": "2",
    PRIMARY_KEY: "id",
}
EIGHT_DAYS = timedelta(days=8)
TWO_HOURS = timedelta(hours=2)
_TIME = re.compile(r'("(?:timestamp-ms|last-updated-ms)"\s*:\s*)(\d+)')


@pytest.fixture(params=["partitioned", "unpartitioned"])
def table(request: pytest.FixtureRequest, arctic: Arctic, tmp_path: Path) -> KeyedTable:
    """A table with base files, merged changes and changes that are not merged, all of them eight days old."""
    partition = ["p"] if request.param == "partitioned" else []
    table = arctic.create(KeyedTable(tmp_path / "db" / "t", COLUMNS, ["id"], partition), PROPERTIES)
    base = [[n, "ab"[n % 2], "base"] for n in range(8)]
    arctic.write_base(table, base, arctic.begin_transaction(table))
    arctic.write_change(
        table, [["DELETE", 0, "a", "base"], ["DELETE", 1, "b", "base"], ["INSERT", 8, "a", "x"]]
    )
    arctic.rewrite(table)
    arctic.write_change(table, [["DELETE", 2, "a", "base"], ["INSERT", 9, "b", "y"]])
    age(table, EIGHT_DAYS)
    return table


def age(table: KeyedTable, by: timedelta) -> None:
    """Makes all that was committed older."""
    millis = int(by.total_seconds() * 1000)
    for path in (*table.base.glob("metadata/*.json"), *table.change.glob("metadata/*.json")):
        text = _TIME.sub(lambda found: f"{found[1]}{int(found[2]) - millis}", path.read_text())
        path.write_text(text)
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def address_of(table: KeyedTable) -> TableAddress:
    return address_in(table.location.parent.parent)


def address_in(warehouse: Path) -> TableAddress:
    return TableAddress(str(warehouse), "db.t", format="mixed-iceberg")


def run(table: KeyedTable, strategy: Strategy = Strategy.MINOR, shift: timedelta = timedelta()) -> Report:
    return run_at(address_of(table), strategy, shift)


def run_at(
    address: TableAddress, strategy: Strategy = Strategy.MINOR, shift: timedelta = timedelta()
) -> Report:
    return compact(Request(address, Selection(strategy=strategy)), InlineRunner(), ShiftedClock(shift))


def rest(arctic: Arctic, table: KeyedTable) -> None:
    """From now on nothing is due."""
    triggers = ("minor.trigger.interval", "major.trigger.interval", "minor.trigger.file-count")
    arctic.set_properties(table, {f"self-optimizing.{name}": "-1" for name in triggers})


def consumed(arctic: Arctic, table: KeyedTable) -> set[str]:
    """The live files of the change store that base has."""
    line = arctic.line(table)
    return {
        file.path
        for file in arctic.files(table).change
        if file.sequence is not None and file.sequence <= line.get(file.partition, -1)
    }


def live(arctic: Arctic, table: KeyedTable) -> set[str]:
    return {file.path for file in arctic.files(table).change}


def rows(arctic: Arctic, table: KeyedTable) -> list[Any]:
    return sorted(arctic.read(table), key=repr)


def expiries(table: KeyedTable) -> list[dict[str, str]]:
    """The summaries of the snapshots of expiries."""
    found = StaticTable.from_metadata(str(table.change)).metadata.snapshots
    summaries = [json.loads(each.model_dump_json())["summary"] for each in found if each.summary]
    return [each for each in summaries if EXPIRY in each]


def test_consumed_files_leave_in_a_run_without_work_and_the_others_stay(
    arctic: Arctic, table: KeyedTable
) -> None:
    rest(arctic, table)
    before, gone, there = rows(arctic, table), consumed(arctic, table), live(arctic, table)
    assert gone
    assert there - gone

    report = run(table)

    assert (report.status, report.uncleaned) == ("NothingToDo", ())
    assert live(arctic, table) == there - gone
    assert rows(arctic, table) == before
    assert [each["operation"] for each in expiries(table)] == ["delete"]
    assert all(Path(path.removeprefix("file:")).exists() for path in gone)


def test_consumed_files_leave_before_a_run_that_merges_the_others(arctic: Arctic, table: KeyedTable) -> None:
    before, there, gone = rows(arctic, table), live(arctic, table), consumed(arctic, table)

    report = run(table, Strategy.FULL)

    assert (report.status, report.uncleaned) == ("Compacted", ())
    assert live(arctic, table) == there - gone  # what was merged now has a line that readers may not have
    assert rows(arctic, table) == before


def test_a_line_that_has_just_moved_lets_no_file_leave(arctic: Arctic, table: KeyedTable) -> None:
    arctic.rewrite(table)
    rest(arctic, table)
    just_merged = {file.path for file in arctic.files(table).change if file.sequence == 3}
    assert just_merged <= consumed(arctic, table)

    run(table)

    assert live(arctic, table) == just_merged


@pytest.mark.parametrize(
    "properties",
    [
        case({"change.data.ttl.minutes": str(9 * 24 * 60)}, id="younger than the time to live"),
        case({"change.data.ttl.minutes": "-1"}, id="off"),
        case({"table-expire.enabled": "false"}, id="off by the switch of Amoro"),
    ],
)
def test_files_stay(arctic: Arctic, table: KeyedTable, properties: dict[str, str]) -> None:
    arctic.set_properties(table, properties)
    there = live(arctic, table)
    run(table)
    assert live(arctic, table) == there


def test_files_that_base_references_stay(arctic: Arctic, table: KeyedTable) -> None:
    arctic.minor(table)  # moves insert files into base
    age(table, TWO_HOURS)
    rest(arctic, table)
    before = rows(arctic, table)
    moved = {file.path for file in arctic.files(table).base} & live(arctic, table)
    assert moved

    run(table)

    assert live(arctic, table) == moved
    assert rows(arctic, table) == before


def test_files_stay_if_the_line_that_readers_may_have_is_not_known(arctic: Arctic, table: KeyedTable) -> None:
    rest(arctic, table)  # commits to base, so that the line of an hour ago is in an older file
    there = live(arctic, table)
    for path in table.base.glob("metadata/v*.metadata.json"):
        if path.name != f"v{(table.base / 'metadata' / 'version-hint.text').read_text()}.metadata.json":
            path.unlink()

    report = run(table)

    assert (report.status, report.uncleaned) == ("NothingToDo", ())
    assert live(arctic, table) == there


def test_files_leave_at_most_once_a_day(arctic: Arctic, table: KeyedTable) -> None:
    rest(arctic, table)
    run(table)
    arctic.rewrite(table)
    merged = live(arctic, table)
    assert merged == consumed(arctic, table)

    age(table, TWO_HOURS)
    run(table)
    assert live(arctic, table) == merged

    age(table, EIGHT_DAYS)
    run(table)
    assert live(arctic, table) == set()
    assert len(expiries(table)) == 2


def test_a_value_that_is_none_is_reported_and_fails_no_run(arctic: Arctic, table: KeyedTable) -> None:
    arctic.set_properties(table, {"change.data.ttl.minutes": "a week"})
    report = run(table, Strategy.FULL)
    assert report.status == "Compacted"
    assert ["change.data.ttl.minutes" in each for each in report.uncleaned] == [True]


@pytest.mark.sampled(1, each="point")
@pytest.mark.parametrize("point", ["journal-written", "manifests-written", "prepared", "snapshot-written"])
def test_a_kill_on_the_way_is_harmless(arctic: Arctic, table: KeyedTable, point: str) -> None:
    rest(arctic, table)
    before, there, gone = rows(arctic, table), live(arctic, table), consumed(arctic, table)

    process = start(address_of(table), "--minor", "--format", "mixed-iceberg", faults={point: "kill"})
    assert process.wait().code == -signal.SIGKILL
    assert rows(arctic, table) == before

    for later in range(4):
        report = run(table, shift=later * timedelta(days=2))
        assert report.uncleaned == ()
    assert live(arctic, table) == there - gone
    assert rows(arctic, table) == before
    assert strays(table) == set()
    assert not [*(table.change / "lithify").rglob("*.json")]


def strays(table: KeyedTable) -> set[str]:
    """Manifests and their lists in the change store that no snapshot has."""
    opened = StaticTable.from_metadata(str(table.change))
    named = {each.manifest_list for each in opened.metadata.snapshots}
    for snapshot in opened.metadata.snapshots:
        named |= {each.manifest_path for each in snapshot.manifests(opened.io)}
    there = {path.name for path in (table.change / "metadata").glob("*.avro")}
    return there - {path.rpartition("/")[2] for path in named}


@pytest.mark.parametrize("point", ["manifests-written", "prepared"])
def test_changes_that_others_append_meanwhile_stay(
    arctic: Arctic, table: KeyedTable, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest(arctic, table)
    gone, there = consumed(arctic, table), live(arctic, table)
    step_at(monkeypatch, point, lambda: _append(arctic, table))

    run(table)

    assert [10, "a", "late"] in rows(arctic, table)
    assert live(arctic, table) & there == there - gone
    assert len(live(arctic, table) - there) == 1


def test_others_can_append_afterwards(arctic: Arctic, table: KeyedTable) -> None:
    rest(arctic, table)
    before = rows(arctic, table)
    run(table)
    _append(arctic, table)
    assert rows(arctic, table) == sorted([*before, [10, "a", "late"]], key=repr)


@pytest.mark.parametrize("goes_back", [case(True, id="goes back"), case(False, id="stays")])
def test_files_stay_if_the_line_goes_back_meanwhile(
    arctic: Arctic, table: KeyedTable, goes_back: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest(arctic, table)
    there, gone = live(arctic, table), consumed(arctic, table)
    line = "max-txId"
    other = "other" if goes_back else line
    step_at(monkeypatch, "journal-written", lambda: _rewrite_base(table, line, other))

    run(table)

    assert there - live(arctic, table) == (set() if goes_back else gone)


def test_consumed_files_of_todays_layout_leave_by_the_line_in_puffin_files(
    mixed_tables: MixedTables, tmp_path: Path
) -> None:
    catalog = catalogs.folder_of_tables(tmp_path)
    table = mixed_tables.create(MixedTable(catalog, "db.t", COLUMNS, ["id"], ["p"]), PROPERTIES)
    mixed_tables.write_change(table, [["INSERT", 1, "a", "x"], ["INSERT", 2, "b", "y"]])
    mixed_tables.rewrite(table)
    mixed_tables.write_change(table, [["DELETE", 1, "a", "x"]])
    rest = {f"self-optimizing.{name}.trigger.interval": "-1" for name in ("minor", "major")}
    mixed_tables.set_properties(table, {**rest, "compact.major.delete.file.ratio": "-1"})
    before = sorted(mixed_tables.read(table), key=repr)
    there = mixed_tables.files(table).change
    assert before == [[2, "b", "y"]]
    assert is_in_files(open_mixed_table(address_in(tmp_path)).base.metadata, "main")

    reports = [run_at(address_in(tmp_path), shift=shift) for shift in (timedelta(), EIGHT_DAYS)]

    assert [(each.status, each.uncleaned) for each in reports] == [("NothingToDo", ())] * 2
    left = [file.path for file in there if file.type == "ED"]
    assert len(there) == 3
    assert [file.path for file in mixed_tables.files(table).change] == left
    assert sorted(mixed_tables.read(table), key=repr) == before


def _rewrite_base(table: KeyedTable, old: str, new: str) -> None:
    """Commits metadata of base with another text in the place of one."""
    hint = table.base / "metadata" / "version-hint.text"
    version = int(hint.read_text())
    text = (table.base / "metadata" / f"v{version}.metadata.json").read_text()
    assert old in text
    (table.base / "metadata" / f"v{version + 1}.metadata.json").write_text(text.replace(old, new))
    hint.write_text(str(version + 1))
    hint.with_name(f".{hint.name}.crc").unlink(missing_ok=True)


def _append(arctic: Arctic, table: KeyedTable) -> None:
    arctic.write_change(table, [["INSERT", 10, "a", "late"]])
