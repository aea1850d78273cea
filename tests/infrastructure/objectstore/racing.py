"""Committers that do nothing but write snapshots, each in a process of its own, as fast as they can."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from multiprocessing.context import SpawnProcess
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from random import Random
from typing import Any

from pypaimon.snapshot.snapshot import Snapshot
from pypaimon.snapshot.snapshot_commit import PartitionStatistics

from lithify.clock import SystemClock
from lithify.engine.commit.patience import Backoff, Patience
from lithify.engine.commit.publishing import Place, publish
from lithify.errors import CommitUnknown, StorageError
from lithify.formats.paimon.commit.snapshot_publisher import SnapshotPublisher
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.snapshots.snapshots import Snapshots
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.address import TableAddress

CONTEXT = get_context("spawn")
DEADLINE = 240.0
IMPATIENT = Backoff(Patience(max_retries=0, min_wait=0.0, max_wait=0.0), SystemClock(), Random(0))


@dataclass(frozen=True)
class _Draft:
    snapshot: Snapshot
    base: Snapshot
    statistics: list[PartitionStatistics] = field(default_factory=list)


Outcomes = dict[int, str]
"""By number of a snapshot what its committer believes: a name of `Place`, or UNKNOWN or FAILED."""


def mark(who: str, number: int) -> str:
    """What tells a committer's snapshot from others."""
    return f"manifest-list-{who}-{number}"


def started(
    target: Callable[..., None], address: TableAddress, who: str, *arguments: Any
) -> tuple[SpawnProcess, Queue[Outcomes]]:
    """A committer, and where it says what came of it all."""
    told: Queue[Outcomes] = CONTEXT.Queue()
    process = CONTEXT.Process(target=target, args=(address, who, told, *arguments), daemon=True)
    process.start()
    return process, told


def race(address: TableAddress, who: str, told: Queue[Outcomes], barrier: Barrier, rounds: int) -> None:
    """Writes the next snapshot at the same moment as the others, and goes on from whichever won."""
    table = open_table(address)
    base = table.snapshots.latest()
    outcomes: Outcomes = {}
    for _ in range(rounds):
        assert base is not None
        mine = _next(base, who)
        barrier.wait(DEADLINE)
        outcomes[mine.id] = _published(table, mine, base)
        base = mine if outcomes[mine.id] == Place.OURS.name else table.snapshots.get(mine.id)
    told.put(outcomes)


def commit_on(address: TableAddress, who: str, told: Queue[Outcomes], stop: Any) -> None:
    """Writes snapshots until told to stop, whatever the store does meanwhile."""
    table = open_table(address)
    outcomes: Outcomes = {}
    while not stop.is_set():
        base = _newest(table.snapshots)
        if base is not None:
            mine = _next(base, who)
            outcomes[mine.id] = _published(table, mine, base)
    told.put(outcomes)


def _newest(snapshots: Snapshots) -> Snapshot | None:
    try:
        return snapshots.latest()
    except StorageError:
        return None


def _published(table: PaimonTable, mine: Snapshot, base: Snapshot) -> str:
    publisher = SnapshotPublisher(table.snapshots, table.lineage, lambda: None)
    try:
        return publish(publisher, _Draft(mine, base), IMPATIENT).place.name
    except CommitUnknown:
        return "UNKNOWN"
    except StorageError:
        return "FAILED"


def _next(base: Snapshot, who: str) -> Snapshot:
    number = base.id + 1
    return replace(base, id=number, delta_manifest_list=mark(who, number))
