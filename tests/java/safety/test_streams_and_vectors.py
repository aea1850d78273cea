"""Kills and other writers around compactions that write a changelog, deletion vectors or file indexes.

Whatever happens: no change is lost, none comes twice, no deleted row comes back, no vector is left without
its file, no index is lost or left over. `test_changelogs`, `test_deletion_vectors` and `test_file_indexes`
have what concerns one of them only.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from infrastructure.oracle.arguments import Filter
from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import Row
from lithify.faults import POINTS
from support.comparing.file_indexes import columns_and_kinds
from support.comparing.streams import assert_stream_is_the_table
from support.comparing.vectors import cardinality, unpaired
from support.crashes import SETTLED
from support.races import step_before
from support.runs import Held, Outcome, run_inline, start
from support.tables import (
    copy_of,
    data_files,
    expire,
    journals,
    kept_journals,
    make_plain,
    put_over,
    stray_files,
    upserts,
)

pytestmark = pytest.mark.oracle

NOT_REACHED = ("condemned", "orphans-deleted", "rows-spilled")  # nothing to clean up, and little to sort
DUE = {"num-sorted-run.compaction-trigger": "1", "num-levels": "6"}
"""Options with which minor compactions find something to do where level 0 may wait."""
OUTLIVING = {"changelog.num-retained.min": "50"}
"""More than a table retains of snapshots: streams can be read from the beginning whatever expires."""
Step = Callable[[Oracle, Table], object]


@dataclass(frozen=True, slots=True)
class Kind:
    """Tables whose compactions write more than data files.

    Attributes:
        options: of the table.
        has_stream: whether compactions write a changelog.
        has_vectors: whether they write deletion vectors.
        has_indexes: whether each file has its indexes in a file beside it.
    """

    options: Mapping[str, str]
    has_stream: bool = False
    has_vectors: bool = False
    has_indexes: bool = False


KINDS = {
    "lookup": Kind({"changelog-producer": "lookup"}, has_stream=True),
    "full-compaction": Kind({"changelog-producer": "full-compaction", **DUE}, has_stream=True),
    "vectors": Kind({"deletion-vectors.enabled": "true"}, has_vectors=True),
    "vectors and lookup": Kind(
        {"deletion-vectors.enabled": "true", "changelog-producer": "lookup"},
        has_stream=True,
        has_vectors=True,
    ),
    "file indexes": Kind(
        {
            "changelog-producer": "lookup",
            "file-index.bitmap.columns": "v",
            "file-index.bsi.columns": "n",
            "file-index.in-manifest-threshold": "1 b",
        },
        has_stream=True,
        has_indexes=True,
    ),
}


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@pytest.fixture(scope="module")
def model(oracle: Oracle, kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Two buckets with files at the top, in a level below it, and in level 0; vectors at the top."""
    options = {"write-only": "true", **OUTLIVING, **kind.options}
    table = make_plain(oracle, tmp_path_factory.mktemp("model"), buckets=2, commits=2, keys=400, **options)
    oracle.manager_round(table, full=True, commit=True)
    oracle.write(table, [*upserts(range(20, 50), "new"), ["-D", 100, None, None]])
    due = {} if kind.has_vectors else {"num-sorted-run.compaction-trigger": "1"}
    oracle.manager_round(table, full=False, commit=True, options=due)
    oracle.write(table, [*upserts(range(40, 70), "newer"), ["-D", 5, None, None], ["-D", 200, None, None]])
    assert not kind.has_vectors or cardinality(oracle, table) > 0
    return table


@pytest.fixture
def table(model: Table, tmp_path: Path) -> Table:
    return copy_of(model, tmp_path / "warehouse")


@dataclass(frozen=True, slots=True)
class End:
    """What Java alone makes of a table in the end.

    Attributes:
        rows: that readers see when all is compacted.
        left: files that Java has left lying, as it does after a rollback.
    """

    rows: Sequence[Row]
    left: set[str]


