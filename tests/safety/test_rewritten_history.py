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

from lithify.errors import AttemptFenced, CommitUnknown, StorageError, UnsupportedTable
from lithify.tables.paimon.formats.parquet.footers import Footers
from lithify.tables.paimon.manifests import Manifests
from lithify.tables.paimon.snapshots import Snapshots
from lithify.tables.paimon.storage import Storage
from lithify.tables.paimon.table import PaimonTable
from oracle.client import Oracle, Table
from support.races import Meanwhile, step_after, step_at, step_before
from support.runs import clean_up, run_inline
from support.tables import FAR_FUTURE, append, copy_of, expire, journals, put_over, stray_files

pytestmark = pytest.mark.oracle


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
    monkeypatch.setattr(Manifests, "delete", lambda *_: None)

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
    assert newest(oracle, table) == report.snapshot_after


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

    assert (report.status, report.snapshot_after) == ("Compacted", newest(oracle, table))


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

    step_before(monkeypatch, (Footers, "holds_deletes"), compact_and_expire)

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

    step_before(monkeypatch, (PaimonTable, "check_view"), move_on)

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

    step_before(monkeypatch, (Snapshots, "write"), create_again)

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
