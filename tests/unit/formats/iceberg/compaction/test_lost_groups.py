"""Which planned groups others have changed is found out by reading only what is new."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.expressions import EqualTo
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

from lithify.clock import SystemClock
from lithify.formats.iceberg.commit.extension import PlainTable
from lithify.formats.iceberg.commit.rules import NEW_DELETE, REPLACED_INPUT
from lithify.formats.iceberg.compaction import planning
from lithify.formats.iceberg.compaction.lost_groups import LostGroups, check_again
from lithify.formats.iceberg.compaction.plan import IcebergPlan
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.strategy import Strategy
from lithify.io.storage import Storage
from support.iceberg_commits import delete_positions
from support.iceberg_tables import NAME, Lakehouse

pytestmark = pytest.mark.thorough

FIELDS = Schema(NestedField(1, "id", LongType()), NestedField(2, "name", StringType()))
BY_NAME = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "name"))
COLUMNS = pa.schema([("id", pa.int64()), ("name", pa.string())])


def rows(name: str, *ids: int) -> pa.Table:
    return pa.table([[*ids], [name] * len(ids)], schema=COLUMNS)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    made = Lakehouse(tmp_path).table(schema=FIELDS, partition_spec=BY_NAME)
    for number in range(3):
        for name in ("a", "b"):
            made.append(rows(name, number))
    return made


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of metadata files as they are read."""
    found: list[str] = []
    real = Storage.read_bytes

    def reading(self: Storage, path: str, most: int) -> bytes:
        found.append(path.rpartition("/")[2])
        return real(self, path, most)

    monkeypatch.setattr(Storage, "read_bytes", reading)
    return found


def planned(tmp_path: Path) -> tuple[LostGroups, IcebergPlan]:
    opened, selection = open_iceberg_table(Lakehouse(tmp_path).address()), Selection(strategy=Strategy.FULL)
    view = planning.pin_view(opened, selection)
    assert view is not None
    plan = planning.plan(opened, view, selection, SystemClock())
    return LostGroups(opened, plan), plan


def test_nothing_is_read_while_nothing_is_committed(table: Table, tmp_path: Path, read: list[str]) -> None:
    lost, _ = planned(tmp_path)
    read.clear()
    assert lost.find() == lost.find() == {}
    assert read == []


def test_a_group_whose_file_others_replaced_is_lost_and_stays_so(
    table: Table, tmp_path: Path, read: list[str]
) -> None:
    lost, plan = planned(tmp_path)
    others = Lakehouse(tmp_path).catalog().load_table(NAME)
    others.overwrite(rows("a", 7), overwrite_filter=EqualTo("name", "a"))
    (group,) = (unit.group for unit in plan.units if unit.group.place == "name=a")
    assert lost.find() == {group: REPLACED_INPUT}

    head = others.refresh().current_snapshot()
    assert head is not None
    assert head.parent_snapshot_id is not None
    others.manage_snapshots().set_current_snapshot(plan.pinned.start.snapshot).commit()
    assert lost.find() == {group: REPLACED_INPUT}, "it is planned again instead"


@pytest.mark.parametrize("carries", [True, False])
def test_a_group_with_new_position_deletes_is_lost_unless_they_are_carried_over(
    table: Table, tmp_path: Path, carries: bool
) -> None:
    address = Lakehouse(tmp_path).address()
    opened, extension = open_iceberg_table(address), PlainTable(carries_deletes=carries)
    _, plan = planned(tmp_path)
    file = plan.units[0].files[0]
    delete_positions(address, {file.path: [0]})
    lost = {} if carries else {plan.units[0].group: NEW_DELETE}
    assert LostGroups(opened, plan, extension).find() == lost
    assert check_again(opened, plan.units, extension) == lost


def test_only_manifests_are_read_that_came_after_the_plan(
    table: Table, tmp_path: Path, read: list[str]
) -> None:
    lost, plan = planned(tmp_path)
    others = Lakehouse(tmp_path).catalog().load_table(NAME)
    before = {each.path.rpartition("/")[2] for each in plan.pinned.view.manifests}
    others.append(rows("a", 7))
    read.clear()
    assert lost.find() == {}
    first = [name for name in read if name.endswith("-m0.avro")]
    others.append(rows("b", 8))
    assert lost.find() == {}
    second = [name for name in read if name.endswith("-m0.avro")]
    assert len(first) == 1, "only the new manifest is read, not those that the plan has read"
    assert len(second) == 2
    assert not before & {*second}


def test_another_schema_loses_all_groups(table: Table, tmp_path: Path) -> None:
    lost, plan = planned(tmp_path)
    with Lakehouse(tmp_path).catalog().load_table(NAME).update_schema() as change:
        change.add_column("more", LongType())
    assert lost.find().keys() == {unit.group for unit in plan.units}