def in_the_end(oracle: Oracle, table: Table, *steps: Step) -> End:
    """Others take these steps, and Java compacts all, in a copy."""
    twin = copy_of(table, table.warehouse.parent / "twin")
    for step in steps:
        step(oracle, twin)
    left = stray_files(oracle, twin)
    oracle.compact(twin, full=True)
    return End(oracle.read(twin), left)


def assert_nothing_is_lost(oracle: Oracle, table: Table, kind: Kind, end: End) -> None:
    """A last compaction of all makes the rows; so do all changes, one by one; and nothing of ours is left."""
    run_inline(table)
    assert oracle.read(table) == end.rows
    if kind.has_stream:
        assert_stream_is_the_table(oracle, table)
    assert unpaired(oracle, table) == set()
    for later in (SETTLED, timedelta(hours=25), timedelta(hours=27), timedelta(hours=29)):
        run_inline(table, shift=later)
    assert oracle.read(table) == end.rows
    assert stray_files(oracle, table) <= end.left
    assert journals(table) | kept_journals(table) == set()
    if kind.has_indexes:
        assert_indexed(oracle, table)


def assert_indexed(oracle: Oracle, table: Table) -> None:
    """All files have their indexes, those of changelogs too; no file of indexes is left without its own."""
    numbers = [int(snapshot["id"]) for snapshot in oracle.snapshots(table)]
    live = oracle.files(table)
    files = [*live, *(file for number in numbers for file in oracle.files(table, snapshot_id=number))]
    files += [entry.file for number in numbers for entry in oracle.files_of_changelog(table, number)]
    assert all(columns_and_kinds(file) == {("v", "bitmap"), ("n", "bsi")} for file in files)
    assert all(name.removesuffix(".index") in data_files(table) for name in beside(table))
    nothing: list[Filter] = [{"column": "v", "op": "equal", "literal": "nothing"}]
    of_current = {file.name for file in live if file.schema_id == oracle.schema(table)["id"]}
    assert oracle.file_index_rows(table, nothing) == [dict.fromkeys(of_current, 0)]


def beside(table: Table) -> set[str]:
    """Names of files with indexes."""
    return {name for name in data_files(table) if name.endswith(".index")}


@pytest.mark.sampled(1, each="kind")
@pytest.mark.parametrize("full", [False, True], ids=["minor", "full"])
@pytest.mark.parametrize("point", [point for point in POINTS if point not in NOT_REACHED])
def test_a_kill_loses_nothing_and_repeats_nothing(
    oracle: Oracle, table: Table, kind: Kind, point: str, *, full: bool
) -> None:
    end = in_the_end(oracle, table)
    words = ["--run", "run-a", *([] if full else ["--minor"])]
    if point == "step-done":
        words += ["--commit-every", "1"]

    killed = start(table, *words, faults={point: "kill"}).wait()
    if point == "manifests-merged" and killed.code == 0:
        pytest.skip("this commit merges no manifests")

    assert killed.code == -signal.SIGKILL
    if point in ("snapshot-written", "step-done"):
        expire(oracle, table, outlived_by=100)
    run_inline(table, run="run-a", full=full)
    assert_nothing_is_lost(oracle, table, kind, end)


def append(oracle: Oracle, table: Table) -> object:
    return oracle.write(table, [*upserts(range(30, 45), "late"), ["-D", 50, None, None]])


def compact_all(oracle: Oracle, table: Table) -> object:
    return oracle.compact(table, full=True)


def compact_one_bucket(oracle: Oracle, table: Table) -> object:
    append(oracle, table)
    return oracle.compact(table, full=False, buckets=[1])


def compact_and_expire(oracle: Oracle, table: Table) -> object:
    oracle.compact(table, full=True, buckets=[1])
    return expire(oracle, table, outlived_by=100)


def add_a_column(oracle: Oracle, table: Table) -> object:
    return oracle.alter_table(table, {"add_column": {"name": "extra", "type": "INT"}})


def take_the_last_commit_back(oracle: Oracle, table: Table) -> object:
    oracle.rollback_to(table, snapshot_id=oracle.snapshots(table)[-2]["id"])
    return append(oracle, table)


