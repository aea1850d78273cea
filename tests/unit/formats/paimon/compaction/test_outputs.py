"""Results of tasks as changes: nothing that a task returns is left out of the commit silently."""

from __future__ import annotations

from pathlib import Path

import pytest

from lithify.clock import SystemClock
from lithify.columns.bitmaps import bitmap_of, serialize
from lithify.errors import UnsupportedTable
from lithify.formats.paimon.buckets.postponed import postponed_verdict
from lithify.formats.paimon.compaction.outputs import Outputs
from lithify.formats.paimon.compaction.plan import BucketPlan
from lithify.formats.paimon.compaction.planning import BucketPlanner
from lithify.formats.paimon.model import BucketId
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.primary_key.merge_task import SupersededRows
from lithify.formats.paimon.primary_key.moving import MovingOutputs
from lithify.formats.paimon.primary_key.planning import RunPlan, plan_run
from lithify.formats.paimon.primary_key.postponed import PostponedUnit
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.results import TaskOutputs, TaskResult
from lithify.formats.protocol.strategy import Strategy
from support.manifests import file_meta
from support.small_tables import SmallTable

PREFIX = "12345678-1234-1234-1234"


def planned(tmp_path: Path) -> tuple[PaimonTable, RunPlan]:
    small = SmallTable(tmp_path / "w").create()
    for _ in range(2):
        small.append("a")
    table = open_table(small.address)
    view = table.view(Selection())
    assert view is not None
    return table, plan_run(BucketPlanner(table, view, Strategy.FULL, SystemClock()))


def test_superseded_rows_of_a_table_without_vectors_block_their_bucket(tmp_path: Path) -> None:
    table, plan = planned(tmp_path)
    bad, *others = plan.units
    rows = SupersededRows("data-1.parquet", serialize(bitmap_of()))
    outputs = {unit.bucket: TaskOutputs() for unit in plan.units}
    outputs[bad.bucket] = TaskOutputs(index=(rows,))

    made = Outputs(table, plan, [(u, result(outputs[u.bucket])) for u in plan.units], PREFIX)

    assert [block.group for block in made.blocks] == [bad.bucket]
    assert isinstance(made.blocks[0].error, UnsupportedTable)
    assert [change.bucket for change in made.changes] == [unit.bucket for unit in others]


@pytest.mark.parametrize("outputs", [TaskOutputs(changelog=(file_meta("c", 0),)), TaskOutputs(index=(1,))])
def test_moved_rows_have_neither_changelogs_nor_vectors(tmp_path: Path, outputs: TaskOutputs) -> None:
    table, plan = planned(tmp_path)
    unit = PostponedUnit(BucketId(b"", -2, "bucket-postpone"), (), 1, (), postponed_verdict(0, 0))
    moving = BucketPlan(plan.view, (unit,), ())
    made = MovingOutputs(table, moving, [(unit, result(outputs))], PREFIX)
    assert [block.group for block in made.blocks] == [unit.bucket]
    assert made.changes == []


def result(outputs: TaskOutputs) -> TaskResult:
    return TaskResult(0, outputs, 0.0, 0)
