"""Postponed rows are moved once, whoever else is at work and whenever a run is killed."""

from __future__ import annotations

import signal
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.errors import InvalidOption
from lithify.formats.protocol.address import Selection
from support.crashes import SETTLED
from support.postponed import BUCKETS, MOVED_ONLY, append_postponed, make_postponed, rows_of
from support.runs import Held, Outcome, run_inline, start
from support.tables import copy_of, expire, journals, kept_journals, stray_files

pytestmark = pytest.mark.oracle

POINTS = [
    "planned",
    "journal-written",
    "file-written",
    "tasks-done",
    "manifests-written",
    "snapshot-written",
    "hint-written",
    "leftovers-deleted",
]

Step = Callable[[Oracle, Table], object]


@pytest.fixture(scope="module")
def model(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Table:
    return make_postponed(oracle, tmp_path_factory.mktemp("model") / "warehouse")


@pytest.fixture
def table(model: Table, tmp_path: Path) -> Table:
    return copy_of(model, tmp_path / "warehouse")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("point", POINTS)
def test_a_kill_at_any_point_is_harmless(oracle: Oracle, table: Table, point: str) -> None:
    rows = rows_of(oracle, table)

    assert start(table, faults={point: "kill"}).wait().code == -signal.SIGKILL

    assert rows_of(oracle, table) == rows
    for later in (timedelta(), SETTLED, 2 * SETTLED, 3 * SETTLED):
        run_inline(table, shift=later)
        assert oracle.read(table) == rows
    assert stray_files(oracle, table) == set()
    assert journals(table) | kept_journals(table) == set()


def test_a_run_that_is_started_again_moves_nothing_twice(oracle: Oracle, table: Table) -> None:
    rows = rows_of(oracle, table)
    start(table, "--run", "run-a", faults={"snapshot-written": "kill"}).wait()

    report = run_inline(table, run="run-a")

    assert report.status == "AlreadyCommitted"
    assert oracle.read(table) == rows
    assert run_inline(table).status == "Compacted"
    assert oracle.read(table) == rows


def postpone_more(oracle: Oracle, table: Table) -> None:
    append_postponed(oracle, table, "late")


def move_all(oracle: Oracle, table: Table) -> None:
    oracle.move_postponed(table, options=MOVED_ONLY)


def write_into_a_bucket(oracle: Oracle, table: Table) -> None:
    rows = [["+I", "a", key, "late", key] for key in range(30, 60)]
    oracle.write(table, rows, options={"bucket": str(BUCKETS)})


def compact_the_buckets(oracle: Oracle, table: Table) -> None:
    oracle.compact(table, options={"bucket": str(BUCKETS)}, buckets=[*range(BUCKETS)])


def drop_a_day(oracle: Oracle, table: Table) -> None:
    oracle.drop_partition(table, {"dt": "a"})


def move_and_expire(oracle: Oracle, table: Table) -> None:
    oracle.move_postponed(table)
    expire(oracle, table)


def step_between(oracle: Oracle, table: Table, folder: Path, point: str, step: Step) -> Outcome:
    """Runs a full compaction that is held at a point while `step` is done to the table."""
    held = Held(folder)
    run = start(table, faults={point: held.action})
    held.reached()
    step(oracle, table)
    held.release()
    return run.wait()


STEPS = [
    postpone_more,
    move_all,
    write_into_a_bucket,
    compact_the_buckets,
    drop_a_day,
    move_and_expire,
]


@pytest.mark.sampled(1, each="step")
@pytest.mark.parametrize("point", ["journal-written", "tasks-done", "manifests-written"])
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_rows_are_those_that_java_alone_would_have(
    oracle: Oracle, table: Table, tmp_path: Path, point: str, step: Step
) -> None:
    twin = copy_of(table, tmp_path / "twin")
    step(oracle, twin)

    outcome = step_between(oracle, table, tmp_path, point, step)

    assert outcome.code == 0, outcome.error
    assert rows_of(oracle, table) == rows_of(oracle, twin)
    assert stray_files(oracle, table) == set()


def test_a_day_that_others_wrote_to_is_moved_behind_their_rows(
    oracle: Oracle, table: Table, tmp_path: Path
) -> None:
    outcome = step_between(oracle, table, tmp_path, "tasks-done", write_into_a_bucket)

    assert outcome.report["rounds"] == 3
    moves = [group for group in outcome.report["buckets"] if group["trigger"] == "PostponedFiles"]
    assert sorted(group["bucket"] for group in moves) == ["dt=a/bucket-postpone", "dt=b/bucket-postpone"]
    assert outcome.report["skipped"] == {}
    assert all(file.bucket >= 0 for file in oracle.files(table))


def test_a_day_whose_files_are_broken_waits_and_the_others_do_not(
    oracle: Oracle, table: Table, tmp_path: Path
) -> None:
    missing = next(file for file in oracle.files(table) if file.bucket < 0 and file.partition == {"dt": "b"})
    path = next(table.folder.rglob(missing.name))
    path.rename(tmp_path / "aside")

    report = run_inline(table)

    assert [blocked.group for blocked in report.blocked] == ["dt=b/bucket-postpone"]
    assert {group.group for group in report.groups if group.trigger == "PostponedFiles"} == {
        "dt=a/bucket-postpone"
    }
    (tmp_path / "aside").rename(path)
    rows = rows_of(oracle, table)
    assert run_inline(table).status == "Compacted"
    assert oracle.read(table) == rows


def test_a_delete_stays_while_rows_that_may_be_older_are_postponed(oracle: Oracle, tmp_path: Path) -> None:
    """The order is the user's: a postponed row may be older than a delete that is in its bucket already."""
    table = make_postponed(oracle, tmp_path / "warehouse", **{"sequence.field": "n"})
    oracle.move_postponed(table, options=MOVED_ONLY)
    oracle.write(table, [["-D", "a", 1, None, 900]])
    oracle.move_postponed(table, options=MOVED_ONLY)
    oracle.write(table, [["+I", "a", 1, "older", 800]])
    rows = rows_of(oracle, table)
    (postponed,) = (file for file in oracle.files(table) if file.bucket < 0)
    path = next(table.folder.rglob(postponed.name))
    path.rename(tmp_path / "aside")

    first = run_inline(table)
    held = {blocked.group: blocked.fingerprint for blocked in first.blocked}
    second = run_inline(table, selection=Selection(held=held))

    assert (list(held), second.held) == (["dt=a/bucket-postpone"], ("dt=a/bucket-postpone",))
    for report in (first, second):
        assert not [group.group for group in report.groups if group.group.startswith("dt=a")]
    (tmp_path / "aside").rename(path)
    run_inline(table)
    assert oracle.read(table) == rows
    assert not [row for row in rows if row[1:3] == ["a", 1]]


def test_single_buckets_are_not_compacted_apart_from_what_is_postponed(oracle: Oracle, table: Table) -> None:
    with pytest.raises(InvalidOption) as refused:
        run_inline(table, selection=Selection(buckets=frozenset({0})))
    assert refused.value.option == "--bucket"
