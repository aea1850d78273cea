"""What is measured of an operator, one function a figure."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles

from infrastructure.cluster.kubectl import Kubectl
from lithify.controller.api import Api, Object
from lithify.resources.names import CATALOG, COMPACTION, LAKE_TABLE, POLICY, ObjectKey, ResourceKind
from many_tables.objects import POLICY_NAME, name_of, suspended_run
from many_tables.process import OperatorProcess
from many_tables.warehouse import SNAPSHOT, commit
from many_tables.watching import Snapshots
from many_tables.writes import Writes, written

OBSERVATIONS = "lithify_observations_total"
_POLL_SECONDS = 0.01
_STATUS_SECONDS = 0.5
_REACTION_SECONDS = 60.0
_MOST_INTERVALS = 10
"""Intervals after which a commit that nobody has seen ends the benchmark."""


@dataclass(frozen=True, slots=True)
class Start:
    """How a start went, in seconds since the process was started.

    Attributes:
        first: until the first object was reconciled.
        steady: until every table was looked at and nothing waited any more.
        cpu: processor seconds of the operator and of its workers until then.
        own_bytes: memory of the operator then.
        worker_bytes: memory of its workers then.
    """

    first: float
    steady: float
    cpu: float
    own_bytes: int
    worker_bytes: int


@dataclass(frozen=True, slots=True)
class Idle:
    """What it takes when nothing changes.

    Attributes:
        interval: seconds between two looks at each table.
        seconds: how long it was watched.
        own_cores: processor seconds a second of the operator.
        worker_cores: those of its workers.
        looks: looks a second.
        writes: what it wrote.
        own_bytes: its memory at the end.
    """

    interval: int
    seconds: float
    own_cores: float
    worker_cores: float
    looks: float
    writes: Writes
    own_bytes: int


@dataclass(frozen=True, slots=True)
class Reaction:
    """How long it took from a change until status said that it was seen, in seconds."""

    samples: Sequence[float]

    @property
    def median(self) -> float:
        return sorted(self.samples)[len(self.samples) // 2]

    @property
    def p99(self) -> float:
        return quantiles(self.samples, n=100, method="inclusive")[98]


async def started(operator: OperatorProcess, tables: int, timeout: float) -> Start:
    """Waits until all tables have been looked at and the queue is empty."""
    first = await operator.until("lithify_reconciles_total", lambda total: total > 0, timeout)
    await operator.until(OBSERVATIONS, lambda total: total >= tables, timeout)
    await operator.until("lithify_tables", lambda total: total >= tables, timeout, reason="Ready")
    steady = await _drained(operator, timeout)
    own, workers = operator.own(), operator.workers()
    return Start(first, steady, own.cpu + workers.cpu, own.resident, workers.resident)


async def settled(api: Api, namespace: str, timeout: float) -> None:
    """Waits until every status is what it will stay: catalogs are told of their tables a second late."""
    async with asyncio.timeout(timeout):
        while not await _is_settled(api, namespace):
            await asyncio.sleep(_STATUS_SECONDS)


async def idle(
    operator: OperatorProcess,
    api: Api,
    namespace: str,
    interval: int,
    seconds: float,
    kubectl: Kubectl | None,
) -> Idle:
    """Watches an operator that has nothing to do but look."""
    before = await written(operator, api, namespace, kubectl)
    own, workers, looks, since = operator.own(), operator.workers(), _looks(operator), time.monotonic()
    await asyncio.sleep(seconds)
    passed = time.monotonic() - since
    now, after = operator.own(), operator.workers()
    looked = _looks(operator) - looks
    later = await written(operator, api, namespace, kubectl)
    return Idle(
        interval=interval,
        seconds=passed,
        own_cores=(now.cpu - own.cpu) / passed,
        worker_cores=max(0.0, after.cpu - workers.cpu) / passed,
        looks=looked / passed,
        writes=later.since(before),
        own_bytes=now.resident,
    )


async def set_interval(operator: OperatorProcess, api: Api, namespace: str, seconds: int) -> None:
    """Has tables looked at in another rhythm, and waits until that is taken in."""
    generation = await change_interval(api, namespace, seconds)
    await _seen(api, POLICY, ObjectKey(namespace, POLICY_NAME), generation)
    await _drained(operator, 600.0)


async def change_interval(api: Api, namespace: str, seconds: int) -> int:
    """Has tables looked at in another rhythm; returns the policy's generation."""
    policy = ObjectKey(namespace, POLICY_NAME)
    patched = await api.patch(POLICY, policy, {"spec": {"checkIntervalSeconds": seconds}})
    assert patched is not None
    return int(patched["metadata"]["generation"])


