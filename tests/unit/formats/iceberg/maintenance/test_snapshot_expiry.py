"""Expiry of a small table: what goes and stays, what is refused, crashes, and what others do beside it."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.expressions import EqualTo
from pyiceberg.table import Table

from lithify.errors import (
    CatalogUnavailable,
    CommitUnknown,
    CorruptTable,
    InvalidOption,
    MissingFile,
    StalePlan,
    UnsupportedTable,
)
from lithify.faults import JOURNALED_EXPIRY_POINTS
from lithify.formats.iceberg.catalog.sql import SqlTables
from lithify.formats.iceberg.maintaining import open_maintained
from lithify.formats.iceberg.maintenance.plan import ExpiryPlan
from lithify.formats.iceberg.maintenance.snapshot_expiry import READER_FLOOR, SnapshotExpiry, expiry_of_table
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.protocol.maintenance import DEFAULT_SETTINGS, Maintained, MaintenanceKind
from support.cases import case
from support.iceberg_tables import NAME, Lakehouse, metadata_of, rows, with_fields
from support.races import step_after, step_at, step_before
from support.runs import ShiftedClock

pytestmark = pytest.mark.thorough

LATER = ShiftedClock(timedelta(days=6))
ALL_BUT_HEADS = {"history.expire.max-snapshot-age-ms": "0"}
KEEP_ALL = {"history.expire.min-snapshots-to-keep": "99"}


@pytest.fixture
def lakehouse(tmp_path: Path) -> Lakehouse:
    """A table of four snapshots: three commits of two rows, and one that deletes the rows of the first."""
    found = Lakehouse(tmp_path)
    table = found.table()
    for number in range(3):
        table.append(rows(2 * number, 2 * number + 1))
    table.delete(EqualTo("id", 0))
    table.delete(EqualTo("id", 1))
    return found


def loaded(lakehouse: Lakehouse) -> Table:
    return lakehouse.catalog().load_table(NAME)


def expiry(lakehouse: Lakehouse, rules: dict[str, str] = ALL_BUT_HEADS) -> SnapshotExpiry:
    return expiry_of_table(open_iceberg_table(lakehouse.address()), rules, READER_FLOOR, LATER)


def expire(lakehouse: Lakehouse, rules: dict[str, str] = ALL_BUT_HEADS) -> Maintained:
    made = expiry(lakehouse, rules)
    return made.execute(made.plan(LATER))


def files(lakehouse: Lakehouse) -> set[str]:
    """The files of the table, without metadata files."""
    folder = Path(lakehouse.warehouse)
    paths = (str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    return {path for path in paths if not path.endswith(".metadata.json")}


def journals(lakehouse: Lakehouse) -> list[Path]:
    return sorted(Path(lakehouse.warehouse).rglob("lithify/expiry/*"))


def ids(lakehouse: Lakehouse, **at: Any) -> list[int]:
    found: list[int] = loaded(lakehouse).scan(**at).to_arrow()["id"].to_pylist()
    return sorted(found)


def local(path: str) -> Path:
    return Path(path.removeprefix("file://"))


def test_all_that_only_old_snapshots_need_goes(lakehouse: Lakehouse) -> None:
    before = files(lakehouse)

    done = expire(lakehouse)

    assert ids(lakehouse) == [2, 3, 4, 5]
    head = loaded(lakehouse).current_snapshot()
    assert head is not None
    assert [each.snapshot_id for each in loaded(lakehouse).snapshots()] == [head.snapshot_id]
    assert done.oldest == str(head.snapshot_id)
    gone = before - files(lakehouse)
    assert done.figures == {
        "snapshots": len([path for path in gone if "/snap-" in path]),
        "references": 0,
        "dataFiles": len([path for path in gone if path.endswith(".parquet")]),
        "deleteFiles": 0,
        "manifests": len([path for path in gone if path.endswith(".avro") and "/snap-" not in path]),
        "manifestLists": len([path for path in gone if "/snap-" in path]),
        "statisticsFiles": 0,
        "foreignFiles": 0,
    }
    assert done.figures["snapshots"] >= 4
    assert done.figures["dataFiles"] == 2, "the first file, and its copy without the row 0"
    assert files(lakehouse) == before - gone
    assert journals(lakehouse) == []


def test_plan_says_the_same_and_changes_nothing(lakehouse: Lakehouse) -> None:
    before = files(lakehouse), metadata_of(loaded(lakehouse))
    plan = expiry(lakehouse).plan(LATER)
    assert (files(lakehouse), metadata_of(loaded(lakehouse))) == before
    done = expire(lakehouse)
    assert (plan.figures, plan.oldest) == (done.figures, done.oldest)
    again = expiry(lakehouse).plan(LATER)
    assert again.is_empty
    assert not any(again.figures.values())


def test_young_snapshots_and_just_replaced_ones_stay(lakehouse: Lakehouse) -> None:
    assert expiry(lakehouse, {}).plan(ShiftedClock()).is_empty
    just = expiry_of_table(open_iceberg_table(lakehouse.address()), ALL_BUT_HEADS).plan(ShiftedClock())
    assert just.is_empty


def test_empty_table_has_nothing_to_do(tmp_path: Path) -> None:
    empty = Lakehouse(tmp_path)
    empty.table()
    plan = expiry(empty).plan(LATER)
    assert plan.is_empty
    assert plan.oldest is None
    assert not any(expire(empty).figures.values())


def test_branches_and_tags_keep_what_they_name(lakehouse: Lakehouse) -> None:
    table = loaded(lakehouse)
    first, second = (each.snapshot_id for each in table.snapshots()[:2])
    table.manage_snapshots().create_tag(first, "first").create_branch(second, "side").commit()
    expire(lakehouse)
    assert ids(lakehouse, snapshot_id=first) == [0, 1]
    assert ids(lakehouse, snapshot_id=second) == [0, 1, 2, 3]
    assert len(loaded(lakehouse).snapshots()) == 3


def test_old_tag_goes_with_its_snapshot(lakehouse: Lakehouse) -> None:
    table = loaded(lakehouse)
    first = table.snapshots()[0].snapshot_id
    table.manage_snapshots().create_tag(first, "first", max_ref_age_ms=1).commit()
    done = expire(lakehouse)
    assert done.figures["references"] == 1
    assert set(loaded(lakehouse).refs()) == {"main"}
    assert loaded(lakehouse).snapshot_by_id(first) is None


def test_files_of_other_tables_stay_and_are_counted(lakehouse: Lakehouse, tmp_path: Path) -> None:
    """Those that were added from elsewhere, as `snapshot` and `add_files` do: Java deletes them."""
    elsewhere = tmp_path / "elsewhere" / "a.parquet"
    elsewhere.parent.mkdir()
    pq.write_table(rows(90, 91), elsewhere)
    table = loaded(lakehouse)
    table.add_files([f"file://{elsewhere}"])
    table.delete(EqualTo("id", 90))

    done = expire(lakehouse)

    assert elsewhere.exists()
    assert done.figures["foreignFiles"] == 1
    assert ids(lakehouse) == [2, 3, 4, 5, 91]


def test_statistics_of_old_snapshots_go(lakehouse: Lakehouse) -> None:
    table = loaded(lakehouse)
    folder = table.location() + "/metadata"
    snapshots = [each.snapshot_id for each in table.snapshots()]
    entries = []
    for number in (snapshots[0], snapshots[-1]):
        path = f"{folder}/{number}.stats"
        local(path).write_bytes(b"statistics")
        entries.append(
            {
                "snapshot-id": number,
                "statistics-path": path,
                "file-size-in-bytes": 10,
                "file-footer-size-in-bytes": 1,
                "blob-metadata": [],
            }
        )
    with_fields(table, {"statistics": entries})
    done = expire(lakehouse)
    assert done.figures["statisticsFiles"] == 1
    assert [local(each["statistics-path"]).exists() for each in entries] == [False, True]
    assert metadata_of(loaded(lakehouse))["statistics"] == entries[1:]


def test_earlier_metadata_files_go_as_the_table_says(lakehouse: Lakehouse) -> None:
    properties = {
        "write.metadata.delete-after-commit.enabled": "true",
        "write.metadata.previous-versions-max": "2",
    }
    with loaded(lakehouse).transaction() as change:
        change.set_properties(properties)
    expire(lakehouse)
    newest = loaded(lakehouse)
    assert len(newest.metadata.metadata_log) == 2
    kept = {each.metadata_file for each in newest.metadata.metadata_log} | {newest.metadata_location}
    assert {local(path).name for path in kept} <= metadata_files(lakehouse)
    assert ids(lakehouse) == [2, 3, 4, 5]


class TestRefusals:
    @pytest.mark.parametrize(
        ("changes", "named"),
        [
            case({"properties": {"gc.enabled": "false"}}, "gc.enabled = false", id="garbage of other tables"),
            case({"format-version": 4}, "format-version = 4", id="a later version"),
            case({"encryption-keys": [{"key-id": "k"}]}, "encryption-keys", id="encrypted"),
            case(
                {"properties": {"mixed-format.table-store": "change"}},
                "mixed-format",
                id="a store of Arctic's",
            ),
            case({"properties": {"base.hive.location-root": "/x"}}, "base.hive", id="read by Hive"),
        ],
    )
    def test_nothing_is_done_by_half(self, lakehouse: Lakehouse, changes: dict[str, Any], named: str) -> None:
        with_fields(loaded(lakehouse), changes)
        before = files(lakehouse)
        with pytest.raises(UnsupportedTable, match=f"cannot be expired yet.*{named}"):
            expire(lakehouse)
        assert files(lakehouse) == before

    def test_branch_is_refused(self, lakehouse: Lakehouse) -> None:
        table = loaded(lakehouse)
        table.manage_snapshots().create_branch(table.snapshots()[0].snapshot_id, "side").commit()
        opened = open_maintained(lakehouse.address(f"{NAME}$branch_side"), DEFAULT_SETTINGS)
        with pytest.raises(UnsupportedTable, match="branch side"):
            opened.kinds[MaintenanceKind.EXPIRE_SNAPSHOTS]().plan(LATER)

    @pytest.mark.parametrize(
        "overrides",
        [
            {"write.target-file-size-bytes": "1"},
            {"gc.enabled": "true"},
            {"history.expire.max-snapshot-age-ms": "-1"},
            {"history.expire.min-snapshots-to-keep": "0"},
            {"history.expire.max-ref-age-ms": "soon"},
        ],
    )
    def test_options_that_say_something_else_are_refused(
        self, lakehouse: Lakehouse, overrides: dict[str, str]
    ) -> None:
        def plan() -> object:
            opened = open_maintained(lakehouse.address(overrides=overrides), DEFAULT_SETTINGS)
            return opened.kinds[MaintenanceKind.EXPIRE_SNAPSHOTS]().plan(LATER)

        with pytest.raises(InvalidOption, match=next(iter(overrides))):
            plan()

    def test_reference_to_a_lost_snapshot_is_an_error(self, lakehouse: Lakehouse) -> None:
        table = loaded(lakehouse)
        refs = {**metadata_of(table)["refs"], "lost": {"snapshot-id": 7, "type": "tag"}}
        with_fields(table, {"refs": refs})
        with pytest.raises(CorruptTable, match="lost names the snapshot 7"):
            expire(lakehouse)


class TestDamage:
    def test_manifests_are_only_read_if_a_snapshot_goes(self, lakehouse: Lakehouse) -> None:
        for path in Path(lakehouse.warehouse).rglob("*.avro"):
            path.unlink()
        assert not any(expire(lakehouse, KEEP_ALL).figures.values())

    def test_missing_manifest_of_a_snapshot_that_stays_keeps_everything(self, lakehouse: Lakehouse) -> None:
        table = loaded(lakehouse)
        head = table.current_snapshot()
        assert head is not None
        local(head.manifests(table.io)[-1].manifest_path).unlink()
        before = files(lakehouse)
        with pytest.raises(MissingFile):
            expire(lakehouse)
        assert files(lakehouse) == before
        assert len(loaded(lakehouse).snapshots()) >= 4

    @pytest.mark.parametrize("name", ["manifest", "list"])
    def test_missing_metadata_of_a_snapshot_that_goes_is_passed_over(
        self, lakehouse: Lakehouse, name: str
    ) -> None:
        """As when another expiry was killed: its other files go, and what is unknown stays."""
        table = loaded(lakehouse)
        middle = table.snapshots()[3]
        manifests = {each.manifest_path for each in middle.manifests(table.io)}
        head = table.current_snapshot()
        assert head is not None
        alone = sorted(manifests - {each.manifest_path for each in head.manifests(table.io)})
        local(alone[0] if name == "manifest" else middle.manifest_list).unlink()
        expire(lakehouse)
        assert ids(lakehouse) == [2, 3, 4, 5]
        assert len(loaded(lakehouse).snapshots()) == 1


class TestCrashes:
    @pytest.mark.parametrize("point", JOURNALED_EXPIRY_POINTS)
    def test_next_run_leaves_what_one_run_would_have_left(
        self, lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch, point: str
    ) -> None:
        doomed = expiry(lakehouse).plan(LATER)
        whole = files(lakehouse) - gone_in(doomed, lakehouse)
        monkeypatch.setenv("LITHIFY_FAULTS", f"{point}=raise:{errno.EIO}")
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            expire(lakehouse)
        monkeypatch.delenv("LITHIFY_FAULTS")
        assert files(lakehouse) >= whole
        assert ids(lakehouse) == [2, 3, 4, 5]

        expire(lakehouse)

        assert files(lakehouse) == whole, "and no journal"
        assert ids(lakehouse) == [2, 3, 4, 5]

    def test_leftovers_are_counted_and_planned(
        self, lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        planned = expiry(lakehouse).plan(LATER).figures
        cut_off(lakehouse, monkeypatch, "expiry-committed")
        plan = expiry(lakehouse).plan(LATER)
        assert not plan.is_empty
        assert plan.figures == {**planned, "snapshots": 0}

    def test_leftover_that_is_needed_again_stays(
        self, lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        data = first_data_file(lakehouse)
        cut_off(lakehouse, monkeypatch, "expiry-committed")
        loaded(lakehouse).add_files([data])
        expire(lakehouse)
        assert ids(lakehouse) == [0, 1, 2, 3, 4, 5]
        assert journals(lakehouse) == []

    def test_leftover_that_only_an_expiring_snapshot_needs_goes_after_the_commit(
        self, lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        data = first_data_file(lakehouse)
        cut_off(lakehouse, monkeypatch, "expiry-committed")
        loaded(lakehouse).add_files([data])
        loaded(lakehouse).delete(EqualTo("id", 0))
        loaded(lakehouse).delete(EqualTo("id", 1))
        expire(lakehouse)
        assert ids(lakehouse) == [2, 3, 4, 5]
        assert not local(data).exists()

    def test_journal_of_a_run_that_never_committed_is_forgotten(
        self, lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cut_off(lakehouse, monkeypatch, "expiry-recorded")
        assert len(journals(lakehouse)) == 1
        keep = KEEP_ALL
        expire(lakehouse, keep)
        assert journals(lakehouse) == [], "six days later"
        assert len(loaded(lakehouse).snapshots()) >= 4

    def test_journal_of_a_killed_run_that_another_run_repeats_goes_with_it(
        self, lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cut_off(lakehouse, monkeypatch, "expiry-recorded")
        made = expiry(lakehouse)
        plan = made.plan(ShiftedClock(timedelta(hours=1)))
        assert plan.removals[0].snapshots
        made.execute(plan)
        assert journals(lakehouse) == []

    def test_journal_of_a_run_that_may_commit_yet_stays(
        self, lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cut_off(lakehouse, monkeypatch, "expiry-recorded")
        made = expiry(lakehouse, KEEP_ALL)
        made.execute(made.plan(ShiftedClock()))
        assert len(journals(lakehouse)) == 1


class TestForgedJournals:
    """Anyone who may write to the table's folder can put files there."""

    def write(self, lakehouse: Lakehouse, *paths: str, table: str | None = None, kind: int = 0) -> None:
        opened = open_iceberg_table(lakehouse.address())
        header = {"table": opened.uuid if table is None else table, "snapshots": [7]}
        said = json.dumps({**header, "sequence": 1, "updated": 1})
        schema = pa.schema([("path", pa.large_string()), ("kind", pa.int8())])
        made = pa.table([list(paths), [kind] * len(paths)], schema=schema.with_metadata({"lithify": said}))
        path = local(opened.metadata.location) / "lithify" / "expiry" / "x.arrow"
        path.parent.mkdir(parents=True, exist_ok=True)
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, made.schema) as writer:
            writer.write_table(made)

    def test_kinds_that_do_not_exist_are_passed_over(self, lakehouse: Lakehouse) -> None:
        self.write(lakehouse, f"{loaded(lakehouse).location()}/data/x.parquet", kind=-1)
        expire(lakehouse)
        assert ids(lakehouse) == [2, 3, 4, 5]
        assert journals(lakehouse) == []

    def test_what_the_table_needs_stays(self, lakehouse: Lakehouse, tmp_path: Path) -> None:
        table = loaded(lakehouse)
        metadata = table.metadata_location
        everything = [str(path) for path in tmp_path.rglob("*") if path.is_file()]
        hint = local(table.location()) / "metadata" / "version-hint.text"
        hint.write_text("1")
        before = files(lakehouse)
        self.write(lakehouse, *everything, metadata, str(hint), str(tmp_path / "catalog.db"))
        expire(lakehouse, KEEP_ALL)
        assert files(lakehouse) == before
        assert local(metadata).exists()
        assert lakehouse.database.exists()

    def test_journal_of_another_table_in_the_folder_deletes_nothing(self, lakehouse: Lakehouse) -> None:
        stray = local(loaded(lakehouse).location()) / "data" / "stray.parquet"
        stray.write_text("x")
        self.write(lakehouse, str(stray), table="another")
        expire(lakehouse, KEEP_ALL)
        assert stray.exists()

    @pytest.mark.parametrize("content", [b"", b"ARROW1", b"x" * 1000])
    def test_unfinished_journal_is_passed_over(self, lakehouse: Lakehouse, content: bytes) -> None:
        self.write(lakehouse)
        path = journals(lakehouse)[0]
        path.write_bytes(content)
        made = expiry(lakehouse)
        made.execute(made.plan(LATER))
        assert journals(lakehouse) == []


