"""Removal of orphans of small Iceberg tables: what goes, what stays, and what is refused."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow.parquet as pq
import pytest
from pyiceberg.table import Table

from lithify.errors import CorruptTable, MissingFile, TooManyOrphans, UnsupportedTable
from lithify.formats.iceberg.attempts.scope import Scope, journal_of
from lithify.formats.iceberg.maintenance.orphan_removal import OrphanRemoval
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.protocol.maintenance import MaintenanceSettings
from support.iceberg_tables import NAME, Lakehouse, rows
from support.runs import ShiftedClock

LATER = ShiftedClock(timedelta(days=2))
SETTINGS = MaintenanceSettings(orphan_age=timedelta(days=1), most_share=1.0)


class Small:
    """A table of three commits, of which the second was overwritten."""

    def __init__(self, folder: Path, **properties: str) -> None:
        self.lakehouse = Lakehouse(folder)
        self.table: Table = self.lakehouse.table(properties=properties)
        self.table.append(rows(1, 2))
        self.table.overwrite(rows(3))
        self.table.append(rows(4))
        self.folder = Path(self.table.location().removeprefix("file://"))

    def removal(self, settings: MaintenanceSettings = SETTINGS, name: str = NAME) -> OrphanRemoval:
        return OrphanRemoval(open_iceberg_table(self.lakehouse.address(name)), settings)

    def files(self) -> set[str]:
        return {str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file()}

    def put(self, folder: str = "data", name: str | None = None) -> str:
        """Writes a file that nothing names, as a writer that crashed."""
        path = f"{folder}/{name or f'00000-7-{uuid4()}-00001.parquet'}"
        (self.folder / folder).mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_bytes(b"0123456789")
        return path

    def remove(self) -> set[str]:
        """Removes orphans; returns the paths that are gone."""
        before, removal = self.files(), self.removal()
        done = removal.execute(removal.plan(LATER))
        gone = before - self.files()
        assert sum(count for name, count in done.figures.items() if name != "bytes") == len(gone)
        return gone

    def read(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.lakehouse.catalog().load_table(NAME).scan().to_arrow().to_pylist()
        return found


@pytest.fixture
def small(tmp_path: Path) -> Small:
    return Small(tmp_path)


def test_table_without_leftovers_has_nothing_to_do(small: Small) -> None:
    assert small.removal().plan(LATER).is_empty
    assert small.remove() == set()


def test_leftovers_go_and_are_counted(small: Small) -> None:
    left = {
        small.put(),
        small.put("data/name=a"),
        small.put("metadata", f"{uuid4()}-m0.avro"),
        small.put("metadata", f"1-{uuid4()}.stats"),
    }
    strange = small.put("data", "part-00000.parquet")
    plan = small.removal().plan(LATER)
    assert plan.figures == {"dataFiles": 2, "metadataFiles": 2, "bytes": 40}
    assert len(plan.samples) == 4
    assert plan.oldest is not None
    assert small.remove() == left
    assert strange in small.files()


def test_files_of_expired_snapshots_go_and_metadata_files_stay(small: Small) -> None:
    """Of an expiry that only changed the metadata, as pyiceberg's does."""
    small.table.maintenance.expire_snapshots().by_ids(
        [each.snapshot_id for each in small.table.snapshots()[:-1]]
    ).commit()
    content, before = small.read(), small.files()
    gone = small.remove()
    assert any(path.startswith("data/") for path in gone)
    assert any("snap-" in path for path in gone)
    assert {path for path in before if path.endswith(".json")} <= small.files()
    assert small.read() == content


def test_young_files_stay(small: Small) -> None:
    path = small.folder / small.put()
    at = path.stat().st_mtime + timedelta(days=1, seconds=5).total_seconds()
    os.utime(path, (at, at))
    assert small.remove() == set()


def test_tag_keeps_what_only_it_names(small: Small) -> None:
    first, *_, last = small.table.snapshots()
    small.table.manage_snapshots().create_tag(first.snapshot_id, "kept").commit()
    ids = [each.snapshot_id for each in small.table.snapshots() if each not in (first, last)]
    small.table.maintenance.expire_snapshots().by_ids(ids).commit()
    small.remove()
    found = small.lakehouse.catalog().load_table(NAME)
    assert len(found.scan(snapshot_id=first.snapshot_id).to_arrow()) == 2


