"""Others roll back, rename over, expire or drop at the worst moment: no row is lost, none comes back."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pypaimon.filesystem.local_file_io import LocalFileIO

from infrastructure.oracle.client import Oracle, Table
from lithify.engine.commit.loop import CommitOutcome
from lithify.errors import AttemptFenced, CommitConflict, CommitUnknown, StorageError, UnsupportedTable
from lithify.files.parquet.footers import Footers
from lithify.formats.paimon.commit.committer import Committer
from lithify.formats.paimon.compaction import planning
from lithify.formats.paimon.manifests.manifest_files import ManifestFiles
from lithify.formats.paimon.manifests.manifests import Manifests
from lithify.formats.paimon.snapshots.snapshots import Snapshots
from lithify.formats.paimon.snapshots.writable_snapshots import WritableSnapshots
from lithify.io.storage import Storage
from support.races import Meanwhile, step_after, step_at, step_before
from support.runs import clean_up, run_inline
from support.tables import (
    FAR_FUTURE,
    append,
    copy_of,
    expire,
    journals,
    kept_journals,
    put_over,
    stray_files,
    upserts,
)

pytestmark = pytest.mark.oracle

LATER = (0, 2, 48, 50)
"""Hours: at once, after other writers and readers have stopped, and when attempts are too old to commit."""


def newest(oracle: Oracle, table: Table) -> int:
    return int(oracle.snapshots(table)[-1]["id"])


def numbers(oracle: Oracle, table: Table) -> list[int]:
    return [snapshot["id"] for snapshot in oracle.snapshots(table)]


# Rolled back


def test_a_rollback_before_the_commit_is_not_undone(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = oracle.read(table, snapshot_id=1)
    step_at(monkeypatch, "manifests-written", lambda: oracle.rollback_to(table, snapshot_id=1))

    run_inline(table)

    assert oracle.read(table) == rows
    assert numbers(oracle, table) == list(range(1, newest(oracle, table) + 1))


def test_a_base_that_was_replaced_under_its_number_is_not_brought_back(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = newest(oracle, table)
    rows: list[object] = []

    def roll_back_and_append() -> None:
        oracle.rollback_to(table, snapshot_id=base - 1)
        assert append(oracle, table) == base
        rows.append(oracle.read(table))

    step_at(monkeypatch, "manifests-written", roll_back_and_append)

    report = run_inline(table)

    assert report.status == "Compacted"
    assert [oracle.read(table)] == rows


def test_java_writes_on_after_our_snapshot_was_rolled_back(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hint to the newest snapshot must not name one that is gone."""
    base = newest(oracle, table)
    step_at(monkeypatch, "snapshot-written", lambda: oracle.rollback_to(table, snapshot_id=base))

    run_inline(table)

    hint = table.folder / "snapshot" / "LATEST"
    assert not hint.exists() or int(hint.read_text()) in numbers(oracle, table)
    before = newest(oracle, table)
    assert append(oracle, table) == before + 1
    assert run_inline(table).status == "Compacted"


# Rolled back or expired between the look at the base and the link


def step_before_the_link(monkeypatch: pytest.MonkeyPatch, step: Callable[[], object]) -> None:
    """Others take a step when our snapshot is on disk and only its name is missing."""
    step_before(monkeypatch, (Path, "hardlink_to"), step, matches=lambda source: "snapshot-" in source.name)


def hint(table: Table) -> int:
    return int((table.folder / "snapshot" / "LATEST").read_text())


