"""Merges of manifests of tables that pyiceberg made: what stays, and what others do meanwhile."""

from __future__ import annotations

import itertools
from datetime import UTC
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.expressions import EqualTo
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

from lithify.clock import SystemClock
from lithify.engine.commit import loop
from lithify.engine.commit.patience import backoff_of
from lithify.engine.run.maintaining import MaintenanceReport, maintain
from lithify.formats.iceberg.attempts.scope import Scope, journal_of
from lithify.formats.iceberg.commit.options import commit_patience
from lithify.formats.iceberg.maintenance.manifest_commit import (
    MANIFESTS,
    NOTHING_GAINED,
    ManifestCommitter,
    Planned,
    plan_merge,
)
from lithify.formats.iceberg.manifests.view import ManifestReader
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.formats.protocol.maintenance import MaintenanceKind, MaintenanceSettings
from support.iceberg_tables import NAME, SCHEMA, Lakehouse

pytestmark = pytest.mark.thorough

CLOCK = SystemClock(UTC)
FIELDS = Schema(NestedField(1, "id", LongType()), NestedField(2, "name", StringType()))
BY_NAME = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "name"))


@pytest.fixture
def lakehouse(tmp_path: Path) -> Lakehouse:
    return Lakehouse(tmp_path)


def made(lakehouse: Lakehouse, version: int = 2, commits: int = 6, **properties: str) -> Table:
    """A table by name whose commits each add a file to several partitions, one of which is null."""
    given = {"format-version": str(version), **properties}
    table = lakehouse.table(schema=FIELDS, partition_spec=BY_NAME, properties=given)
    for commit in range(commits):
        append(table, commit)
    return table


def append(table: Table, commit: int) -> None:
    names = [None, "b", "a", "c"]
    numbers = [4 * commit + each for each in range(4)]
    table.append(pa.table({"id": numbers, "name": names}, schema=SCHEMA))


def merge(lakehouse: Lakehouse, memory: int = 1 << 20, **changes: Any) -> MaintenanceReport:
    settings = MaintenanceSettings(memory=memory)
    return maintain(lakehouse.address(), MaintenanceKind.MERGE_MANIFESTS, CLOCK, settings, **changes)


def newest(lakehouse: Lakehouse) -> Table:
    return lakehouse.catalog().load_table(NAME)


def ids(lakehouse: Lakehouse) -> list[int]:
    found: list[int] = newest(lakehouse).scan().to_arrow()["id"].to_pylist()
    return sorted(found)


def entries(lakehouse: Lakehouse) -> list[dict[str, Any]]:
    """The live entries but for their status, by path."""
    rows = newest(lakehouse).inspect.entries().drop_columns(["readable_metrics"]).to_pylist()
    live = [row for row in rows if row.pop("status") < 2]
    return sorted(live, key=lambda row: str(row["data_file"]["file_path"]))


def metadata_files(lakehouse: Lakehouse) -> set[str]:
    return {path.name for path in Path(lakehouse.warehouse).rglob("metadata/*.avro")}


def journals(lakehouse: Lakehouse) -> list[Path]:
    return [*Path(lakehouse.warehouse).rglob("lithify/attempts/*.json")]


@pytest.mark.thorough
@pytest.mark.parametrize("memory", [1, 3_000, 1 << 20])
@pytest.mark.parametrize("version", [1, 2])
def test_merge_keeps_every_entry_with_all_that_is_said_of_it(
    lakehouse: Lakehouse, version: int, memory: int
) -> None:
    made(lakehouse, version)
    before, rows = entries(lakehouse), ids(lakehouse)

    report = merge(lakehouse, memory)

    assert (report.figures["manifests"], report.figures["newManifests"]) == (6, 1)
    assert report.figures["entries"] == len(before) == 24
    assert (entries(lakehouse), ids(lakehouse)) == (before, rows)
    (manifest,) = newest(lakehouse).inspect.manifests().to_pylist()
    assert (manifest["existing_data_files_count"], manifest["added_data_files_count"]) == (24, 0)
    summary = newest(lakehouse).current_snapshot().summary
    assert (summary.operation.value, summary["total-records"], summary["entries-processed"]) == (
        *("replace", "24", "24"),
    )


def test_entries_are_in_the_order_of_their_partitions(lakehouse: Lakehouse) -> None:
    made(lakehouse)
    merge(lakehouse, 2_000)
    snapshot = newest(lakehouse).current_snapshot()
    assert snapshot is not None
    io = newest(lakehouse).io
    (manifest,) = snapshot.manifests(io)
    names = [each.data_file.partition[0] for each in manifest.fetch_manifest_entry(io)]
    assert names == [None] * 6 + ["a"] * 6 + ["b"] * 6 + ["c"] * 6


