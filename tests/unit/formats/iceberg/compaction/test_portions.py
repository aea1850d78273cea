"""Runs beside a writer that is too fast for large commits commit portions, and may crash between two."""

from __future__ import annotations

from multiprocessing import get_context
from pathlib import Path
from signal import SIGKILL

import pytest

from lithify.engine.attempts.clean_up import Fate
from lithify.formats.iceberg.attempts.past_runs import snapshots_of
from lithify.formats.iceberg.attempts.remains import IcebergRemains
from lithify.formats.iceberg.attempts.scope import journal_of
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.iceberg.table.snapshots import ATTEMPT, TO_COME, UNFINISHED
from support.iceberg_commits import plan
from support.iceberg_tables import NAME, Lakehouse, rows
from support.outrunning_writers import OutrunningWriter, dies, run
from support.races import steps_at

pytestmark = pytest.mark.thorough

TRIES = 4
"""Of a portion, before it is halved."""
GROUPS = 4


@pytest.fixture
def lakehouse(tmp_path: Path) -> Lakehouse:
    lakehouse = Lakehouse(tmp_path)
    table = lakehouse.table(properties={"format-version": "2"})
    for number in range(2 * GROUPS):
        table.append(rows(2 * number, 2 * number + 1))
    return lakehouse


@pytest.fixture
def writer(lakehouse: Lakehouse) -> OutrunningWriter:
    planned = plan(lakehouse.address())
    files = {row: planned.of(row)[0].path for row in range(4 * GROUPS)}
    return OutrunningWriter(lakehouse, TRIES, [*range(0, 4 * GROUPS, 4)], files=files)


def ids(lakehouse: Lakehouse) -> list[int]:
    found: list[int] = lakehouse.catalog().load_table(NAME).scan().to_arrow()["id"].to_pylist()
    return sorted(found)


def left_over(lakehouse: Lakehouse) -> set[str]:
    """Files in the data folder that no snapshot names."""
    table = lakehouse.catalog().load_table(NAME)
    named = {path.rpartition("/")[2] for path in table.inspect.all_files().to_pydict()["file_path"]}
    folder = Path(table.location().removeprefix("file://")) / "data"
    return {path.name for path in folder.rglob("*") if path.is_file()} - named


def test_a_run_commits_halves_when_a_writer_was_faster_four_times(
    lakehouse: Lakehouse, writer: OutrunningWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps_at(monkeypatch, {"prepared": writer.take})
    report = run(lakehouse, "run")

    assert (report.status, report.commit_tries, len(report.groups)) == ("Compacted", TRIES + 2, GROUPS)
    assert ids(lakehouse) == [row for row in range(4 * GROUPS) if row not in writer.deleted]
    assert report.totals["carried_rows"] == TRIES
    own = snapshots_of(open_iceberg_table(lakehouse.address()).metadata, "run")
    assert len({each.summary[ATTEMPT] for each in own}) == 1
    assert [UNFINISHED in each.summary for each in own] == [True, False]
    assert [TO_COME in each.summary for each in own] == [True, False]
    assert sum(int(each.summary.get("lithify.carried-deletes", 0)) for each in own) == TRIES
    assert left_over(lakehouse) == set()


@pytest.mark.parametrize(
    ("point", "number"),
    [("manifests-written", TRIES + 1), ("prepared", TRIES + 1), ("snapshot-written", TRIES + 1)],
)
def test_a_crash_in_a_later_portion_loses_nothing_and_leaves_nothing(
    lakehouse: Lakehouse, writer: OutrunningWriter, point: str, number: int
) -> None:
    process = get_context("spawn").Process(target=dies, args=(lakehouse, writer, point, number))
    process.start()
    process.join()
    assert process.exitcode == -SIGKILL
    left = [row for row in range(4 * GROUPS) if row % 4]
    assert ids(lakehouse) == left
    table = open_iceberg_table(lakehouse.address())
    (path,) = journal_of(table).recorded().open
    attempt = journal_of(table).read(path)
    assert attempt is not None
    is_whole = point == "snapshot-written"
    assert IcebergRemains(table).fate_of(attempt) is (Fate.COMMITTED if is_whole else Fate.HARMLESS)

    assert run(lakehouse, "run").status in ("Compacted", "NothingToDo", "AlreadyCommitted")
    assert ids(lakehouse) == left
    for hours in (3, 30, 60):
        run(lakehouse, f"later-{hours}", hours)

    assert ids(lakehouse) == left
    assert left_over(lakehouse) == set()
    assert journal_of(open_iceberg_table(lakehouse.address())).recorded().open == []
