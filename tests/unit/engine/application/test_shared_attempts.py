"""A driver that several runs share, in this process: each has its outcome, whatever becomes of the others."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from lithify.clock import SystemClock
from lithify.contract.order import (
    Instructions,
    MaintenanceInstructions,
    read_instructions,
    write_instructions,
)
from lithify.contract.outcome import (
    MOST_BYTES,
    Outcome,
    Progress,
    read_outcome,
    read_shared_outcome,
    write_shared_outcome,
)
from lithify.controller.launching.ordering import instructions_of, shared_instructions
from lithify.engine.application.exchange import FolderExchange
from lithify.engine.application.progress import DriveObserver
from lithify.engine.application.shared import SharedAttempts
from lithify.engine.application.stopping import STOPPED, StopSignal
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.report import Report
from lithify.engine.run.runner import InlineRunner
from lithify.errors import Failure, NoExecutors
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.maintenance import MaintenanceKind
from lithify.resources.compaction import Reason
from support.launching.orders import order

pytestmark = pytest.mark.thorough

Runs = Callable[[Request, DriveObserver], Report]


@dataclass
class Told:
    """An exchange that remembers, and in which wishes can be uttered."""

    outcomes: list[Outcome] = field(default_factory=list)
    wishes: set[str] = field(default_factory=set)
    is_deaf: bool = False

    def tell(self, outcome: Outcome) -> bool:
        if not self.is_deaf:
            self.outcomes.append(outcome)
        return not self.is_deaf

    def unwanted(self) -> Collection[str]:
        return self.wishes

    @property
    def reasons(self) -> dict[str, Reason]:
        return {outcome.run: outcome.reason for outcome in self.outcomes}


@pytest.fixture
def told(orders: TableAddress, tmp_path: Path) -> Instructions:
    """Instructions for three runs, `run-0` to `run-2`, on copies of a table."""
    warehouse = tmp_path / "warehouse"
    database, name = orders.name.split(".")
    made = []
    for number in range(3):
        source = Path(orders.warehouse) / f"{database}.db" / name
        shutil.copytree(source, warehouse / f"{database}.db" / f"t{number}")
        one = order(warehouse, uid=f"run-{number}", name=f"{database}.t{number}")
        made.append(one)
    lead = instructions_of(made[0], master="local[1]", conf={}, credentials={})
    return read_instructions(write_instructions(shared_instructions(lead, made)))


def inline(request: Request, observer: DriveObserver) -> Report:
    return compact(request, InlineRunner(), SystemClock(), observer)


def execute(
    told: Instructions,
    exchange: Told,
    runs: Runs = inline,
    stop: StopSignal | None = None,
    is_lost: Callable[[], bool] = lambda: False,
    progress: list[Progress] | None = None,
) -> tuple[tuple[Outcome, ...], int]:
    tell = (progress if progress is not None else []).append
    members = SharedAttempts(told, exchange, stop or StopSignal(), tell)
    return tuple(members.execute(Path(), runs, is_lost)), members.exit_code


def test_all_are_compacted_each_with_its_own_outcome(told: Instructions) -> None:
    exchange, progress = Told(), list[Progress]()
    untold, code = execute(told, exchange, progress=progress)
    assert exchange.reasons == dict.fromkeys(("run-0", "run-1", "run-2"), Reason.COMPACTED)
    assert (untold, code) == ((), 0)
    turns = list(dict.fromkeys(one.run for one in progress))
    assert turns == ["run-0", "run-1", "run-2"]


def test_maintenance_and_compactions_share_a_driver(told: Instructions) -> None:
    maintenance = MaintenanceInstructions(kind=MaintenanceKind.EXPIRE_SNAPSHOTS)
    first, second, third = told.members or ()
    mixed = replace(told, members=(first, replace(second, maintenance=maintenance), third))
    exchange = Told()
    _, code = execute(read_instructions(write_instructions(mixed)), exchange)
    assert exchange.reasons == {
        "run-0": Reason.COMPACTED,
        "run-1": Reason.NOTHING_TO_DO,
        "run-2": Reason.COMPACTED,
    }
    assert code == 0


def test_a_table_that_is_broken_fails_alone(told: Instructions) -> None:
    for file in Path(told.table.warehouse).rglob("t1/**/data-*"):
        file.write_bytes(b"no data")
    exchange = Told()
    _, code = execute(told, exchange)
    assert exchange.reasons == {
        "run-0": Reason.COMPACTED,
        "run-1": Reason.CORRUPT_TABLE,
        "run-2": Reason.COMPACTED,
    }
    assert code == 0


def test_a_run_that_is_unwanted_is_not_begun(told: Instructions) -> None:
    exchange = Told(wishes={"run-1"})
    begun: list[str | None] = []

    def runs(request: Request, observer: DriveObserver) -> Report:
        begun.append(request.run)
        return inline(request, observer)

    execute(told, exchange, runs)
    assert begun == ["run-0", "run-2"]
    assert exchange.reasons["run-1"] is Reason.CANCELLED
    assert exchange.outcomes[0].run == "run-1", "its end is not put off to its turn"


def test_a_run_that_becomes_unwanted_ends_early_and_the_next_one_goes_on(
    told: Instructions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lithify.engine.application.shared._ASK_SECONDS", 0.0)
    exchange = Told()

    def runs(request: Request, observer: DriveObserver) -> Report:
        if request.run == "run-1":
            exchange.wishes.add("run-1")
            observer.progressed(0)
        return inline(request, observer)

    _, code = execute(told, exchange, runs)
    assert exchange.reasons == {
        "run-0": Reason.COMPACTED,
        "run-1": Reason.CANCELLED,
        "run-2": Reason.COMPACTED,
    }
    assert code == 0


def test_a_driver_that_is_told_to_end_leaves_the_rest_without_outcome(told: Instructions) -> None:
    exchange, stop = Told(), StopSignal()

    def runs(request: Request, observer: DriveObserver) -> Report:
        if request.run == "run-1":
            stop.handle()
        return inline(request, observer)

    untold, code = execute(told, exchange, runs, stop)
    assert exchange.reasons == {"run-0": Reason.COMPACTED}
    assert (untold, code) == ((), STOPPED)


def test_without_spark_the_rest_is_left_to_others(told: Instructions) -> None:
    exchange, lost = Told(), list[bool]()

    def runs(request: Request, observer: DriveObserver) -> Report:
        if request.run == "run-1":
            lost.append(True)
            raise NoExecutors(600.0)
        return inline(request, observer)

    _, code = execute(told, exchange, runs, is_lost=lambda: bool(lost))
    assert exchange.reasons == {"run-0": Reason.COMPACTED, "run-1": Reason.SCHEDULING_TIMED_OUT}
    assert code == 1


def test_what_nobody_hears_is_said_in_the_end(told: Instructions) -> None:
    untold, _ = execute(told, Told(is_deaf=True))
    assert [outcome.run for outcome in untold] == ["run-0", "run-1", "run-2"]
    assert read_shared_outcome(write_shared_outcome(untold)) == untold


@pytest.mark.parametrize("count", [1, 20, 50])
def test_last_words_fit_and_failures_are_kept_longest(count: int) -> None:
    long = Outcome(run="", attempt=1, reason=Reason.DRIVER_FAILED, failure=Failure.BUG, message="x" * 900)
    failed = [replace(long, run=f"{number:036}") for number in range(count // 10 or 1)]
    done = [
        Outcome(run=f"{number:036}", attempt=1, reason=Reason.COMPACTED, committed_snapshot_id="7")
        for number in range(100, 100 + count - len(failed))
    ]
    text = write_shared_outcome([*done, *failed])
    assert len(text.encode()) <= MOST_BYTES
    assert {outcome.run for outcome in read_shared_outcome(text)} >= {outcome.run for outcome in failed}


def test_exchange_by_files(tmp_path: Path) -> None:
    exchange = FolderExchange(tmp_path)
    outcome = Outcome(run="run-1", attempt=1, reason=Reason.COMPACTED)
    assert exchange.tell(outcome)
    (tmp_path / "run-2.stop").touch()
    assert read_outcome((tmp_path / "run-1.json").read_text()) == outcome
    assert set(exchange.unwanted()) == {"run-2"}
    assert not FolderExchange(tmp_path / "gone").tell(outcome)


def test_instructions_for_one_run_are_what_they_were() -> None:
    alone = instructions_of(order("/w"), master="local[1]", conf={}, credentials={})
    assert "members" not in write_instructions(alone)
    shared = shared_instructions(alone, [order("/w")])
    assert shared.members is not None
    assert shared.of_member(shared.members[0]) == alone
