"""What runs leave behind is deleted by later ones; what anything refers to, or still may, stays."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, OracleError, Table
from infrastructure.oracle.model import Row
from lithify.clock import Clock
from lithify.engine.attempts.clean_up import recover
from lithify.engine.run.runner import InlineRunner, Progress
from lithify.engine.run.spark import SparkRunner, SparkSettings
from lithify.errors import AttemptFenced, InvalidOption, StorageError, TaskFailed
from lithify.formats.paimon.commit.remains import PaimonRemains
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.primary_key.merge_task import MergeTask
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.results import TaskResult
from lithify.io.storage import Storage
from support.races import HeldStorage, Meanwhile, step_after, step_at, step_before
from support.runs import TESTS, Held, ShiftedClock, clean_up, run_inline, start
from support.tables import (
    append,
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

LATER = (0, 48, 50, 52)
"""Hours: at once, when attempts are too old to commit, and when whoever still wrote for them has stopped."""


@pytest.fixture(scope="module")
def killed_model(model: Table, tmp_path_factory: pytest.TempPathFactory) -> Table:
    table = copy_of(model, tmp_path_factory.mktemp("killed") / "warehouse")
    kill(table, "tasks-done")
    return table


@pytest.fixture
def killed(oracle: Oracle, killed_model: Table, tmp_path: Path) -> Table:
    """A table with the files of a run that was killed before it could commit, and its journal."""
    table = copy_of(killed_model, tmp_path / "warehouse")
    assert stray_files(oracle, table) != set()
    return table


def left_behind(oracle: Oracle, table: Table) -> tuple[set[str], set[str]]:
    """Files that nothing refers to, and journals."""
    return stray_files(oracle, table), journals(table)


def kill(table: Table, point: str) -> None:
    assert start(table, faults={point: "kill"}).wait().code == -signal.SIGKILL


# Copies and moves


def compact_twice(table: Table) -> object:
    return [run_inline(table) for _ in range(2)]


def clean_up_later(table: Table) -> object:
    return clean_up(table, *LATER)


@pytest.mark.parametrize("use", [compact_twice, clean_up_later], ids=lambda use: use.__name__)
def test_a_copy_made_during_a_run_leaves_the_original_alone(
    oracle: Oracle, table: Table, tmp_path: Path, use: Callable[[Table], object]
) -> None:
    run_inline(table, runner=Meanwhile(after=lambda: copy_of(table, tmp_path / "copy")))
    copy = Table(tmp_path / "copy", table.name)
    rows = oracle.read(table)

    use(copy)

    assert oracle.read(table) == oracle.read(copy) == rows


def test_a_table_that_was_moved_is_cleaned_up(oracle: Oracle, killed: Table, tmp_path: Path) -> None:
    (tmp_path / "warehouse").rename(tmp_path / "elsewhere")
    moved = Table(tmp_path / "elsewhere", killed.name)

    clean_up(moved, *LATER)

    assert left_behind(oracle, moved) == (set(), set())


# Journals of runs that are alive


def test_a_cleaner_of_the_first_round_leaves_the_journal_of_the_second(
    oracle: Oracle, table: Table, tmp_path: Path
) -> None:
    """The cleaner has condemned round 1 and stands still until the run is in round 2."""
    held = Held(tmp_path)
    cleaners = []

    def take_the_inputs_and_clean_up() -> None:
        oracle.compact(table, full=True)
        append(oracle, table)
        cleaners.append(start(table, "--minor", "--hours", "48", faults={"condemned": held.action}))
        held.reached()

    def let_the_cleaner_go_on() -> None:
        held.release()
        assert cleaners[0].wait().code == 0

    class Rounds(InlineRunner):
        def run(self, tasks: Sequence[MergeTask], clock: Clock, progress: Progress) -> list[TaskResult]:
            results = super().run(tasks, clock, progress)
            steps.pop(0)()
            return results

    steps = [take_the_inputs_and_clean_up, let_the_cleaner_go_on]

    report = run_inline(table, runner=Rounds())

    assert (report.status, report.rounds) == ("Compacted", 2)
    clean_up(table, 72, 74)
    assert left_behind(oracle, table) == (set(), set())


def test_what_a_fenced_run_writes_after_its_condemnation_is_found(oracle: Oracle, table: Table) -> None:
    with pytest.raises(AttemptFenced):
        run_inline(table, runner=Meanwhile(before=lambda: clean_up(table, 48)))

    clean_up(table, *LATER)

    assert left_behind(oracle, table) == (set(), set())


@pytest.mark.parametrize("hours", [0.5, 48], ids=["without hope", "too old"])
def test_files_that_appear_after_the_condemnation_are_found(
    oracle: Oracle, killed: Table, tmp_path: Path, hours: float
) -> None:
    """The cleaner finds none, because tasks of the dead driver are still about to write them."""
    late = [next(killed.folder.rglob(name)) for name in stray_files(oracle, killed)]
    for file in late:
        file.rename(tmp_path / file.name)
    oracle.compact(killed, full=True)

    clean_up(killed, hours)
    for file in late:
        (tmp_path / file.name).rename(file)

    clean_up(killed, 72, 74)
    assert left_behind(oracle, killed) == (set(), set())


def test_a_run_that_is_renamed_over_while_it_is_cleaned_up_loses_no_rows(
    oracle: Oracle, table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its snapshot is there when the cleaner looks and gone when it deletes; then the run goes on."""
    twin = copy_of(table, tmp_path / "twin")
    append(oracle, twin)
    rows = oracle.read(twin)

    def is_data(folder: str) -> bool:
        return "/bucket-" in folder

    def clean_up_and_put_over() -> None:
        step_before(monkeypatch, (Storage, "files_below"), lambda: put_over(twin, table), matches=is_data)
        clean_up(table, 0)

    step_at(monkeypatch, "snapshot-written", clean_up_and_put_over)

    with suppress(AttemptFenced):
        run_inline(table)

    assert oracle.read(table) == rows
    clean_up(table, *LATER)
    assert oracle.read(table) == rows