@pytest.mark.thorough
def test_manifests_roll_at_the_target_size_and_stay_then(lakehouse: Lakehouse) -> None:
    made(lakehouse, commits=12, **{"commit.manifest.target-size-bytes": "4000"})
    before = entries(lakehouse)

    assert merge(lakehouse).figures["newManifests"] > 1

    assert entries(lakehouse) == before
    found = newest(lakehouse).inspect.manifests().to_pylist()
    assert all(each["length"] >= 4000 for each in found[:-1])
    bounds = [each["partition_summaries"][0] for each in found]
    assert all(one["upper_bound"] <= two["lower_bound"] for one, two in itertools.pairwise(bounds))
    assert merge(lakehouse).status == "NothingToDo"


def test_entries_of_deleted_files_vanish(lakehouse: Lakehouse) -> None:
    table = made(lakehouse)
    table.delete(EqualTo("name", "a"))
    report = merge(lakehouse)
    assert report.figures["droppedEntries"] == 6
    assert len(entries(lakehouse)) == 18
    manifests = newest(lakehouse).inspect.manifests().to_pylist()
    assert all(each["deleted_data_files_count"] == 0 for each in manifests)


def test_dry_run_says_what_a_run_does_and_writes_nothing(lakehouse: Lakehouse) -> None:
    made(lakehouse)
    files = metadata_files(lakehouse)
    planned = merge(lakehouse, is_dry_run=True)
    assert (planned.status, metadata_files(lakehouse)) == ("Planned", files)
    assert merge(lakehouse).figures == planned.figures


def test_few_manifests_and_empty_tables_are_left_alone(lakehouse: Lakehouse) -> None:
    table = made(lakehouse, commits=0)
    assert merge(lakehouse).status == "NothingToDo"
    for commit in range(4):
        append(table, commit)
    assert merge(lakehouse).status == "NothingToDo"
    assert len(newest(lakehouse).metadata.snapshots) == 4


class Attempt:
    """A merge that is stepped through by hand."""

    def __init__(self, lakehouse: Lakehouse) -> None:
        self.table: IcebergTable = open_iceberg_table(lakehouse.address())
        head = self.table.head()
        assert head is not None
        scope = Scope(head.id, head.sequence, self.table.branch, {})
        self.entry = journal_of(self.table).begin("merge-manifests-x", scope, CLOCK.now())
        self.hooks = ManifestCommitter(self.table, self.entry, CLOCK, 1 << 20)

    def planned(self) -> Planned:
        base = self.hooks.newest()
        assert base is not None
        reader = ManifestReader(self.table.storage)
        return plan_merge(self.table, reader, base, reader.manifests(base.head.manifest_list))

    def outrun(self, table: Table, commit: int) -> None:
        """One try, before which another commit gets in."""
        base = self.hooks.newest()
        assert base is not None
        valid = self.hooks.validate({MANIFESTS: self.planned()}, base)
        draft = self.hooks.prepare(valid.ready, base, 0)
        append(table, commit)
        assert not self.hooks.publisher.publish(draft)
        self.hooks.discard(draft)

    def commit(self) -> loop.CommitOutcome:
        backoff = backoff_of(self.entry.prefix, commit_patience({}), CLOCK)
        return loop.commit(self.hooks, {MANIFESTS: self.planned()}, backoff)


def test_merge_that_was_outrun_uses_its_manifests_again(lakehouse: Lakehouse) -> None:
    table = made(lakehouse)
    attempt = Attempt(lakehouse)
    attempt.outrun(table, 6)
    (kept,) = [name for name in metadata_files(lakehouse) if attempt.entry.prefix in name]

    outcome = attempt.commit()

    assert outcome.snapshot is not None
    found = newest(lakehouse).inspect.manifests().to_pylist()
    assert next(each["path"].rpartition("/")[2] for each in found) == kept
    assert len(found) == 2
    assert found[0]["added_snapshot_id"] == int(outcome.snapshot)
    assert ids(lakehouse) == [*range(28)]


def test_merge_begins_again_if_others_have_merged_some_of_its_manifests(lakehouse: Lakehouse) -> None:
    table = made(lakehouse)
    attempt = Attempt(lakehouse)
    attempt.outrun(table, 6)
    assert merge(lakehouse).status == "Done"
    before = metadata_files(lakehouse)

    outcome = attempt.commit()

    assert (outcome.snapshot, outcome.conflicts) == (None, {MANIFESTS: NOTHING_GAINED})
    assert not any(attempt.entry.prefix in name for name in metadata_files(lakehouse))
    assert metadata_files(lakehouse) <= before


def test_error_leaves_no_file_and_no_journal(lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    made(lakehouse)
    files = metadata_files(lakehouse)
    monkeypatch.setenv("LITHIFY_FAULTS", "manifests-merged=raise:28")
    with pytest.raises(OSError, match="asked for"):
        merge(lakehouse)
    assert (metadata_files(lakehouse), journals(lakehouse)) == (files, [])
    assert ids(lakehouse) == [*range(24)]
