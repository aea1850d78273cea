"""Uninstalls an operator: stops and releases all drivers, so that no object waits for it afterwards.

Called by `lithify release`, which holds the operator's Lease during this. Runs are not changed: an operator
that is installed again later finds their commits in the tables, and goes on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import TypeVar

from lithify.controller.cluster.table_lock import TableLocks
from lithify.controller.driver import DriverPhase, DriverState, Launcher, SharedDriver, SharedDrivers
from lithify.errors import ClusterRefused, ClusterUnavailable
from lithify.resources.names import ObjectKey

_log = logging.getLogger(__name__)
_PAUSE = 1.0
"""Seconds between two checks of running drivers, and between two attempts of an unanswered request."""

_TRIES = 30
"""Number of attempts of a request about one driver or lock."""

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Driver:
    """A driver that has not been released.

    Attributes:
        key: its Compaction; the lead of a shared driver.
        uid: the driver's uid.
        runs: all Compactions that it works for.
        observe: reads its state.
        stop: asks it to end.
        release: releases it.
    """

    key: ObjectKey
    uid: str
    runs: tuple[ObjectKey, ...]
    observe: Callable[[], Awaitable[DriverState | None]]
    stop: Callable[[], Awaitable[None]]
    release: Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Shutdown:
    """Stops and releases all drivers, and drops the locks.

    Attributes:
        launcher: the launcher of the drivers.
        locks: the locks of tables.
        namespaces: the operator's namespaces; empty for all.
        ticks: monotonic clock, in seconds.
        sleep: waits for a number of seconds.
    """

    launcher: Launcher
    locks: TableLocks
    namespaces: Collection[str] = ()
    ticks: Callable[[], float] = monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def run(self, grace_seconds: float) -> tuple[ObjectKey, ...]:
        """Stops all drivers, and releases them whether or not they have ended in time.

        Args:
            grace_seconds: how long to wait for their end.

        Returns:
            The Compactions whose drivers may still be running (on lost nodes) or were not released. A later
            run detects whatever they commit, but their tables stay locked.
        """
        until = self.ticks() + grace_seconds
        drivers = await self._answer(self._drivers)
        alive = await self._alive(drivers)
        while alive and self.ticks() < until:
            _log.info("waiting for drivers to end", extra={"drivers": len(alive)})
            await self.sleep(_PAUSE)
            alive = await self._alive(alive)
        held = [driver for driver in drivers if not await self._let_go(driver)]
        left = tuple(dict.fromkeys(key for driver in (*alive, *held) for key in driver.runs))
        await self._unlock(left)
        return left

    async def _alive(self, drivers: Iterable[Driver]) -> list[Driver]:
        return [driver for driver in drivers if not await self._has_ended(driver)]

    async def _drivers(self) -> list[Driver]:
        """All drivers; none if the rights to read them were deleted together with the namespaces."""
        try:
            alone = [self._alone(key, uid) for key, uid in await self.launcher.all()]
            shared = self.launcher.shared
            return [*alone, *((_shared(shared, one) for one in await shared.all()) if shared else ())]
        except ClusterRefused as error:
            _log.warning("%s; so no driver is ended, and none can be", error)
            return []

    def _alone(self, key: ObjectKey, uid: str) -> Driver:
        """The driver of one Compaction."""
        launcher = self.launcher
        return Driver(
            key,
            uid,
            (key,),
            partial(launcher.observe, key),
            partial(launcher.stop, key, uid),
            partial(launcher.release, key, uid, remove=True),
        )

    async def _has_ended(self, driver: Driver) -> bool:
        """Whether a driver has ended; asks it to end once. False for a driver that cannot be read."""
        try:
            state = await self._tried(driver.observe)
            if state is None or state.uid != driver.uid or state.phase is DriverPhase.ENDED:
                return True
            if not state.terminating:
                await self._tried(driver.stop)
        except Exception as error:  # noqa: BLE001  # it concerns one driver, and is logged
            _warn("a driver cannot be ended", driver.key, error)
        return False

    async def _let_go(self, driver: Driver) -> bool:
        """Releases a driver; returns whether that succeeded."""
        try:
            await self._tried(driver.release)
        except Exception as error:  # noqa: BLE001  # it concerns one driver, and is logged
            _warn("a driver cannot be let go", driver.key, error)
            return False
        _log.info("let go of a driver", extra={"compaction": str(driver.key)})
        return True

    async def _unlock(self, left: Collection[ObjectKey]) -> None:
        for name, holder in await self._answer(self.locks.all):
            is_ours = not self.namespaces or holder.key.namespace in self.namespaces
            if not is_ours or holder.key in left:
                continue
            try:
                await self._tried(partial(self.locks.drop, name, holder))
            except Exception as error:  # noqa: BLE001  # it concerns one table, and is logged
                _warn("a table stays locked", holder.key, error)

    async def _tried(self, request: Callable[[], Awaitable[Answer]]) -> Answer:
        """The response to a request about one driver; attempts are limited so that the others go on."""
        for _ in range(_TRIES - 1):
            try:
                return await request()
            except ClusterUnavailable as error:
                _log.warning("%s; tried again", error)
                await self.sleep(_PAUSE)
        return await request()

    async def _answer(self, request: Callable[[], Awaitable[Answer]]) -> Answer:
        """The response to a request about all drivers; retried until the caller's lease ends."""
        while True:
            try:
                return await request()
            except ClusterUnavailable as error:
                _log.warning("%s; tried again", error)
                await self.sleep(_PAUSE)


def _shared(drivers: SharedDrivers, found: SharedDriver) -> Driver:
    """A driver that several Compactions share."""

    async def observe() -> DriverState | None:
        seen = await drivers.observe(found.lead)
        return None if seen is None else seen.state

    runs = tuple(member.key for member in found.members)
    stop, release = partial(drivers.stop, found), partial(drivers.release, found)
    return Driver(found.lead, found.state.uid, runs, observe, stop, release)


def _warn(what: str, key: ObjectKey, error: Exception) -> None:
    _log.warning("%s: %s: %s", what, type(error).__name__, error, extra={"compaction": str(key)})
