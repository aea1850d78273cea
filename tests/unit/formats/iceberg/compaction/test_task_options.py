"""What tasks are told of how files are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from lithify.clock import SystemClock
from lithify.formats.iceberg.compaction.planning import pin_view, plan
from lithify.formats.iceberg.compaction.tasks import tasks_of
from lithify.formats.iceberg.rewriting.task import RewriteTask
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.strategy import Strategy
from lithify.formats.protocol.tasks import Sizing
from support.iceberg_tables import Lakehouse, rows, with_fields


def tasks(lakehouse: Lakehouse, **options: str) -> list[RewriteTask]:
    """The tasks of a full compaction, with options of the run."""
    opened = open_iceberg_table(lakehouse.address(overrides=options))
    selection = Selection(strategy=Strategy.FULL)
    pinned = pin_view(opened, selection)
    assert pinned is not None
    found = tasks_of(opened, plan(opened, pinned, selection, SystemClock()), Sizing())
    return [task for each in found.values() for task in each]


@pytest.mark.parametrize(("version", "has_lineage"), [(2, False), (3, True)])
def test_integers_that_may_be_null_are_not_stored_as_differences(
    tmp_path: Path, version: int, has_lineage: bool
) -> None:
    """Spark's vectorized reader before Iceberg 1.10 fails on such integers, before 1.12 if all are null."""
    lakehouse = Lakehouse(tmp_path)
    table = lakehouse.table()
    table.append(rows(1))
    table.append(rows(2))
    with_fields(table, {"format-version": version, "next-row-id": 2})

    (task,) = tasks(lakehouse)

    assert task.target.has_lineage is has_lineage
    assert not task.target.options.files.parquet.packed


def test_new_files_have_the_size_that_plans_reckon_with(tmp_path: Path) -> None:
    """Files of the table's own size would be too large to the next plan, and be written again for ever."""
    lakehouse = Lakehouse(tmp_path)
    table = lakehouse.table(properties={"write.target-file-size-bytes": "4000000"})
    table.append(rows(1))
    table.append(rows(2))

    (of_the_table,), (of_the_run,) = (
        tasks(lakehouse),
        tasks(lakehouse, **{"target-file-size-bytes": "1000000"}),
    )

    assert of_the_table.target.options.files.target_size == 4_000_000
    assert of_the_run.target.options.files.target_size == 1_000_000


@pytest.mark.parametrize(
    ("version", "folder"),
    [(1, None), (2, "metadata"), (3, "metadata")],
    ids=["version 1 has no deletes", "version 2", "version 3"],
)
def test_tasks_write_maps_where_deletes_may_land(tmp_path: Path, version: int, folder: str | None) -> None:
    lakehouse = Lakehouse(tmp_path)
    table = lakehouse.table()
    table.append(rows(1))
    table.append(rows(2))
    with_fields(table, {"format-version": version, "next-row-id": 2})

    (task,) = tasks(lakehouse)

    assert task.maps == (None if folder is None else f"{table.location()}/{folder}")