async def table_reactions(api: Api, namespace: str, tables: Sequence[str], count: int) -> Reaction:
    """Suspends tables, one after the other, and waits each time until status says so."""

    async def change(number: int) -> None:
        key = ObjectKey(namespace, chosen[number])
        patched = await api.patch(LAKE_TABLE, key, {"spec": {"suspend": True}})
        assert patched is not None
        await _seen(api, LAKE_TABLE, key, patched["metadata"]["generation"])

    chosen = random.Random(1).sample(tables, min(count, len(tables)))
    return await _timed(change, len(chosen))


async def run_reactions(api: Api, namespace: str, tables: Sequence[str], count: int) -> Reaction:
    """Creates Compactions that start nothing, and waits each time for the first status."""

    async def change(number: int) -> None:
        created = await api.create(COMPACTION, namespace, suspended_run(chosen[number], number))
        key = ObjectKey(namespace, created["metadata"]["name"])
        await _seen(api, COMPACTION, key, created["metadata"]["generation"])

    chosen = random.Random(2).sample(tables, min(count, len(tables)))
    return await _timed(change, len(chosen))


async def commit_reactions(
    snapshots: Snapshots, warehouse: Path, identifiers: Sequence[str], interval: int
) -> Reaction:
    """Commits to tables, spread over an interval, and waits each time until status has the snapshot."""
    step = interval / len(identifiers)

    async def change(number: int) -> float:
        await asyncio.sleep(step * number)
        name, seconds = name_of(identifiers[number]), float(_MOST_INTERVALS * interval)
        seen = asyncio.create_task(snapshots.until(name, SNAPSHOT + 1, seconds))
        await asyncio.to_thread(commit, warehouse, identifiers[number])
        committed = time.monotonic()
        return max(0.0, await seen - committed)

    return Reaction(await asyncio.gather(*map(change, range(len(identifiers)))))


async def _timed(change: Callable[[int], Awaitable[None]], count: int) -> Reaction:
    samples = []
    for number in range(count):
        begun = time.monotonic()
        await change(number)
        samples.append(time.monotonic() - begun)
    return Reaction(samples)


async def _seen(api: Api, kind: ResourceKind, key: ObjectKey, generation: int) -> None:
    async with asyncio.timeout(_REACTION_SECONDS):
        while True:
            found = await api.get(kind, key)
            if found is not None and found.get("status", {}).get("observedGeneration", -1) >= generation:
                return
            await asyncio.sleep(_POLL_SECONDS)


async def _drained(operator: OperatorProcess, timeout: float) -> float:
    """Waits until the operator has nothing to do."""
    return await operator.until("lithify_queue_depth", lambda depth: depth == 0, timeout)


def _looks(operator: OperatorProcess) -> float:
    found = operator.metrics()
    assert found is not None
    return found.total(OBSERVATIONS)


async def _is_settled(api: Api, namespace: str) -> bool:
    tables = await api.list(LAKE_TABLE, namespace)
    used = [*await api.list(CATALOG, namespace), *await api.list(POLICY, namespace)]
    counted = all(one.get("status", {}).get("tables") == len(tables) for one in used)
    return counted and all(map(_is_ready, [*tables, *used]))


def _is_ready(found: Object) -> bool:
    """Whether an object's status says that it is ready as it is now."""
    status = found.get("status", {})
    conditions = {one["type"]: one["status"] for one in status.get("conditions", [])}
    seen = status.get("observedGeneration") == found["metadata"]["generation"]
    return seen and conditions.get("Ready") == "True"
