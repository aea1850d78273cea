"""Removal of orphans of a small table: what goes, what stays, and what is refused."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from lithify.cli.render_maintenance import maintenance_view
from lithify.engine.attempts.journal import Journal
from lithify.engine.maintenance.orphan_plan import OrphanPlan
from lithify.engine.run.maintaining import maintain
from lithify.errors import CorruptTable, InvalidOption, MissingFile, TooManyOrphans, UnsupportedTable
from lithify.formats.paimon.maintenance.orphan_removal import OrphanRemoval
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.snapshots.attempt_scope import AttemptScope, AttemptScopes
from lithify.formats.protocol.maintenance import (
    FOREIGN_FILES,
    MOST_SAMPLES,
    MaintenanceKind,
    MaintenanceSettings,
)
from support.runs import ShiftedClock
from support.small_tables import SmallTable

LATER = ShiftedClock(timedelta(days=2))
SETTINGS = MaintenanceSettings(orphan_age=timedelta(days=1), most_share=1.0)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> SmallTable:
    table = SmallTable(tmp_path_factory.mktemp("model") / "warehouse").create()
    table.append()
    table.overwrite("a")
    table.append("b")
    return table


@pytest.fixture
def small(model: SmallTable, tmp_path: Path) -> SmallTable:
    shutil.copytree(model.warehouse, tmp_path / "warehouse")
    return SmallTable(tmp_path / "warehouse", commits=model.commits)


def removal(small: SmallTable, settings: MaintenanceSettings = SETTINGS) -> OrphanRemoval:
    return OrphanRemoval(open_table(small.address), settings)


def plan(small: SmallTable) -> OrphanPlan:
    return removal(small).plan(LATER)


def remove(small: SmallTable) -> set[str]:
    """Removes orphans; returns the paths that are gone."""
    before = files(small)
    made = removal(small)
    done = made.execute(made.plan(LATER))
    gone = before - files(small)
    assert sum(count for name, count in done.figures.items() if name != "bytes") == len(gone)
    return gone


def files(small: SmallTable) -> set[str]:
    return {str(path.relative_to(small.folder)) for path in small.folder.rglob("*") if path.is_file()}


def put(small: SmallTable, folder: str = "dt=a/bucket-0", name: str | None = None, size: int = 10) -> str:
    """Writes a file that nothing names, as a writer that crashed."""
    path = f"{folder}/{name or f'data-{uuid4()}-0.parquet'}"
    (small.folder / folder).mkdir(parents=True, exist_ok=True)
    (small.folder / path).write_bytes(b"x" * size)
    return path


def tag(small: SmallTable, number: int, name: str) -> None:
    (small.folder / "tag").mkdir(exist_ok=True)
    shutil.copy(small.folder / "snapshot" / f"snapshot-{number}", small.folder / "tag" / f"tag-{name}")


def metadata_of(small: SmallTable, number: int) -> Iterator[Path]:
    found = small.snapshot(number)
    yield small.folder / "manifest" / found["baseManifestList"]
    yield small.folder / "manifest" / found["deltaManifestList"]


def test_table_without_leftovers_has_nothing_to_do(small: SmallTable) -> None:
    assert plan(small).is_empty
    assert remove(small) == set()


def test_leftovers_of_each_kind_go_and_are_counted(small: SmallTable) -> None:
    left = {
        put(small),
        put(small, "dt=new/bucket-3", f"data-{uuid4()}-0.parquet.index"),
        put(small, "index", f"index-{uuid4()}-0"),
        put(small, "manifest", f"manifest-list-{uuid4()}-0"),
        put(small, "statistics", f"stat-{uuid4()}-0"),
        put(small, "snapshot", f".snapshot-9.{uuid4()}.tmp"),
    }
    made = plan(small)
    assert made.figures == {"dataFiles": 2, "indexFiles": 1, "metadataFiles": 3, "bytes": 60}
    assert {path.removeprefix(f"{small.folder}/") for path in made.samples} == left
    assert made.oldest == "1"
    assert remove(small) == left


def test_files_of_snapshots_that_are_gone_go(small: SmallTable) -> None:
    before = files(small)
    small.roll_back_to(1)
    gone = remove(small)
    assert any("bucket-" in path for path in gone)
    assert any(path.startswith("manifest/") for path in gone)
    assert gone < before
    small.append("a")
    assert remove(small) == set()


def test_files_that_entries_remove_stay_as_with_java(small: SmallTable) -> None:
    """Snapshot 2 removed files of snapshot 1, and its manifests name them still."""
    small.expire(keep=1)
    assert not any("bucket-" in path for path in remove(small))


def test_young_files_stay(small: SmallTable) -> None:
    path = small.folder / put(small)
    at = path.stat().st_mtime + timedelta(days=1, seconds=5).total_seconds()
    os.utime(path, (at, at))
    assert remove(small) == set()


def test_samples_are_few(small: SmallTable) -> None:
    for _ in range(MOST_SAMPLES + 5):
        put(small)
    made = plan(small)
    assert (len(made.samples), made.figures["dataFiles"]) == (MOST_SAMPLES, MOST_SAMPLES + 5)


def test_tag_keeps_what_only_it_names(small: SmallTable) -> None:
    tag(small, 3, "kept")
    needed = {path.name for path in metadata_of(small, 3)}
    small.roll_back_to(1)
    gone = remove(small)
    assert not any("bucket-" in path for path in gone)
    assert not needed & {Path(path).name for path in gone}
    (small.folder / "tag" / "tag-kept").unlink()
    assert any("bucket-" in path for path in remove(small))


def test_changelog_that_outlived_its_snapshot_keeps_its_files(small: SmallTable) -> None:
    (small.folder / "changelog").mkdir()
    shutil.copy(small.folder / "snapshot" / "snapshot-1", small.folder / "changelog" / "changelog-1")
    small.expire(keep=1)
    kept = {path.name for path in metadata_of(small, 3)}
    names = {Path(path).name for path in remove(small)}
    assert not names & kept
    first = json.loads((small.folder / "changelog" / "changelog-1").read_text())
    assert first["deltaManifestList"] not in names


@pytest.mark.parametrize("name", ["b", "feature/b", "b/schema", "b/c/consumer"])
def test_branch_keeps_what_only_it_names(small: SmallTable, name: str) -> None:
    branch = small.folder / "branch" / f"branch-{name}"
    shutil.copytree(small.folder / "schema", branch / "schema")
    (branch / "snapshot").mkdir(parents=True)
    shutil.copy(small.folder / "snapshot" / "snapshot-1", branch / "snapshot" / "snapshot-1")
    small.expire(keep=1)
    remove(small)
    assert {path.exists() for path in (small.folder / "manifest").glob("*")} == {True}
    first = json.loads((branch / "snapshot" / "snapshot-1").read_text())
    assert (small.folder / "manifest" / first["deltaManifestList"]).exists()


def test_files_that_say_that_a_tag_was_created_are_no_tags(small: SmallTable) -> None:
    put(small, "tag/tag-success-file", "2026-01-01_SUCCESS")
    assert plan(small).is_empty


@pytest.mark.parametrize("name", ["b/tag", "b/snapshot", "b/changelog"])
def test_branch_among_the_tags_of_another_is_refused(small: SmallTable, name: str) -> None:
    branch = small.folder / "branch" / f"branch-{name}" / "snapshot"
    branch.mkdir(parents=True)
    shutil.copy(small.folder / "snapshot" / "snapshot-1", branch / "snapshot-1")
    with pytest.raises(CorruptTable, match="rename the branch"):
        plan(small)


@pytest.mark.parametrize("place", ["", "branch/branch-b", "branch/branch-feature/b"])
def test_files_of_an_attempt_with_a_journal_stay(small: SmallTable, place: str) -> None:
    table = open_table(small.address)
    home = f"{table.root}/{place}" if place else table.home
    journal: Journal[AttemptScope] = Journal(home, table.storage, AttemptScopes())
    attempt = journal.begin("run", AttemptScope(1, 1, ()), ShiftedClock().now())
    left = [
        put(small, name=f"data-{attempt.prefix}{'0' * 12}-0.parquet"),
        put(small, "manifest", f"manifest-{attempt.prefix}{'1' * 12}-0"),
    ]
    orphan = put(small)
    assert remove(small) == {orphan}
    journal.keep(attempt, 3, ShiftedClock().now())
    assert remove(small) == set()
    for path in (Path(home) / "lithify" / "attempts").iterdir():
        path.unlink()
    assert remove(small) == set(left)


@pytest.mark.parametrize("name", ["run-1.json", "mine.json"], ids=["unreadable", "of no attempt"])
def test_journal_that_cannot_be_read_ends_the_search(small: SmallTable, name: str) -> None:
    put(small, "lithify/attempts", name)
    put(small)
    with pytest.raises(CorruptTable, match="journal"):
        plan(small)


def test_other_tables_in_the_folder_are_left_alone(small: SmallTable) -> None:
    """One lies in a folder of its own, and one in a partition, where its buckets look like the table's."""
    for folder in ("other", "dt=a/bucket-0", "dt=z"):
        put(small, f"{folder}/schema", "schema-0")
        put(small, f"{folder}/bucket-0")
    stranger = put(small, "dt=z/bucket-1")
    orphan = put(small, "dt=y/bucket-0")
    assert remove(small) == {orphan}
    assert stranger in files(small)


