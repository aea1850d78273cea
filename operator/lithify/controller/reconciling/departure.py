"""The end of an operator for good: drivers are ended and let go, so that nothing waits for it afterwards.

Called by `lithify release`, which holds the operator's Lease meanwhile. Runs are not touched: an operator
that is installed again later finds in their tables what they have done, and goes on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import TypeVar

from lithify.controller.cluster.table_lock import TableLocks
from lithify.controller.driver import DriverPhase, Launcher
from lithify.errors import ClusterRefused, ClusterUnavailable
from lithify.resources.names import ObjectKey

_log = logging.getLogger(__name__)
_PAUSE = 1.0
"""Seconds between two looks at what has not ended yet, and two tries of a request that was not answered."""

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Departure:
    """Lets go of everything.

    Attributes:
        launcher: knows the drivers.
        locks: the locks of tables.
        namespaces: those that were looked after; empty for all.
        ticks: seconds that only ever grow.
        sleep: lets time pass.
    """

    launcher: Launcher
    locks: TableLocks
    namespaces: Collection[str] = ()
    ticks: Callable[[], float] = monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def run(self, grace_seconds: float) -> tuple[ObjectKey, ...]:
        """Ends all drivers, and lets go of them however they took it.

        Args:
            grace_seconds: how long to wait for their end.

        Returns:
            The Compactions whose drivers may still be at work, on nodes that nobody hears of. They can do no
            harm that a later run would not notice, but their tables stay locked.
        """
        until = self.ticks() + grace_seconds
        drivers = await self._answer(self._drivers)
        alive = [driver for driver in drivers if not await self._has_ended(*driver)]
        while alive and self.ticks() < until:
            _log.info("waiting for drivers to end", extra={"drivers": len(alive)})
            await self.sleep(_PAUSE)
            alive = [driver for driver in alive if not await self._has_ended(*driver)]
        for key, uid in drivers:
            await self._let_go(key, uid)
        left = tuple(key for key, _ in alive)
        await self._unlock(left)
        return left

    async def _drivers(self) -> list[tuple[ObjectKey, str]]:
        """All drivers; none, where the rights to see them went with the namespaces that were deleted."""
        try:
            return await self.launcher.all()
        except ClusterRefused as error:
            _log.warning("%s; so no driver is ended, and none can be", error)
            return []

    async def _has_ended(self, key: ObjectKey, uid: str) -> bool:
        """Whether a driver has ended; it is asked to if nobody has yet."""
        state = await self._answer(partial(self.launcher.look, key))
        if state is None or state.uid != uid or state.phase is DriverPhase.ENDED:
            return True
        if not state.terminating:
            await self._answer(partial(self.launcher.stop, key, uid))
        return False

    async def _let_go(self, key: ObjectKey, uid: str) -> None:
        await self._answer(partial(self.launcher.release, key, uid, remove=True))
        _log.info("let go of a driver", extra={"compaction": str(key)})

    async def _unlock(self, left: Collection[ObjectKey]) -> None:
        for name, holder in await self._answer(self.locks.all):
            is_ours = not self.namespaces or holder.key.namespace in self.namespaces
            if is_ours and holder.key not in left:
                await self._answer(partial(self.locks.drop, name, holder))

    async def _answer(self, request: Callable[[], Awaitable[Answer]]) -> Answer:
        """The answer to a request; the caller's reign ends before it is tried for ever."""
        while True:
            try:
                return await request()
            except ClusterUnavailable as error:
                _log.warning("%s; tried again", error)
                await self.sleep(_PAUSE)
