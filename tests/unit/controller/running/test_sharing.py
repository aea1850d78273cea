"""A run that shares a driver: how it comes to one, what it sees of it, and what becomes of it without one."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lithify.contract.outcome import Outcome, Progress, Stage
from lithify.controller.driver import DriverPhase, DriverState, Member, SharedDriver, Trouble
from lithify.controller.running.facts import Action, Gathering, Lock
from lithify.errors import Failure
from lithify.resources.compaction import Reason, SharedRun
from lithify.resources.names import ObjectKey
from support.cases import case
from support.running.runs import DEADLINES, NOON, UID, Way, driver_of, outcome_of

LEAD = SharedRun(lead="items-1", lead_uid="uid-lead")
KEY = ObjectKey("sales", "items-1")
MEMBERS = tuple(
    Member(ObjectKey("sales", name), uid)
    for name, uid in (("items-1", "uid-lead"), ("orders-7", UID), ("users-2", "uid-last"))
)


def shared(
    phase: DriverPhase = DriverPhase.RUNNING,
    current: str | None = None,
    outcomes: dict[str, Reason] | None = None,
    stopped: frozenset[str] = frozenset(),
    **changes: object,
) -> SharedDriver:
    progress = Progress(stage=Stage.RUNNING, run=current) if current else None
    state = replace(driver_of(phase, progress=progress, owner_uid="uid-lead"), **changes)
    told = {uid: Outcome(run=uid, attempt=1, reason=reason) for uid, reason in (outcomes or {}).items()}
    return SharedDriver(KEY, state, MEMBERS, told, stopped)


def seen(driver: SharedDriver) -> DriverState:
    found = driver.of_member(UID)
    assert found is not None
    return found


def sharing(way: Way | None = None) -> Way:
    """A run that has begun with a shared driver that is not there yet."""
    return (way or Way()).ask(sharing=LEAD)


class TestView:
    @pytest.mark.parametrize(
        ("driver", "phase", "waits"),
        [
            case(shared(DriverPhase.STARTING), DriverPhase.STARTING, False, id="it starts"),
            case(shared(), DriverPhase.STARTING, True, id="it has not begun with anybody"),
            case(shared(current="uid-lead"), DriverPhase.STARTING, True, id="another's turn"),
            case(shared(current=UID), DriverPhase.RUNNING, False, id="its turn"),
            case(
                shared(current="uid-lead", outcomes={UID: Reason.CANCELLED}),
                DriverPhase.ENDED,
                False,
                id="given up before its turn",
            ),
            case(
                shared(current="uid-last", outcomes={UID: Reason.COMPACTED}),
                DriverPhase.ENDED,
                False,
                id="done",
            ),
            case(shared(DriverPhase.ENDED, "uid-lead"), DriverPhase.ENDED, True, id="died before its turn"),
            case(shared(DriverPhase.ENDED, UID), DriverPhase.ENDED, False, id="died in its turn"),
            case(shared(DriverPhase.ENDED, "uid-last"), DriverPhase.ENDED, False, id="died after its turn"),
            case(
                shared(DriverPhase.ENDED, "uid-lead", {"uid-last": Reason.CANCELLED}),
                DriverPhase.ENDED,
                True,
                id="a later one that was given up says nothing of its turn",
            ),
        ],
    )
    def test_phase_of_a_shared_run_follows_its_driver(
        self, driver: SharedDriver, phase: DriverPhase, waits: bool
    ) -> None:
        found = seen(driver)
        assert (found.phase, found.waits, found.owner_uid) == (phase, waits, UID)
        assert found.released == (phase is DriverPhase.ENDED)

    def test_nobody_sees_what_is_another_s(self) -> None:
        driver = shared(current="uid-lead", stopped=frozenset({"uid-last"}))
        assert seen(driver).progress is None
        assert not seen(driver).terminating
        assert driver.of_member("stranger") is None

    def test_trouble_of_the_driver_is_none_of_a_run_that_is_done(self) -> None:
        died = shared(
            DriverPhase.ENDED,
            outcomes={UID: Reason.COMPACTED},
            trouble=Trouble.OUT_OF_MEMORY,
            message="killed",
            exit_code=137,
        )
        assert (seen(died).trouble, seen(died).message, seen(died).exit_code) == (None, "", 0)


class TestBegin:
    def test_waits_for_others_with_the_lock(self) -> None:
        until = NOON + timedelta(seconds=20)
        way = Way().ask(sharing=Gathering("Waiting for others.", until))
        assert (way.reason, way.last.actions) == (Reason.QUEUED, ())
        assert way.last.wake == until

    def test_status_names_the_driver_before_it_is_started(self) -> None:
        way = sharing()
        assert (way.reason, way.run.status.shared_run) == (Reason.SUBMITTING, LEAD)
        assert Action.START_DRIVER in way.last.actions

    def test_a_run_alone_names_none(self) -> None:
        assert Way().ask().run.status.shared_run is None

    def test_waits_for_its_turn_as_long_as_in_a_queue(self) -> None:
        waiting = seen(shared(current="uid-lead"))
        way = sharing().ask(driver=waiting)
        assert (way.reason, way.last.actions) == (Reason.SUBMITTING, ())
        way.ask(after=DEADLINES.scheduling_seconds + 1, driver=waiting)
        assert (way.reason, way.last.actions) == (Reason.SUBMITTING, ())
        way.ask(after=DEADLINES.queued_seconds, driver=waiting)
        assert way.last.actions == (Action.STOP_DRIVER,)


class TestEnd:
    def test_an_outcome_ends_it_whatever_becomes_of_the_driver(self) -> None:
        way = sharing().ask(driver=seen(shared(current=UID)))
        assert way.reason is Reason.RUNNING
        way.ask(driver=seen(shared(current="uid-last", outcomes={UID: Reason.COMPACTED})))
        assert (way.reason, way.last.actions) == (Reason.COMPACTED, (Action.DROP_LOCK,))
        assert way.run.status.shared_run == LEAD

    def test_a_driver_that_died_before_its_turn_is_no_failure_of_it(self) -> None:
        way = sharing().ask(driver=seen(shared(current="uid-lead")))
        way.ask(driver=seen(shared(DriverPhase.ENDED, "uid-lead", trouble=Trouble.OUT_OF_MEMORY)))
        status = way.run.status
        assert (way.reason, status.shared_run, status.failures.out_of_memory) == (Reason.QUEUED, None, 0)
        assert [one.reason for one in status.attempt_history] == ["DriverLost"]
        way.ask(driver=None, sharing=None)
        assert (way.reason, way.run.status.attempts) == (Reason.SUBMITTING, 2)

    def test_a_driver_that_died_in_its_turn_is_one(self) -> None:
        way = sharing().ask(driver=seen(shared(current=UID)))
        died = seen(shared(DriverPhase.ENDED, UID, trouble=Trouble.OUT_OF_MEMORY))
        way.ask(driver=died).ask(driver=died, found=None)
        assert (way.reason, way.run.status.failures.out_of_memory) == (Reason.BACKING_OFF, 1)
        assert way.run.status.shared_run is None

    @pytest.mark.parametrize("lock", [Lock.OURS, Lock.FREE])
    def test_a_driver_that_never_comes_leaves_it_to_start_alone(self, lock: Lock) -> None:
        way = sharing().ask(stranded="There is none.", lock=lock)
        assert (way.reason, way.run.status.shared_run) == (Reason.QUEUED, None)
        assert Action.START_DRIVER not in way.last.actions

    def test_a_run_that_was_cancelled_before_its_turn_ends(self) -> None:
        way = sharing().ask(driver=seen(shared(current="uid-lead")))
        way.edit(cancel=True).ask(driver=seen(shared(current="uid-lead")))
        assert way.last.actions == (Action.STOP_DRIVER,)
        given_up = shared(current="uid-lead", outcomes={UID: Reason.CANCELLED})
        way.ask(driver=seen(given_up)).ask(driver=seen(given_up), found=None)
        assert way.reason is Reason.CANCELLED

    def test_a_failure_of_its_own_is_tried_again_alone(self) -> None:
        way = sharing().ask(driver=seen(shared(current=UID)))
        failed = outcome_of(Reason.STORAGE_UNAVAILABLE, Failure.INFRASTRUCTURE)
        driver = replace(shared(current="uid-last"), outcomes={UID: failed})
        way.ask(driver=seen(driver))
        assert (way.reason, way.run.status.shared_run) == (Reason.BACKING_OFF, None)
