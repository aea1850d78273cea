"""Faults of Iceberg 1.11.0 that comparisons must except, each with the case that shows it.

A test here that fails after an upgrade is good news: the exception in our comparisons can go.
"""

from __future__ import annotations

import pytest

from infrastructure.iceberg import second_reader as go
from infrastructure.iceberg.model import EqualityDeletes
from infrastructure.iceberg.tables import LINEAGE, SparkTable, rows


def _gone(first: int, count: int) -> list[EqualityDeletes]:
    return [EqualityDeletes(["id"], f"SELECT id FROM range({first}, {first + count}, 1, 1)")]


@pytest.mark.parametrize(("appends", "comes_back"), [(0, False), (1, True), (2, True)])
def test_rewrite_beside_an_equality_delete_brings_rows_back(
    sql_table: SparkTable, appends: int, comes_back: bool
) -> None:
    """PR #10962: the delete file is dropped although the new files, with the start's number, need it."""
    table = sql_table.create(2).append_many(2, 10)
    start = table.snapshot_id
    files = [task.file.path for task in table.spark.scan(table.name)]
    table.spark.row_delta(table.name, equality=_gone(0, 3))
    for number in range(appends):
        table.append(100 + number, 1)
    before = table.read("id").num_rows
    table.spark.rewrite_files(table.name, files, rows(0, 20), start)
    assert table.read("id").num_rows - before == (3 if comes_back else 0)


@pytest.mark.parametrize(("highest", "is_deleted"), [("5.5", False), ("100.5", True)])
def test_an_equality_delete_of_nan_applies_only_where_the_bounds_meet(
    sql_table: SparkTable, highest: str, is_deleted: bool
) -> None:
    """NaN equals NaN where rows are compared, but bounds leave NaN out: whether a delete is applied depends
    on the other values of both files. So Spark's own rewrite can delete such rows, and so can ours.
    """
    table = sql_table.create(2, columns="id BIGINT, reading FLOAT")
    values = f"(1, CAST('NaN' AS FLOAT)), (2, CAST(1.5 AS FLOAT)), (3, CAST({highest} AS FLOAT))"
    table.run(f"INSERT INTO {table.name} SELECT /*+ COALESCE(1) */ * FROM VALUES {values}")
    gone = "SELECT CAST(c AS FLOAT) AS reading FROM VALUES ('NaN'), ('50.5') AS t(c)"
    table.spark.row_delta(table.name, equality=[EqualityDeletes(["reading"], gone)])

    assert (1 not in table.read("id")["id"].to_pylist()) is is_deleted


def test_sequence_number_of_lineage_is_that_of_the_file(sql_table: SparkTable, second_reader: object) -> None:
    """#17039: `_last_updated_sequence_number` is the file's number, not the data's; iceberg-go is right."""
    table = sql_table.create(3).append_many(2, 10)
    start = table.snapshot_id
    files = [task.file.path for task in table.spark.scan(table.name)]
    table.spark.rewrite_files(table.name, files, rows(0, 20), start)
    (task,) = table.spark.scan(table.name)
    assert (task.file.data_sequence_number, task.file.file_sequence_number) == (2, 3)
    column = LINEAGE[1]
    assert table.read("id", column)[column].unique().to_pylist() == [3]
    found = go.read(table.metadata_location, lineage=True)
    assert found[column].unique().to_pylist() == [2]


def test_iceberg_go_refuses_defaults_of_dates(sql_table: SparkTable, second_reader: object) -> None:
    """The specification has them as texts; iceberg-go 0.7 only takes numbers where files lack the column."""
    table = sql_table.create(3).append_many(1, 10)
    table.spark.add_column(table.name, "since", "date", "2024-02-29")

    with pytest.raises(go.GoError, match="unsupported write-default value type string"):
        go.read(table.metadata_location)

    assert table.read("since").num_rows == 10


def test_rewrite_of_manifests_loses_first_row_ids(sql_table: SparkTable) -> None:
    """#16699: Spark's procedure forgets them, so rows get other ids."""
    table = sql_table.create(3).append_many(3, 10)
    before = {task.file.path: task.file.first_row_id for task in table.spark.scan(table.name)}
    assert sorted(before.values()) == [0, 10, 20]
    table.procedure("rewrite_manifests")
    after = {task.file.path: task.file.first_row_id for task in table.spark.scan(table.name)}
    assert after.keys() == before.keys()
    assert after != before


def test_lineage_of_upgraded_tables_is_null_until_files_are_rewritten(sql_table: SparkTable) -> None:
    """The spec says so of rows that no commit has given ids: files from before the upgrade have none."""
    table = sql_table.create(2).append(0, 10)
    table.upgrade(3)
    found = table.read("id", *LINEAGE)
    assert found["_row_id"].null_count == found["_last_updated_sequence_number"].null_count == 10
