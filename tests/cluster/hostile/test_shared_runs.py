"""Several tables in one driver: what goes wrong with one is its own, and each outlives the driver."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cluster.hostile.neighbours import journal, text_of, unit
from infrastructure.oracle.client import Oracle, Table
from lithify.controller.launching.folder import DriverFolder
from lithify.resources.compaction import Reason
from lithify.resources.names import LABEL_TABLE
from support.operators.objects import catalog, compaction, lake_table, policy
from support.operators.scene import Care, message, status_of
from support.operators.server import COMPACTIONS, LEASES, Object
from support.operators.stage import Stage

DUE = {"triggers": {"primaryKey": {"sortedRuns": 2}}}
ALL = 4


@dataclass(frozen=True, slots=True)
class Lake:
    """Tables of one Catalog and policy that are due at the same time.

    Attributes:
        stage: where they are.
        cares: the tables, with what puts them under care.
    """

    stage: Stage
    cares: tuple[Care, ...]

    def runs(self) -> list[str]:
        """The names of the tables' first runs."""
        return [self.stage.first_run(care) for care in self.cares]

    def together(self, runs: list[str]) -> list[Object]:
        """The runs once all of them share a driver, in the order of their turns."""

        def shares(run: Object) -> bool:
            return status_of(run).shared_run is not None

        found = [self.stage.story.until(COMPACTIONS, run, shares) for run in runs]
        leads = {shared.lead for run in found if (shared := status_of(run).shared_run) is not None}
        assert len(leads) == 1, f"they do not share one driver: {leads}"
        rest = sorted(name for name in runs if name not in leads)
        return [next(run for run in found if run["metadata"]["name"] == name) for name in (*leads, *rest)]

    def folders(self) -> list[DriverFolder]:
        """The folders of all drivers that there have been."""
        names = {care.lake for care in self.cares}
        found = DriverFolder.all(self.stage.operator.state / "drivers")
        return [folder for folder in found if any(folder.key.name.startswith(name) for name in names)]


@pytest.fixture
def lake(plain: Table, alone: Stage) -> Iterator[Lake]:
    """Copies of a table, applied at once; a driver waits half a minute at most for all to come."""
    alone.operator.restart()
    yield _lake(alone, plain)
    alone.clear()


def _lake(stage: Stage, model: Table) -> Lake:
    warehouse = stage.folder / "lake"
    tables = [_copied(model, warehouse, f"t{number}") for number in range(ALL)]
    shared = {"maxTables": ALL, "waitSeconds": 60}
    objects = [catalog("lake", warehouse), policy("small", **DUE, sharedRuns=shared)]
    cares = []
    for number, table in enumerate(tables):
        name = f"t{number}"
        objects.append(lake_table(name, catalog="lake", policy="small", identifier=table.name))
        cares.append(Care(table, name, "lake", "small"))
    stage.kubectl.apply(*objects)
    return Lake(stage, tuple(cares))


def _copied(model: Table, warehouse: Path, name: str) -> Table:
    database, _ = model.name.split(".")
    table = Table(warehouse, f"{database}.{name}")
    shutil.copytree(model.folder, warehouse / f"{database}.db" / name)
    return table


def _break(table: Table) -> None:
    """Makes all data files of a table unreadable; looks at it do not notice."""
    for file in table.folder.rglob("data-*"):
        file.write_bytes(b"no data" * 100)


def test_failure_cancellation_and_restart_concern_nobody_else(oracle: Oracle, lake: Lake) -> None:
    stage = lake.stage
    rows = [oracle.read(care.table) for care in lake.cares]
    with stage.holds.armed("tasks-done") as hold:
        runs = [run["metadata"]["name"] for run in lake.together(lake.runs())]
        first, broken, wanted, cancelled = runs
        tables = {name: care for care in lake.cares for name in runs if name.startswith(f"{care.lake}-")}
        hold.reached()
        _break(tables[broken].table)
        stage.stands(first, Reason.RUNNING)
        stage.stands(wanted, Reason.SUBMITTING, "before this one")
        stage.operator.kill()
        stage.operator.restart()
        stage.server.patch(COMPACTIONS, cancelled, {"spec": {"cancel": True}})
        stage.story.until(
            COMPACTIONS, cancelled, lambda run: "Stopping" in message(run) or "Cancelled" in message(run)
        )
        hold.release()

    ends = {name: stage.ended(name) for name in (first, broken, wanted, cancelled)}

    assert [status_of(ends[name]).attempts for name in ends] == [1, 1, 1, 1]
    stage.stands(first, Reason.COMPACTED)
    stage.stands(wanted, Reason.COMPACTED)
    stage.stands(broken, Reason.CORRUPT_TABLE)
    stage.stands(cancelled, Reason.CANCELLED)
    assert status_of(ends[broken]).failures.user == 1
    assert [folder.key.name.endswith("+shared") for folder in lake.folders()] == [True]
    assert stage.story.wait(lambda: all(_is_let_go(folder) for folder in lake.folders()), 60)
    assert stage.story.wait(lambda: not _locks_of(stage, ends), 60)
    for care, before in zip(lake.cares, rows, strict=True):
        if care is not tables[broken]:
            assert oracle.read(care.table) == before


