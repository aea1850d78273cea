"""Deletes that a writer did not count stay deletes: such files are rewritten, not upgraded to the top."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from pypaimon import CatalogFactory

from infrastructure.oracle.client import Oracle, Table
from support.runs import run_inline

pytestmark = pytest.mark.oracle

SCHEMA = pa.schema([pa.field("id", pa.int32(), nullable=False), ("kind", pa.string()), ("v", pa.string())])


def write_with_pypaimon(table: Table, rows: Sequence[tuple[int, str, str]]) -> None:
    """Commits rows with their kind; pypaimon 2.1 stores deletes so, and counts none of them."""
    catalog = CatalogFactory.create({"warehouse": str(table.warehouse)})
    builder = catalog.get_table(table.name).new_batch_write_builder()
    write, commit = builder.new_write(), builder.new_commit()
    columns = [
        pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), SCHEMA, strict=True)
    ]
    write.write_arrow(pa.table(columns, schema=SCHEMA))
    commit.commit(write.prepare_commit())
    write.close()
    commit.close()


@pytest.fixture
def table(oracle: Oracle, tmp_path: Path) -> Table:
    """Rows on the top level, and above them keys of their own with an uncounted delete."""
    table = Table(tmp_path, "db.t")
    oracle.create_table(
        table,
        {"id": "INT NOT NULL", "kind": "STRING", "v": "STRING"},
        primary_key=["id"],
        options={
            "bucket": "1",
            "target-file-size": "1 kb",
            "num-sorted-run.compaction-trigger": "3",
            "compaction.force-up-level-0": "true",
            "rowkind.field": "kind",
        },
    )
    oracle.write(table, [["+I", number, "+I", f"{number * 7919}"] for number in range(3000)])
    run_inline(table)
    write_with_pypaimon(
        table, [*((number, "+I", "x") for number in range(10_000, 10_020)), (10_005, "-D", "x")]
    )
    assert [file.delete_rows for file in oracle.files(table) if file.level == 0] == [0]
    return table


@pytest.mark.parametrize(
    "detours", [0, 1, 2], ids=["from level 0", "from a level between", "from the next one"]
)
def test_an_uncounted_delete_hides_its_key_on_the_top_level(
    oracle: Oracle, table: Table, detours: int
) -> None:
    for detour in range(detours):
        start = 20_000 + 1000 * detour
        oracle.write(table, [["+I", start + number, "+I", f"{number}"] for number in range(20)])
        run_inline(table, full=False)
    rows = oracle.read(table)
    assert not any(row[1] == 10_005 for row in rows)

    run_inline(table)

    assert {file.level for file in oracle.files(table)} == {3}
    assert oracle.read(table) == rows
