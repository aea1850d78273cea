"""Rollbacks of branches: what readers see, what is refused, and catalogs that answer late or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.table import Table

from lithify.clock import SystemClock
from lithify.errors import (
    CommitsWouldBeLost,
    CommitUnknown,
    InvalidOption,
    MissingFile,
    NotFound,
    StalePlan,
    UnsupportedTable,
)
from lithify.formats.iceberg.maintenance.metadata_commit import MetadataPublisher
from lithify.formats.iceberg.maintenance.rollback import IcebergRollback
from lithify.formats.iceberg.maintenance.rollback_commit import version_with_head
from lithify.formats.iceberg.maintenance.rollback_plan import RollbackPlan
from lithify.formats.iceberg.table.metadata import parse_metadata
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.maintenance import MaintenanceSettings
from lithify.formats.protocol.model import SnapshotId
from support.cases import case
from support.iceberg_commits import commit, plan, rewritten
from support.iceberg_rest import IcebergRestServer, Reply
from support.iceberg_tables import NAME, Lakehouse, as_folder_table, metadata_of, rows, with_fields
from support.races import step_after

pytestmark = pytest.mark.thorough

KEY = tuple(NAME.split("."))
CLOCK = SystemClock(UTC)
Commit = Callable[[], Reply]
FAILURE: Reply = (500, {"error": {"message": "a bad day", "code": 500}})


@pytest.fixture
def lakehouse(tmp_path: Path) -> Lakehouse:
    """Three appends of two rows."""
    found = Lakehouse(tmp_path / "lakehouse")
    table = found.table()
    for number in range(3):
        table.append(rows(2 * number, 2 * number + 1))
    return found


@pytest.fixture
def server(lakehouse: Lakehouse) -> Iterator[IcebergRestServer]:
    with IcebergRestServer({KEY: metadata_of(loaded(lakehouse))}) as running:
        yield running


def loaded(lakehouse: Lakehouse) -> Table:
    return lakehouse.catalog().load_table(NAME)


def snapshots(lakehouse: Lakehouse) -> list[int]:
    """The snapshots in the order of their commits."""
    return [each["snapshot-id"] for each in metadata_of(loaded(lakehouse))["snapshots"]]


def head(lakehouse: Lakehouse) -> int:
    found = loaded(lakehouse).current_snapshot()
    assert found is not None
    return found.snapshot_id


def ids(lakehouse: Lakehouse) -> list[int]:
    return sorted(loaded(lakehouse).scan().to_arrow()["id"].to_pylist())


def files(lakehouse: Lakehouse) -> set[Path]:
    return {path for path in Path(lakehouse.warehouse).rglob("*") if path.is_file()}


def rollback(address: TableAddress, to: int | str, *, lose: bool = True) -> IcebergRollback:
    settings = MaintenanceSettings(snapshot=SnapshotId(str(to)), loses_commits=lose)
    return IcebergRollback(open_iceberg_table(address), settings, CLOCK)


def roll_back(address: TableAddress, to: int, *, lose: bool = True) -> RollbackPlan:
    made = rollback(address, to, lose=lose)
    planned = made.plan(CLOCK)
    made.execute(planned)
    return planned


def compacted(lakehouse: Lakehouse) -> None:
    planned = plan(lakehouse.address())
    commit(planned, rewritten(planned, planned.files))


def test_rows_are_those_of_the_target_and_no_file_goes(lakehouse: Lakehouse) -> None:
    before, first = files(lakehouse), snapshots(lakehouse)[0]
    planned = roll_back(lakehouse.address(), first)
    assert (ids(lakehouse), head(lakehouse)) == ([0, 1], first)
    assert before < files(lakehouse)
    assert planned.figures == {"snapshots": 2, "lostCommits": 2}


def test_metadata_is_what_java_writes(lakehouse: Lakehouse) -> None:
    before, target = metadata_of(loaded(lakehouse)), snapshots(lakehouse)[1]
    roll_back(lakehouse.address(), target)
    after = metadata_of(loaded(lakehouse))
    changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    assert changed == {"last-updated-ms", "current-snapshot-id", "refs", "snapshot-log", "metadata-log"}
    assert after["refs"]["main"] == {**before["refs"]["main"], "snapshot-id": target}
    assert after["snapshot-log"][:-1] == before["snapshot-log"]
    assert after["snapshot-log"][-1] == {"snapshot-id": target, "timestamp-ms": after["last-updated-ms"]}


def test_row_ids_and_sequence_numbers_stay_assigned(lakehouse: Lakehouse) -> None:
    found = {**metadata_of(loaded(lakehouse)), "format-version": 3, "next-row-id": 77}
    base = parse_metadata(found, "v1.metadata.json")
    after = json.loads(version_with_head(base, "main", snapshots(lakehouse)[0], 0).text)
    assert (after["next-row-id"], after["last-sequence-number"]) == (77, found["last-sequence-number"])
    assert after["last-updated-ms"] == found["last-updated-ms"], "time never goes back"


def test_writers_go_on_and_the_undone_snapshot_can_be_restored(lakehouse: Lakehouse) -> None:
    first, *_, last = snapshots(lakehouse)
    roll_back(lakehouse.address(), first)
    loaded(lakehouse).append(rows(9))
    assert ids(lakehouse) == [0, 1, 9]
    loaded(lakehouse).manage_snapshots().set_current_snapshot(last).commit()
    assert ids(lakehouse) == [*range(6)]


def test_compaction_is_undone_without_permission(lakehouse: Lakehouse) -> None:
    before = head(lakehouse)
    compacted(lakehouse)
    planned = roll_back(lakehouse.address(), before, lose=False)
    assert planned.figures == {"snapshots": 1, "lostCommits": 0}
    assert planned.samples[0].startswith(f"snapshot {planned.later[0].id} (replace, ")
    assert (ids(lakehouse), head(lakehouse)) == ([*range(6)], before)


def test_compaction_is_done_again_after_it_was_undone(lakehouse: Lakehouse) -> None:
    before = head(lakehouse)
    compacted(lakehouse)
    roll_back(lakehouse.address(), before)
    compacted(lakehouse)
    assert ids(lakehouse) == [*range(6)]


def test_run_that_was_planned_on_an_undone_snapshot_is_refused(lakehouse: Lakehouse) -> None:
    planned = plan(lakehouse.address())
    roll_back(lakehouse.address(), snapshots(lakehouse)[0])
    outcome = commit(planned, rewritten(planned, planned.files))
    assert outcome.committed == ()
    assert ["rolled back" in each for each in outcome.conflicts.values()] == [True]
    assert ids(lakehouse) == [0, 1]


def test_commits_of_writers_are_only_lost_with_permission(lakehouse: Lakehouse) -> None:
    before, first = files(lakehouse), snapshots(lakehouse)[0]
    made = rollback(lakehouse.address(), first, lose=False)
    planned = made.plan(CLOCK)
    with pytest.raises(CommitsWouldBeLost, match=r"\(append, .* UTC, \+2 records\)"):
        made.execute(planned)
    assert (files(lakehouse), ids(lakehouse)) == (before, [*range(6)])


def test_newest_snapshot_as_target_is_nothing_to_do(lakehouse: Lakehouse) -> None:
    before = files(lakehouse)
    planned = roll_back(lakehouse.address(), head(lakehouse))
    assert (planned.is_empty, files(lakehouse)) == (True, before)


def test_other_branches_and_tags_stay(lakehouse: Lakehouse) -> None:
    first, second, third = snapshots(lakehouse)
    loaded(lakehouse).manage_snapshots().create_branch(third, "audit").create_tag(third, "kept").commit()
    roll_back(lakehouse.address(), first)
    refs = metadata_of(loaded(lakehouse))["refs"]
    assert {name: each["snapshot-id"] for name, each in refs.items()} == {
        "main": first,
        "audit": third,
        "kept": third,
    }
    roll_back(lakehouse.address(f"{NAME}$branch_audit"), second)
    refs = metadata_of(loaded(lakehouse))["refs"]
    assert (refs["audit"]["snapshot-id"], refs["main"]["snapshot-id"]) == (second, first)


def test_snapshot_of_another_history_is_refused(lakehouse: Lakehouse) -> None:
    first, _, last = snapshots(lakehouse)
    roll_back(lakehouse.address(), first)
    with pytest.raises(NotFound, match=r"no ancestor of .*set_current_snapshot"):
        rollback(lakehouse.address(), last).plan(CLOCK)


@pytest.mark.parametrize(("target", "said"), [(7, "expired, or never was"), ("x", "no id of an Iceberg")])
def test_unknown_target_is_explained(lakehouse: Lakehouse, target: int | str, said: str) -> None:
    with pytest.raises((NotFound, InvalidOption), match=said):
        rollback(lakehouse.address(), target).plan(CLOCK)


def test_expired_target_is_explained(lakehouse: Lakehouse) -> None:
    first, second, _ = snapshots(lakehouse)
    loaded(lakehouse).maintenance.expire_snapshots().by_id(first).commit()
    with pytest.raises(NotFound, match=f"expired.*{second}"):
        rollback(lakehouse.address(), first).plan(CLOCK)


def test_empty_table_says_so(tmp_path: Path) -> None:
    empty = Lakehouse(tmp_path)
    empty.table()
    with pytest.raises(NotFound, match="has no snapshot"):
        rollback(empty.address(), 7).plan(CLOCK)


def test_target_whose_manifests_are_gone_is_refused(lakehouse: Lakehouse) -> None:
    for path in files(lakehouse):
        if path.name.endswith("-m0.avro"):
            path.unlink()
    with pytest.raises(MissingFile):
        rollback(lakehouse.address(), snapshots(lakehouse)[0]).plan(CLOCK)


@pytest.mark.parametrize(
    "properties",
    [
        case({"mixed-format.change.identifier": "c"}, id="a store of a keyed table"),
        case({"base.hive.location-root": "/h"}, id="a table that Hive reads"),
    ],
)
def test_tables_that_are_refused_for_compaction_are_refused(
    lakehouse: Lakehouse, properties: dict[str, str]
) -> None:
    with_fields(loaded(lakehouse), {"properties": properties})
    with pytest.raises(UnsupportedTable, match="cannot be rolled back yet"):
        rollback(lakehouse.address(), snapshots(lakehouse)[0]).plan(CLOCK)


@pytest.mark.parametrize("in_folder", [False, True], ids=["in a database", "in a folder"])
def test_commit_after_the_plan_makes_it_stale(lakehouse: Lakehouse, in_folder: bool, tmp_path: Path) -> None:
    address = lakehouse.address()
    if in_folder:
        as_folder_table(loaded(lakehouse), tmp_path / "folders")
        address = TableAddress(str(tmp_path / "folders"), NAME, format="iceberg")
    first, second, _ = snapshots(lakehouse)
    made = rollback(address, first)
    planned = made.plan(CLOCK)
    roll_back(address, second)
    with pytest.raises(StalePlan):
        made.execute(planned)
    found = open_iceberg_table(address).head()
    assert found is not None
    assert found.id == second
    assert roll_back(address, first).figures["snapshots"] == 1


def test_rollback_that_others_rename_over_is_not_reported_as_done(
    lakehouse: Lakehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, first = metadata_of(loaded(lakehouse)), snapshots(lakehouse)[0]
    folder = as_folder_table(loaded(lakehouse), tmp_path / "folders")

    def rename_over() -> None:
        (folder / "v2.metadata.json").write_text(json.dumps(before), "utf-8")

    step_after(monkeypatch, (MetadataPublisher, "find_published"), rename_over)
    with pytest.raises(CommitUnknown):
        roll_back(TableAddress(str(tmp_path / "folders"), NAME, format="iceberg"), first)


def test_commit_in_the_last_moment_is_not_undone(
    lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The catalog compares its pointer, and the file that was written for nothing is deleted."""
    first = snapshots(lakehouse)[0]
    made = rollback(lakehouse.address(), first)
    planned = made.plan(CLOCK)
    seen: set[Path] = set()

    def append(*_: Any) -> None:
        loaded(lakehouse).append(rows(9))
        seen.update(files(lakehouse))

    monkeypatch.setattr(type(made._table), "check_writable", append)
    with pytest.raises(StalePlan):
        made.execute(planned)
    assert ids(lakehouse) == [*range(6), 9]
    assert files(lakehouse) == seen


