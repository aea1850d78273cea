"""Leader election: of several operators, the one that holds a Lease works.

The holder renews the Lease. If renewal fails, it stops writing well before others may take over: `Fenced`
refuses every write once the time is up, whatever the rest of the process assumes. It measures with this
process's monotonic clock, so jumps of the wall clock cannot change how long a lease lasts.

A holder that could not renew in time may write again once a renewal succeeds: the API server accepts it only
for a Lease that still names this holder, so that no other has led in between. A Lease that names another, or
nobody, ends the leadership for good.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from typing import Any

from lithify.clock import Clock
from lithify.controller.api import Api, Object
from lithify.errors import ClusterConflict, ClusterError, ClusterExists, ClusterUnavailable
from lithify.resources.names import LEASE, ObjectKey, ResourceKind

_log = logging.getLogger(__name__)
_TRIES = 3
"""Requests that do not answer, and are then sent again, before the time to renew a lease is over."""
_MICROSECONDS = "%Y-%m-%dT%H:%M:%S.%fZ"


@dataclass(frozen=True, slots=True)
class Terms:
    """Durations of leadership, in seconds.

    Attributes:
        lease: others take over this long after the last renewal of the Lease.
        renewal: the holder stops working this long after its last renewal; less than `lease`.
        retry: between two tries.
    """

    lease: float = 15.0
    renewal: float = 10.0
    retry: float = 2.0


class Election:
    """One candidate.

    Args:
        api: the API server.
        key: the Lease.
        identity: this candidate, unique among all.
        clock: for the times written to the Lease.
        terms: the durations.
        ticks: monotonic seconds.
    """

    def __init__(
        self,
        api: Api,
        key: ObjectKey,
        identity: str,
        clock: Clock,
        terms: Terms | None = None,
        ticks: Callable[[], float] = monotonic,
    ) -> None:
        self._api = api
        self._key = key
        self._identity = identity
        self._clock = clock
        self._terms = terms or Terms()
        self._ticks = ticks
        self._renewed: float | None = None
        self._seen: tuple[object, float] | None = None

    @property
    def holds(self) -> bool:
        """Whether this candidate may write now."""
        return self._renewed is not None and self._ticks() < self._renewed + self._terms.renewal

    async def win(self) -> None:
        """Waits until the Lease is ours."""
        while not await self._try():
            await asyncio.sleep(self._terms.retry)
        _log.info("this operator leads now", extra={"lease": str(self._key)})

    async def keep(self) -> None:
        """Renews the Lease until it names another candidate, or nobody; returns then.

        An API server that does not answer ends nothing: `holds` is false from the end of the term until the
        next renewal.
        """
        held = self.holds
        while self._renewed is not None:
            await asyncio.sleep(self._terms.retry)
            await self._try()
            if self.holds != held:
                held = self.holds
                self._tell()
        _log.warning("another operator has the lease; this one stops", extra={"lease": str(self._key)})

    def check(self, request: str) -> None:
        """Raises `ClusterUnavailable` for a request that only the holder may make, unless this is it."""
        if not self.holds:
            raise ClusterUnavailable(request, "this operator does not hold the lease now")

    def _tell(self) -> None:
        if self.holds:
            _log.warning("the lease is renewed; this operator goes on", extra={"lease": str(self._key)})
        elif self._renewed is not None:
            text = "the lease has not been renewed in time; this operator changes nothing until it is"
            _log.warning(text, extra={"lease": str(self._key)})

    async def resign(self) -> None:
        """Releases the Lease, so that another candidate need not wait."""
        if not self.holds:
            return
        self._renewed = None
        try:
            lease = await self._api.get(LEASE, self._key)
            if lease is not None and self._is_named_in(lease):
                version = lease["metadata"]["resourceVersion"]
                patch = {"metadata": {"resourceVersion": version}, "spec": {"holderIdentity": None}}
                await self._api.patch(LEASE, self._key, patch)
        except ClusterError as error:
            _log.warning("the lease could not be released: %s", error)

    async def remove(self) -> None:
        """Deletes the Lease if it is ours, for when no operator will use it again."""
        if not self.holds:
            return
        lease = await self._api.get(LEASE, self._key)
        if lease is not None and self._is_named_in(lease):
            self._renewed = None
            await self._api.delete(LEASE, self._key, uid=lease["metadata"]["uid"])

    async def _try(self) -> bool:
        """Takes or renews the Lease if possible; the duration counts from before the request was sent."""
        started = self._ticks()
        try:
            async with asyncio.timeout(self._terms.renewal / _TRIES):
                won = await self._take()
        except (ClusterError, TimeoutError) as error:
            _log.warning("the lease could not be renewed: %s", str(error) or "no answer in time")
            return False
        if won:
            self._renewed = started
        return won

    async def _take(self) -> bool:
        now = self._clock.now()
        lease = await self._api.get(LEASE, self._key)
        if self._renewed is not None and (lease is None or not self._is_named_in(lease)):
            self._renewed = None  # another candidate leads, or may have led: stop at once
            return False
        if lease is None:
            body = {"metadata": {"name": self._key.name}, "spec": self._spec(now, acquired=now, changes=0)}
            try:
                await self._api.create(LEASE, self._key.namespace, body)
            except ClusterExists:
                return False
            return True
        spec = lease["spec"]
        holder = spec.get("holderIdentity")
        if holder and holder != self._identity and not self._is_over(spec):
            return False
        changes = int(spec.get("leaseTransitions") or 0)
        if holder == self._identity:
            patch = {"renewTime": now.strftime(_MICROSECONDS)}
        else:
            patch = self._spec(now, acquired=now, changes=changes + 1)
        version = lease["metadata"]["resourceVersion"]
        try:
            body = {"metadata": {"resourceVersion": version}, "spec": patch}
            return await self._api.patch(LEASE, self._key, body) is not None
        except ClusterConflict:
            return False

    def _is_named_in(self, lease: Object) -> bool:
        return bool(lease["spec"].get("holderIdentity") == self._identity)

    def _is_over(self, spec: Object) -> bool:
        """Whether another's lease has expired: it was not renewed for its duration, by our own clock."""
        mark = (spec.get("holderIdentity"), spec.get("renewTime"))
        if self._seen is None or self._seen[0] != mark:
            self._seen = (mark, self._ticks())
        seconds = float(spec.get("leaseDurationSeconds") or self._terms.lease)
        return self._ticks() >= self._seen[1] + seconds

    def _spec(self, now: datetime, acquired: datetime, changes: int) -> dict[str, Any]:
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": max(1, round(self._terms.lease)),
            "acquireTime": acquired.strftime(_MICROSECONDS),
            "renewTime": now.strftime(_MICROSECONDS),
            "leaseTransitions": changes,
        }


