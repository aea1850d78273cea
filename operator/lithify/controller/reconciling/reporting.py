"""Reports unreadable objects to their owners instead of reconciling them.

`operator` wraps the reconcilers with `Reports.beside`. An object is left alone while it cannot be read: a run
keeps its driver and its result, a table is not compacted, and objects that refer to it use its last readable
version.
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
    """Reports unreadable objects to their owners.

    Attributes:
        context: what the reconcilers share.
    """

    context: Context
    _told: dict[tuple[str, ObjectKey], tuple[str, str]] = field(default_factory=dict)
    """The uid and the problem of the last report, by kind and key."""

    def beside(self, kind: ResourceKind, reconcile: Reconcile) -> Reconcile:
        """Wraps a reconciler so that unreadable objects are reported instead of reconciled."""

        async def reconcile_readable(key: ObjectKey) -> float | None:
            found = self.context.store.unreadable.get((kind.name, key))
            if found is None:
                self._told.pop((kind.name, key), None)
                return await reconcile(key)
            await self._tell(kind, key, found)
            return None

        return reconcile_readable

    async def _tell(self, kind: ResourceKind, key: ObjectKey, found: Unreadable) -> None:
        """Reports a problem once: in an Event, and in status unless that would drop fields still needed."""
        told = (found.metadata.uid, found.problem)
        if found.is_said or self._told.get((kind.name, key)) == told:
            return
        if kind is not COMPACTION:
            patch = {"status": _status(found, self.context.now())}
            try:
                await self.context.api.patch(kind, key, patch, subresource="status")
            except ClusterRefused as error:
                # The rest of the object is invalid, too, so only the Event can be posted.
                _log.warning("its status cannot say so: %s", error)
        await self.context.recorder.post(kind, found.metadata, "Warning", UNREADABLE, found.problem)
        self._told[kind.name, key] = told


def _status(found: Unreadable, now: datetime) -> dict[str, Any]:
    """A status whose conditions report the problem, without its unreadable fields.

    Only the operator writes status and it can be rebuilt, so dropping them may make the object readable.
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