class TestServers:
    @pytest.mark.parametrize(
        "step",
        [
            case(lambda commit: commit(), id="answered"),
            case(lambda commit: (commit(), FAILURE)[1], id="applied and answered with 500"),
            case(lambda _: FAILURE, id="not applied and answered with 500"),
            case(lambda commit: (commit(), (504, {}))[1], id="applied, and the proxy timed out"),
            case(lambda commit: (commit(), commit())[1], id="applied, and a copy refused"),
        ],
    )
    def test_the_outcome_is_found_out(
        self, lakehouse: Lakehouse, server: IcebergRestServer, step: Callable[[Commit], Reply]
    ) -> None:
        first = snapshots(lakehouse)[0]
        server.steps.append(step)
        roll_back(address_of(server), first)
        assert server.tables[KEY]["current-snapshot-id"] == first
        assert len(server.tables[KEY]["snapshots"]) == 3

    def test_branch_that_has_moved_is_not_rolled_back(
        self, lakehouse: Lakehouse, server: IcebergRestServer
    ) -> None:
        first, second, _ = snapshots(lakehouse)

        def outrun(commit: Commit) -> Reply:
            main = {"main": {"snapshot-id": second, "type": "branch"}}
            server.tables[KEY] = {**server.tables[KEY], "current-snapshot-id": second, "refs": main}
            return commit()

        server.steps.append(outrun)
        made = rollback(address_of(server), first)
        planned = made.plan(CLOCK)
        with pytest.raises(StalePlan):
            made.execute(planned)
        assert server.tables[KEY]["current-snapshot-id"] == second

    def test_retention_of_the_branch_is_kept(self, lakehouse: Lakehouse, server: IcebergRestServer) -> None:
        kept = {"min-snapshots-to-keep": 3, "max-snapshot-age-ms": 5}
        server.tables[KEY]["refs"]["main"] = {**server.tables[KEY]["refs"]["main"], **kept}
        roll_back(address_of(server), snapshots(lakehouse)[0])
        assert server.tables[KEY]["refs"]["main"] == {
            **kept,
            "type": "branch",
            "snapshot-id": snapshots(lakehouse)[0],
        }


def address_of(server: IcebergRestServer) -> TableAddress:
    return replace(TableAddress("lake", NAME, server.options), format="iceberg")
