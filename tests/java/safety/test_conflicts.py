"""Real Java commits between our steps: no row is lost or doubled, only buckets in conflict are done again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.errors import CommitConflict
from support.races import step_at
from support.runs import Held, Outcome, clean_up, run_inline, start
from support.tables import copy_of, expire, make_plain, put_over, stray_files, upserts

pytestmark = pytest.mark.oracle

Step = Callable[[Oracle, Table], object]


def append(oracle: Oracle, table: Table) -> object:
    return oracle.write(table, [*upserts(range(30, 45), "late"), ["-D", 50, None, None]])


def compact_all(oracle: Oracle, table: Table) -> object:
    return oracle.compact(table, full=True)


def compact_one_bucket(oracle: Oracle, table: Table) -> object:
    return oracle.compact(table, full=True, buckets=[2])


def compact_and_expire(oracle: Oracle, table: Table) -> object:
    oracle.compact(table, full=True, buckets=[1])
    return expire(oracle, table)


def change_a_harmless_option(oracle: Oracle, table: Table) -> object:
    return oracle.alter_table(table, {"set_option": ["snapshot.time-retained", "9 h"]})


def add_a_column(oracle: Oracle, table: Table) -> object:
    return oracle.alter_table(table, {"add_column": {"name": "extra", "type": "INT"}})


def step_between(oracle: Oracle, table: Table, folder: Path, point: str, step: Step) -> Outcome:
    """Runs a full compaction that is held at a point while `step` is done to the table."""
    held = Held(folder)
    run = start(table, faults={point: held.action})
    held.reached()
    step(oracle, table)
    held.release()
    return run.wait()


@pytest.fixture
def table(oracle: Oracle, tmp_path: Path) -> Table:
    return make_plain(oracle, tmp_path / "warehouse", buckets=5, keys=90)


@pytest.fixture
def twin(table: Table, tmp_path: Path) -> Table:
    """The same table once more, to have Java alone do the same to it."""
    shutil.copytree(tmp_path / "warehouse", tmp_path / "twin")
    return Table(tmp_path / "twin", table.name)


@pytest.mark.sampled(1, each="step")
@pytest.mark.parametrize("point", ["tasks-done", "manifests-written"])
@pytest.mark.parametrize(
    "step",
    [append, compact_all, compact_one_bucket, compact_and_expire, add_a_column],
    ids=lambda s: s.__name__,
)
def test_rows_are_those_that_java_alone_would_have(
    oracle: Oracle, table: Table, twin: Table, tmp_path: Path, point: str, step: Step
) -> None:
    step(oracle, twin)

    outcome = step_between(oracle, table, tmp_path, point, step)

    assert outcome.code == 0, outcome.error
    assert oracle.read(table) == oracle.read(twin)
    assert stray_files(oracle, table) == set()


def test_an_append_is_no_conflict_and_its_file_stays(oracle: Oracle, table: Table, tmp_path: Path) -> None:
    outcome = step_between(oracle, table, tmp_path, "tasks-done", append)

    assert (outcome.report["rounds"], outcome.report["skipped"]) == (1, {})
    assert sorted({file.level for file in oracle.files(table)}) == [0, 5]


def test_a_lost_race_is_rebuilt_on_the_newer_snapshot(oracle: Oracle, table: Table, tmp_path: Path) -> None:
    outcome = step_between(oracle, table, tmp_path, "manifests-written", append)

    assert outcome.report["commit_tries"] == 2
    assert [snapshot["commitKind"] for snapshot in oracle.snapshots(table)[-2:]] == ["APPEND", "COMPACT"]


def test_one_bucket_of_five_in_conflict_costs_only_that_one(
    oracle: Oracle, table: Table, tmp_path: Path
) -> None:
    outcome = step_between(oracle, table, tmp_path, "tasks-done", compact_one_bucket)

    assert outcome.report["rounds"] == 2
    assert len(outcome.report["buckets"]) == 4
    assert outcome.report["skipped"] == {}
    assert {file.level for file in oracle.files(table)} == {5}


def test_inputs_that_were_expired_while_reading_are_a_conflict(
    oracle: Oracle, table: Table, tmp_path: Path
) -> None:
    outcome = step_between(oracle, table, tmp_path, "journal-written", compact_and_expire)

    assert outcome.code == 0, outcome.error
    assert outcome.report["rounds"] == 2
    assert len(outcome.report["buckets"]) == 4


def test_a_harmless_option_may_change_meanwhile(oracle: Oracle, table: Table, tmp_path: Path) -> None:
    outcome = step_between(oracle, table, tmp_path, "tasks-done", change_a_harmless_option)

    assert outcome.report["rounds"] == 1
    assert oracle.snapshots(table)[-1]["schemaId"] == 1


def test_a_new_column_sends_every_bucket_round_again(oracle: Oracle, table: Table, tmp_path: Path) -> None:
    outcome = step_between(oracle, table, tmp_path, "tasks-done", add_a_column)

    assert outcome.report["rounds"] == 2
    assert {file.schema_id for file in oracle.files(table)} == {1}


def test_everything_changed_in_every_round_is_given_up(oracle: Oracle, table: Table, tmp_path: Path) -> None:
    held = Held(tmp_path)
    run = start(table, faults={"tasks-done": held.action})
    for number in range(3):
        held.reached()
        oracle.compact(table, full=True)
        oracle.write(table, upserts(range(100), f"again{number}"))
        held.release(for_good=number == 2)

    outcome = run.wait()

    assert outcome.code == CommitConflict.exit_code
    assert CommitConflict.__name__ in outcome.error
    assert stray_files(oracle, table) == set()


def test_two_runs_of_ours_at_once(oracle: Oracle, table: Table, tmp_path: Path) -> None:
    rows = oracle.read(table)

    outcome = step_between(oracle, table, tmp_path, "tasks-done", lambda _, table: run_inline(table))

    assert outcome.code == 0, outcome.error
    assert oracle.read(table) == rows
    assert len([s for s in oracle.snapshots(table) if s["commitKind"] == "COMPACT"]) == 1
    assert stray_files(oracle, table) == set()


def test_a_snapshot_that_a_java_writer_renames_over_ours(
    oracle: Oracle, table: Table, twin: Table, tmp_path: Path
) -> None:
    """Java checks and then renames: one that had checked just before us wins, so we build on top of it."""
    append(oracle, twin)
    rows = oracle.read(twin)

    outcome = step_between(
        oracle, table, tmp_path, "snapshot-written", lambda _, table: put_over(twin, table)
    )

    assert outcome.code == 0, outcome.error
    assert outcome.report["commit_tries"] == 2
    assert [snapshot["commitKind"] for snapshot in oracle.snapshots(table)[-2:]] == ["APPEND", "COMPACT"]
    assert oracle.read(table) == rows
    clean_up(table, 0.5)
    assert stray_files(oracle, table) != set()
    clean_up(table, 1.1)
    assert stray_files(oracle, table) == set()
    assert oracle.read(table) == rows


def test_files_of_a_snapshot_that_was_renamed_over_wait_for_others_that_build_on_it(
    oracle: Oracle, table: Table, twin: Table, tmp_path: Path
) -> None:
    """Somebody has read our snapshot before the rename, and commits on top of it after our run is over."""
    append(oracle, twin)
    reader = Table(tmp_path / "reader", table.name)
    read: set[Path] = set()

    def read_and_put_over() -> None:
        copy_of(table, reader.warehouse)
        read.update(reader.folder.rglob("*"))
        put_over(twin, table)

    with pytest.MonkeyPatch.context() as patch:
        step_at(patch, "snapshot-written", read_and_put_over)
        with pytest.raises(CommitConflict):
            run_inline(table, max_rounds=1)
    clean_up(table, 0.5)
    oracle.write(reader, upserts(range(5), "built on ours"))
    rows = oracle.read(reader)
    for path in read:
        if path.is_file() and path.name != "LATEST":
            path.unlink()
    put_over(reader, table)

    assert oracle.read(table) == rows


def test_files_that_others_built_on_before_a_rename_over_ours_are_kept(
    oracle: Oracle, table: Table, twin: Table, tmp_path: Path
) -> None:
    """Our snapshot is renamed over, but the next one was made from it: its data files are in use."""
    rows: list[object] = []

    def build_on_ours_and_put_over(oracle: Oracle, table: Table) -> None:
        append(oracle, table)
        rows.append(oracle.read(table))
        put_over(twin, table)

    append(oracle, twin)

    outcome = step_between(oracle, table, tmp_path, "snapshot-written", build_on_ours_and_put_over)

    assert outcome.code == 0, outcome.error
    assert [oracle.read(table)] == rows


def test_a_snapshot_that_is_expired_right_after_its_commit(
    oracle: Oracle, table: Table, twin: Table, tmp_path: Path
) -> None:
    """It was in place, so its files are the table's, whether or not it can still be seen."""

    def append_and_expire(oracle: Oracle, table: Table) -> object:
        append(oracle, table)
        return expire(oracle, table)

    append(oracle, twin)

    outcome = step_between(oracle, table, tmp_path, "snapshot-written", append_and_expire)

    assert outcome.code == 0, outcome.error
    assert (outcome.report["status"], outcome.report["commit_tries"]) == ("Compacted", 1)
    assert oracle.read(table) == oracle.read(twin)
    assert stray_files(oracle, table) == set()


def test_condemned_attempt_does_not_commit(oracle: Oracle, table: Table, tmp_path: Path) -> None:
    def clean_up_two_days_later(oracle: Oracle, table: Table) -> object:
        return clean_up(table, 48)

    snapshots = oracle.snapshots(table)

    outcome = step_between(oracle, table, tmp_path, "tasks-done", clean_up_two_days_later)

    assert outcome.code == 1
    assert "AttemptFenced" in outcome.error
    assert oracle.snapshots(table) == snapshots
