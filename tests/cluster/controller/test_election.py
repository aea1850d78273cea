"""Election over a real Lease: one leader at a time, handed over as it ends, and a fence in time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lithify.clock import Clock, SystemClock
from lithify.controller.cluster.client import ClusterClient
from lithify.controller.cluster.election import Election, Fenced, Terms
from lithify.errors import ClusterUnavailable
from lithify.resources.names import CATALOG, LEASE, ObjectKey

TERMS = Terms(lease=1.5, renewal=1.0, retry=0.1)


@dataclass
class Ticks:
    """Seconds as the test wants them."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass(frozen=True)
class SkewedClock(SystemClock):
    """A wall clock that is wrong, while its seconds are as long as others'."""

    skew: timedelta

    def now(self) -> datetime:
        return datetime.now(UTC) + self.skew


def candidate(
    api: ClusterClient, namespace: str, name: str, clock: Clock | None = None, **options: object
) -> Election:
    key = ObjectKey(namespace, "lithify-operator")
    return Election(api, key, name, clock or SystemClock(), TERMS, **options)


@pytest.mark.asyncio
async def test_the_second_waits_and_takes_over_within_the_lease(api: ClusterClient, namespace: str) -> None:
    first, second = candidate(api, namespace, "first"), candidate(api, namespace, "second")
    await first.win()
    keep = asyncio.create_task(first.keep())
    win = asyncio.create_task(second.win())
    await asyncio.sleep(TERMS.lease * 1.5)
    assert first.holds
    assert not win.done()
    keep.cancel()  # as if the process were gone
    async with asyncio.timeout(TERMS.lease + 5):
        await win
    assert second.holds
    assert not first.holds


@pytest.mark.asyncio
async def test_a_renewal_that_hangs_is_sent_again_before_the_lease_is_lost(
    api: ClusterClient, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader, patch, hung = candidate(api, namespace, "first"), api.patch, asyncio.Event()
    await leader.win()

    async def hangs_once(*arguments: Any, **named: Any) -> Any:
        if not hung.is_set():
            hung.set()
            await asyncio.Event().wait()
        return await patch(*arguments, **named)

    monkeypatch.setattr(api, "patch", hangs_once)
    keep = asyncio.create_task(leader.keep())
    await hung.wait()
    await asyncio.sleep(TERMS.lease)
    assert leader.holds
    assert not keep.done()
    keep.cancel()


@pytest.mark.asyncio
async def test_who_resigns_is_followed_at_once(api: ClusterClient, namespace: str) -> None:
    first, second = candidate(api, namespace, "first"), candidate(api, namespace, "second")
    await first.win()
    await first.resign()
    assert not first.holds
    async with asyncio.timeout(TERMS.lease):
        await second.win()
    lease = await api.get(LEASE, ObjectKey(namespace, "lithify-operator"))
    assert lease is not None
    assert lease["spec"]["holderIdentity"] == "second"


@pytest.mark.asyncio
async def test_of_many_candidates_one_wins(api: ClusterClient, namespace: str) -> None:
    candidates = [candidate(api, namespace, f"candidate-{number}") for number in range(8)]
    tasks = [asyncio.create_task(each.win()) for each in candidates]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    await asyncio.sleep(3 * TERMS.retry)
    assert sum(each.holds for each in candidates) == 1
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.asyncio
async def test_the_fence_closes_before_others_may_take_over(api: ClusterClient, namespace: str) -> None:
    ticks = Ticks()
    leader = candidate(api, namespace, "leader", ticks=ticks)
    fenced = Fenced(api, leader)
    body = {"metadata": {"name": "lake"}, "spec": {"warehouse": "/w"}, "kind": "Catalog"}
    body |= {"apiVersion": CATALOG.api_version}
    with pytest.raises(ClusterUnavailable):
        await fenced.create(CATALOG, namespace, body)
    await leader.win()
    await fenced.create(CATALOG, namespace, body)
    ticks.now = TERMS.renewal
    assert TERMS.renewal < TERMS.lease
    key = ObjectKey(namespace, "lake")
    for write in (
        fenced.create(CATALOG, namespace, body),
        fenced.patch(CATALOG, key, {"spec": {"timeoutSeconds": 5}}),
        fenced.delete(CATALOG, key),
    ):
        with pytest.raises(ClusterUnavailable):
            await write
    assert await fenced.get(CATALOG, key) is not None
    assert len(await fenced.list(CATALOG, namespace)) == 1


@pytest.mark.asyncio
async def test_a_wall_clock_that_jumps_ends_no_reign(api: ClusterClient, namespace: str) -> None:
    first, second = candidate(api, namespace, "first"), candidate(api, namespace, "second")
    await first.win()
    lease = {"spec": {"renewTime": "2001-01-01T00:00:00.000000Z"}}
    await api.patch(LEASE, ObjectKey(namespace, "lithify-operator"), lease)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(TERMS.lease / 3):
            await second.win()
    assert first.holds


@pytest.mark.asyncio
@pytest.mark.parametrize("skew", [timedelta(minutes=1), timedelta(hours=1), timedelta(hours=-1)], ids=str)
async def test_wrong_wall_clocks_neither_shorten_nor_lengthen_a_lease(
    api: ClusterClient, namespace: str, skew: timedelta
) -> None:
    first = candidate(api, namespace, "first", SkewedClock(skew))
    second = candidate(api, namespace, "second", SkewedClock(-skew))
    await first.win()
    keep = asyncio.create_task(first.keep())
    win = asyncio.create_task(second.win())
    lease = ObjectKey(namespace, "lithify-operator")
    renewals = {first_seen["spec"]["renewTime"] for first_seen in [await api.get(LEASE, lease)] if first_seen}
    async with asyncio.timeout(30):
        while len(renewals) < 2 * TERMS.lease / TERMS.retry / 3:  # for longer than one lease lasts
            found = await api.get(LEASE, lease)
            assert found is not None
            assert found["spec"]["holderIdentity"] == "first"
            renewals.add(found["spec"]["renewTime"])
    assert first.holds
    assert not win.done()
    keep.cancel()
    async with asyncio.timeout(TERMS.lease + 5):
        await win
    assert not first.holds