def compact_with_ours(oracle: Oracle, table: Table) -> object:
    return run_inline(table)


STEPS = [
    append,
    compact_all,
    compact_one_bucket,
    compact_and_expire,
    add_a_column,
    take_the_last_commit_back,
    compact_with_ours,
]


def step_between(oracle: Oracle, table: Table, folder: Path, point: str, step: Step, *words: str) -> Outcome:
    """Runs a compaction that is held at a point while `step` is done to the table."""
    held = Held(folder)
    run = start(table, *words, faults={point: held.action})
    held.reached()
    step(oracle, table)
    held.release()
    return run.wait()


@pytest.mark.sampled(1, each="kind")
@pytest.mark.parametrize("full", [False, True], ids=["minor", "full"])
@pytest.mark.parametrize("point", ["journal-written", "tasks-done", "manifests-written"])
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_commits_of_others_meanwhile(
    oracle: Oracle, table: Table, kind: Kind, tmp_path: Path, step: Step, point: str, *, full: bool
) -> None:
    end = in_the_end(oracle, table, step)

    outcome = step_between(oracle, table, tmp_path, point, step, *([] if full else ["--minor"]))

    assert outcome.code == 0, outcome.error
    assert_nothing_is_lost(oracle, table, kind, end)


@pytest.mark.sampled(2)
def test_a_commit_that_is_renamed_over_ours(oracle: Oracle, table: Table, kind: Kind, tmp_path: Path) -> None:
    """A Java writer checked for the snapshot before it was there: its own takes the place of ours."""
    twin = copy_of(table, tmp_path / "other")
    append(oracle, twin)
    end = in_the_end(oracle, table, append)

    outcome = step_between(
        oracle, table, tmp_path, "snapshot-written", lambda _, table: put_over(twin, table)
    )

    assert outcome.code == 0, outcome.error
    assert outcome.report["commit_tries"] == 2
    assert_nothing_is_lost(oracle, table, kind, end)


@pytest.mark.sampled(2)
def test_a_rollback_while_our_snapshot_gets_its_name(
    oracle: Oracle, table: Table, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The base is gone, and another snapshot has its number: ours is taken back with all that it named."""
    end = in_the_end(oracle, table, take_the_last_commit_back)

    step_before(
        monkeypatch,
        (Path, "hardlink_to"),
        lambda: take_the_last_commit_back(oracle, table),
        matches=lambda source: "snapshot-" in source.name,
    )
    report = run_inline(table)

    assert report.rounds == 2
    assert_nothing_is_lost(oracle, table, kind, end)


@pytest.mark.sampled(2)
def test_a_conflict_in_the_second_step(oracle: Oracle, table: Table, kind: Kind, tmp_path: Path) -> None:
    """The first bucket is committed; others compact the second one before its commit."""

    def compact_the_second(oracle: Oracle, table: Table) -> None:
        append(oracle, table)
        oracle.compact(table, full=True, buckets=[1])

    end = in_the_end(oracle, table, compact_the_second)
    held = Held(tmp_path)
    run = start(table, "--commit-every", "1", faults={"tasks-done": held.action})
    held.reached()
    held.release(for_good=False)
    held.reached()
    compact_the_second(oracle, table)
    held.release()

    outcome = run.wait()

    assert outcome.code == 0, outcome.error
    assert_nothing_is_lost(oracle, table, kind, end)


@pytest.mark.sampled(2)
def test_a_run_that_is_started_again_goes_on_where_it_was_killed(
    oracle: Oracle, table: Table, kind: Kind
) -> None:
    """Its first bucket is not committed twice."""
    end = in_the_end(oracle, table)
    start(table, "--run", "run-a", "--commit-every", "1", faults={"step-done": "kill"}).wait()
    before: list[dict[str, Any]] = oracle.snapshots(table)

    again = run_inline(table, run="run-a")

    assert (again.status, len(again.groups)) == ("Compacted", 1)
    assert len(oracle.snapshots(table)) == len(before) + 1
    assert_nothing_is_lost(oracle, table, kind, end)