# A Java writer renames its snapshot over ours when our run has long been over


@pytest.fixture
def renamed_over(oracle: Oracle, table: Table, tmp_path: Path) -> list[Row]:
    """A run that has reported its success, and whose snapshot is gone; the rows that the table has then."""
    twin = copy_of(table, tmp_path / "twin")
    append(oracle, twin)
    assert run_inline(table).status == "Compacted"
    put_over(twin, table)
    return oracle.read(twin)


def test_files_of_a_run_that_was_renamed_over_after_it_had_ended_go(
    oracle: Oracle, table: Table, renamed_over: list[Row]
) -> None:
    for hours, are_left in ((0, True), (0.9, True), (1.1, False), (2.2, False)):
        clean_up(table, hours)
        assert (stray_files(oracle, table) != set()) == are_left
    assert oracle.read(table) == renamed_over
    assert (journals(table), kept_journals(table)) == (set(), set())


def test_files_of_it_on_which_somebody_has_built_stay(oracle: Oracle, table: Table, tmp_path: Path) -> None:
    twin = copy_of(table, tmp_path / "twin")
    append(oracle, twin)
    run_inline(table)
    append(oracle, table)
    rows = oracle.read(table)
    put_over(twin, table)
    (table.folder / "snapshot" / "LATEST").unlink()

    clean_up(table, *LATER)

    assert oracle.read(table) == rows


def test_a_journal_is_kept_until_somebody_has_built_on_the_snapshot(oracle: Oracle, table: Table) -> None:
    run_inline(table)
    (kept,) = kept_journals(table)

    clean_up(table, 0)
    assert kept_journals(table) == {kept}
    append(oracle, table)
    clean_up(table, 0)

    assert kept_journals(table) == set()


@pytest.mark.parametrize("is_expired", [False, True], ids=["in place", "expired"])
def test_a_journal_is_kept_for_an_hour_where_nobody_builds_on_it(
    oracle: Oracle, table: Table, is_expired: bool
) -> None:
    run_inline(table)
    rows = oracle.read(table)
    if is_expired:
        oracle.compact_manifests(table)
        append(oracle, table, "x")
        append(oracle, table, "y")
        expire(oracle, table)
        rows = oracle.read(table)

    clean_up(table, 0.9)
    assert len(kept_journals(table)) == 1
    clean_up(table, 1.1)

    assert kept_journals(table) == set()
    assert (stray_files(oracle, table), oracle.read(table)) == (set(), rows)


