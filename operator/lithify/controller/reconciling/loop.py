"""The workers that take keys from the queue and have them reconciled, one at a time for each key."""

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
"""Makes one object what it should be; returns the seconds after which to look at it again."""
Told = Callable[[str, str, float], None]
"""Is told of each time: kind, how it ended (done, conflict, failed), seconds."""
Within = Callable[[Item], AbstractContextManager[None]]


async def work(
    queue: Queue,
    reconcilers: Mapping[str, Reconcile],
    measure: Told,
    workers: int,
    within: Within = lambda _: nullcontext(),
) -> None:
    """Reconciles for ever, so many objects at a time. A failure concerns one object and is tried again.

    `within` is the context of the work on an object; what is logged of it is logged in there.
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
        # Most objects need no request, so nothing above has let others run: the lease must be renewed, too.
        await asyncio.sleep(0)


async def _reconcile(queue: Queue, item: Item, reconcile: Reconcile) -> str:
    """Reconciles one object and says when it is next; returns how it ended."""
    try:
        with bound(kind=item.kind, namespace=item.key.namespace, object=item.key.name):
            again = await reconcile(item.key)
    except ClusterConflict:
        queue.failed(item)  # somebody else changed it; the event is on its way, or here already
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