def test_a_driver_that_dies_leaves_finished_runs_finished_and_the_others_run_alone(
    oracle: Oracle, lake: Lake
) -> None:
    stage = lake.stage
    rows = [oracle.read(care.table) for care in lake.cares]
    with stage.holds.armed("tasks-done") as hold:
        done, killed, *others = (run["metadata"]["name"] for run in lake.together(lake.runs()))
        hold.reached()
        hold.release(for_good=False)
        stage.stands(done, Reason.COMPACTED)
        hold.reached()
        stage.stands(killed, Reason.RUNNING)
        stage.operator.drivers()[0].kill()

    ends = {name: status_of(stage.ended(name)) for name in (done, killed, *others)}

    for name in ends:
        stage.stands(name, Reason.COMPACTED)
    assert ends[done].attempts == 1
    assert (ends[killed].attempts, ends[killed].failures.infrastructure) == (2, 1)
    for name in others:
        assert (ends[name].attempts, ends[name].failures.infrastructure) == (2, 0)
        assert [one.reason for one in ends[name].attempt_history] == ["DriverLost", "Compacted"]
    names = sorted(folder.key.name for folder in lake.folders())
    assert names == sorted([f"{done}+shared", killed, *others])
    assert [oracle.read(care.table) for care in lake.cares] == rows


def _pipes(table: Table) -> None:
    """Puts a named pipe in the place of each data file: a process that opens one waits for ever."""
    for file in table.folder.rglob("data-*"):
        file.unlink()
        os.mkfifo(file)


def _links(table: Table, other: Table) -> None:
    """Leads each data file to one of another table, and has a journal claim that table's files."""
    files = sorted(other.folder.rglob("data-*"))
    for file, target in zip(sorted(table.folder.rglob("data-*")), files, strict=False):
        file.unlink()
        file.symlink_to(target)
    attempts = table.folder / "lithify" / "attempts"
    attempts.mkdir(parents=True, exist_ok=True)
    prefix = files[0].name.removeprefix("data-")[:24]
    claim = journal(prefix, units=unit(folder=f"../{other.folder.name}/bucket-0"))
    (attempts / "x-1.json").write_text(text_of(claim))


def test_hostile_tables_of_a_shared_run_harm_no_other_table_of_it(oracle: Oracle, lake: Lake) -> None:
    """Real drivers. The tables turn hostile once the driver has them all, and works on the first."""
    stage = lake.stage
    rows = {care.lake: oracle.read(care.table) for care in lake.cares}
    with stage.holds.armed("tasks-done") as hold:
        first, pipes, links, last = (run["metadata"]["name"] for run in lake.together(lake.runs()))
        cares = {stage.first_run(care): care for care in lake.cares}
        hold.reached()
        _pipes(cares[pipes].table)
        _links(cares[links].table, cares[last].table)
        hold.release()

    ends = {name: status_of(stage.ended(name)) for name in (first, pipes, links, last)}

    stage.stands(first, Reason.COMPACTED)
    stage.stands(last, Reason.COMPACTED)
    stage.stands(pipes, Reason.CORRUPT_TABLE)
    stage.stands(links, Reason.CORRUPT_TABLE)
    assert [ends[name].attempts for name in ends] == [1, 1, 1, 1]
    assert [folder.key.name for folder in lake.folders()] == [f"{first}+shared"]
    for name in (first, last):
        result = ends[name].result
        assert result is not None
        assert 0 < result.task_seconds < result.core_seconds, "a small table's run costs something"
        assert oracle.read(cares[name].table) == rows[cares[name].lake]


def test_a_persons_run_does_not_share_whatever_its_author_writes(lake: Lake) -> None:
    """A Full run with the label, annotation and owner of one of the operator's, which claims one byte."""
    stage, runs = lake.stage, lake.runs()
    claimed = compaction("claims", lake.cares[0].lake, strategy="Full")
    claimed["metadata"] |= {
        "labels": {LABEL_TABLE: lake.cares[0].lake},
        "annotations": {"lithify.dev/shared-run-bytes": "1"},
    }
    claimed["status"] = {"automatic": {"sharedBytes": 1}}
    stage.kubectl.apply(claimed)
    lake.together(runs)

    assert stage.ended("claims")["status"]["attempts"] == 1

    versions = stage.story.versions(COMPACTIONS, "claims")
    assert not any("sharedRun" in one.get("status", {}) for one in versions)
    assert not any("automatic" in one.get("status", {}) for one in versions)


def _is_let_go(folder: DriverFolder) -> bool:
    record = folder.record()
    return record is None or (record.released and not folder.is_alive())


def _locks_of(stage: Stage, runs: Iterable[str]) -> list[Object]:
    """The locks that these runs still have. Those of later runs of the same tables do not count."""
    names = {f"/{name}/" for name in runs}
    locks = [
        lease for lease in stage.server.list(LEASES) if lease["metadata"]["name"].startswith("lithify-table")
    ]
    return [lease for lease in locks if any(name in lease["spec"]["holderIdentity"] for name in names)]
