"""What happens while no operator is there is told with its own times, not with those of its return."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from time import monotonic, sleep

from infrastructure.oracle.client import Oracle, Table
from lithify.controller.launching.folder import DriverFolder
from lithify.resources.compaction import Reason
from lithify.resources.names import ObjectKey
from support.operators.scene import compactions_of, status_of
from support.operators.server import PATIENCE
from support.operators.stage import Stage

DOWN = timedelta(seconds=6)


def until(is_so: Callable[[], bool]) -> None:
    """Waits for something that happens without the API server."""
    deadline = monotonic() + PATIENCE
    while not is_so():
        assert monotonic() < deadline
        sleep(0.1)


def test_a_run_that_ended_without_an_operator_took_no_longer_for_that(
    oracle: Oracle, plain: Table, alone: Stage
) -> None:
    alone.operator.restart()
    care = alone.care_for(alone.copied(plain))
    with alone.holds.armed("tasks-done") as hold:
        run = alone.run(care)
        hold.reached()
        alone.stands(run, Reason.RUNNING)
        alone.operator.kill()
        hold.release()
    folder = DriverFolder(alone.operator.state / "drivers", ObjectKey(alone.operator.namespace, run))
    until(lambda: folder.outcome_time() is not None and not folder.is_alive())
    ended = folder.outcome_time()
    assert ended is not None
    until(lambda: datetime.now(UTC) - ended > DOWN)
    alone.operator.restart()

    status = status_of(alone.ended(run))

    assert compactions_of(oracle, care.table) == 1
    assert status.completion_time is not None
    assert status.start_time is not None
    assert timedelta() <= status.completion_time - ended <= timedelta(seconds=1)
    assert status.duration == f"{int((status.completion_time - status.start_time).total_seconds())}s"
    assert status.attempt_history[-1].completion_time == status.completion_time
