"""Tells the owners of objects that cannot be read, in place of reconciling them.

`operator` puts `Reports.beside` around the reconcilers. Nothing is done for an object while it cannot be
read: a run keeps its driver and its result, a table is not compacted, and whatever refers to the object
goes by what was known of it before.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from lithify.controller.reconciling.context import Context
from lithify.controller.reconciling.unreadable import Unreadable
from lithify.errors import ClusterRefused
from lithify.resources.names import COMPACTION, ObjectKey, ResourceKind
from lithify.resources.objects import READY, STALLED, UNREADABLE

_log = logging.getLogger(__name__)

Reconcile = Callable[[ObjectKey], Awaitable[float | None]]


@dataclass(frozen=True, slots=True)
class Reports:
    """Tells the owners of objects that cannot be read.

    Attributes:
        context: what it works with.
    """

    context: Context
    _told: dict[tuple[str, ObjectKey], tuple[str, str]] = field(default_factory=dict)
    """The uid and the problem that was told last."""

    def beside(self, kind: ResourceKind, reconcile: Reconcile) -> Reconcile:
        """A reconciler that leaves objects alone which cannot be read."""

        async def reconcile_readable(key: ObjectKey) -> float | None:
            found = self.context.store.unreadable.get((kind.name, key))
            if found is None:
                self._told.pop((kind.name, key), None)
                return await reconcile(key)
            await self._tell(kind, key, found)
            return None

        return reconcile_readable

    async def _tell(self, kind: ResourceKind, key: ObjectKey, found: Unreadable) -> None:
        """Says so once: in an Event, and in status where that takes nothing away that is still needed."""
        told = (found.metadata.uid, found.problem)
        if found.is_said or self._told.get((kind.name, key)) == told:
            return
        if kind is not COMPACTION:
            patch = {"status": _status(found, self.context.now())}
            try:
                await self.context.api.patch(kind, key, patch, subresource="status")
            except ClusterRefused as error:
                # The rest of the object is not valid either, so the Event is all that there can be.
                _log.warning("its status cannot say so: %s", error)
        await self.context.recorder.post(kind, found.metadata, "Warning", UNREADABLE, found.problem)
        self._told[kind.name, key] = told


def _status(found: Unreadable, now: datetime) -> dict[str, Any]:
    """A status whose conditions say that the object cannot be read, without what nobody can read of it.

    A status is the operator's own and can be found out again, so an object may be readable after that.
    """
    since = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    shared = {
        "reason": UNREADABLE,
        "message": found.problem,
        "lastTransitionTime": since,
        "observedGeneration": found.metadata.generation,
    }
    conditions = [
        {"type": READY, "status": "False", **shared},
        {"type": STALLED, "status": "True", **shared},
    ]
    spoilt = dict.fromkeys(found.status_fields)
    return {**spoilt, "observedGeneration": found.metadata.generation, "conditions": conditions}