@pytest.mark.parametrize("damage", ["lost", "cut off"])
@pytest.mark.parametrize("holder", ["snapshot", "tag"])
def test_metadata_that_cannot_be_read_ends_the_search(small: SmallTable, damage: str, holder: str) -> None:
    if holder == "tag":
        tag(small, 1, "old")
        small.expire(keep=1)
    at_fault = next(metadata_of(small, 3)) if holder == "snapshot" else None
    if at_fault is None:
        found = json.loads((small.folder / "tag" / "tag-old").read_text())
        at_fault = small.folder / "manifest" / found["deltaManifestList"]
    put(small)
    if damage == "lost":
        at_fault.unlink()
    else:
        at_fault.write_bytes(at_fault.read_bytes()[:20])
    before = files(small)
    with pytest.raises(MissingFile if damage == "lost" else CorruptTable, match=at_fault.name):
        plan(small)
    assert files(small) == before


def test_commit_after_the_plan_keeps_what_it_names(small: SmallTable) -> None:
    """A writer commits files that it wrote longer ago than anybody should."""
    newest, other = small.folder / "snapshot" / "snapshot-3", put(small)
    aside = small.folder.parent / "snapshot-3"
    named = {path.name for path in metadata_of(small, 3)}
    newest.rename(aside)
    (small.folder / "snapshot" / "LATEST").write_text("2")
    made = removal(small)
    planned = made.plan(LATER)
    assert planned.figures["dataFiles"] > 1
    aside.rename(newest)

    before = files(small)
    done = made.execute(planned)

    assert before - files(small) == {other}
    assert done.figures == {"dataFiles": 1, "indexFiles": 0, "metadataFiles": 0, "bytes": 10}
    assert named <= {Path(path).name for path in files(small)}