def test_files_of_an_attempt_with_a_journal_stay(small: Small) -> None:
    journal = journal_of(open_iceberg_table(small.lakehouse.address()))
    attempt = journal.begin("run", Scope(1, 1, "main", {}), ShiftedClock().now())
    left = small.put(name=f"00000-7-{attempt.prefix}{'0' * 12}-00001.parquet")
    assert small.remove() == set()
    Path(journal.path(attempt).removeprefix("file://")).unlink()
    assert small.remove() == {left}


def test_other_tables_below_the_data_are_left_alone(small: Small) -> None:
    small.put("data/other/metadata", "v1.metadata.json")
    theirs, ours = small.put("data/other/data"), small.put("data/mine")
    assert small.remove() == {ours}
    assert theirs in small.files()


@pytest.mark.parametrize("damage", ["lost", "cut off"])
@pytest.mark.parametrize("pattern", ["snap-*.avro", "*-m0.avro"], ids=["list", "manifest"])
def test_metadata_that_cannot_be_read_ends_the_search(small: Small, damage: str, pattern: str) -> None:
    small.put()
    at_fault = next((small.folder / "metadata").glob(pattern))
    if damage == "lost":
        at_fault.unlink()
    else:
        at_fault.write_bytes(at_fault.read_bytes()[:20])
    before = small.files()
    with pytest.raises(MissingFile if damage == "lost" else CorruptTable):
        small.removal().plan(LATER)
    assert small.files() == before


def test_commit_after_the_plan_keeps_what_it_names(small: Small) -> None:
    """A writer commits a file that it wrote longer ago than anybody should."""
    orphan, late = small.put(), small.put()
    pq.write_table(rows(9), small.folder / late)
    removal = small.removal()
    plan = removal.plan(LATER)
    assert plan.figures["dataFiles"] == 2
    small.table.add_files([f"file://{small.folder / late}"])

    before = small.files()
    done = removal.execute(plan)

    assert before - small.files() == {orphan}
    assert done.figures["dataFiles"] == 1
    assert {row["id"] for row in small.read()} == {3, 4, 9}


def test_most_of_a_table_is_refused(small: Small) -> None:
    for _ in range(100):
        small.put()
    removal = small.removal(MaintenanceSettings(orphan_age=timedelta(days=1)))
    plan = removal.plan(LATER)
    before = small.files()
    with pytest.raises(TooManyOrphans):
        removal.execute(plan)
    assert small.files() == before


@pytest.mark.parametrize(
    ("properties", "problem"),
    [
        ({"gc.enabled": "false"}, "gc.enabled is false"),
        ({"write.data.path": "{}/elsewhere"}, "its data files are in"),
        (
            {"write.object-storage.enabled": "true", "write.object-storage.path": "{}/elsewhere"},
            "its data files are in",
        ),
        ({"write.metadata.path": "{}/elsewhere"}, "its metadata files are in"),
    ],
    ids=["files of several tables", "data elsewhere", "hashed data elsewhere", "metadata elsewhere"],
)
def test_tables_whose_files_others_may_have_are_refused(
    tmp_path: Path, properties: dict[str, str], problem: str
) -> None:
    given = {name: value.format(f"file://{tmp_path}") for name, value in properties.items()}
    with pytest.raises(UnsupportedTable, match=problem):
        Small(tmp_path, **given).removal().plan(LATER)


def test_folder_of_data_that_a_property_names_is_searched(small: Small) -> None:
    folder = {"write.data.path": f"{small.table.location()}/files"}
    small.table.transaction().set_properties(folder).commit_transaction()
    small.table.append(rows(5))
    orphan, stays = small.put("files/deeper"), small.put("data")
    assert small.remove() == {orphan}
    assert stays in small.files()


def test_branch_is_refused_by_name(small: Small) -> None:
    newest = small.table.current_snapshot()
    assert newest is not None
    small.table.manage_snapshots().create_branch(newest.snapshot_id, "b").commit()
    with pytest.raises(UnsupportedTable, match="branch b: name the table"):
        small.removal(name=f"{NAME}$branch_b").plan(LATER)
