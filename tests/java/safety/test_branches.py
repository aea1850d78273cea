"""Branches and tags share data files and manifests with their table: no run may take one from another."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import Row
from lithify.errors import AttemptFenced, InvalidOption, LithifyError, NotFound
from lithify.formats.paimon.commit.references import unreferenced
from lithify.formats.paimon.opening import open_table
from lithify.formats.protocol.address import TableAddress
from lithify.io.storage import Storage
from support.races import Meanwhile, step_at, step_before
from support.runs import clean_up, run_inline, start
from support.tables import append, copy_of, data_files, expire, make_plain, stray_files, upserts

pytestmark = pytest.mark.oracle

LATER = (0, 48, 50)
"""Hours: at once, when attempts are too old to commit, and when whoever still wrote for them has stopped."""

Rows = dict[str, list[Row]]


@pytest.fixture(scope="module")
def branched_model(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Table:
    """A tagged table, a branch of the tag, later rows of their own in both, and a column in the branch."""
    table = make_plain(oracle, tmp_path_factory.mktemp("branched") / "warehouse", commits=3, keys=30)
    oracle.create_tag(table, "old")
    oracle.create_branch(table, "b", "old")
    append(oracle, table, "main")
    oracle.alter_table(table.branch("b"), {"add_column": {"name": "own", "type": "STRING"}})
    oracle.write(table.branch("b"), [[*row, "kept"] for row in upserts(range(9), "branch")])
    return table


@pytest.fixture
def table(branched_model: Table, tmp_path: Path) -> Table:
    return copy_of(branched_model, tmp_path / "warehouse")


@pytest.fixture
def branch(table: Table) -> Table:
    return table.branch("b")


def all_rows(oracle: Oracle, table: Table) -> Rows:
    """What readers see of the table, its branch and the tag in both."""
    branch = table.branch("b")
    return {
        "table": oracle.read(table),
        "branch": oracle.read(branch),
        "tag": oracle.read(table, tag="old"),
        "tag of the branch": oracle.read(branch, tag="old"),
    }


def shared_files(table: Table) -> set[str]:
    """Names of all data files and manifests."""
    return data_files(table) | {path.name for path in (table.folder / "manifest").iterdir()}


def killed(model: Table, point: str, warehouse: Path) -> Table:
    """The table after a run of it and one of its branch were killed at a fault point, both at once."""
    table = copy_of(model, warehouse)
    runs = [start(each, faults={point: "kill"}) for each in (table, table.branch("b"))]
    assert [run.wait().code for run in runs] == [-signal.SIGKILL] * 2
    return table


@pytest.fixture(scope="module")
def dead_model(branched_model: Table, tmp_path_factory: pytest.TempPathFactory) -> Table:
    return killed(branched_model, "tasks-done", tmp_path_factory.mktemp("dead") / "warehouse")


@pytest.fixture(scope="module")
def committed_model(branched_model: Table, tmp_path_factory: pytest.TempPathFactory) -> Table:
    return killed(branched_model, "snapshot-written", tmp_path_factory.mktemp("committed") / "warehouse")


@pytest.fixture
def dead(dead_model: Table, tmp_path: Path) -> Table:
    """With the files and journals of runs that were killed before they could commit."""
    return copy_of(dead_model, tmp_path / "warehouse")


@pytest.fixture
def committed(committed_model: Table, tmp_path: Path) -> Table:
    """With the journals of runs that were killed when they had committed."""
    return copy_of(committed_model, tmp_path / "warehouse")


def test_a_branch_is_compacted_as_java_does(
    oracle: Oracle, table: Table, branch: Table, tmp_path: Path
) -> None:
    rows = all_rows(oracle, table)
    assert rows["table"] != rows["branch"] != rows["tag"]
    java = copy_of(table, tmp_path / "java")
    oracle.compact(java.branch("b"))

    report = run_inline(branch)

    assert (report.table, report.status) == ("db.t$branch_b", "Compacted")
    assert all_rows(oracle, table) == all_rows(oracle, java) == rows
    assert [file.level for file in oracle.files(branch)] == [
        file.level for file in oracle.files(java.branch("b"))
    ]
    assert len(oracle.files(table)) == 5
    assert stray_files(oracle, table) == set()


@pytest.mark.parametrize("first", ["table", "branch"])
def test_compactions_and_expiry_of_one_leave_the_other_and_tags_as_they_are(
    oracle: Oracle, table: Table, branch: Table, first: str
) -> None:
    rows = all_rows(oracle, table)
    both = [table, branch] if first == "table" else [branch, table]
    for each in both:
        assert run_inline(each).status == "Compacted"
        assert expire(oracle, each) > 0
        assert all_rows(oracle, table) == rows
    for each in both:
        clean_up(each, *LATER)
    assert all_rows(oracle, table) == rows
    assert stray_files(oracle, table) == set()


def test_what_dead_runs_left_is_cleaned_up_by_their_own_branch_only(oracle: Oracle, dead: Table) -> None:
    """Snapshots of another branch say nothing about an attempt, though they have the same numbers."""
    rows = all_rows(oracle, dead)
    files, strays = data_files(dead), stray_files(oracle, dead)
    assert len(strays) == 2

    oracle.compact(dead.branch("b"))
    clean_up(dead.branch("b"), *LATER)
    assert len(stray_files(oracle, dead) & strays) == 1
    assert all_rows(oracle, dead) == rows

    clean_up(dead, *LATER)
    assert stray_files(oracle, dead) == set()
    assert files - data_files(dead) == strays
    assert all_rows(oracle, dead) == rows


def test_what_runs_have_committed_stays(oracle: Oracle, committed: Table) -> None:
    rows = all_rows(oracle, committed)
    for each in (committed, committed.branch("b")):
        clean_up(each, *LATER)
    assert all_rows(oracle, committed) == rows
    assert stray_files(oracle, committed) == set()


def test_files_that_only_another_branch_still_refers_to_are_kept(oracle: Oracle, committed: Table) -> None:
    """The main branch has taken the snapshots of the other one, and that one has lost its newest."""
    oracle.fast_forward(committed, "b")
    rows = oracle.read(committed)
    (committed.folder / "branch" / "branch-b" / "snapshot" / "snapshot-6").unlink()

    clean_up(committed.branch("b"), *LATER)

    assert oracle.read(committed) == rows
    assert [file.level for file in oracle.files(committed)] == [5]


def test_files_that_only_a_tag_still_refers_to_are_kept(oracle: Oracle, committed: Table) -> None:
    oracle.create_tag(committed, "compacted")
    rows = oracle.read(committed, tag="compacted")
    append(oracle, committed, "later")
    oracle.compact(committed, options={"compaction.force-rewrite-all-files": "true"})
    expire(oracle, committed)

    clean_up(committed, *LATER)

    assert oracle.read(committed, tag="compacted") == rows
    assert stray_files(oracle, committed) == set()


@pytest.mark.parametrize(
    ("point", "error"), [("tasks-done", NotFound), ("manifests-written", AttemptFenced)], ids=str
)
def test_a_run_of_a_branch_that_is_dropped_commits_nothing(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch, point: str, error: type[LithifyError]
) -> None:
    rows, files = oracle.read(table), shared_files(table)
    step_at(monkeypatch, point, lambda: oracle.drop_branch(table, "b"))

    with pytest.raises(error):
        run_inline(table.branch("b"))

    assert oracle.read(table) == rows
    assert not list((table.folder / "branch").rglob("snapshot-*"))
    assert shared_files(table) == files


def test_a_fast_forward_during_a_run_is_a_conflict(oracle: Oracle, table: Table) -> None:
    rows, files = oracle.read(table.branch("b")), shared_files(table)

    report = run_inline(table, runner=Meanwhile(after=lambda: oracle.fast_forward(table, "b")))

    assert (report.status, report.rounds) == ("Compacted", 2)
    assert oracle.read(table) == rows == oracle.read(table.branch("b"))
    clean_up(table, *LATER)
    assert stray_files(oracle, table) <= files


@pytest.mark.parametrize(
    ("where", "to"),
    [("branch/branch-b/", ""), ("", "branch/branch-b/"), ("branch/branch-c/", "branch/branch-b/")],
    ids=["fast-forward", "branch off", "from branch to branch"],
)
@pytest.mark.parametrize("name", ["table", "branch"])
def test_a_snapshot_that_moves_while_references_are_looked_up_is_found(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch, name: str, where: str, to: str
) -> None:
    """Somebody copies the only snapshot that refers to a file to where we have looked, and deletes it."""
    oracle.create_branch(table, "c", "old")
    run_inline(table)
    (added,) = oracle.files(table)
    compacted = max((table.folder / "snapshot").glob("snapshot-*"), key=lambda path: path.name)
    places = [table.folder / f"{place}snapshot" / "snapshot-99" for place in (where, to)]
    renumbered = {**json.loads(compacted.read_text()), "id": 99}
    compacted.unlink()
    places[0].write_text(json.dumps(renumbered))
    opened = open_table(
        TableAddress(str(table.warehouse), (table if name == "table" else table.branch("b")).name)
    )
    homes = [opened.home, *(f"{table.folder}/{place}".rstrip("/") for place in (where, to))]
    last = f"{homes[1]}/snapshot"
    step_before(
        monkeypatch,
        (Storage, "list"),
        lambda: places[0].rename(places[1]),
        matches=lambda folder: folder == last,
    )

    assert unreferenced(opened, [added.name, "nobody's"]) == {"nobody's"}
    assert places[1].exists()


@pytest.mark.parametrize(
    "name", ["db.t$branch_main", "db.t$branch_MAIN", "db.t$branch_", "db.t$b", "db.t$branch_b$ro"]
)
def test_names_that_mean_no_branch_are_refused(table: Table, name: str) -> None:
    with pytest.raises(InvalidOption) as refused:
        run_inline(Table(table.warehouse, name))
    assert refused.value.option == "--table"


def test_a_branch_that_does_not_exist_is_named(table: Table) -> None:
    with pytest.raises(NotFound) as missing:
        run_inline(table.branch("nobody"))
    assert (missing.value.what, missing.value.name) == ("branch", "db.t$branch_nobody")