def test_tag_that_replaces_another_after_the_plan_keeps_its_files(small: SmallTable) -> None:
    tag(small, 3, "moving")
    text = (small.folder / "snapshot" / "snapshot-1").read_text()
    small.expire(keep=1)
    made = removal(small)
    planned = made.plan(LATER)
    path = small.folder / "tag" / "tag-moving"
    path.write_text(text)
    os.utime(path, (path.stat().st_mtime + 5,) * 2)

    before = files(small)
    made.execute(planned)

    gone = {Path(each).name for each in before - files(small)}
    assert json.loads(text)["deltaManifestList"] not in gone
    assert json.loads(text)["baseManifestList"] not in gone


def test_holder_that_disappears_while_it_is_read_needs_nothing(
    small: SmallTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a snapshot that expires meanwhile: its files go before it."""
    tag(small, 3, "old")
    doomed = small.folder / "tag" / "tag-old"
    lists = list(metadata_of(small, 3))
    small.roll_back_to(1)
    table = open_table(small.address)
    real = table.manifests.names_in_list

    def expiring(name: str) -> list[str]:
        if name == lists[1].name and doomed.exists():
            lists[1].unlink()
            doomed.unlink()
        return real(name)

    monkeypatch.setattr(table.manifests, "names_in_list", expiring)
    assert OrphanRemoval(table, SETTINGS).plan(LATER).figures["dataFiles"] > 0


def test_most_of_a_table_is_refused_and_nothing_deleted(small: SmallTable) -> None:
    shutil.rmtree(small.folder / "snapshot")
    before = files(small)
    made = removal(small, replace(SETTINGS, most_share=0.5))
    planned = made.plan(LATER)
    with pytest.raises(TooManyOrphans, match="its snapshots were lost"):
        made.execute(planned)
    assert files(small) == before


def test_settings_are_checked_first(small: SmallTable) -> None:
    with pytest.raises(InvalidOption, match="at least one day"):
        removal(small, MaintenanceSettings(orphan_age=timedelta(hours=1))).plan(LATER)


def test_branch_is_refused_by_name(small: SmallTable) -> None:
    branch = small.folder / "branch" / "branch-b"
    shutil.copytree(small.folder / "schema", branch / "schema")
    table = open_table(replace(small.address, name="db.t$branch_b"))
    with pytest.raises(UnsupportedTable, match="branch b: name the table"):
        OrphanRemoval(table, SETTINGS).plan(LATER)


def test_table_that_cannot_be_compacted_is_refused(small: SmallTable) -> None:
    small.set_option("commit.strict-mode.last-safe-snapshot", "1")
    with pytest.raises(UnsupportedTable, match="cannot be searched for orphan files"):
        plan(small)


def test_files_reached_through_links_stay(small: SmallTable, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / f"data-{uuid4()}-0.parquet").touch()
    (small.folder / "dt=l").mkdir()
    (small.folder / "dt=l" / "bucket-0").symlink_to(elsewhere)
    assert remove(small) == set()
    assert len(list(elsewhere.iterdir())) == 1


class TestExternalPaths:
    """They have no name of a table in them, and a copy of a table has the same: files there only count."""

    @pytest.fixture
    def outside(self, tmp_path: Path) -> Path:
        return tmp_path / "outside"

    @pytest.fixture
    def table(self, small: SmallTable, outside: Path) -> SmallTable:
        options = {
            "data-file.external-paths": f"file:{outside}",
            "data-file.external-paths.strategy": "round-robin",
        }
        schema = small.folder / "schema" / "schema-0"
        found = json.loads(schema.read_text())
        schema.write_text(json.dumps({**found, "options": {**found["options"], **options}}))
        return small

    def leave(self, outside: Path, *folders: str) -> set[str]:
        """Leaves a data file in each of some folders."""
        paths = [outside / folder / f"data-{uuid4()}-0.parquet" for folder in folders]
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"x")
        return {f"file:{path}" for path in paths}

    def test_unnamed_files_there_are_counted_and_stay(self, table: SmallTable, outside: Path) -> None:
        left = self.leave(outside, "dt=a/bucket-0", "dt=b/bucket-1/0100/1010/1111/10110010")
        self.leave(outside, "bucket-0", "dt=a/bucket-0/deeper", "dt=a")
        own = put(table)
        made = removal(table)
        found = made.plan(LATER)

        done = made.execute(found)

        assert found.figures == done.figures
        assert done.figures == {
            "dataFiles": 1,
            "indexFiles": 0,
            "metadataFiles": 0,
            "bytes": 10,
            FOREIGN_FILES: 2,
        }
        assert done.samples[0].endswith(own)
        assert set(done.samples[1:]) == {f"{path} (left alone)" for path in left}
        assert len([path for path in outside.rglob("*") if path.is_file()]) == 5
        assert not (table.folder / own).exists()

    def test_young_files_there_are_not_counted(self, table: SmallTable, outside: Path) -> None:
        self.leave(outside, "dt=a/bucket-0")
        assert removal(table).plan(ShiftedClock(timedelta(hours=23))).figures[FOREIGN_FILES] == 0

    def test_a_table_with_such_files_alone_has_nothing_to_do(self, table: SmallTable, outside: Path) -> None:
        self.leave(outside, "dt=a/bucket-0")
        settings, kind = SETTINGS, MaintenanceKind.REMOVE_ORPHANS
        for is_dry_run in (True, False):
            report = maintain(table.address, kind, LATER, settings, is_dry_run=is_dry_run)
            assert report.status == "NothingToDo"
            assert report.figures[FOREIGN_FILES] == 1
            told = str(maintenance_view(report))
            assert "nothing to do" in told
            assert "; 1 file outside of the table's folders left alone" in told

    def test_they_do_not_count_for_the_share_that_may_go(self, table: SmallTable, outside: Path) -> None:
        self.leave(outside, *["dt=a/bucket-0"] * 100)
        for _ in range(50):
            put(table)
        made = removal(table, replace(SETTINGS, most_share=0.5))
        found = made.plan(LATER)
        with pytest.raises(TooManyOrphans):
            made.execute(found)
