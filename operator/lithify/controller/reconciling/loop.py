"""The workers that take keys from the queue and have them reconciled, one at a time for each key."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
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


async def work(queue: Queue, reconcilers: Mapping[str, Reconcile], measure: Told, workers: int) -> None:
    """Reconciles for ever, so many objects at a time. A failure concerns one object and is tried again."""
    async with asyncio.TaskGroup() as group:
        for _ in range(workers):
            group.create_task(_work(queue, reconcilers, measure))


async def _work(queue: Queue, reconcilers: Mapping[str, Reconcile], measure: Told) -> None:
    while True:
        item = await queue.get()
        started = monotonic()
        ending = "failed"
        try:
            with bound(kind=item.kind, namespace=item.key.namespace, object=item.key.name):
                again = await reconcilers[item.kind](item.key)
        except ClusterConflict:
            ending = "conflict"  # somebody else changed it; the event is on its way, or here already
            queue.failed(item)
        except LithifyError as error:
            _tell(item, error, queue.failed(item))
        except Exception as error:  # noqa: BLE001  # it concerns one object, and is logged
            _log.exception("reconciling failed unexpectedly", extra=_fields(item))
            _tell(item, error, queue.failed(item))
        else:
            ending = "done"
            queue.done(item, again)
        measure(item.kind, ending, monotonic() - started)
        # Most objects need no request, so nothing above has let others run: the lease must be renewed, too.
        await asyncio.sleep(0)


def _tell(item: Item, error: Exception, seconds: float) -> None:
    _log.warning("%s; again in %.1f s", error, seconds, extra=_fields(item))


def _fields(item: Item) -> dict[str, str]:
    return {"kind": item.kind, "namespace": item.key.namespace, "object": item.key.name}
