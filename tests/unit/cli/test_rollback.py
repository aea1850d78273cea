"""`lithify rollback` on a table of four snapshots: what it undoes, says and refuses."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest

import lithify as public
from lithify.contract.undoing import rollback_command
from lithify.formats.protocol.model import SnapshotId
from support.iceberg_tables import NAME, Lakehouse, rows
from support.races import step_at
from support.small_tables import SmallTable
from unit.cli.conftest import Lithify, named

LOSE = "--lose-commits"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> SmallTable:
    """Three commits and what is said to be a compaction."""
    table = SmallTable(tmp_path_factory.mktemp("model") / "warehouse").create()
    for _ in range(4):
        table.append()
    path = table.folder / "snapshot" / "snapshot-4"
    path.write_text(json.dumps({**table.snapshot(4), "commitKind": "COMPACT"}))
    return table


@pytest.fixture
def small(model: SmallTable, tmp_path: Path) -> SmallTable:
    shutil.copytree(model.warehouse, tmp_path / "warehouse")
    return SmallTable(tmp_path / "warehouse", commits=model.commits)


def test_compaction_is_undone(lithify: Lithify, small: SmallTable) -> None:
    ended = lithify("rollback", *named(small.address), "--to", "3")
    assert (ended.code, ended.err) == (0, "")
    told = " ".join(ended.out.split())
    assert told.startswith("db.t undid 1 snapshot; snapshot 3 is the newest one snapshot 4 (COMPACT, ")
    assert small.numbers == [1, 2, 3]


def test_commits_of_writers_are_named_and_kept(lithify: Lithify, small: SmallTable) -> None:
    ended = lithify("rollback", *named(small.address), "--to", "2")
    assert ended.code == 2
    assert "snapshot 3 (APPEND, " in ended.sentence
    assert ended.sentence.endswith("to lose them, give --lose-commits")
    assert small.numbers == [1, 2, 3, 4]


def test_commits_of_writers_are_lost_on_demand(lithify: Lithify, small: SmallTable) -> None:
    found = lithify("rollback", *named(small.address), "--to", "2", LOSE, "--json").json
    assert (found["table"], found["kind"], found["status"]) == ("db.t", "RollBack", "Done")
    assert found["figures"] == {"snapshots": 2, "lost_commits": 1, "tags": 0, "changelogs": 0}
    assert small.numbers == [1, 2]


def test_dry_run_says_the_same_without_permission_and_undoes_nothing(
    lithify: Lithify, small: SmallTable
) -> None:
    told = lithify("rollback", *named(small.address), "--to", "2", "--dry-run").out
    planned = lithify("rollback", *named(small.address), "--to", "2", "--dry-run", "--json").json
    assert small.numbers == [1, 2, 3, 4]
    done = lithify("rollback", *named(small.address), "--to", "2", LOSE, "--json").json
    assert "would undo 2 snapshots, 1 lost commit; snapshot 2 would be the newest one" in told
    assert planned == {**done, "status": "Planned"}
    assert planned["samples"][0].startswith("snapshot 3 (APPEND, ")


def test_newest_snapshot_is_nothing_to_do(lithify: Lithify, small: SmallTable) -> None:
    told = lithify("rollback", *named(small.address), "--to", "4").out
    assert "nothing to do (snapshot 4 is the newest one)" in told
    assert lithify("rollback", *named(small.address), "--to", "4", "--json").json["status"] == "NothingToDo"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--to", "9"], "there is no snapshot 9 in db.t: it is newer than the newest, which is 4"),
        (["--to", "x"], "snapshot: x is no id"),
        ([], "Missing option '--to'"),
        (["--to", "3", "--option", "bucket=2"], "takes no table options"),
    ],
)
def test_what_cannot_be_done_is_explained(
    lithify: Lithify, small: SmallTable, words: list[str], said: str
) -> None:
    ended = lithify("rollback", *named(small.address), *words)
    assert ended.code == 2
    assert said in ended.sentence
    assert small.numbers == [1, 2, 3, 4]


def test_commit_while_it_runs_is_planned_for(small: SmallTable, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compaction that comes in between is undone with the others; a writer's commit would be refused."""
    late = json.dumps({**small.snapshot(4), "id": 5})
    step_at(
        monkeypatch,
        "rolled-back-snapshots-deleted",
        lambda: (small.folder / "snapshot" / "snapshot-5").write_text(late),
    )
    settings = public.MaintenanceSettings(snapshot=SnapshotId("3"))
    report = public.maintain(small.address, public.MaintenanceKind.ROLL_BACK, settings)
    assert (report.status, small.numbers) == ("Done", [1, 2, 3])


def test_command_in_the_status_of_a_compaction_rolls_back(lithify: Lithify, tmp_path: Path) -> None:
    lakehouse = Lakehouse(tmp_path)
    table = lakehouse.table()
    for number in range(2):
        table.append(rows(number))
    first = table.history()[0].snapshot_id
    command = rollback_command(lakehouse.address(), SnapshotId(str(first)))
    ended = lithify(*shlex.split(command)[1:], LOSE)
    assert ended.code == 0, ended.err
    assert "undid 1 snapshot, 1 lost commit" in " ".join(ended.out.split())
    assert lakehouse.catalog().load_table(NAME).scan().to_arrow()["id"].to_pylist() == [0]
