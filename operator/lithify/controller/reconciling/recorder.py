"""Posts Kubernetes Events about objects: once for each transition; a failure never stops a reconcile."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC
from uuid import uuid4

from lithify.clock import Clock
from lithify.controller.api import Api
from lithify.controller.telemetry.logs import shown
from lithify.errors import ClusterError
from lithify.resources.modelling import MESSAGE_LENGTH
from lithify.resources.names import EVENT, ResourceKind
from lithify.resources.objects import Metadata

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Recorder:
    """Posts Events as one component.

    Attributes:
        api: the API server.
        clock: the source of their timestamps.
        identity: identity of this operator.
    """

    api: Api
    clock: Clock
    identity: str

    async def post(
        self, kind: ResourceKind, about: Metadata, severity: str, reason: str, message: str
    ) -> None:
        """Posts an Event; `severity` is Normal or Warning. A failure is only logged."""
        level = logging.WARNING if severity == "Warning" else logging.INFO
        _log.log(level, "%s %s: %s: %s", kind.name, about.name, reason, message)
        now = self.clock.now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        body = {
            "metadata": {"name": f"{about.name[:200]}.{uuid4().hex[:16]}", "namespace": about.namespace},
            "involvedObject": {
                "apiVersion": kind.api_version,
                "kind": kind.name,
                "name": about.name,
                "namespace": about.namespace,
                "uid": about.uid,
                "resourceVersion": about.resource_version,
            },
            "type": severity,
            "reason": reason,
            "message": shown(message, MESSAGE_LENGTH),
            "source": {"component": "lithify"},
            "reportingComponent": "lithify.dev/operator",
            "reportingInstance": self.identity[:128],
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        try:
            await self.api.create(EVENT, about.namespace, body)
        except ClusterError as error:
            _log.warning("an Event could not be posted: %s", error)
