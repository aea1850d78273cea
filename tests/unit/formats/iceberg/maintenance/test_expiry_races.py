"""What others do to a table at the worst moment of an expiry: nothing that they can read is deleted."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import StaticTable, Table

from lithify.errors import CommitUnknown, LithifyError, StalePlan
from lithify.formats.iceberg.catalog.model import Pointer
from lithify.formats.iceberg.catalog.sql import SqlTables
from lithify.formats.iceberg.maintenance import deleting
from lithify.formats.iceberg.maintenance.metadata_commit import MetadataPublisher
from lithify.formats.iceberg.maintenance.snapshot_expiry import READER_FLOOR, expiry_of_table
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.maintenance import Maintained
from lithify.io.storage import Storage
from support.iceberg_tables import NAME, Lakehouse, metadata_of, rows
from support.races import step_after, step_at
from support.runs import ShiftedClock

pytestmark = pytest.mark.thorough

LATER = ShiftedClock(timedelta(days=6))
ALL_BUT_HEADS = {"history.expire.max-snapshot-age-ms": "0"}
KEEP_ALL = {"history.expire.min-snapshots-to-keep": "99"}


@pytest.fixture
def lakehouse(tmp_path: Path) -> Lakehouse:
    """A table of two rows, which another two have replaced: the files of the first snapshot go with it."""
    found = Lakehouse(tmp_path)
    table = found.table(location=f"file://{found.warehouse}/{NAME.replace('.', '/')}")
    table.append(rows(0, 1))
    table.overwrite(rows(2, 3))
    return found


def loaded(lakehouse: Lakehouse) -> Table:
    return lakehouse.catalog().load_table(NAME)


def expire(address: TableAddress, rules: dict[str, str] = ALL_BUT_HEADS) -> Maintained:
    made = expiry_of_table(open_iceberg_table(address), rules, READER_FLOOR, LATER)
    return made.execute(made.plan(LATER))


def cut_off(address: TableAddress, monkeypatch: pytest.MonkeyPatch, point: str) -> None:
    with monkeypatch.context() as patched:
        patched.setenv("LITHIFY_FAULTS", f"{point}=raise:{errno.EIO}")
        with pytest.raises(OSError, match="Input/output"):
            expire(address)


def journals(lakehouse: Lakehouse) -> list[Path]:
    return sorted(Path(lakehouse.warehouse).rglob("lithify/expiry/*"))


class TestFolders:
    """Java's writers in folders rename their metadata over ours: under the name that ours had."""

    def newest(self, lakehouse: Lakehouse) -> Path:
        folder = Path(lakehouse.warehouse).joinpath(*NAME.split("."), "metadata")
        return max(folder.glob("v*.metadata.json"), key=lambda path: int(path.name[1:].partition(".")[0]))

    @pytest.fixture
    def address(self, lakehouse: Lakehouse) -> TableAddress:
        text = json.dumps(metadata_of(loaded(lakehouse)))
        folder = Path(lakehouse.warehouse).joinpath(*NAME.split("."), "metadata")
        (folder / "v1.metadata.json").write_text(text, "utf-8")
        return TableAddress(lakehouse.warehouse, NAME, format="iceberg")

    def test_snapshots_leave_a_table_in_a_folder(self, lakehouse: Lakehouse, address: TableAddress) -> None:
        assert expire(address).figures["dataFiles"] == 1
        assert len(json.loads(self.newest(lakehouse).read_text("utf-8"))["snapshots"]) == 1

    @pytest.mark.parametrize("point", ["find_published", "expiry-committed"])
    def test_metadata_that_is_put_over_ours_keeps_all_files(
        self, lakehouse: Lakehouse, address: TableAddress, monkeypatch: pytest.MonkeyPatch, point: str
    ) -> None:
        before = metadata_of(loaded(lakehouse))
        assert len(before["snapshots"]) > 1

        def rename_over() -> None:
            self.newest(lakehouse).write_text(json.dumps(before), "utf-8")

        if point == "expiry-committed":
            step_at(monkeypatch, point, rename_over)
        else:
            step_after(monkeypatch, (MetadataPublisher, point), rename_over)
        with pytest.raises(CommitUnknown):
            expire(address)
        table = StaticTable.from_metadata(str(self.newest(lakehouse)))
        first = before["snapshots"][0]["snapshot-id"]
        assert table.scan(snapshot_id=first).to_arrow()["id"].to_pylist() == [0, 1]