def test_young_journals_of_committed_attempts_cost_a_request_each(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their names in the listing say enough; the one request asks for the next snapshot."""
    run_inline(table)
    (kept,) = (table.folder / "lithify" / "attempts").iterdir()
    for number in range(50):
        kept.with_name(kept.name.replace("-1.committed", f"-{number + 2}.committed")).write_text(
            kept.read_text()
        )
    asked: list[str] = []
    real = Storage.read_text

    def read_text(self: Storage, path: str, *most: int) -> str | None:
        asked.append(path)
        return real(self, path, *most)

    monkeypatch.setattr(Storage, "read_text", read_text)
    recover(PaimonRemains(open_table(TableAddress(str(table.warehouse), str(table.name)))), ShiftedClock())

    assert len(kept_journals(table)) == 51
    assert [path for path in asked if "attempts" in path] == []
    assert len(asked) < 51 + 10


# Tasks that go on after the driver has their results


class LosingHeartbeats(InlineRunner):
    """The executor of every first try is given up, but goes on; the second try is the one that counts."""

    def __init__(self) -> None:
        self._given_up: list[tuple[MergeTask, Clock]] = []

    def run(self, tasks: Sequence[MergeTask], clock: Clock, progress: Progress) -> list[TaskResult]:
        self._given_up += [(task, clock) for task in tasks]
        return [replace(result, attempt=1) for result in super().run(tasks, clock, progress)]

    def go_on(self) -> None:
        for number, (task, clock) in enumerate(self._given_up, start=100):
            task.run(clock, attempt=0, attempt_id=number)


class Failing(LosingHeartbeats):
    """A task fails for good while others still write."""

    def run(self, tasks: Sequence[MergeTask], clock: Clock, progress: Progress) -> list[TaskResult]:
        super().run(tasks, clock, progress)
        raise TaskFailed("a task failed 4 times")


def test_files_that_a_zombie_writes_after_the_commit_go(oracle: Oracle, table: Table) -> None:
    rows = oracle.read(table)
    runner = LosingHeartbeats()
    run_inline(table, runner=runner)
    runner.go_on()
    assert stray_files(oracle, table) != set()

    clean_up(table, *LATER)

    assert left_behind(oracle, table) == (set(), set())
    assert oracle.read(table) == rows


def test_files_that_are_written_after_the_job_has_failed_go(oracle: Oracle, table: Table) -> None:
    runner = Failing()
    with pytest.raises(TaskFailed):
        run_inline(table, runner=runner)
    runner.go_on()
    assert stray_files(oracle, table) != set()

    clean_up(table, *LATER)

    assert left_behind(oracle, table) == (set(), set())


class OneBroken(SparkRunner):
    """A task fails in all its tries while the others wait for leave to write."""

    def __init__(self, settings: SparkSettings, action: str) -> None:
        super().__init__(settings)
        self._action = action

    def run(self, tasks: Sequence[MergeTask], clock: Clock, progress: Progress) -> list[TaskResult]:
        broken, *others = tasks
        waiting = [replace(task, storage=HeldStorage(task.storage, self._action)) for task in others]
        return super().run([replace(broken, spec=None), *waiting], clock, progress)  # type: ignore[arg-type]


@pytest.mark.spark
def test_files_that_spark_writes_after_its_job_has_failed_go(oracle: Oracle, tmp_path: Path) -> None:
    table = make_plain(oracle, tmp_path, buckets=2, commits=2)
    before = data_files(table)
    held = Held(tmp_path)
    os.mkfifo(tmp_path / "hold.written")
    # Two tries: the second is over long after the other task has begun to wait.
    settings = SparkSettings("local[2,2]", {"spark.executorEnv.PYTHONPATH": str(TESTS)})
    with OneBroken(settings, held.action) as runner:
        with pytest.raises(TaskFailed):
            run_inline(table, runner=runner)
        held.reached()
        held.release()
        assert (tmp_path / "hold.written").read_text() == "written"
    assert data_files(table) > before

    clean_up(table, *LATER)

    assert (data_files(table), journals(table)) == (before, set())


# References that are broken, odd, or on the move


def test_a_branch_whose_manifests_java_deleted_is_in_nobodys_way(oracle: Oracle, killed: Table) -> None:
    orphans = stray_files(oracle, killed)
    oracle.create_tag(killed, "t")
    oracle.create_branch(killed, "b", tag="t")
    oracle.delete_tag(killed, "t")
    oracle.compact(killed, full=True)
    oracle.compact_manifests(killed)
    expire(oracle, killed)
    with pytest.raises(OracleError):
        oracle.read(Table(killed.warehouse, "db.t$branch_b"))

    reports = clean_up(killed, *LATER)

    assert [report.uncleaned for report in reports] == [()] * len(LATER)
    assert data_files(killed).isdisjoint(orphans)
    assert journals(killed) == set()


def test_a_folder_among_the_tags_is_no_tag(oracle: Oracle, killed: Table) -> None:
    oracle.alter_table(killed, {"set_option": ["tag.create-success-file", "true"]})
    oracle.create_tag(killed, "t")
    assert (killed.folder / "tag" / "tag-success-file").is_dir()

    clean_up(killed, *LATER)

    assert left_behind(oracle, killed) == (set(), set())


def test_changelogs_that_outlive_their_snapshots_are_in_nobodys_way(oracle: Oracle, killed: Table) -> None:
    orphans = stray_files(oracle, killed)
    lifetimes = {
        "changelog-producer": "input",
        "snapshot.num-retained.min": "1",
        "snapshot.num-retained.max": "2",
        "changelog.num-retained.min": "1",
        "changelog.num-retained.max": "50",
        "changelog.time-retained": "10 d",
    }
    oracle.alter_table(killed, *({"set_option": [name, value]} for name, value in lifetimes.items()))
    for number in range(4):
        oracle.write(killed, upserts(range(9), f"c{number}"), options={"write-only": "false"})
    oracle.alter_table(killed, {"set_option": ["changelog-producer", "none"]})
    assert list((killed.folder / "changelog").glob("changelog-*")) != []

    reports = clean_up(killed, *LATER)

    assert [report.uncleaned for report in reports] == [()] * len(LATER)
    assert data_files(killed).isdisjoint(orphans)
    assert journals(killed) == set()


def test_a_snapshot_that_moves_to_a_branch_during_the_search_keeps_its_files(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The branches are listed, then the snapshot becomes one and is gone from where the search comes next."""
    base = oracle.snapshots(table)[-1]["id"]
    kill(table, "hint-written")
    rows, ours = oracle.read(table), oracle.snapshots(table)[-1]["id"]
    append(oracle, table)
    oracle.compact(table, full=True)

    def move_to_a_branch() -> None:
        oracle.create_tag(table, "t", snapshot_id=ours)
        oracle.create_branch(table, "b", tag="t")
        oracle.delete_tag(table, "t")
        oracle.rollback_to(table, snapshot_id=base)
        moved.append(ours)

    moved: list[int] = []

    def is_branches(folder: str) -> bool:
        return folder.endswith("/branch")

    step_after(monkeypatch, (Storage, "list"), move_to_a_branch, matches=is_branches)

    clean_up(table, *LATER)

    assert moved == [ours]
    assert oracle.read(Table(table.warehouse, "db.t$branch_b")) == rows


# Run ids and reports


@pytest.mark.parametrize("run", ["a/b", "../a", ".lithify-a"])
def test_a_run_id_that_makes_no_file_name_is_refused(oracle: Oracle, model: Table, run: str) -> None:
    snapshots = oracle.snapshots(model)

    with pytest.raises(InvalidOption):
        run_inline(model, run=run)

    assert oracle.snapshots(model) == snapshots
    assert list(model.folder.rglob("*.json")) == []


def refuse(monkeypatch: pytest.MonkeyPatch, method: str, suffix: str) -> None:
    """The file system refuses one operation on files whose names end so."""
    real = getattr(Storage, method)

    def refusing(self: Storage, path: str, *arguments: object) -> object:
        if path.endswith(suffix):
            raise StorageError(path, "Input/output error")
        return real(self, path, *arguments)

    monkeypatch.setattr(Storage, method, refusing)


def test_a_journal_that_cannot_be_deleted_is_named_in_the_report(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch, "delete", ".json")

    report = run_inline(table)

    assert report.status == "Compacted"
    assert {file.level for file in oracle.files(table)} == {5}
    (journal,) = journals(table)
    assert [journal in problem for problem in report.uncleaned] == [True]


def leave_a_file_of(table: Table, journal: str) -> None:
    """A data file of an attempt that nothing refers to: to know that, everything has to be read."""
    attempt = json.loads((table.folder / "lithify" / "attempts" / journal).read_text())
    folder = table.folder / attempt["units"][0]["folder"]
    (folder / f"data-{attempt['prefix']}{0xFF:012x}-9.parquet").write_bytes(b"PAR1")


def test_a_tag_that_cannot_be_read_stops_the_clean_up_and_no_compaction(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        refuse(patch, "delete", ".json")
        run_inline(table)
    append(oracle, table)
    rows, kept = oracle.read(table), journals(table)
    leave_a_file_of(table, *kept)
    broken = table.folder / "tag" / "tag-t"
    broken.parent.mkdir()
    broken.write_text("{")

    report = run_inline(table)

    assert report.status == "Compacted"
    assert oracle.read(table) == rows
    assert [broken.name in problem for problem in report.uncleaned] == [True]
    assert journals(table) == kept != set()


def test_a_journal_that_cannot_be_read_stops_no_compaction(oracle: Oracle, table: Table) -> None:
    rows = oracle.read(table)
    broken = table.folder / "lithify" / "attempts" / "older-1.json"
    broken.parent.mkdir(parents=True)
    broken.write_text("{")

    report = run_inline(table)

    assert report.status == "Compacted"
    assert oracle.read(table) == rows
    assert any(broken.name in problem for problem in report.uncleaned)
    assert journals(table) == {broken.name}