def test_a_rollback_before_the_link_is_not_undone(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours is linked to a number beyond those that the table has now, on a base that is gone."""
    rows: list[object] = []
    ours = newest(oracle, table) + 1
    before = {path.name for path in table.folder.rglob("*")}

    def roll_back_and_append() -> None:
        oracle.rollback_to(table, snapshot_id=1)
        assert append(oracle, table) == 2 < ours - 2
        rows.append(oracle.read(table))

    step_before_the_link(monkeypatch, roll_back_and_append)

    report = run_inline(table)

    assert [oracle.read(table)] == rows
    assert (report.status, report.rounds, report.snapshot_after) == ("Compacted", 2, "3")
    assert hint(table) == newest(oracle, table) == 3
    assert numbers(oracle, table) == [1, 2, 3]
    assert append(oracle, table) == 4
    clean_up(table, *LATER)
    assert stray_files(oracle, table) <= before  # Java leaves what it has rolled back
    assert journals(table) == set()


def test_a_rollback_before_the_link_up_to_which_others_catch_up_is_not_undone(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another snapshot has the number of the base, so that Java would take ours for its successor."""
    rows: list[object] = []
    base = newest(oracle, table)

    def roll_back_and_catch_up() -> None:
        oracle.rollback_to(table, snapshot_id=1)
        for number in range(2, base + 1):
            assert append(oracle, table, f"again{number}") == number
        rows.append(oracle.read(table))

    step_before_the_link(monkeypatch, roll_back_and_catch_up)

    report = run_inline(table)

    assert [oracle.read(table)] == rows
    assert (report.rounds, report.snapshot_after) == (2, str(base + 1))
    assert hint(table) == newest(oracle, table) == base + 1


def test_a_run_whose_snapshot_was_taken_back_says_why(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    conflicts: list[str] = []
    commit = Committer.commit

    def noted(self: Committer, *given: Any) -> CommitOutcome:
        outcome = commit(self, *given)
        conflicts.extend(outcome.conflicts.values())
        return outcome

    monkeypatch.setattr(Committer, "commit", noted)
    step_before_the_link(monkeypatch, lambda: oracle.rollback_to(table, snapshot_id=1))

    with pytest.raises(CommitConflict):
        run_inline(table, max_rounds=1)

    assert ["rolled back" in conflict for conflict in conflicts] == [True]
    assert numbers(oracle, table) == [1]


def test_a_snapshot_that_a_java_writer_renames_over_the_stray_is_kept(
    oracle: Oracle, table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table is rolled back and others catch up; one of them renames just when ours is taken back."""
    base = newest(oracle, table)
    twin = Table(tmp_path / "twin", table.name)

    def roll_back_and_catch_up() -> None:
        oracle.rollback_to(table, snapshot_id=1)
        for number in range(2, base + 1):
            append(oracle, table, f"again{number}")
        copy_of(table, twin.warehouse)
        append(oracle, twin, "last")

    def is_ours(target: Path) -> bool:
        return f"snapshot-{base + 1}" in target.name

    step_before_the_link(monkeypatch, roll_back_and_catch_up)
    step_before(monkeypatch, (Path, "rename"), lambda: put_over(twin, table), matches=is_ours)

    report = run_inline(table)

    assert oracle.read(table) == oracle.read(twin)
    assert report.snapshot_after == str(base + 2)
    assert newest(oracle, table) == base + 2


def test_a_rollback_that_began_before_our_commit_is_not_undone_by_it(
    oracle: Oracle, table: Table, tmp_path: Path
) -> None:
    """Java knew of no snapshot of ours, so it did not delete it; our run has long reported its success."""
    before = {path.name for path in table.folder.rglob("*")}
    committed = run_inline(table).snapshot_after
    assert committed is not None
    ours = int(committed)
    stray = table.folder / "snapshot" / f"snapshot-{ours}"
    (kept,) = kept_journals(table)
    stray.rename(tmp_path / "stray")
    (table.folder / "snapshot" / "LATEST").write_text(str(ours - 1))
    oracle.rollback_to(table, snapshot_id=1)
    append(oracle, table)
    rows = oracle.read(table)
    (tmp_path / "stray").rename(stray)

    clean_up(table, 0.5)

    assert not stray.exists()
    assert (oracle.read(table), numbers(oracle, table)) == (rows, [1, 2])
    assert journals(table) == {f"{kept.split('.')[0]}.json"}
    assert not stray_files(oracle, table) <= before
    clean_up(table, 1.6, 2.7)
    assert stray_files(oracle, table) <= before
    assert (journals(table), kept_journals(table)) == (set(), set())
    assert oracle.read(table) == rows


def commit_often_and_expire(oracle: Oracle, table: Table) -> None:
    """More commits than anybody keeps, so that the number of ours is free again."""
    for number in range(60):
        oracle.write(table, upserts(range(number, number + 5), f"often{number}"))
    oracle.expire_snapshots(table, retain_max=5, retain_min=5, older_than=FAR_FUTURE)


def test_a_number_that_was_used_and_expired_before_the_link_counts_as_lost(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[object] = []

    def go_on() -> None:
        commit_often_and_expire(oracle, table)
        rows.append(oracle.read(table))

    step_before_the_link(monkeypatch, go_on)

    report = run_inline(table)

    assert [oracle.read(table)] == rows
    first, *_, last = found = numbers(oracle, table)
    assert found == list(range(first, last + 1))
    assert (report.status, report.rounds, report.snapshot_after) == ("Compacted", 2, str(last))
    assert {file.level for file in oracle.files(table)} == {5}
    clean_up(table, *LATER)
    assert (stray_files(oracle, table), journals(table)) == (set(), set())


@pytest.mark.parametrize("merged", [False, True], ids=["as it is", "merged"])
def test_a_base_that_expires_after_others_have_built_on_ours_is_no_reason_to_take_it_back(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch, merged: bool
) -> None:
    """The look after the link finds what a busy table leaves in a second: ours and newer ones."""
    ours = newest(oracle, table) + 1

    def build_on_it_and_expire() -> None:
        if merged:
            oracle.compact_manifests(table)
        append(oracle, table)
        keep = newest(oracle, table) - ours + 1
        oracle.expire_snapshots(table, retain_max=keep, retain_min=keep, older_than=FAR_FUTURE)

    step_after(
        monkeypatch,
        (Storage, "create_text"),
        build_on_it_and_expire,
        matches=lambda path, *_: "/snapshot-" in path,
    )

    report = run_inline(table)

    assert (report.status, report.rounds, report.snapshot_after) == ("Compacted", 1, str(ours))
    assert numbers(oracle, table)[0] == ours
    assert {file.level for file in oracle.files(table)} == {0, 5}


def test_a_base_that_expires_when_ours_is_the_newest_is_no_reason_to_take_it_back(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = oracle.read(table)
    step_after(
        monkeypatch,
        (Storage, "create_text"),
        lambda: expire(oracle, table),
        matches=lambda path, *_: "/snapshot-" in path,
    )

    report = run_inline(table)

    assert (report.status, report.rounds) == ("Compacted", 1)
    assert [str(number) for number in numbers(oracle, table)] == [report.snapshot_after]
    assert oracle.read(table) == rows


# Renamed over


@pytest.fixture
def rows_built_on_ours(
    oracle: Oracle, table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[object]:
    """Right after our snapshot is linked, somebody builds on it, and somebody else renames over it."""
    twin = copy_of(table, tmp_path / "twin")
    append(oracle, twin)
    rows: list[object] = []

    def build_on_ours_and_put_over() -> None:
        append(oracle, table)
        rows.append(oracle.read(table))
        put_over(twin, table)

    def is_snapshot(path: str, *_: object) -> bool:
        return "/snapshot/snapshot-" in path

    step_after(monkeypatch, (Storage, "create_text"), build_on_ours_and_put_over, matches=is_snapshot)
    return rows


def test_manifests_are_kept_when_ours_was_renamed_over_before_it_was_read_back(
    oracle: Oracle, table: Table, rows_built_on_ours: list[object]
) -> None:
    run_inline(table)

    assert [oracle.read(table)] == rows_built_on_ours


def test_data_files_are_kept_when_ours_was_renamed_over_before_it_was_read_back(
    oracle: Oracle, table: Table, rows_built_on_ours: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ManifestFiles, "delete", lambda *_: None)

    run_inline(table)

    assert [oracle.read(table)] == rows_built_on_ours


def test_a_snapshot_over_ours_sends_every_bucket_round_again(
    oracle: Oracle, table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    twin = copy_of(table, tmp_path / "twin")
    append(oracle, twin)
    rows = oracle.read(twin)
    step_at(monkeypatch, "snapshot-written", lambda: put_over(twin, table))

    report = run_inline(table)

    assert (report.rounds, report.status) == (2, "Compacted")
    clean_up(table, 48, 50)
    assert (stray_files(oracle, table), journals(table)) == (set(), set())
    assert oracle.read(table) == rows


# Expired


def test_a_number_that_was_used_and_expired_is_not_used_again(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    def use_up_the_next_number() -> None:
        append(oracle, table, "x")
        append(oracle, table, "y")
        expire(oracle, table)

    step_at(monkeypatch, "manifests-written", use_up_the_next_number)

    run_inline(table)

    assert {file.level for file in oracle.files(table)} == {0, 5}
    first, second = numbers(oracle, table)
    assert second == first + 1


@pytest.mark.parametrize("call", [1, 2], ids=["while planning", "while committing"])
def test_a_snapshot_that_expires_while_its_manifests_are_read(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    def move_on() -> None:
        append(oracle, table)
        oracle.compact_manifests(table)
        expire(oracle, table)

    step_before(monkeypatch, (Manifests, "live"), move_on, call=call)

    report = run_inline(table)

    assert report.status == "Compacted"
    assert str(newest(oracle, table)) == report.snapshot_after


def test_a_newest_snapshot_that_expires_before_it_is_read(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"/snapshot-{newest(oracle, table)}"

    def move_on() -> None:
        append(oracle, table, "x")
        append(oracle, table, "y")
        expire(oracle, table)

    def is_newest(path: str, *_: object) -> bool:
        return path.endswith(name)

    step_before(monkeypatch, (LocalFileIO, "read_file_utf8"), move_on, matches=is_newest)

    report = run_inline(table)

    assert (report.status, report.snapshot_after) == ("Compacted", str(newest(oracle, table)))


def test_a_footer_that_expires_while_planning(
    oracle: Oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Level-0 files that would be upgraded to the top level are looked into before they are."""
    table = Table(tmp_path, "db.t")
    columns = {"id": "INT NOT NULL", "v": "STRING"}
    options = {"bucket": "1", "target-file-size": "1 kb"}
    oracle.create_table(table, columns, primary_key=["id"], options=options)
    for start in (0, 1000):
        oracle.write(table, [["+I", key, "x" * 100] for key in range(start, start + 100)])

    looked_into: list[int] = []

    def compact_and_expire() -> None:
        looked_into.append(1)
        oracle.write(table, [["+I", key, "y" * 100] for key in range(100)])
        oracle.compact(table, full=True)
        expire(oracle, table)

    step_before(monkeypatch, (Footers, "holds_any"), compact_and_expire)

    report = run_inline(table)

    assert looked_into == [1]
    assert report.status in ("Compacted", "NothingToDo")
    assert len(oracle.read(table)) == 200


def test_indexes_are_those_of_the_pinned_snapshot_though_it_expired(
    oracle: Oracle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deletion vectors were switched off later, but files that they belong to are still there."""
    table = Table(tmp_path, "db.t")
    options = {"bucket": "1", "deletion-vectors.enabled": "true", "deletion-vectors.modifiable": "true"}
    oracle.create_table(table, {"id": "INT NOT NULL", "v": "STRING"}, primary_key=["id"], options=options)
    oracle.write(table, [["+I", key, "a"] for key in range(10)])
    oracle.compact(table)
    for row in (["+I", 3, "b"], ["-D", 7, None]):
        oracle.write(table, [row])
        oracle.compact(table, full=False)
    oracle.alter_table(table, {"set_option": ["deletion-vectors.enabled", "false"]})
    oracle.alter_table(table, {"remove_option": "deletion-vectors.modifiable"})
    assert [index.type for index in oracle.index_files(table)] == ["DELETION_VECTORS"]

    def move_on() -> None:
        for key in (5000, 5001):
            oracle.write(table, [["+I", key, "c"]])
        expire(oracle, table)

    step_before(monkeypatch, (planning, "check_view"), move_on)

    with pytest.raises(UnsupportedTable):
        run_inline(table)

    assert oracle.snapshots(table)[-1]["commitKind"] == "APPEND"


# Dropped


def test_a_partition_that_is_dropped_while_it_is_read(oracle: Oracle, tmp_path: Path) -> None:
    table = Table(tmp_path, "db.t")
    columns = {"dt": "STRING NOT NULL", "id": "INT NOT NULL", "v": "STRING"}
    keys = {"primary_key": ["dt", "id"], "partition_keys": ["dt"]}
    oracle.create_table(table, columns, options={"bucket": "1"}, **keys)
    for commit in range(3):
        oracle.write(table, [["+I", dt, key, f"{commit}"] for dt in ("a", "b") for key in range(10)])

    def drop_one() -> None:
        oracle.drop_partition(table, {"dt": "a"})
        expire(oracle, table)

    report = run_inline(table, runner=Meanwhile(before=drop_one))

    assert report.status == "Compacted"
    assert {file.level for file in oracle.files(table)} == {5}
    assert {dt for _, dt, *_ in oracle.read(table)} == {"b"}


def test_a_bucket_whose_rows_are_all_deleted_while_it_is_read(oracle: Oracle, table: Table) -> None:
    def delete_everything() -> None:
        oracle.write(table, [["-D", key, None, None] for key in range(60)])
        oracle.compact(table, full=True)
        expire(oracle, table)

    report = run_inline(table, runner=Meanwhile(before=delete_everything))

    assert (report.status, report.skipped) == ("NothingToDo", {})
    assert oracle.read(table) == []


def test_a_table_that_is_dropped_and_created_again_stays_as_created(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new one has as many snapshots, so ours would be the next one's number."""
    base = newest(oracle, table)
    rows: list[object] = []

    def create_again() -> None:
        shutil.rmtree(table.folder)
        columns = {"id": "INT NOT NULL", "other": "STRING"}
        oracle.create_table(table, columns, primary_key=["id"], options={"bucket": "1"})
        for key in range(base):
            oracle.write(table, [["+I", key, "new"]])
        rows.append(oracle.read(table))

    step_before(monkeypatch, (WritableSnapshots, "write"), create_again)

    with suppress(AttemptFenced):
        run_inline(table)

    assert [oracle.read(table)] == rows


# Other cleaners


def test_files_that_java_takes_for_orphans_are_not_committed(oracle: Oracle, table: Table) -> None:
    rows, snapshots = oracle.read(table), oracle.snapshots(table)

    with pytest.raises(AttemptFenced) as caught:
        run_inline(table, runner=Meanwhile(after=lambda: remove_orphans(oracle, table)))

    assert caught.value.exit_code == 1
    assert oracle.snapshots(table) == snapshots
    assert oracle.read(table) == rows
    clean_up(table, 0, 48, 50)
    assert stray_files(oracle, table) == set()


@pytest.mark.parametrize("call", [1, 2], ids=["a data file", "manifests"])
def test_new_files_that_are_gone_before_they_are_on_disk_are_named(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    rows, snapshots = oracle.read(table), oracle.snapshots(table)
    step_before(monkeypatch, (Storage, "persist"), lambda: remove_orphans(oracle, table), call=call)

    with pytest.raises(StorageError) as caught:
        run_inline(table)

    assert not Path(caught.value.path).exists()
    assert oracle.snapshots(table) == snapshots
    assert oracle.read(table) == rows
    assert stray_files(oracle, table) == set()


def remove_orphans(oracle: Oracle, table: Table) -> None:
    assert oracle.remove_orphan_files(table, older_than=FAR_FUTURE).files != []


# The disk


def test_a_full_disk_at_the_manifests_is_named(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshots = oracle.snapshots(table)
    real: Callable[..., Any] = LocalFileIO.new_output_stream

    def full(self: LocalFileIO, path: str) -> object:
        if "/manifest/" in path:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(self, path)

    monkeypatch.setattr(LocalFileIO, "new_output_stream", full)

    with pytest.raises(StorageError) as caught:
        run_inline(table)

    assert "/manifest/manifest-" in caught.value.path
    assert oracle.snapshots(table) == snapshots
    assert stray_files(oracle, table) == set()


def test_a_snapshot_that_cannot_be_read_again_may_be_in_place(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once the file system has shown that it is ours, and then it shows nothing any more."""
    rows, ours = oracle.read(table), newest(oracle, table) + 1

    reads = count()
    real: Callable[..., Any] = Snapshots.get

    def get(self: Snapshots, number: int) -> object:
        if number == ours and next(reads) > 0:
            raise StorageError(self.path(number), "Input/output error")
        return real(self, number)

    monkeypatch.setattr(Snapshots, "get", get)

    with pytest.raises(CommitUnknown):
        run_inline(table)

    assert newest(oracle, table) == ours
    assert oracle.read(table) == rows
