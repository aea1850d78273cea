"""Observations that follow a table find what a full read finds, and read only what is new."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.expressions import EqualTo, LessThan
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType

from lithify.clock import SystemClock
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.maintaining import maintain
from lithify.engine.run.runner import InlineRunner
from lithify.formats.iceberg.manifests.view import ManifestReader
from lithify.formats.iceberg.observing.observer import open_observer
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.maintenance import MaintenanceKind
from lithify.formats.protocol.observation import Observation
from lithify.formats.protocol.observing import Filter, ObservationRequest, TableObserver
from lithify.formats.protocol.strategy import Strategy
from lithify.formats.registry import open_table
from support.iceberg_commits import delete_equal, delete_positions, plan
from support.iceberg_tables import NAME, Lakehouse, rows

pytestmark = pytest.mark.thorough


CLOCK = SystemClock()


@pytest.fixture
def lakehouse(tmp_path: Path) -> Lakehouse:
    """A catalog with a table of two files."""
    made = Lakehouse(tmp_path / "lakehouse")
    table = made.table(properties={"format-version": "2"})
    table.append(rows(1, 2))
    table.append(rows(3, 4))
    return made


def opened(lakehouse: Lakehouse) -> Table:
    return lakehouse.catalog().load_table(NAME)


def observer(folder: Path) -> TableObserver:
    return open_observer(folder, 1 << 24, CLOCK, 8)


def following(request: ObservationRequest, seen: Observation) -> ObservationRequest:
    return replace(request, known_uuid=seen.table_uuid, known_snapshot=seen.snapshot)


def first_path(address: TableAddress) -> str:
    return plan(address).files[0].path


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The manifests that were read."""
    found: list[str] = []
    content = ManifestReader.content

    def counted(reader: ManifestReader, manifest: Any) -> bytes:
        found.append(manifest.path)
        return content(reader, manifest)

    monkeypatch.setattr(ManifestReader, "content", counted)
    return found


def by_id(*numbers: int) -> pa.Table:
    return pa.table({"id": pa.array([*numbers], pa.int64())})


def merge_manifests(lakehouse: Lakehouse) -> None:
    for number in range(10, 14):
        opened(lakehouse).append(rows(number))
    assert maintain(lakehouse.address(), MaintenanceKind.MERGE_MANIFESTS, CLOCK).status == "Done"


