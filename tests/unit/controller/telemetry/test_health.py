"""Health is progress: what stands still for too long is named, and a replica that stands by is well."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lithify.controller.telemetry.health import HealthFacts, HealthLimits, LoopLag, health, readiness
from support.cases import case

LIMITS = HealthLimits(sync=100, silence=200, queue=300, reconcile=400, lag=10)
WELL = HealthFacts(is_leader=True, is_synced=True, since=0, last_event=9_900)
NOW = 10_000.0


@pytest.mark.parametrize(
    ("facts", "problems"),
    [
        case(WELL, 0, id="all is well"),
        case(replace(WELL, last_event=None), 0, id="no events are to be expected"),
        case(replace(WELL, last_event=9_799), 1, id="the API server is silent"),
        case(replace(WELL, last_event=1, since=9_900), 0, id="silent before it began to lead"),
        case(replace(WELL, queue_seconds=300), 0, id="just in time"),
        case(replace(WELL, queue_seconds=301), 1, id="an object waits too long"),
        case(replace(WELL, reconcile_seconds=401), 1, id="a reconciliation hangs"),
        case(replace(WELL, is_synced=False), 1, id="objects cannot be listed"),
        case(replace(WELL, is_synced=False, since=9_950), 0, id="objects are being listed"),
        case(replace(WELL, lag_seconds=11), 1, id="the loop is blocked"),
        case(replace(WELL, lag_seconds=11, queue_seconds=301), 2, id="two at once"),
        case(
            HealthFacts(is_leader=False, is_synced=False, since=0, queue_seconds=999),
            0,
            id="a replica stands by",
        ),
        case(
            HealthFacts(is_leader=False, is_synced=False, since=0, lag_seconds=11),
            1,
            id="its loop is blocked",
        ),
    ],
)
def test_health_fails_with_each_problem(facts: HealthFacts, problems: int) -> None:
    found = health(facts, NOW, LIMITS)
    assert len(found.problems) == problems
    assert found.ok is (problems == 0)


@pytest.mark.parametrize(
    ("is_leader", "is_synced", "is_ready"),
    [(True, True, True), (True, False, False), (False, False, True), (False, True, True)],
)
def test_only_a_synced_leader_or_a_standby_is_ready(is_leader: bool, is_synced: bool, is_ready: bool) -> None:
    assert readiness(HealthFacts(is_leader=is_leader, is_synced=is_synced, since=0)).ok is is_ready


@pytest.mark.asyncio
async def test_the_lag_of_the_loop_is_the_largest_of_late() -> None:
    now, lags = 0.0, []
    naps = iter([0.5, 4.5, 0.5, 0.5])
    lag = LoopLag(0.5, lambda: now)

    async def sleep(_seconds: float) -> None:
        nonlocal now
        lags.append(round(lag.seconds, 2))
        now += next(naps)

    lag = LoopLag(0.5, lambda: now, sleep)
    with pytest.raises(RuntimeError):  # the naps are over
        await lag.measure()
    assert lags == [0.0, 0.0, 4.0, 3.6, 3.24]
