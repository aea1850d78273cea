"""What becomes of commits whose request is answered late, wrongly or not at all, by catalogs of all kinds."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lithify.errors import CommitUnknown, StorageError
from lithify.formats.iceberg.catalog.model import Pointer
from lithify.formats.iceberg.catalog.sql import SqlTables
from lithify.formats.iceberg.commit.publisher import SnapshotPublisher
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.protocol.address import TableAddress
from support.cases import case
from support.iceberg_commits import Group, Planned, commit, plan, rewritten, view_of
from support.iceberg_rest import IcebergRestServer, Reply
from support.iceberg_tables import NAME, Lakehouse, as_folder_table, metadata_of, rows
from support.races import step_after

pytestmark = pytest.mark.thorough


KEY = tuple(NAME.split("."))
Commit = Callable[[], Reply]
FAILURE: Reply = (500, {"error": {"message": "a bad day", "code": 500}})


@pytest.fixture
def lakehouse(tmp_path: Path) -> Lakehouse:
    found = Lakehouse(tmp_path / "lakehouse")
    table = found.table()
    for number in range(3):
        table.append(rows(2 * number, 2 * number + 1))
    return found


@pytest.fixture
def server(lakehouse: Lakehouse) -> Iterator[IcebergRestServer]:
    with IcebergRestServer({KEY: metadata_of(lakehouse.catalog().load_table(NAME))}) as running:
        yield running


@pytest.fixture
def planned(server: IcebergRestServer) -> Planned:
    return plan(TableAddress("lake", NAME, server.options, format="iceberg"))


def snapshots(server: IcebergRestServer) -> list[int]:
    return [each["snapshot-id"] for each in server.tables[KEY]["snapshots"]]


def files_of(lakehouse: Lakehouse) -> set[Path]:
    return {path for path in Path(lakehouse.warehouse).rglob("*") if path.is_file()}


def another(server: IcebergRestServer) -> None:
    """Another writer commits a snapshot with the same files."""
    table = server.tables[KEY]
    head = table["snapshots"][-1]
    new = {**head, "snapshot-id": 7, "parent-snapshot-id": head["snapshot-id"]}
    new["sequence-number"] = table["last-sequence-number"] + 1
    server.tables[KEY] = {
        **table,
        "snapshots": [*table["snapshots"], new],
        "current-snapshot-id": 7,
        "refs": {"main": {"snapshot-id": 7, "type": "branch"}},
        "last-sequence-number": new["sequence-number"],
        "last-updated-ms": table["last-updated-ms"] + 1,
    }


def forget(server: IcebergRestServer, *places: int) -> None:
    """Some snapshots, by their places, expire."""
    table = server.tables[KEY]
    gone = [table["snapshots"][place] for place in places]
    server.tables[KEY] = {**table, "snapshots": [each for each in table["snapshots"] if each not in gone]}


def roll_back(server: IcebergRestServer) -> None:
    """The branch goes back to the snapshot before; the newest one can still be read."""
    table = server.tables[KEY]
    before = table["snapshots"][-2]["snapshot-id"]
    main = {"main": {"snapshot-id": before, "type": "branch"}}
    server.tables[KEY] = {**table, "current-snapshot-id": before, "refs": main}


class TestServers:
    def test_a_snapshot_is_committed_by_requirements_and_updates(
        self, server: IcebergRestServer, planned: Planned
    ) -> None:
        outcome = commit(planned, rewritten(planned, planned.files))
        assert snapshots(server)[-1] == int(outcome.snapshot)
        assert len(view_of(planned.table).data) == 1

    @pytest.mark.parametrize(
        "step",
        [
            case(lambda commit: (commit(), FAILURE)[1], id="applied and answered with 500"),
            case(lambda _: FAILURE, id="not applied and answered with 500"),
            case(lambda commit: (commit(), (504, {}))[1], id="applied, and the proxy timed out"),
        ],
    )
    def test_the_outcome_of_a_failure_is_found_out(
        self, server: IcebergRestServer, planned: Planned, step: Callable[[Commit], Reply]
    ) -> None:
        server.steps.append(step)
        outcome = commit(planned, rewritten(planned, planned.files))
        assert snapshots(server).count(int(outcome.snapshot)) == 1
        assert len(view_of(planned.table).data) == 1

    def test_a_commit_that_was_applied_twice_is_one_snapshot(
        self, server: IcebergRestServer, planned: Planned
    ) -> None:
        server.steps.append(lambda commit: (commit(), commit())[1])
        outcome = commit(planned, rewritten(planned, planned.files))
        assert snapshots(server).count(int(outcome.snapshot)) == 1

    def test_a_commit_that_others_outran_is_built_again(
        self, server: IcebergRestServer, planned: Planned
    ) -> None:
        server.steps.append(lambda commit: (another(server), commit())[1])
        outcome = commit(planned, rewritten(planned, planned.files))
        assert (outcome.tries, snapshots(server)[-2:]) == (2, [7, int(outcome.snapshot)])

    @pytest.mark.parametrize(
        "meanwhile",
        [
            case(
                lambda server: (another(server), forget(server, 0, 1, 2, 3)),
                id="others have built on it, and it has expired",
            ),
            case(roll_back, id="it was rolled back"),
        ],
    )
    def test_a_copy_that_is_refused_deletes_no_file_of_the_first_one(
        self,
        server: IcebergRestServer,
        planned: Planned,
        lakehouse: Lakehouse,
        meanwhile: Callable[[IcebergRestServer], object],
    ) -> None:
        """A proxy sent the request twice, and passes on the answer to the second copy."""
        change, before, files = rewritten(planned, planned.files), files_of(lakehouse), set[Path]()

        def doubled(commit: Commit) -> Reply:
            commit()
            files.update(files_of(lakehouse) - before)
            meanwhile(server)
            return 409, {}

        server.steps.append(doubled)
        commit(planned, change)
        assert files
        assert files <= files_of(lakehouse)
        view_of(planned.table)

    def test_files_are_kept_while_the_outcome_is_unknown(
        self, server: IcebergRestServer, planned: Planned, lakehouse: Lakehouse
    ) -> None:
        before = files_of(lakehouse)
        server.steps += [lambda _: FAILURE] * 50
        with pytest.raises(CommitUnknown):
            commit(planned, rewritten(planned, planned.files))
        assert len(files_of(lakehouse) - before) >= 3  # data, manifest, list

    def test_a_refusal_leaves_nothing(
        self, server: IcebergRestServer, planned: Planned, lakehouse: Lakehouse
    ) -> None:
        change, before = rewritten(planned, planned.files), files_of(lakehouse)
        server.steps.append(lambda _: (400, {}))
        with pytest.raises(StorageError):
            commit(planned, change)
        assert files_of(lakehouse) == before

    def test_an_unanswered_commit_behind_which_others_commit_is_not_tried_again(
        self, server: IcebergRestServer, planned: Planned
    ) -> None:
        server.steps.append(lambda _: (another(server), FAILURE)[1])
        outcome = commit(planned, rewritten(planned, planned.files))
        assert outcome.snapshot is None
        assert outcome.overwritten


class TestFolders:
    def test_the_next_number_is_the_commit(self, lakehouse: Lakehouse, tmp_path: Path) -> None:
        folder = as_folder_table(lakehouse.catalog().load_table(NAME), tmp_path / "wh")
        planned = plan(TableAddress(str(tmp_path / "wh"), NAME, format="iceberg"))

        # The table's own folder stays where pyiceberg has put it, and its metadata are beside.
        outcome = commit(planned, rewritten(planned, planned.files))

        assert {path.name for path in folder.iterdir()} == {
            "v1.metadata.json",
            "v2.metadata.json",
            "version-hint.text",
        }
        head = open_iceberg_table(TableAddress(str(tmp_path / "wh"), NAME, format="iceberg")).head()
        assert head is not None
        assert str(head.id) == outcome.snapshot

    def test_a_writer_that_renames_over_it_is_noticed(self, lakehouse: Lakehouse, tmp_path: Path) -> None:
        folder = as_folder_table(lakehouse.catalog().load_table(NAME), tmp_path / "wh")
        planned = plan(TableAddress(str(tmp_path / "wh"), NAME, format="iceberg"))
        change = rewritten(planned, planned.files)
        catalog = planned.table.pointers

        class Renaming:
            """Java's writer had looked for the number before ours was there."""

            owns_files = True
            load, next_location = catalog.load, catalog.next_location

            def swap(self, *arguments: object) -> bool:
                done = catalog.swap(*arguments)  # type: ignore[arg-type]
                (folder / "v2.metadata.json").write_bytes((folder / "v1.metadata.json").read_bytes())
                return done

        planned.table.catalog = Renaming()  # type: ignore[assignment]
        outcome = commit(replace(planned), change)
        assert outcome.overwritten
        assert Group("g") in outcome.conflicts

    def test_a_writer_that_renames_over_it_when_it_was_found_is_noticed(
        self, lakehouse: Lakehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = as_folder_table(lakehouse.catalog().load_table(NAME), tmp_path / "wh")
        planned = plan(TableAddress(str(tmp_path / "wh"), NAME, format="iceberg"))
        found = json.loads((folder / "v1.metadata.json").read_text("utf-8"))
        theirs = json.dumps({**found, "last-sequence-number": found["last-sequence-number"] + 1})
        step_after(
            monkeypatch,
            (SnapshotPublisher, "find_published"),
            lambda: (folder / "v2.metadata.json").write_text(theirs, "utf-8"),
        )
        outcome = commit(planned, rewritten(planned, planned.files))
        assert outcome.overwritten
        assert Group("g") in outcome.conflicts


def test_refused_copy_of_a_commit_that_was_carried_out_leaves_its_files(
    lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client sends a request twice, the copy is refused, and a replica still has the older state."""
    planned = plan(lakehouse.address())
    swap, load, lagging = SqlTables.swap, SqlTables.load, list[Pointer]()

    def twice(self: SqlTables, *given: Any) -> bool:
        lagging.extend([load(self, given[0])] * 2)
        assert swap(self, *given)
        return swap(self, *given)

    def lagged(self: SqlTables, name: Any) -> Pointer:
        return lagging.pop() if lagging else load(self, name)

    with monkeypatch.context() as patched:
        patched.setattr(SqlTables, "swap", twice)
        patched.setattr(SqlTables, "load", lagged)
        commit(planned, rewritten(planned, planned.files))
    assert sorted(lakehouse.catalog().load_table(NAME).scan().to_arrow()["id"].to_pylist()) == [*range(6)]