CHANGES: dict[str, Callable[[Lakehouse], object]] = {
    "rows are added": lambda lake: opened(lake).append(rows(5, 6)),
    "files are removed": lambda lake: opened(lake).delete(LessThan("id", 3)),
    "a file is replaced": lambda lake: opened(lake).delete(LessThan("id", 2)),
    "rows of one file are deleted": lambda lake: delete_positions(
        lake.address(), {first_path(lake.address()): [0]}
    ),
    "rows of a partition are deleted": lambda lake: delete_positions(
        lake.address(), {first_path(lake.address()): [0]}, names_file=False
    ),
    "rows are deleted by equality": lambda lake: delete_equal(lake.address(), by_id(4)),
    "manifests are merged": merge_manifests,
    "the schema changes": lambda lake: opened(lake).update_schema().add_column("more", LongType()).commit(),
    "the sort order changes": lambda lake: (
        opened(lake).update_sort_order().asc("id", IdentityTransform()).commit()
    ),
    "the spec changes": lambda lake: opened(lake).update_spec().add_identity("id").commit(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen_as_a_full_read_sees_it(lakehouse: Lakehouse, tmp_path: Path, change: str) -> None:
    request = ObservationRequest(lakehouse.address(), "table")
    watch, fresh = observer(tmp_path / "watch"), observer(tmp_path / "fresh")
    seen = watch.observe(request)
    assert seen is not None
    for make in (CHANGES[change], lambda lake: opened(lake).append(rows(7))):
        make(lakehouse)
        found = watch.observe(following(request, seen))
        assert found == fresh.observe(replace(request, is_full=True))
        assert found is not None
        seen = found
        assert watch.observe(following(request, seen)) is None


def test_equality_deletes_of_all_partitions_count_for_files_of_each(
    lakehouse: Lakehouse, tmp_path: Path
) -> None:
    """They are of a spec without fields, and the files of another one."""
    opened(lakehouse).update_spec().add_identity("id").commit()
    opened(lakehouse).append(rows(5, 6))
    request = ObservationRequest(lakehouse.address(), "table")
    watch, fresh = observer(tmp_path / "watch"), observer(tmp_path / "fresh")
    seen = watch.observe(request)
    assert seen is not None
    for change in (
        lambda: delete_equal(lakehouse.address(), by_id(5)),
        lambda: opened(lakehouse).append(rows(7)),
        lambda: delete_equal(lakehouse.address(), by_id(7)),
    ):
        change()
        found = watch.observe(following(request, seen))
        assert found is not None
        assert found == fresh.observe(replace(request, is_full=True))
        groups = open_table(request.address).inspect(Selection(), CLOCK).groups
        deletes = [group.blocks["deleteFiles"].figures["deletes_to_apply"] / group.files for group in groups]
        assert found.blocks["deleteFiles"]["maxDeletesPerFile"] == max(deletes)
        seen = found


def test_piled_up_equality_deletes_are_found_as_a_plan_finds_them(
    lakehouse: Lakehouse, tmp_path: Path
) -> None:
    options = {"min-file-size-bytes": "0", "lithify.equality-delete-file-threshold": "2"}
    address = lakehouse.address(overrides=options)
    request, watch = ObservationRequest(address, "table"), observer(tmp_path / "watch")
    delete_equal(address, by_id(1))
    seen = watch.observe(request)
    assert seen is not None
    assert seen.findings == (), "one is not enough"
    assert seen.next_trigger is not None, "but it will be too old"
    delete_equal(address, by_id(4))
    seen = watch.observe(following(request, seen))
    assert seen is not None
    (finding,) = seen.findings
    table = open_table(address)
    (unit,) = table.plan(table.pin_view(Selection()), Selection(), CLOCK).units
    assert (finding.trigger, finding.detail) == ("EqualityDeletes", unit.reason)
    assert (finding.files, finding.bytes) == (2, sum(file.size for file in unit.kept))
    (group,) = table.inspect(Selection(), CLOCK).groups
    assert group.due == "EqualityDeletes"

    held = Selection(held={unit.group.path: unit.group.path.rpartition("/")[2]})
    found = watch.observe(replace(following(request, seen), reconsider=True, wanted=Filter(held)))

    assert found is not None
    assert found.findings == ()
    assert [(each.group, each.fingerprint) for each in found.blocked] == [*held.held.items()]


def test_dangling_deletes_are_found_as_a_plan_finds_them(lakehouse: Lakehouse, tmp_path: Path) -> None:
    options = {"min-file-size-bytes": "0", "delete-ratio-threshold": "1"}
    options |= {"lithify.dangling-delete-threshold": "2", "lithify.equality-delete-interval-ms": "-1"}
    address = lakehouse.address(overrides=options)
    request, watch = ObservationRequest(address, "table"), observer(tmp_path / "watch")
    delete_equal(address, by_id(1))
    planned = plan(address)
    delete_positions(address, {planned.files[0].path: [0]})
    seen = watch.observe(request)
    assert seen is not None
    assert seen.findings == (), "both apply to data files"
    opened(lakehouse).delete(LessThan("id", 100))
    seen = watch.observe(following(request, seen))
    assert seen is not None
    table = open_table(address)
    (unit,) = table.plan(table.pin_view(Selection()), Selection(), CLOCK).units
    (finding,) = seen.findings
    assert (finding.trigger, finding.detail, finding.files) == ("DanglingDeletes", unit.reason, 2)


def test_dangling_deletes_are_those_of_the_whole_table(tmp_path: Path) -> None:
    """Of partitions without data, too, and whichever partitions are selected."""
    made = Lakehouse(tmp_path)
    _, paths = made.named_files(lambda number: [number, number + 10], properties={"format-version": "2"})
    options = {"min-file-size-bytes": "0", "delete-ratio-threshold": "1"}
    address = made.address(overrides={**options, "lithify.dangling-delete-threshold": "1"})
    for path in (paths[0], paths[3]):
        delete_positions(address, {path: [0]})
    opened(made).delete(EqualTo("name", "a"))

    table, selection = open_table(address), Selection(partitions=({"name": "b"},))
    (unit,) = table.plan(table.pin_view(selection), selection, CLOCK).units
    request = ObservationRequest(address, "table", wanted=Filter(selection))
    seen = observer(tmp_path / "watch").observe(request)

    assert seen is not None
    assert [(each.trigger, each.files) for each in seen.findings] == [("DanglingDeletes", 1)]
    assert seen.findings[0].detail == unit.reason


def test_piled_up_shared_position_files_are_found_as_a_plan_finds_them(
    lakehouse: Lakehouse, tmp_path: Path
) -> None:
    options = {"min-file-size-bytes": "0", "lithify.shared-position-delete-file-threshold": "2"}
    address = lakehouse.address(overrides=options)
    request, watch = ObservationRequest(address, "table"), observer(tmp_path / "watch")
    path = plan(address).files[0].path
    delete_positions(address, {path: [0]}, names_file=False)
    seen = watch.observe(request)
    assert seen is not None
    assert seen.findings == (), "one is not enough"
    delete_positions(address, {path: [0]}, names_file=False)
    seen = watch.observe(following(request, seen))
    assert seen is not None
    table = open_table(address)
    (unit,) = table.plan(table.pin_view(Selection()), Selection(), CLOCK).units
    assert [(each.trigger, each.detail) for each in seen.findings] == [("SharedPositionFiles", unit.reason)]

    held = Selection(held={unit.group.path: unit.group.path.rpartition("/")[2]})
    found = watch.observe(replace(following(request, seen), reconsider=True, wanted=Filter(held)))

    assert found is not None
    assert found.findings == ()
    assert [each.fingerprint for each in found.blocked] == [*held.held.values()]


def test_an_update_reads_the_new_manifests_only(
    lakehouse: Lakehouse, tmp_path: Path, reads: list[str]
) -> None:
    request = ObservationRequest(lakehouse.address(), "table")
    watch = observer(tmp_path / "watch")
    seen = watch.observe(request)
    assert seen is not None
    assert len(reads) == 2

    opened(lakehouse).append(rows(5))
    opened(lakehouse).append(rows(6))
    reads.clear()
    found = watch.observe(following(request, seen))

    assert found is not None
    assert (found.files, len(reads)) == (4, 2)
    reads.clear()
    assert watch.observe(following(request, found)) is None
    assert reads == []


def test_properties_that_change_without_a_snapshot_are_seen_without_reading_manifests(
    lakehouse: Lakehouse, tmp_path: Path, reads: list[str]
) -> None:
    request = ObservationRequest(lakehouse.address(), "table")
    watch = observer(tmp_path / "watch")
    seen = watch.observe(request)
    assert seen is not None
    assert seen.small_files == 2
    with opened(lakehouse).transaction() as transaction:
        transaction.set_properties({"write.target-file-size-bytes": "2"})
    reads.clear()

    found = watch.observe(following(request, seen))

    assert found is not None
    assert (found.small_files, reads) == (0, [])
    assert found.findings


def test_a_service_that_compacts_the_table_too_is_seen_without_reading_manifests(
    lakehouse: Lakehouse, tmp_path: Path, reads: list[str]
) -> None:
    request = ObservationRequest(lakehouse.address(), "table")
    watch = observer(tmp_path / "watch")
    seen = watch.observe(request)
    assert seen is not None
    with opened(lakehouse).transaction() as transaction:
        transaction.set_properties({"self-optimizing.enabled": "true"})
    reads.clear()

    found = watch.observe(following(request, seen))

    assert found is not None
    assert seen.other_compactors == ()
    assert ([each.name for each in found.other_compactors], reads) == (["Amoro"], [])


def test_own_compactions_are_nobody_elses(lakehouse: Lakehouse, tmp_path: Path) -> None:
    request = Request(lakehouse.address(), Selection(strategy=Strategy.FULL))
    assert compact(request, InlineRunner(), CLOCK).status == "Compacted"
    merge_manifests(lakehouse)
    seen = observer(tmp_path / "watch").observe(ObservationRequest(lakehouse.address(), "table"))
    assert seen is not None
    assert (seen.write_only, seen.other_compactors) == (True, ())


def test_manifests_that_were_left_out_silently_are_noticed(
    lakehouse: Lakehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that drops a manifest says of none of its files that it is gone."""
    request = ObservationRequest(lakehouse.address(), "table")
    watch = observer(tmp_path / "watch")
    seen = watch.observe(request)
    assert seen is not None
    opened(lakehouse).append(rows(5))
    dropped = opened(lakehouse).inspect.manifests()["path"].to_pylist()[-1]
    listed = ManifestReader.manifests
    monkeypatch.setattr(
        ManifestReader,
        "manifests",
        lambda reader, path: tuple(each for each in listed(reader, path) if each.path != dropped),
    )

    found = watch.observe(following(request, seen))

    assert found is not None
    assert found.files == 2


def test_bytes_that_expiry_would_free_are_those_that_kept_snapshots_removed(
    lakehouse: Lakehouse, tmp_path: Path
) -> None:
    watch, request = observer(tmp_path / "watch"), ObservationRequest(lakehouse.address(), "table")
    seen = watch.observe(request)
    table = lakehouse.catalog().load_table(NAME)
    table.overwrite(rows(100))

    changed = watch.observe(following(request, seen))
    for entry in table.history()[:-1]:
        table.maintenance.expire_snapshots().by_id(entry.snapshot_id).commit()
    expired = watch.observe(following(request, changed))

    assert seen is not None
    assert changed is not None
    assert expired is not None
    found = [(each.snapshots.expired_bytes, each.snapshots.count) for each in (seen, changed, expired)]
    assert found == [(0, 2), (seen.bytes, 4), (0, 1)], "the overwrite is a delete and an append"
    assert [each.snapshots.oldest is not None for each in (seen, changed, expired)] == [True] * 3


def test_deletes_are_counted_by_kind(lakehouse: Lakehouse, tmp_path: Path) -> None:
    address = lakehouse.address()
    path = first_path(address)
    delete_positions(address, {path: [0]})
    delete_positions(address, {path: [1]}, names_file=False)
    delete_equal(address, by_id(4))

    seen = observer(tmp_path / "watch").observe(ObservationRequest(address, "table"))

    assert seen is not None
    assert seen.blocks["deleteFiles"] == {
        "positionDeleteFiles": 2,
        "equalityDeleteFiles": 1,
        "deletionVectors": 0,
        "maxDeletesPerFile": 3,
        "maxDeletesPartition": "all",
    }
    assert (seen.deleted_rows, seen.delete_percent) == (None, None)


def test_work_that_is_held_is_not_due(lakehouse: Lakehouse, tmp_path: Path) -> None:
    address = replace(lakehouse.address(), overrides={"min-input-files": "2"})
    delete_positions(address, {first_path(address): [0]})
    table = open_table(address)
    view = table.pin_view(Selection())
    assert view is not None
    [unit] = table.plan(view, Selection(), CLOCK).units
    watch = observer(tmp_path / "watch")
    request = ObservationRequest(address, "table")
    seen = watch.observe(request)
    assert seen is not None
    assert [(each.trigger, each.files) for each in seen.findings] == [(unit.trigger, unit.rewritten_files)]
    held = Selection(held={unit.group.path: unit.group.path.rpartition("/")[2]})

    found = watch.observe(replace(following(request, seen), reconsider=True, wanted=Filter(held)))

    assert found is not None
    assert found.findings == ()
    assert [(each.group, each.fingerprint) for each in found.blocked] == [*held.held.items()]