class TestProperties:
    def test_longer_retention_after_the_plan_makes_it_stale(
        self, lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A person keeps snapshots for longer while the expiry still plans; theirs is the first commit."""
        with loaded(lakehouse).transaction() as change:
            change.set_properties({"history.expire.max-snapshot-age-ms": "0"})
        longer = {"history.expire.max-snapshot-age-ms": str(99 * 86_400_000)}

        def keep() -> None:
            with loaded(lakehouse).transaction() as change:
                change.set_properties(longer)

        step_at(monkeypatch, "expiry-recorded", keep)
        with pytest.raises(StalePlan):
            expire(lakehouse.address(), {})
        assert len(loaded(lakehouse).snapshots()) > 1


class TestReferences:
    def test_tag_that_is_created_and_over_at_once_makes_the_plan_stale(
        self, lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It keeps nothing, but a reference to a snapshot that is gone would break the table."""
        first = loaded(lakehouse).snapshots()[0].snapshot_id

        def tag() -> None:
            loaded(lakehouse).manage_snapshots().create_tag(first, "over", max_ref_age_ms=1).commit()

        step_at(monkeypatch, "expiry-recorded", tag)
        with pytest.raises(StalePlan, match="over was created"):
            expire(lakehouse.address())
        assert loaded(lakehouse).scan(snapshot_id=first).to_arrow()["id"].to_pylist() == [0, 1]

        expire(lakehouse.address())
        assert set(loaded(lakehouse).refs()) == {"main"}


class TestOlderMetadata:
    """A replica of the catalog lags behind, or its database was restored from a backup."""

    def test_journal_says_nothing_to_a_table_that_does_not_know_its_snapshots_yet(
        self, lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        expire(lakehouse.address())
        table = loaded(lakehouse)
        head = table.current_snapshot()
        assert head is not None
        table.manage_snapshots().create_tag(head.snapshot_id, "stays").commit()
        older = table.metadata_location
        table.append(rows(4, 5))
        second = table.current_snapshot()
        assert second is not None
        table.overwrite(rows(6, 7))
        newer = table.metadata_location
        cut_off(lakehouse.address(), monkeypatch, "expiry-recorded")
        assert len(journals(lakehouse)) == 1

        with monkeypatch.context() as patched:
            patched.setattr(SqlTables, "load", lambda *_: Pointer(older))
            keep = KEEP_ALL
            made = expiry_of_table(open_iceberg_table(lakehouse.address()), keep, READER_FLOOR, LATER)
            made.execute(made.plan(ShiftedClock()))

        assert loaded(lakehouse).metadata_location == newer
        ids = loaded(lakehouse).scan(snapshot_id=second.snapshot_id).to_arrow()["id"].to_pylist()
        assert sorted(ids) == [2, 3, 4, 5]


class TestAnswers:
    def test_refusal_of_a_commit_that_was_carried_out_leaves_its_metadata(
        self, lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A client sends a request twice, the copy is refused, and a replica still has the older state."""
        real, load = SqlTables.swap, SqlTables.load
        lagging: list[Pointer] = []

        def twice(self: SqlTables, *given: Any) -> bool:
            lagging.append(load(self, given[0]))
            assert real(self, *given)
            return real(self, *given)

        def lagged(self: SqlTables, name: Any) -> Pointer:
            return lagging.pop() if lagging else load(self, name)

        monkeypatch.setattr(SqlTables, "swap", twice)
        monkeypatch.setattr(SqlTables, "load", lagged)
        with pytest.raises(LithifyError):
            expire(lakehouse.address())
        assert loaded(lakehouse).scan().to_arrow()["id"].to_pylist() == [2, 3]


class TestPortions:
    """Very many files are deleted in portions, which takes long."""

    @pytest.fixture
    def left(self, lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
        """Names the data files of expiring snapshots that exist."""
        table = loaded(lakehouse)
        table.append(rows(4, 5))
        table.append(rows(6, 7))
        files = [each.file.file_path for each in table.scan().plan_files()]
        table.overwrite(rows(8, 9))
        monkeypatch.setattr(deleting, "_AT_ONCE", 1)
        return lambda: [path for path in files if Path(path.removeprefix("file://")).exists()]

    def test_file_that_comes_back_between_two_portions_stays(
        self, lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch, left: Callable[[], list[str]]
    ) -> None:
        """A cherry-pick has read what an expiring snapshot added, and commits it after the expiry."""
        picked: list[str] = []

        def pick() -> None:
            picked.extend(left()[-1:])
            loaded(lakehouse).add_files(picked)

        step_after(monkeypatch, (Storage, "delete_all"), pick)
        done = expire(lakehouse.address())
        assert left() == picked
        assert done.figures["dataFiles"] == 3
        assert loaded(lakehouse).scan().to_arrow().num_rows == 4

    def test_metadata_that_comes_back_between_two_portions_ends_the_deletion(
        self, lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch, left: Callable[[], list[str]]
    ) -> None:
        """Somebody restores the catalog from a backup."""
        older, before = Pointer(loaded(lakehouse).metadata_location), len(left())
        step_after(
            monkeypatch,
            (Storage, "delete_all"),
            lambda: monkeypatch.setattr(SqlTables, "load", lambda *_: older),
        )
        with pytest.raises(LithifyError):
            expire(lakehouse.address())
        assert len(left()) >= before - 1
