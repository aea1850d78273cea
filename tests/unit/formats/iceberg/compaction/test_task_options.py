"""What tasks are told of how files are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from lithify.formats.iceberg.compaction.planning import pin_view, plan
from lithify.formats.iceberg.compaction.tasks import tasks_of
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.strategy import Strategy
from lithify.formats.protocol.tasks import Sizing
from support.iceberg_tables import Lakehouse, rows, with_fields


@pytest.mark.parametrize(("version", "has_lineage"), [(2, False), (3, True)])
def test_integers_are_stored_so_that_older_readers_of_a_version_can_read_them(
    tmp_path: Path, version: int, has_lineage: bool
) -> None:
    """Spark's vectorized reader before Iceberg 1.10 fails on integers that are stored as differences."""
    lakehouse, selection = Lakehouse(tmp_path), Selection(strategy=Strategy.FULL)
    table = lakehouse.table()
    table.append(rows(1))
    table.append(rows(2))
    with_fields(table, {"format-version": version, "next-row-id": 2})
    opened = open_iceberg_table(lakehouse.address())
    pinned = pin_view(opened, selection)
    assert pinned is not None

    ((task,),) = tasks_of(opened, plan(opened, pinned, selection), Sizing()).values()

    assert task.target.has_lineage is has_lineage
    assert not task.target.options.files.parquet.packs_integers
