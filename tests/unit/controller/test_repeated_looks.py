"""A second look at a world that has not changed writes nothing, whatever time it is by then."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.contract.outcome import Stage
from lithify.controller.deciding.conditions import table_status
from lithify.controller.deciding.decide import decide
from lithify.controller.deciding.decision_input import DecisionInput
from lithify.controller.deciding.problems import problem_of
from lithify.controller.deciding.references import catalog_status
from lithify.controller.driver import DriverPhase, Trouble
from lithify.controller.launching.pod_state import state_of
from lithify.controller.observing.pool import _silence_text
from lithify.controller.running.facts import Lock
from lithify.errors import (
    CatalogUnavailable,
    LithifyError,
    NotAllowed,
    OutOfMemory,
    StorageUnavailable,
    TimedOut,
)
from lithify.resources.catalog import Catalog, CatalogStatus
from lithify.resources.compaction import Reason
from lithify.resources.modelling import plain, read
from lithify.resources.table import LakeTableStatus
from support.cases import case
from support.deciding.situations import BRIEFLY, NOON, moments, situation, situations
from support.running.runs import PLAN, Way, driver_of, progress_of, under_way, without_executors

LATER = [timedelta(seconds=1), timedelta(minutes=7), timedelta(hours=3), timedelta(days=40)]
TWICE: list[tuple[LithifyError, LithifyError]] = [
    (
        CatalogUnavailable("http://c", "no answer (<HTTPConnection object at 0x7f5aa6b01110>: refused)"),
        CatalogUnavailable("http://c", "no answer (<HTTPConnection object at 0x7f0123456789>: refused)"),
    ),
    (
        NotAllowed("http://c", "Token is expired requestId:8f14e45f-ceea"),
        NotAllowed("http://c", "Token is expired requestId:c9f0f895-fb98"),
    ),
    (
        CatalogUnavailable("http://c", "overloaded (x-request-id: 1a2b, took 31.25 s)"),
        CatalogUnavailable("http://c", "overloaded (x-request-id: 9z8y, took 29 s)"),
    ),
    (
        StorageUnavailable("s3://b", "read tcp 10.0.0.1:41234->10.0.0.2:9000: reset"),
        StorageUnavailable("s3://b", "read tcp 10.0.0.1:55555->10.0.0.2:9000: reset"),
    ),
    (OutOfMemory("/t/f", "9 GB"), OutOfMemory("/t/f", "9 GB")),
    (TimedOut("looking at db.t", 90), TimedOut("looking at db.t", 90)),
]
"""The same failure, met twice."""


def written(asked: DecisionInput, now: datetime) -> LakeTableStatus:
    """The status as it is read back once it was written."""
    return read(LakeTableStatus, plain(table_status(asked, decide(asked, now), now)))


@st.composite
def looked_at(draw: st.DrawFn) -> tuple[DecisionInput, datetime]:
    now = draw(moments)
    return draw(situations(now)), now


class TestTables:
    @BRIEFLY
    @given(looked_at(), st.floats(0, 1), st.integers(1, 10**6))
    def test_a_later_observation_of_the_same_writes_nothing(
        self, looked: tuple[DecisionInput, datetime], share: float, seconds: int
    ) -> None:
        asked, now = looked
        # What a first look changes by itself is seen by the second one.
        for _ in range(3):
            asked = replace(asked, table=replace(asked.table, status=written(asked, now)))
        wake = decide(asked, now).wake
        later = now + timedelta(seconds=seconds)
        if wake is not None:
            later = min(now + (wake - now) * share, wake - timedelta(microseconds=1))
        assert written(asked, later) == asked.table.status

    @pytest.mark.parametrize(("first", "second"), TWICE)
    def test_the_same_failure_again_writes_nothing(self, first: LithifyError, second: LithifyError) -> None:
        assert problem_of(first) == problem_of(second)
        asked = situation(problem=problem_of(first))
        status = written(asked, NOON)
        again = replace(asked, table=replace(asked.table, status=status), problem=problem_of(second))
        for wait in LATER:
            assert written(again, NOON + wait) == status


@pytest.mark.parametrize(("first", "second"), TWICE)
def test_the_status_of_a_catalog_stays_while_its_problem_does(
    first: LithifyError, second: LithifyError
) -> None:
    body = {"metadata": {"name": "lake", "namespace": "team"}, "spec": {"warehouse": "/w"}}
    one = read(Catalog, body)
    once = catalog_status(one, [problem_of(first)], 4, NOON)
    again = replace(one, status=read(CatalogStatus, plain(once)))
    for wait in LATER:
        assert catalog_status(again, [problem_of(second)], 4, NOON + wait) == once


@pytest.mark.parametrize(
    ("first", "second"),
    [
        case(TimedOut("looking at db.t1", 90), TimedOut("looking at db.t2", 90), id="a look"),
        case(StorageUnavailable("s3://b/t1", "x"), StorageUnavailable("s3://b/t2", "x"), id="a store"),
        case(CatalogUnavailable("http://c/t1", "x"), CatalogUnavailable("http://c/t2", "x"), id="a server"),
    ],
)
def test_a_silent_catalog_is_told_of_alike_whichever_table_it_was_asked_about(
    first: LithifyError, second: LithifyError
) -> None:
    assert _silence_text(first) == _silence_text(second)


RUNS = {
    "queued": lambda: Way().ask(lock=Lock.OTHERS),
    "held by a limit": lambda: Way().ask(admitted=False, hold="the limit of 4 active runs is reached"),
    "suspended": lambda: Way(suspend=True).ask(),
    "starting": lambda: under_way().ask(driver=driver_of(DriverPhase.STARTING)),
    "no room": lambda: under_way().ask(
        driver=driver_of(DriverPhase.STARTING, trouble=Trouble.UNSCHEDULABLE, message="0/1 nodes: full")
    ),
    "planning": lambda: under_way().ask(driver=driver_of(progress=progress_of(Stage.PLANNING))),
    "no executor": lambda: under_way().ask(driver=without_executors("0/1 nodes: full")),
    "running": lambda: under_way().ask(driver=driver_of(progress=progress_of(Stage.RUNNING, 1, 2, PLAN))),
    "out of reach": lambda: under_way().ask(driver=driver_of(trouble=Trouble.UNREACHABLE)),
}


@pytest.mark.parametrize("name", RUNS)
def test_the_status_of_a_run_stays_while_nothing_happens(name: str) -> None:
    way = RUNS[name]()
    for _ in range(3):
        way.ask()
    rested = way.run
    for _ in range(5):
        wake = way.last.wake
        assert wake is not None or way.reason in {Reason.SUSPENDED}
        seconds = 3600.0 if wake is None else min(9.0, (wake - way.now).total_seconds() - 1)
        assert way.ask(after=seconds).run == rested, name


def image_pod(reason: str, message: str) -> dict[str, object]:
    waiting = {"name": "lithify", "state": {"waiting": {"reason": reason, "message": message}}}
    return {"metadata": {"name": "d"}, "status": {"phase": "Pending", "containerStatuses": [waiting]}}


def test_an_image_that_is_pulled_in_vain_again_and_again() -> None:
    problem = "ErrImagePull: dial tcp: lookup registry on 10.96.0.10:53: read udp 10.1.0.7:{}->10.96.0.10:53"
    pulled = state_of(image_pod("ErrImagePull", problem.removeprefix("ErrImagePull: ").format(41234)), NOON)
    waits = state_of(
        image_pod("ImagePullBackOff", f'Back-off pulling image "registry/x": {problem.format(50001)}'), NOON
    )
    assert pulled.trouble is waits.trouble is Trouble.IMAGE
    assert pulled.message == waits.message
    assert "lookup registry" in pulled.message
