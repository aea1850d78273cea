"""Arctic's own reader gives what the model of merge-on-read gives, and Arctic's executors change no row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from infrastructure.arctic import random_tables
from infrastructure.arctic.client import Arctic
from infrastructure.arctic.merge_on_read import PositionRule, merge_on_read, stored_line
from infrastructure.arctic.model import KeyedTable
from infrastructure.arctic.random_tables import RandomHistory

COLUMNS = {"id": "long", "p": "string", "v": "string"}
FOUR_AND_TWO = {"base.file-index.hash-bucket": "4", "change.file-index.hash-bucket": "2"}


def by_model(
    arctic: Arctic, table: KeyedTable, rule: PositionRule = PositionRule.SAME_NODE
) -> list[list[Any]]:
    """The rows that must be, sorted."""
    files = arctic.files(table)
    rows = merge_on_read(files.base, files.change, stored_line(table), table.key, rule)
    return sorted([list(row) for row in rows.rows()], key=repr)


def by_arctic(arctic: Arctic, table: KeyedTable) -> list[list[Any]]:
    """The rows that Arctic reads, sorted."""
    return sorted(arctic.read(table), key=repr)


@pytest.fixture(params=["partitioned", "unpartitioned"])
def table(request: pytest.FixtureRequest, arctic: Arctic, tmp_path: Path) -> KeyedTable:
    """An empty table, with four nodes in base and two in change."""
    partition = ["p"] if request.param == "partitioned" else []
    return arctic.create(KeyedTable(tmp_path / "t", COLUMNS, ["id"], partition), FOUR_AND_TWO)


def test_insert_of_living_key_reads_as_two_rows(arctic: Arctic, table: KeyedTable) -> None:
    arctic.write_base(table, [[1, "a", "base"]], arctic.begin_transaction(table))
    arctic.write_change(table, [["INSERT", 1, "a", "once"]])
    arctic.write_change(table, [["INSERT", 1, "a", "twice"]])
    expected = [[1, "a", "base"], [1, "a", "once"], [1, "a", "twice"]]
    assert by_arctic(arctic, table) == by_model(arctic, table) == expected


def test_delete_in_another_partition_does_nothing(arctic: Arctic, tmp_path: Path) -> None:
    table = arctic.create(KeyedTable(tmp_path / "t", COLUMNS, ["id"], ["p"]))
    arctic.write_base(table, [[1, "a", "stays"]], arctic.begin_transaction(table))
    arctic.write_change(table, [["DELETE", 1, "b", "stays"]])
    assert by_arctic(arctic, table) == by_model(arctic, table) == [[1, "a", "stays"]]


def test_insert_of_older_transaction_is_dead_though_committed_later(
    arctic: Arctic, table: KeyedTable
) -> None:
    older = arctic.begin_transaction(table)
    arctic.write_change(table, [["DELETE", 1, "a", "x"]])
    arctic.write_change(table, [["INSERT", 1, "a", "late"]], older)
    assert by_arctic(arctic, table) == by_model(arctic, table) == []


def test_delete_does_not_hit_base_of_its_own_transaction(arctic: Arctic, table: KeyedTable) -> None:
    same = arctic.begin_transaction(table)
    arctic.write_base(table, [[1, "a", "stays"]], same)
    arctic.write_change(table, [["DELETE", 1, "a", "stays"]], same)
    assert by_arctic(arctic, table) == by_model(arctic, table) == [[1, "a", "stays"]]


def test_update_after_has_offset_of_its_update_before(arctic: Arctic, table: KeyedTable) -> None:
    arctic.write_base(table, [[1, "a", "old"]], arctic.begin_transaction(table))
    arctic.write_change(table, [["UPDATE_BEFORE", 1, "a", "old"], ["UPDATE_AFTER", 1, "a", "new"]])
    assert by_arctic(arctic, table) == by_model(arctic, table) == [[1, "a", "new"]]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param(["INSERT", "DELETE"], 0, id="insert then delete"),
        pytest.param(["DELETE", "INSERT"], 1, id="delete then insert"),
        pytest.param(["INSERT", "DELETE", "INSERT"], 1, id="insert, delete, insert"),
        pytest.param(["INSERT", "INSERT", "DELETE"], 0, id="delete of several rows"),
        pytest.param(["DELETE", "INSERT", "INSERT"], 2, id="delete before two inserts"),
    ],
)
def test_order_in_one_transaction(
    arctic: Arctic, table: KeyedTable, rows: Sequence[str], expected: int
) -> None:
    arctic.write_change(table, [[action, 1, "a", "x"] for action in rows])
    assert by_arctic(arctic, table) == by_model(arctic, table) == [[1, "a", "x"]] * expected


def test_plainly_named_base_file_is_of_root_and_oldest(arctic: Arctic, table: KeyedTable) -> None:
    (file,) = arctic.write_base(table, [[1, "a", "x"], [2, "a", "y"]], plain_names=True)
    arctic.write_change(table, [["DELETE", 1, "a", "x"]])
    assert (file.node, file.transaction_id) == (1, 0)
    assert by_arctic(arctic, table) == by_model(arctic, table) == [[2, "a", "y"]]


def test_position_deletes_apply_within_their_node(arctic: Arctic, table: KeyedTable) -> None:
    (file,) = arctic.write_base(table, [[1, "a", "x"], [5, "a", "y"]], arctic.begin_transaction(table))
    arctic.delete_positions(table, {file.path: [0]}, file.transaction_id)
    assert by_arctic(arctic, table) == by_model(arctic, table) == [[5, "a", "y"]]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [(PositionRule.SAME_NODE, [[1, "a", "x"]]), (PositionRule.ABOVE, [])],
    ids=["ignored up to 0.4", "applied since 0.5"],
)
def test_position_deletes_of_root(
    arctic: Arctic, table: KeyedTable, rule: PositionRule, expected: list[list[Any]]
) -> None:
    (file,) = arctic.write_base(table, [[1, "a", "x"]], arctic.begin_transaction(table))
    arctic.delete_positions(table, {file.path: [0]}, plain_names=True)
    assert by_arctic(arctic, table) == [[1, "a", "x"]]
    assert by_model(arctic, table, rule) == expected


def test_consumed_change_files_are_not_read_and_may_go(arctic: Arctic, table: KeyedTable) -> None:
    arctic.write_change(table, [["INSERT", 1, "a", "x"], ["INSERT", 2, "a", "y"], ["DELETE", 2, "a", "y"]])
    arctic.rewrite(table)
    consumed = [file.path for file in arctic.files(table).change]
    assert by_arctic(arctic, table) == by_model(arctic, table) == [[1, "a", "x"]]
    arctic.expire_change_files(table, consumed)
    assert arctic.files(table).change == ()
    assert by_arctic(arctic, table) == by_model(arctic, table) == [[1, "a", "x"]]


def test_overwrite_replaces_rows_and_moves_line(arctic: Arctic, table: KeyedTable) -> None:
    arctic.write_base(table, [[1, "a", "base"]], arctic.begin_transaction(table))
    arctic.write_change(table, [["INSERT", 2, "a", "change"]])
    transaction = arctic.begin_transaction(table)
    arctic.overwrite_base(table, [[3, "a", "new"]], transaction)
    assert list(stored_line(table).values()) == [transaction]
    assert by_arctic(arctic, table) == by_model(arctic, table) == [[3, "a", "new"]]


def test_minor_moves_insert_files_and_writes_position_deletes(arctic: Arctic, table: KeyedTable) -> None:
    arctic.write_base(table, [[1, "a", "x"], [2, "a", "y"]], arctic.begin_transaction(table))
    written = arctic.write_change(table, [["INSERT", 4, "a", "z"], ["DELETE", 2, "a", "y"]])
    (inserted,) = [file for file in written if file.type == "I"]
    before = by_arctic(arctic, table)
    optimized = arctic.minor(table)
    assert [file.path for file in optimized.added] == [inserted.path]
    assert "/change/" in inserted.path
    assert [file.records for file in optimized.added_deletes] == [1]
    assert by_arctic(arctic, table) == by_model(arctic, table) == before
    assert sorted(arctic.read_base(table)) == before


def test_rewrite_leaves_base_files_of_write_nodes(arctic: Arctic, table: KeyedTable) -> None:
    arctic.write_base(table, [[number, "a", "x"] for number in range(9)], arctic.begin_transaction(table))
    arctic.write_change(table, [["DELETE", 3, "a", "x"], ["INSERT", 9, "a", "z"]])
    before = by_arctic(arctic, table)
    arctic.rewrite(table)
    files = arctic.files(table).base
    assert {(file.type, file.node) for file in files} == {("B", node) for node in range(4, 8)}
    assert sorted(arctic.read_base(table)) == by_arctic(arctic, table) == by_model(arctic, table) == before


def test_rows_of_a_parquet_file_are_written_and_read(
    arctic: Arctic, table: KeyedTable, tmp_path: Path
) -> None:
    rows = pl.DataFrame({"_action": ["INSERT", "DELETE"], "id": [1, 2], "p": ["a", "a"], "v": ["x", "y"]})
    rows.write_parquet(tmp_path / "rows.parquet")
    arctic.write_base(table, [[2, "a", "y"]], arctic.begin_transaction(table))
    arctic.write_change(table, parquet=tmp_path / "rows.parquet")
    assert arctic.read_into(table, tmp_path / "read.parquet") == 1
    assert pl.read_parquet(tmp_path / "read.parquet").rows() == [(1, "a", "x")]


def test_columns_of_all_types_and_transformed_partitions(arctic: Arctic, tmp_path: Path) -> None:
    row = {
        "id": ("int", 7),
        "at": ("timestamp", "2024-02-29T10:11:12.5"),
        "flag": ("boolean", True),
        "number": ("long", -5),
        "small": ("float", 1.5),
        "large": ("double", -2.25),
        "price": ("decimal(10, 2)", "12.30"),
        "day": ("date", "1969-12-31"),
        "zoned": ("timestamptz", "2024-02-29T10:11:12.000001"),
        "data": ("binary", "AAEC"),
        "unknown": ("string", None),
    }
    columns = {name: kind for name, (kind, _) in row.items()}
    values = [value for _, value in row.values()]
    partition = ["day(at)", "bucket(4, id)", "truncate(2, number)"]
    table = arctic.create(KeyedTable(tmp_path / "t", columns, ["id", "at"], partition))
    arctic.write_base(table, [values, [8, *values[1:]]], arctic.begin_transaction(table))
    arctic.write_change(table, [["DELETE", 8, *values[1:]], ["INSERT", 9, *values[1:]]])
    assert by_arctic(arctic, table) == [values, [9, *values[1:]]]
    assert [row[0] for row in by_model(arctic, table)] == [7, 9]
    arctic.minor(table)
    assert by_arctic(arctic, table) == [values, [9, *values[1:]]]
    arctic.rewrite(table)
    assert by_arctic(arctic, table) == [values, [9, *values[1:]]]


@pytest.mark.parametrize("partition", [None, "x/y", "ä"], ids=["null", "slash", "umlaut"])
def test_arctic_reads_consumed_changes_of_such_partitions_again(
    arctic: Arctic, tmp_path: Path, partition: str | None
) -> None:
    """A fault of 0.4.1: it does not find the line that it has written."""
    table = arctic.create(KeyedTable(tmp_path / "t", COLUMNS, ["id"], ["p"]))
    arctic.write_change(table, [["INSERT", 1, partition, "x"]])
    arctic.rewrite(table)
    assert by_model(arctic, table) == [[1, partition, "x"]]
    assert by_arctic(arctic, table) == [[1, partition, "x"]] * 2


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(40))
def test_random_table_reads_as_model_says_and_optimizing_changes_nothing(
    arctic: Arctic, tmp_path: Path, seed: int
) -> None:
    def create(partition: Sequence[str], properties: Mapping[str, str]) -> KeyedTable:
        return arctic.create(KeyedTable(tmp_path / "t", random_tables.COLUMNS, ["id"], partition), properties)

    history = RandomHistory.start(arctic, create, seed)
    for _ in range(3):
        for step in history.changing(4):
            assert by_arctic(arctic, history.table) == by_model(arctic, history.table), step
        before = by_arctic(arctic, history.table)
        optimized = history.optimize()
        assert by_arctic(arctic, history.table) == by_model(arctic, history.table) == before, optimized
