"""Compactions that catalogs roll back in favour of writers, at any moment, as Polaris does it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lithify.clock import SystemClock
from lithify.engine.attempts.clean_up import recover
from lithify.engine.run.driver import Request, Silent, compact
from lithify.engine.run.report import Report
from lithify.engine.run.runner import InlineRunner
from lithify.engine.run.steps import Commits
from lithify.formats.iceberg.attempts.past_runs import find_run
from lithify.formats.iceberg.attempts.remains import IcebergRemains
from lithify.formats.iceberg.attempts.scope import journal_of
from lithify.formats.iceberg.observing.observer import OBSERVED
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.iceberg.table.snapshots import ROLLBACKABLE, YIELD_TO_WRITERS, is_rollbackable
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.observing import CommittedRun, ObservationRequest
from lithify.formats.protocol.strategy import Strategy
from support.cases import case
from support.iceberg_commits import commit, plan, rewritten, view_of
from support.iceberg_rest import IcebergRestServer, Reply
from support.iceberg_tables import NAME, Lakehouse, metadata_of, rows
from support.runs import ShiftedClock

pytestmark = pytest.mark.thorough

KEY = tuple(NAME.split("."))
YIELDS = {YIELD_TO_WRITERS: "true"}


@pytest.fixture(params=[2, 3], ids=["v2", "v3"])
def server(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[IcebergRestServer]:
    table = (lakehouse := Lakehouse(tmp_path / "lakehouse")).table()
    for number in range(6):
        table.append(rows(number))
    metadata = metadata_of(lakehouse.catalog().load_table(NAME))
    metadata |= {"format-version": request.param} | ({"next-row-id": 0} if request.param == 3 else {})
    with IcebergRestServer({KEY: metadata}) as running:
        yield running


@pytest.fixture
def address(server: IcebergRestServer) -> TableAddress:
    return TableAddress("lake", NAME, server.options, format="iceberg", overrides=YIELDS)


def marked(server: IcebergRestServer) -> list[int]:
    """The marked snapshots at the end of the branch, newest first."""
    found = []
    for each in reversed(server.tables[KEY]["snapshots"]):
        if not set(ROLLBACKABLE) <= set(each["summary"]):
            break
        found.append(each["snapshot-id"])
    return found


def write_over(server: IcebergRestServer) -> int:
    """A writer commits on the snapshot before the marked ones: the server removes these.

    The writer's snapshot gets the sequence number of the first one that was removed, as in Polaris.
    """
    gone = marked(server)
    return append(
        server, [each for each in server.tables[KEY]["snapshots"] if each["snapshot-id"] not in gone]
    )


def append(server: IcebergRestServer, kept: list[dict[str, Any]] | None = None) -> int:
    """A writer commits on the last of some snapshots, a minute later; the table then has only these."""
    metadata = server.tables[KEY]
    kept = metadata["snapshots"] if kept is None else kept
    parent = kept[-1]
    new = {
        **parent,
        "snapshot-id": parent["snapshot-id"] ^ 1,
        "parent-snapshot-id": parent["snapshot-id"],
        "sequence-number": parent["sequence-number"] + 1,
        "timestamp-ms": metadata["last-updated-ms"] + 60_000,
        "summary": {"operation": "append"},
    }
    if "next-row-id" in metadata:
        new |= {"first-row-id": metadata["next-row-id"], "added-rows": 0}
    server.tables[KEY] = {
        **metadata,
        "snapshots": [*kept, new],
        "refs": {"main": {"type": "branch", "snapshot-id": new["snapshot-id"]}},
        "current-snapshot-id": new["snapshot-id"],
        "last-sequence-number": new["sequence-number"],
        "last-updated-ms": new["timestamp-ms"],
    }
    return int(new["snapshot-id"])


def wait(server: IcebergRestServer) -> None:
    """Nobody does anything."""
    assert marked(server)


def go_back(server: IcebergRestServer) -> None:
    """A user goes back to the snapshot before the marked ones, which stay."""
    metadata, gone = server.tables[KEY], marked(server)
    parent = [each for each in metadata["snapshots"] if each["snapshot-id"] not in gone][-1]
    head = {"refs": {"main": {"type": "branch", "snapshot-id": parent["snapshot-id"]}}}
    later = {"last-updated-ms": metadata["last-updated-ms"] + 60_000}
    server.tables[KEY] = {**metadata, **head, **later, "current-snapshot-id": parent["snapshot-id"]}


def lag_behind(server: IcebergRestServer) -> None:
    """A replica answers with the metadata from before the marked snapshots."""
    gone = marked(server)
    go_back(server)
    kept = [each for each in server.tables[KEY]["snapshots"] if each["snapshot-id"] not in gone]
    last = {"last-sequence-number": kept[-1]["sequence-number"], "last-updated-ms": kept[-1]["timestamp-ms"]}
    server.tables[KEY] = {**server.tables[KEY], "snapshots": kept, **last}


def run(address: TableAddress, name: str = "run", **changes: Any) -> Report:
    request = Request(address, Selection(strategy=Strategy.FULL), run=name)
    observer = changes.pop("observer", None)
    return compact(replace(request, **changes), InlineRunner(), SystemClock(UTC), observer)


@pytest.mark.parametrize(
    ("overrides", "yields"),
    [case(YIELDS, True, id="asked for"), case({}, False, id="by default")],
)
def test_snapshots_carry_both_marks_if_a_run_is_to_yield(
    server: IcebergRestServer, address: TableAddress, overrides: dict[str, str], yields: bool
) -> None:
    run(replace(address, overrides=overrides))
    head = open_iceberg_table(address).head()
    assert head is not None
    assert (set(ROLLBACKABLE.items()) <= set(head.summary.items()), is_rollbackable(head)) == (yields, yields)


def test_a_snapshot_removed_before_it_is_read_back_is_lost_and_its_groups_are_planned_again(
    server: IcebergRestServer, address: TableAddress
) -> None:
    def yielded(commit: Any) -> Reply:
        reply: Reply = commit()
        write_over(server)
        return reply

    server.steps.append(yielded)

    report = run(address)

    assert (report.status, report.rounds) == ("Compacted", 2)
    assert marked(server) == [int(report.snapshot_after or 0)]
    assert len(view_of(open_iceberg_table(address)).data) == 1


def test_files_of_a_snapshot_that_was_lost_are_kept_for_clean_up(
    server: IcebergRestServer, address: TableAddress
) -> None:
    planned = plan(address)
    server.steps.append(lambda commit: (commit(), write_over(server))[0])

    change = rewritten(planned, planned.files)
    outcome = commit(planned, change, notes=ROLLBACKABLE)

    assert (outcome.snapshot, outcome.overwritten) == (None, True)
    assert Path(change.outputs[0].path.removeprefix("file://")).exists()


@pytest.mark.parametrize("removed", [case(1, id="one snapshot"), case(2, id="two, so that numbers fall")])
def test_a_known_table_goes_on_from_the_writer_that_took_its_place(
    server: IcebergRestServer, address: TableAddress, removed: int
) -> None:
    table = open_iceberg_table(address)
    for number in range(removed):
        planned = plan(address)
        commit(planned, rewritten(planned, planned.files), run=f"run-{number}", notes=ROLLBACKABLE)
    table.refresh()

    new = write_over(server)

    assert table.refresh().last_sequence == 7
    head = table.head()
    assert head is not None
    assert head.id == new


def test_a_run_that_was_removed_runs_again_under_its_id(
    server: IcebergRestServer, address: TableAddress
) -> None:
    assert run(address).status == "Compacted"
    write_over(server)
    assert find_run(open_iceberg_table(address), "run") is None
    assert run(address).status == "Compacted"
    assert len(view_of(open_iceberg_table(address)).data) == 1


def test_a_run_goes_on_from_the_new_head_when_a_step_of_it_is_removed(
    server: IcebergRestServer, address: TableAddress
) -> None:
    class Removes(Silent):
        times = 0

        def continued(self) -> None:
            if not self.times:
                self.times = 1
                write_over(server)

    bins = {**YIELDS, "max-file-group-input-files": "2"}
    report = run(
        replace(address, overrides=bins), commits=Commits(most_bytes=1), observer=(removes := Removes())
    )

    assert removes.times == 1
    assert report.commits >= 3
    assert run(address, "next").status in ("Compacted", "NothingToDo")
    view = view_of(open_iceberg_table(address))
    assert sum(view.data["record_count"].to_pylist()) == 6
    assert len({*view.data["file_path"].to_pylist()}) == len(view.data) <= 3


@pytest.mark.parametrize(
    ("overrides", "wants"),
    [case(YIELDS, True, id="of a table that yields"), case({}, False, id="of another table")],
)
def test_a_run_that_is_removed_later_is_observed_as_rolled_back(
    server: IcebergRestServer, address: TableAddress, tmp_path: Path, overrides: dict[str, str], wants: bool
) -> None:
    report = run(address)
    assert report.snapshot_before is not None
    assert report.snapshot_after is not None
    observer = OBSERVED.open_observer(tmp_path / "caches", 1 << 20, SystemClock(UTC))
    committed = (CommittedRun(report.snapshot_before, report.snapshot_after, datetime.now(UTC)),)
    request = ObservationRequest(replace(address, overrides=overrides), "orders", committed=committed)

    before = observer.observe(request)
    write_over(server)
    known = replace(
        request, known_uuid=before and before.table_uuid, known_snapshot=before and before.snapshot
    )
    after = observer.observe(known)

    assert before is not None
    assert after is not None
    assert before.rolled_back == ()
    assert after.rolled_back == ((report.snapshot_after,) if wants else ())
    assert (before.files, after.files) == (1, 6)


class TestCleanUp:
    """What becomes of the journal and the files of a run that ended as Compacted."""

    @pytest.fixture
    def files(self, address: TableAddress) -> list[Path]:
        """All files of the run."""
        run(address)
        table = open_iceberg_table(address)
        (journal,) = journal_of(table).recorded().committed
        folder = Path(table.metadata.location.removeprefix("file://"))
        found = [path for path in folder.rglob(f"*{journal.prefix}*") if "attempts" not in path.parts]
        assert len(found) >= 3, "a data file, a manifest and a manifest list"
        return found

    def clean(self, address: TableAddress, hours: float) -> tuple[int, int, int]:
        """Cleans up some hours later: the numbers of deleted files, of open journals and of kept ones."""
        table = open_iceberg_table(address)
        found = recover(IcebergRemains(table), ShiftedClock(timedelta(hours=hours)))
        assert found.problems == ()
        recorded = journal_of(table).recorded()
        return found.deleted, len(recorded.open), len(recorded.committed)

    def test_files_of_a_removed_snapshot_go_an_hour_after_it_was_found_removed(
        self, server: IcebergRestServer, address: TableAddress, files: list[Path]
    ) -> None:
        write_over(server)
        assert self.clean(address, 30) == (0, 1, 0), "somebody may be reading the snapshot"
        assert self.clean(address, 30.9) == (0, 1, 0)
        assert all(path.exists() for path in files)
        assert self.clean(address, 31.1) == (len(files), 1, 0)
        assert not any(path.exists() for path in files)
        assert self.clean(address, 32) == (0, 0, 0)
        assert sum(view_of(open_iceberg_table(address)).data["record_count"].to_pylist()) == 6

    def test_the_next_run_cleans_up(
        self, server: IcebergRestServer, address: TableAddress, files: list[Path]
    ) -> None:
        write_over(server)
        assert run(address, "next").status == "Compacted"
        assert all(path.exists() for path in files)
        later = Request(address, Selection(strategy=Strategy.FULL), run="later")
        report = compact(later, InlineRunner(), ShiftedClock(timedelta(hours=2)))
        assert report.orphans_deleted == len(files)
        assert not any(path.exists() for path in files)
        view = view_of(open_iceberg_table(address))
        assert sum(view.data["record_count"].to_pylist()) == 6
        assert all(Path(path.removeprefix("file://")).exists() for path in view.data["file_path"].to_pylist())

    @pytest.mark.parametrize(
        ("happens", "hours", "journals"),
        [
            case(wait, 2, 1, id="in its place, and may be removed yet"),
            case(wait, 25, 0, id="in its place for a day"),
            case(append, 0, 0, id="a writer has built on it"),
            case(go_back, 2, 1, id="the table went back, and still has it"),
            case(lag_behind, 2, 1, id="a replica does not have it yet"),
        ],
    )
    def test_files_of_other_snapshots_stay(
        self,
        server: IcebergRestServer,
        address: TableAddress,
        files: list[Path],
        happens: Callable[[IcebergRestServer], object],
        hours: int,
        journals: int,
    ) -> None:
        happens(server)
        assert self.clean(address, hours) == (0, 0, journals)
        assert all(path.exists() for path in files)