class TestConcurrency:
    def test_commits_after_the_plan_are_built_on(
        self, lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        step_at(monkeypatch, "expiry-recorded", lambda: loaded(lakehouse).append(rows(8, 9)))
        expire(lakehouse)
        assert ids(lakehouse) == [2, 3, 4, 5, 8, 9]
        assert len(loaded(lakehouse).snapshots()) == 2

    def test_commit_right_before_the_swap_makes_it_try_again(
        self, lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        step_before(monkeypatch, (SqlTables, "swap"), lambda: loaded(lakehouse).append(rows(8, 9)))
        before = metadata_files(lakehouse)
        expire(lakehouse)
        assert ids(lakehouse) == [2, 3, 4, 5, 8, 9]
        assert len(metadata_files(lakehouse) - before) == 2, "the append and the expiry: a try left nothing"

    def test_file_that_comes_back_between_commit_and_deletion_stays(
        self, lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        data = first_data_file(lakehouse)
        step_at(monkeypatch, "expiry-committed", lambda: loaded(lakehouse).add_files([data]))
        done = expire(lakehouse)
        assert ids(lakehouse) == [0, 1, 2, 3, 4, 5]
        assert done.figures["dataFiles"] == 1

    def test_tag_that_comes_after_the_plan_makes_it_stale(
        self, lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = loaded(lakehouse).snapshots()[0].snapshot_id
        step_at(
            monkeypatch,
            "expiry-planned",
            lambda: loaded(lakehouse).manage_snapshots().create_tag(first, "late").commit(),
        )
        before = files(lakehouse)
        with pytest.raises(StalePlan):
            expire(lakehouse)
        assert files(lakehouse) == before
        assert ids(lakehouse, snapshot_id=first) == [0, 1]
        expire(lakehouse)
        assert ids(lakehouse, snapshot_id=first) == [0, 1]

    def test_another_expiry_after_the_plan_makes_it_stale(
        self, lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        step_at(monkeypatch, "expiry-planned", lambda: expire(lakehouse))
        with pytest.raises(StalePlan):
            expire(lakehouse)
        assert ids(lakehouse) == [2, 3, 4, 5]
        assert journals(lakehouse) == []

    def test_unanswered_commit_is_found(self, lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch) -> None:
        step_after(monkeypatch, (SqlTables, "swap"), fails("no answer"))
        done = expire(lakehouse)
        assert done.figures["dataFiles"] == 2
        assert len(loaded(lakehouse).snapshots()) == 1

    def test_unknown_outcome_deletes_nothing_and_the_next_run_completes_it(
        self, lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = files(lakehouse)

        def silence() -> None:
            monkeypatch.setattr(SqlTables, "load", lambda *_: fails("silent")())
            fails("no answer")()

        with monkeypatch.context():
            step_after(monkeypatch, (SqlTables, "swap"), silence)
            with pytest.raises(CommitUnknown):
                expire(lakehouse)
        monkeypatch.undo()
        assert before <= files(lakehouse)
        assert len(loaded(lakehouse).snapshots()) == 1, "it was carried out"
        assert expire(lakehouse).figures["dataFiles"] == 2
        assert ids(lakehouse) == [2, 3, 4, 5]
        assert journals(lakehouse) == []


def fails(problem: str) -> Callable[[], None]:
    def fail() -> None:
        raise CatalogUnavailable("the catalog", problem)

    return fail


def metadata_files(lakehouse: Lakehouse) -> set[str]:
    return {path.name for path in Path(lakehouse.warehouse).rglob("*.metadata.json")}


def first_data_file(lakehouse: Lakehouse) -> str:
    table = loaded(lakehouse)
    return str(
        next(iter(table.scan(snapshot_id=table.snapshots()[0].snapshot_id).plan_files())).file.file_path
    )


def gone_in(plan: ExpiryPlan, lakehouse: Lakehouse) -> set[str]:
    folder = Path(lakehouse.warehouse)
    return {str(local(path).relative_to(folder)) for path in plan.doomed.own["path"].to_pylist()}


def cut_off(lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch, point: str) -> None:
    with monkeypatch.context() as patched:
        patched.setenv("LITHIFY_FAULTS", f"{point}=raise:{errno.EIO}")
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            expire(lakehouse)
