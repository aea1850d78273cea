"""Minor compactions of keyed tables beside Arctic 0.4.1: large base files stay, and no row changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from infrastructure.arctic import random_tables
from infrastructure.arctic.client import Arctic
from infrastructure.arctic.merge_on_read import PositionRule, merge_on_read, stored_line
from infrastructure.arctic.mixed import MixedTable, MixedTables
from infrastructure.arctic.model import Files, KeyedFile, KeyedTable
from infrastructure.arctic.random_tables import RandomHistory
from infrastructure.iceberg import catalogs
from lithify.clock import SystemClock
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.report import Report
from lithify.engine.run.runner import InlineRunner
from lithify.formats.mixed.adapter import OpenedMixedTable
from lithify.formats.mixed.stores import PRIMARY_KEY, open_mixed_table
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.results import Slot, joined_slots
from lithify.formats.protocol.strategy import Strategy
from support.cases import case

COLUMNS = {"id": "long", "p": "string", "v": "string"}
FOUR_AND_TWO = {"base.file-index.hash-bucket": "4", "change.file-index.hash-bucket": "2"}
ALL_ARE_LARGE = {
    "compact.major.small.file.size.bytes": "1",
    "self-optimizing.minor.trigger.interval": "1",
    "self-optimizing.major.trigger.interval": "-1",
}
"""Changes are merged at once, and nothing is rewritten by time."""
Rows = list[list[Any]]


@pytest.fixture(params=["partitioned", "unpartitioned"])
def table(request: pytest.FixtureRequest, arctic: Arctic, tmp_path: Path) -> KeyedTable:
    """An empty table, with four nodes in base and two in change."""
    partition = ["p"] if request.param == "partitioned" else []
    return arctic.create(KeyedTable(tmp_path / "db" / "t", COLUMNS, ["id"], partition), FOUR_AND_TWO)


def run(
    table: KeyedTable, options: Mapping[str, str] = ALL_ARE_LARGE, strategy: Strategy = Strategy.MINOR
) -> Report:
    """A run of ours."""
    return run_at(address_of(table, options), strategy)


def run_at(address: TableAddress, strategy: Strategy) -> Report:
    """A run of ours at an address."""
    return compact(Request(address, Selection(strategy=strategy)), InlineRunner(), SystemClock())


def address_of(table: KeyedTable, options: Mapping[str, str]) -> TableAddress:
    """The address of a table, with options of a run."""
    warehouse, name = table.location.parent.parent, f"{table.location.parent.name}.{table.location.name}"
    overrides = {PRIMARY_KEY: ",".join(table.key), **options}
    return TableAddress(str(warehouse), name, overrides=overrides, format="mixed-iceberg")


def due(table: KeyedTable, options: Mapping[str, str]) -> list[str | None]:
    """The trigger of each partition that is due, as `inspect` shows it."""
    opened = OpenedMixedTable(open_mixed_table(address_of(table, options)))
    return [group.due for group in opened.inspect(Selection(), SystemClock()).groups]


def rows_of(arctic: Arctic, table: KeyedTable) -> Rows:
    """The rows that Arctic reads, which are those of readers since 0.5 and of the model."""
    return checked_rows(arctic.read(table), arctic.files(table), stored_line(table), table.key)


def checked_rows(read: Rows, files: Files, line: Mapping[str, int], key: Sequence[str]) -> Rows:
    """Rows that were read, sorted, if they are those of the model for both generations of readers."""
    found = sorted(read, key=repr)
    for rule in PositionRule:
        rows = merge_on_read(files.base, files.change, line, key, rule)
        assert sorted([list(row) for row in rows.rows()], key=repr) == found
    return found


def base_rows(arctic: Arctic, table: KeyedTable) -> Rows:
    """The rows of the base store alone, as Iceberg reads them."""
    return sorted(arctic.read_base(table), key=repr)


def base_files(arctic: Arctic, table: KeyedTable) -> tuple[set[str], list[KeyedFile]]:
    """The paths of the base files, and the position delete files."""
    files = arctic.files(table).base
    deletes = [file for file in files if file.content != "DATA"]
    return {file.path for file in files if file.content == "DATA"}, deletes


def written(report: Report) -> tuple[int, int, int]:
    """The base files, position delete files and deleted positions that a run has written."""
    deletes = joined_slots(group.other_files for group in report.groups).get(Slot.DELETES)
    files = sum(group.after.files for group in report.groups)
    return files, 0 if deletes is None else deletes.files, 0 if deletes is None else deletes.rows


def fill(arctic: Arctic, table: KeyedTable, *numbers: int, value: str = "x") -> set[str]:
    """Adds base files with rows of these numbers; returns their paths."""
    rows: list[Sequence[Any]] = [[number, "a", f"{value}{number}"] for number in numbers]
    return {file.path for file in arctic.write_base(table, rows, arctic.begin_transaction(table))}


def change(arctic: Arctic, table: KeyedTable, *, gone: Sequence[int] = (), new: Sequence[int] = ()) -> None:
    """Deletes and inserts rows of these numbers."""
    deletes = [["DELETE", number, "a", f"x{number}"] for number in gone]
    arctic.write_change(table, [*deletes, *(["INSERT", number, "a", f"x{number}"] for number in new)])


def test_rows_of_large_files_are_deleted_by_position(arctic: Arctic, table: KeyedTable) -> None:
    large = fill(arctic, table, *range(40))
    change(arctic, table, gone=[3, 4, 11], new=[3, 100, 101])
    before = rows_of(arctic, table)

    report = run(table)

    data, deletes = base_files(arctic, table)
    assert large < data
    assert rows_of(arctic, table) == base_rows(arctic, table) == before
    nodes = {file.path: file.node for file in arctic.files(table).base}
    assert written(report) == (len(data - large), len(deletes), 3)
    assert sorted(each.records for each in deletes) == [1, 2]  # 3 and 11 are of one node
    assert {each.node for each in deletes} <= {nodes[path] for path in large}
    assert {each.transaction_id for each in deletes} == {file.sequence for file in arctic.files(table).change}


def test_delete_files_alone_are_committed(arctic: Arctic, table: KeyedTable) -> None:
    large = fill(arctic, table, *range(40))
    change(arctic, table, gone=[3])
    before = rows_of(arctic, table)

    assert written(run(table)) == (0, 1, 1)

    assert base_files(arctic, table)[0] == large
    assert rows_of(arctic, table) == base_rows(arctic, table) == before


def test_deletes_that_hit_no_row_write_nothing_and_move_the_line(arctic: Arctic, table: KeyedTable) -> None:
    large = fill(arctic, table, *range(40))
    change(arctic, table, gone=[77])

    report = run(table)

    assert (report.status, written(report)) == ("Compacted", (0, 0, 0))
    assert base_files(arctic, table) == (large, [])
    assert set(arctic.line(table).values()) == {file.sequence for file in arctic.files(table).change}
    assert run(table).status == "NothingToDo"


def test_small_files_are_merged_beside_large_ones(arctic: Arctic, table: KeyedTable) -> None:
    large = fill(arctic, table, *range(40), value="x" * 1000)
    small = fill(arctic, table, *range(50, 60)) | fill(arctic, table, *range(60, 70))
    sizes = {file.path: file.size for file in arctic.files(table).base}
    limit = min(sizes[path] for path in large)
    assert max(sizes[path] for path in small) < limit
    change(arctic, table, gone=[3, 51], new=[100])
    before = rows_of(arctic, table)

    report = run(table, {**ALL_ARE_LARGE, "compact.major.small.file.size.bytes": str(limit)})

    data, deletes = base_files(arctic, table)
    assert large < data
    assert not small & data
    assert [each.records for each in deletes] == [1]
    assert written(report) == (4, 1, 1)
    assert rows_of(arctic, table) == base_rows(arctic, table) == before


def test_minor_follows_minor_until_all_is_rewritten(arctic: Arctic, table: KeyedTable) -> None:
    large = fill(arctic, table, *range(100))
    for number in range(3):
        change(arctic, table, gone=[number, 50 + number, 200 + number - 1], new=[number, 200 + number])
        before = rows_of(arctic, table)
        run(table)
        assert large <= base_files(arctic, table)[0]
        assert rows_of(arctic, table) == base_rows(arctic, table) == before
    assert run(table).status == "NothingToDo"

    run(table, strategy=Strategy.FULL)

    data, deletes = base_files(arctic, table)
    assert (data & large, deletes) == (set(), [])
    assert rows_of(arctic, table) == base_rows(arctic, table) == before


@pytest.mark.parametrize("optimize", [Arctic.minor, Arctic.rewrite], ids=["minor", "rewrite"])
def test_arctic_goes_on_after_a_minor_and_we_after_it(
    arctic: Arctic, table: KeyedTable, optimize: Any
) -> None:
    fill(arctic, table, *range(40))
    change(arctic, table, gone=[3, 4], new=[100])
    run(table)
    change(arctic, table, gone=[4, 5, 100], new=[5])
    before = rows_of(arctic, table)

    optimize(arctic, table)
    assert rows_of(arctic, table) == base_rows(arctic, table) == before
    change(arctic, table, gone=[6])
    before = rows_of(arctic, table)
    run(table)
    assert rows_of(arctic, table) == base_rows(arctic, table) == before
    run(table, strategy=Strategy.FULL)
    assert rows_of(arctic, table) == base_rows(arctic, table) == before


def test_files_with_many_deleted_rows_are_rewritten(arctic: Arctic, table: KeyedTable) -> None:
    large = fill(arctic, table, *range(40))
    change(arctic, table, gone=[0, 4])  # of the ten rows of one node
    run(table)
    change(arctic, table, gone=[1, 2, 3])
    before = rows_of(arctic, table)

    run(table)

    data, deletes = base_files(arctic, table)
    assert len(large - data) == 1
    assert [each.records for each in deletes] == [1, 1, 1]
    assert rows_of(arctic, table) == base_rows(arctic, table) == before


def test_rows_that_were_deleted_already_are_not_deleted_again(arctic: Arctic, table: KeyedTable) -> None:
    fill(arctic, table, *range(100))
    change(arctic, table, gone=[3])
    run(table)
    change(arctic, table, gone=[3, 7])
    before = rows_of(arctic, table)

    assert written(run(table)) == (0, 1, 2)
    assert [each.records for each in base_files(arctic, table)[1]] == [2]
    assert rows_of(arctic, table) == base_rows(arctic, table) == before


def test_a_file_that_stays_has_one_delete_file_after_many_minors(arctic: Arctic, table: KeyedTable) -> None:
    large = fill(arctic, table, *range(400))
    for number in range(4):
        change(arctic, table, gone=[number * 4, number * 4 + 1])  # each time of the same two nodes
        before = rows_of(arctic, table)
        run(table)
        assert rows_of(arctic, table) == base_rows(arctic, table) == before

    data, deletes = base_files(arctic, table)
    assert data == large
    assert sum(each.records for each in deletes) == 8
    assert len(deletes) == len({each.node for each in deletes})


def test_a_delete_file_of_several_files_stays_beside_that_of_one(arctic: Arctic, table: KeyedTable) -> None:
    fill(arctic, table, *range(200))
    fill(arctic, table, *range(200, 400))
    change(arctic, table, gone=[3, 11, 203, 211])  # of one node
    arctic.minor(table)
    (of_several,) = base_files(arctic, table)[1]
    change(arctic, table, gone=[7])
    before = rows_of(arctic, table)

    run(table)

    deletes = {each.path: each.records for each in base_files(arctic, table)[1]}
    assert deletes.pop(of_several.path) == 4
    assert [*deletes.values()] == [1]
    assert rows_of(arctic, table) == base_rows(arctic, table) == before


def test_files_of_plain_names_are_of_the_root(arctic: Arctic, table: KeyedTable) -> None:
    rows: list[Sequence[Any]] = [[number, "a", "x"] for number in range(40)]
    plain = {file.path for file in arctic.write_base(table, rows, plain_names=True)}
    change(arctic, table, gone=[3, 4], new=[100])
    before = rows_of(arctic, table)

    run(table)

    data, deletes = base_files(arctic, table)
    assert plain < data
    assert [(each.node, each.records) for each in deletes] == [(1, 2)]
    assert rows_of(arctic, table) == base_rows(arctic, table) == before


@pytest.mark.parametrize(
    ("options", "is_due"),
    [
        case({"self-optimizing.minor.trigger.interval": "1"}, False, id="by changes"),
        case({"compact.major.file.cnt": "1"}, False, id="by small files"),
        case({"self-optimizing.major.trigger.interval": "3600000"}, False, id="by time, later"),
        case({"self-optimizing.major.trigger.interval": "1"}, True, id="by time, at once"),
    ],
)
def test_a_minor_makes_no_partition_due_but_by_time(
    arctic: Arctic, table: KeyedTable, options: Mapping[str, str], is_due: bool
) -> None:
    large = fill(arctic, table, *range(40))
    change(arctic, table, gone=[3], new=[100])
    run(table)
    before = rows_of(arctic, table)

    report = run(table, {"compact.major.small.file.size.bytes": "1", **options})

    assert report.status == ("Compacted" if is_due else "NothingToDo")
    data, deletes = base_files(arctic, table)
    assert (len(large - data), len(deletes)) == ((1, 0) if is_due else (0, 1))
    assert rows_of(arctic, table) == base_rows(arctic, table) == before
    assert run(table, {"compact.major.small.file.size.bytes": "1", **options}).status == "NothingToDo"


def test_deletes_of_other_nodes_make_no_partition_due(arctic: Arctic, table: KeyedTable) -> None:
    """Iceberg keeps a delete file of several data files while any older file of its partition stays."""
    by_time = {**ALL_ARE_LARGE, "self-optimizing.major.trigger.interval": "1"}
    fill(arctic, table, *range(20))
    fill(arctic, table, *range(20, 40))
    change(arctic, table, gone=[3, 11, 23, 31])  # of one node
    arctic.minor(table)
    before = rows_of(arctic, table)

    while run(table, by_time).status != "NothingToDo":
        assert rows_of(arctic, table) == before

    assert len(base_files(arctic, table)[1]) == 1
    assert due(table, by_time) == [None]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(40))
def test_random_table_reads_the_same_after_any_minor(arctic: Arctic, tmp_path: Path, seed: int) -> None:
    def create(partition: Sequence[str], properties: Mapping[str, str]) -> KeyedTable:
        folder = tmp_path / "db" / "t"
        return arctic.create(KeyedTable(folder, random_tables.COLUMNS, ["id"], partition), properties)

    history = RandomHistory.start(arctic, create, seed, has_plain_positions=False)
    for _ in range(4):
        steps = [*history.changing(4)]
        before = rows_of(arctic, history.table)
        run(history.table, {**ALL_ARE_LARGE, "self-optimizing.major.trigger.duplicate-ratio": "0.5"})
        assert rows_of(arctic, history.table) == before, steps
        if history.chance.random() < 0.5:
            steps.append(history.optimize())
            assert rows_of(arctic, history.table) == before, steps


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(12))
def test_random_table_of_todays_layout_reads_the_same_after_any_minor(
    mixed_tables: MixedTables, tmp_path: Path, seed: int
) -> None:
    def create(partition: Sequence[str], properties: Mapping[str, str]) -> MixedTable:
        catalog = catalogs.folder_of_tables(tmp_path)
        what = MixedTable(catalog, "db.t", random_tables.COLUMNS, ["id"], partition)
        return mixed_tables.create(what, properties)

    def rows() -> Rows:
        table = history.table
        files, line = mixed_tables.files(table), mixed_tables.line(table)
        return checked_rows(mixed_tables.read(table), files, line, table.key)

    history = RandomHistory.start(mixed_tables, create, seed, has_plain_positions=False)
    for _ in range(4):
        steps = [*history.changing(4)]
        before = rows()
        address = TableAddress(str(tmp_path), "db.t", overrides=ALL_ARE_LARGE, format="mixed-iceberg")
        run_at(address, Strategy.MINOR)
        assert rows() == before, steps
        if history.chance.random() < 0.5:
            steps.append(history.optimize())
            assert rows() == before, steps