class Fenced:
    """An `Api` that only writes while the Lease is held."""

    def __init__(self, api: Api, election: Election) -> None:
        self._api = api
        self._election = election

    async def get(self, kind: ResourceKind, key: ObjectKey) -> Object | None:
        """As the `Api` beneath."""
        return await self._api.get(kind, key)

    async def list(self, kind: ResourceKind, namespace: str | None = None, labels: str = "") -> list[Object]:
        """As the `Api` beneath."""
        return await self._api.list(kind, namespace, labels)

    async def create(self, kind: ResourceKind, namespace: str, body: Object) -> Object:
        """As the `Api` beneath, while this operator leads."""
        self._election.check(f"create {kind.name}")
        return await self._api.create(kind, namespace, body)

    async def patch(
        self, kind: ResourceKind, key: ObjectKey, patch: Object, *, subresource: str = ""
    ) -> Object | None:
        """As the `Api` beneath, while this operator leads."""
        self._election.check(f"patch {kind.name} {key}")
        return await self._api.patch(kind, key, patch, subresource=subresource)

    async def delete(
        self,
        kind: ResourceKind,
        key: ObjectKey,
        *,
        uid: str | None = None,
        version: str | None = None,
        grace_seconds: int | None = None,
    ) -> None:
        """As the `Api` beneath, while this operator leads."""
        self._election.check(f"delete {kind.name} {key}")
        await self._api.delete(kind, key, uid=uid, version=version, grace_seconds=grace_seconds)
