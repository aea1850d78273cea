"""Operators and drivers die at any moment: nothing is lost, nothing is started or committed twice."""

from __future__ import annotations

import signal
from contextlib import ExitStack
from dataclasses import replace

import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.cli.operator_process import LEASE_LOST
from lithify.resources.compaction import Reason
from support.operators.scene import compactions_of, proves, status_of
from support.operators.server import COMPACTIONS, TABLES, Object
from support.operators.stage import Stage

STAGES = {
    "planned": Reason.PLANNING,
    "tasks-done": Reason.RUNNING,
    "manifests-written": Reason.COMMITTING,
    "snapshot-written": Reason.COMMITTING,
}
"""Where a driver is held, and where its run stands then."""


@proves(
    Reason.QUEUED, Reason.SUBMITTING, Reason.PLANNING, Reason.RUNNING, Reason.COMMITTING, Reason.COMPACTED
)
def test_operator_is_killed_in_each_stage_of_a_run(oracle: Oracle, plain: Table, alone: Stage) -> None:
    alone.operator.restart()
    care = alone.care_for(alone.copied(plain))
    rows = oracle.read(care.table)
    run = alone.run(care)
    driver = alone.operator.driver(run)
    driver.freeze()
    uid = driver.uid
    queued = alone.run(care, "queued", strategy="Minor")

    def is_killed_and_restarted(reason: Reason) -> None:
        alone.stands(run, reason)
        alone.stands(queued, Reason.QUEUED)
        alone.operator.kill()
        alone.operator.restart()
        assert [found.uid for found in alone.operator.drivers()] == [uid]

    is_killed_and_restarted(Reason.SUBMITTING)
    with ExitStack() as stack:
        holds = {point: stack.enter_context(alone.holds.armed(point)) for point in STAGES}
        driver.thaw()
        for point, reason in STAGES.items():
            holds[point].reached()
            is_killed_and_restarted(reason)
            holds[point].release()

    done = alone.ended(run)
    alone.stands(run, Reason.COMPACTED)
    status = status_of(done)
    assert status.result is not None
    assert (status.attempts, status.result.recovered, len(status.attempt_history)) == (1, False, 1)
    alone.ended(queued)
    alone.stands(queued, Reason.NOTHING_TO_DO)
    assert (compactions_of(oracle, care.table), oracle.read(care.table)) == (1, rows)


@proves(Reason.BACKING_OFF, Reason.COMPACTED)
def test_a_driver_that_died_before_its_commit_is_followed_by_another(
    oracle: Oracle, plain: Table, stage: Stage
) -> None:
    care = stage.care_for(stage.copied(plain))
    with stage.holds.armed("tasks-done") as hold:
        run = stage.run(care)
        hold.reached()
        stage.operator.driver(run).kill()

    done = stage.ended(run)

    stage.stands(run, Reason.COMPACTED)
    assert (status_of(done).attempts, status_of(done).failures.infrastructure) == (2, 1)
    assert [one.reason for one in status_of(done).attempt_history] == ["DriverLost", "Compacted"]
    assert compactions_of(oracle, care.table) == 1


@proves(Reason.COMPACTED)
def test_a_driver_that_died_after_its_commit_is_not_followed(
    oracle: Oracle, plain: Table, stage: Stage
) -> None:
    care = stage.care_for(stage.copied(plain))
    with stage.holds.armed("snapshot-written") as hold:
        run = stage.run(care)
        hold.reached()
        stage.operator.driver(run).kill()

    _is_recovered(oracle, care.table, stage.ended(run))


@pytest.mark.parametrize(
    "point",
    [
        pytest.param("tasks-done", id="before the commit"),
        pytest.param("snapshot-written", id="after the commit"),
    ],
)
def test_a_run_goes_on_when_operator_and_driver_die_together(
    oracle: Oracle, plain: Table, alone: Stage, point: str
) -> None:
    alone.operator.restart()
    care = alone.care_for(alone.copied(plain))
    with alone.holds.armed(point) as hold:
        run = alone.run(care)
        hold.reached()
        alone.stands(run, STAGES[point])
        alone.operator.kill()
        alone.operator.driver(run).kill()
    alone.operator.restart()

    done = alone.ended(run)

    if point == "snapshot-written":
        _is_recovered(oracle, care.table, done)
    else:
        assert [one.reason for one in status_of(done).attempt_history] == ["DriverLost", "Compacted"]
        assert compactions_of(oracle, care.table) == 1


def _is_recovered(oracle: Oracle, table: Table, done: Object) -> None:
    """Whether a run that committed, and could not say so, is known to have done it once."""
    status = status_of(done)
    assert status.result is not None
    assert (status.attempts, status.files, status.result.recovered) == (1, "4→1", True)
    assert status.committed_snapshot_id == str(oracle.snapshots(table)[-1]["id"])
    assert compactions_of(oracle, table) == 1


@proves(Reason.COMPACTED)
def test_second_operator_waits_takes_over_and_adopts(oracle: Oracle, plain: Table, alone: Stage) -> None:
    first = alone.operator
    first.lease_seconds = 6
    second = replace(first, identity="second", log=first.log.with_name("second.log"))
    first.restart()
    second.start()
    try:
        care = alone.care_for(alone.copied(plain))
        with alone.holds.armed("tasks-done") as hold:
            run = alone.run(care)
            hold.reached()
            alone.stands(run, Reason.RUNNING)
            uid = first.driver(run).uid
            assert (first.is_running, "synced" in second.said) == (True, False)

            first.kill()
            second.until_leading()

            assert [driver.uid for driver in second.drivers()] == [uid]
            hold.release()
        assert status_of(alone.ended(run)).attempts == 1
        assert compactions_of(oracle, care.table) == 1
        assert second.stop() == 0
    finally:
        if second.is_running:
            second.kill()


def test_an_operator_that_stood_still_for_too_long_writes_nothing(plain: Table, alone: Stage) -> None:
    first = alone.operator
    first.lease_seconds = 3
    second = replace(first, identity="second", log=first.log.with_name("second.log"))
    first.restart()
    care = alone.care_for(alone.copied(plain))
    alone.ready(care)
    try:
        first.send(signal.SIGSTOP)
        second.restart()
        run = alone.run(care, dryRun=True)
        alone.ended(run)
        versions = len(alone.story.versions(COMPACTIONS, run))

        first.send(signal.SIGCONT)

        assert first.wait() == LEASE_LOST
        assert len(alone.story.versions(COMPACTIONS, run)) == versions
        assert alone.story.now(TABLES, care.lake) is not None
        second.stop()
    finally:
        if second.is_running:
            second.kill()
