"""The workers that take keys from the queue and reconcile them, one worker at a time for each key."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from time import monotonic

from lithify.controller.reconciling.queue import Item, Queue
from lithify.controller.telemetry.logs import bound
from lithify.errors import ClusterConflict, LithifyError
from lithify.resources.names import ObjectKey

_log = logging.getLogger(__name__)

Reconcile = Callable[[ObjectKey], Awaitable[float | None]]
"""Reconciles one object; returns the seconds after which to requeue it, None for not at all."""
Told = Callable[[str, str, float], None]
"""Receives each reconcile's kind, ending (done, conflict, failed) and duration in seconds."""
Within = Callable[[Item], AbstractContextManager[None]]


async def work(
    queue: Queue,
    reconcilers: Mapping[str, Reconcile],
    measure: Told,
    workers: int,
    within: Within = lambda _: nullcontext(),
) -> None:
    """Reconciles with `workers` concurrent workers; never returns. A failed object is requeued with backoff.

    `within` returns the context in which an object is reconciled and its log lines are written.
    """
    async with asyncio.TaskGroup() as group:
        for _ in range(workers):
            group.create_task(_work(queue, reconcilers, measure, within))


async def _work(queue: Queue, reconcilers: Mapping[str, Reconcile], measure: Told, within: Within) -> None:
    while True:
        item = await queue.get()
        started = monotonic()
        with within(item):
            ending = await _reconcile(queue, item, reconcilers[item.kind])
        measure(item.kind, ending, monotonic() - started)
        # Most reconciles send no request and so never yield; other tasks must run to renew the lease.
        await asyncio.sleep(0)


async def _reconcile(queue: Queue, item: Item, reconcile: Reconcile) -> str:
    """Reconciles one object and requeues it as needed; returns how the reconcile ended."""
    try:
        with bound(kind=item.kind, namespace=item.key.namespace, object=item.key.name):
            again = await reconcile(item.key)
    except ClusterConflict:
        queue.failed(item)  # another client changed it; the event is on its way or has arrived
        return "conflict"
    except LithifyError as error:
        _tell(item, error, queue.failed(item))
        return "failed"
    except Exception as error:  # noqa: BLE001  # it concerns one object, and is logged
        _log.exception("reconciling failed unexpectedly", extra=_fields(item))
        _tell(item, error, queue.failed(item))
        return "failed"
    queue.done(item, again)
    return "done"


def _tell(item: Item, error: Exception, seconds: float) -> None:
    _log.warning("%s; again in %.1f s", error, seconds, extra=_fields(item))


def _fields(item: Item) -> dict[str, str]:
    return {"kind": item.kind, "namespace": item.key.namespace, "object": item.key.name}
