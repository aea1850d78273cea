"""Sorted tables of Spark stay sorted, and a run sorts what writers have left in pieces."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from infrastructure.iceberg.tables import LINEAGE, SparkTable
from lithify.formats.protocol.strategy import Strategy
from support.iceberg_runs import run

ROWS, COMMITS = 400, 12
SHUFFLED = (
    "SELECT (id * 48271) % 65521 AS id, DATE '2024-02-27' AS day, "
    "IF(id % 7 = 0, NULL, concat(char(97 + id % 3), '-', id % 2)) AS kind, "
    "CAST((id * 16807) % 65521 / 100 AS DECIMAL(10, 2)) AS amount FROM range({first}, {last}, 1, 1)"
)


def made(table: SparkTable, version: int, order: str, **properties: str) -> SparkTable:
    """Commits whose files all have ids of the whole range."""
    table.create(version, properties={name.replace("_", "-"): each for name, each in properties.items()})
    if order:
        table.alter(f"WRITE LOCALLY ORDERED BY {order}")
    for number in range(COMMITS):
        values = SHUFFLED.format(first=number * ROWS, last=(number + 1) * ROWS)
        table.run(f"INSERT INTO {table.name} {values}")
    return table


def files(table: SparkTable) -> list[pa.Table]:
    """The rows of each data file, as stored."""
    paths = table.metadata_table("files")["file_path"].to_pylist()
    return [pq.read_table(path.removeprefix("file:"), partitioning=None) for path in paths]


@pytest.mark.parametrize("version", [2, 3])
def test_rows_of_new_files_are_in_the_order_of_the_table(sql_table: SparkTable, version: int) -> None:
    table = made(sql_table, version, "kind DESC NULLS LAST, id ASC")
    table.delete("id % 10 = 3")
    lineage = LINEAGE if version > 2 else ()
    before = table.read("*", *lineage).combine_chunks()

    assert run(table).status == "Compacted"

    assert table.read("*", *lineage).combine_chunks() == before
    keys = [("kind", "descending"), ("id", "ascending")]
    for rows in files(table):
        in_order = pc.sort_indices(rows, sort_keys=keys, null_placement="at_end")
        assert in_order.to_numpy().tolist() == [*range(rows.num_rows)]
    assert set(table.metadata_table("files")["sort_order_id"].to_pylist()) == {1}
    assert run(table).status == "NothingToDo"


def test_files_that_overlap_are_sorted_until_they_do_not(sql_table: SparkTable) -> None:
    """All files have a good size, and the same range of ids: each lookup of one id would read them all."""
    table = made(sql_table, 2, "id")
    size = int(pc.max(table.metadata_table("files")["file_size_in_bytes"]).as_py())
    table.alter(f"SET TBLPROPERTIES ('write.target-file-size-bytes' = '{size}')")
    before = table.read().combine_chunks()

    reports = [run(table, Strategy.MINOR) for _ in range(3)]

    assert [report.status for report in reports] == ["Compacted", "NothingToDo", "NothingToDo"]
    assert reports[0].groups[0].trigger == "Overlap"
    assert table.read().combine_chunks() == before
    ranges = sorted((pc.min(rows["id"]).as_py(), pc.max(rows["id"]).as_py()) for rows in files(table))
    assert len(ranges) > 3
    assert all(high < low for (_, high), (low, _) in pairwise(ranges))


def test_files_that_are_sorted_by_a_part_of_a_value_are_not_sorted_for_ever(sql_table: SparkTable) -> None:
    """All ids have the same part, so files overlap in ids whatever a run does."""
    table = made(sql_table, 2, "truncate(100000, id)")
    size = int(pc.max(table.metadata_table("files")["file_size_in_bytes"]).as_py())
    table.alter(f"SET TBLPROPERTIES ('write.target-file-size-bytes' = '{size}')")

    assert run(table, Strategy.MINOR).status == "NothingToDo"


@pytest.mark.parametrize("curve", ["zorder", "hilbert"])
def test_rows_lie_along_a_curve_where_an_option_says_so(sql_table: SparkTable, curve: str) -> None:
    table = made(sql_table, 3, "")
    size = int(pc.max(table.metadata_table("files")["file_size_in_bytes"]).as_py())
    before = table.read("*", *LINEAGE, order="id").combine_chunks()
    options = {"lithify.sort-order": f"{curve}(id, amount)", "target-file-size-bytes": str(size)}

    assert run(table, overrides=options).status == "Compacted"

    assert table.read("*", *LINEAGE, order="id").combine_chunks() == before
    parts = files(table)
    assert len(parts) > 3
    for column in ("id", "amount"):
        whole = [float(pc.max(rows[column]).as_py()) - float(pc.min(rows[column]).as_py()) for rows in parts]
        everything = pa.concat_tables(parts)[column]
        total = float(pc.max(everything).as_py()) - float(pc.min(everything).as_py())
        assert sum(whole) / len(whole) < 0.75 * total
