"""Observes tables of one format: what is due, and what has changed since the last observation.

Called by adapters, which give it their tables (`source`); each worker of the controller's observer pool has
an `Observer` per format. It tries in this order: nothing has changed; groups whose figures have expired are
judged again; new snapshots update the cache; everything is read. Writes nothing except caches.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Generic

from lithify.clock import Clock
from lithify.engine.observe.cache import Damaged, ObservationCache
from lithify.engine.observe.cache_folder import ObservationCaches, in_memory
from lithify.engine.observe.groups import judge_again, read, update
from lithify.engine.observe.layout import Layout
from lithify.engine.observe.rolled_back import rolled_back
from lithify.engine.observe.source import ObservedTable
from lithify.engine.observe.state import Details, SnapshotMark, TableState
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.observation import Observation
from lithify.formats.protocol.observing import ObservationRequest

MOST_OPEN = 1024
"""Number of tables that stay open unless a caller says otherwise."""


@dataclass(frozen=True, slots=True)
class _Opened(Generic[Details]):
    """A table that stays open between observations, and its newest snapshot then."""

    address: TableAddress
    table: ObservedTable[Details]
    newest: SnapshotMark | None = None


class Observer(Generic[Details]):
    """Observes tables, and caches what makes the next observation cheap.

    Args:
        open_table: opens a table.
        layout: how files of its format are cached.
        caches: on-disk caches, for what does not fit into memory.
        clock: the current time.
        most_open: maximum number of open tables.
    """

    def __init__(
        self,
        open_table: Callable[[TableAddress], ObservedTable[Details]],
        layout: Layout[Details],
        caches: ObservationCaches,
        clock: Clock,
        most_open: int = MOST_OPEN,
    ) -> None:
        self._open_table = open_table
        self._layout = layout
        self._caches = caches
        self._clock = clock
        self._most_open = most_open
        self._opened: OrderedDict[str, _Opened[Details]] = OrderedDict()

    def observe(self, request: ObservationRequest) -> Observation | None:
        """Observes a table; None if its newest snapshot is still the known one.

        Raises:
            InvalidOption: the filter names a column that is not a partition column.
            LithifyError: the table cannot be opened or read.
        """
        try:
            return self._observe(request)
        except Damaged:
            return self._observe(replace(request, is_full=True))

    def _observe(self, request: ObservationRequest) -> Observation | None:
        zone, opened = request.address.zone(), self._opened.pop(request.cache_key, None)
        if request.is_full or (opened is not None and opened.address != request.address):
            opened = None
        stays = opened or self._open(request.address)
        now = self._clock.now().astimezone(zone)
        found: ObservationCache[Details] | None = None
        if self._is_unchanged(request, stays):
            if not request.reconsider:
                self._keep_open(request.cache_key, stays)
                return None
            found = self._as_cached(request, stays, now)
        if found is None:
            stays, found = self._newest(request, stays, now, is_fresh=opened is None)
        with closing(found):
            self._caches.keep(request.cache_key, found)
            self._keep_open(request.cache_key, replace(stays, newest=found.state.newest))
            summary = stays.table.summarise(found, request.wanted, now)
            if not request.committed:
                return summary
            return replace(summary, rolled_back=rolled_back(request.committed, stays.table.history()))

    def _open(self, address: TableAddress) -> _Opened[Details]:
        return _Opened(address, self._open_table(address))

    def _keep_open(self, key: str, opened: _Opened[Details]) -> None:
        self._opened[key] = opened
        if len(self._opened) > self._most_open:
            self._opened.popitem(last=False)
        self._caches.use(key, self._clock.now().timestamp())

    def _is_unchanged(self, request: ObservationRequest, opened: _Opened[Details]) -> bool:
        if request.is_full or request.known_uuid != opened.table.key.uuid:
            return False
        known, newest = request.known_snapshot, opened.newest
        mark = newest if newest is not None and newest.id == known else None
        return opened.table.is_unchanged(known, mark, partial(self._seconds_since, request.cache_key))

    def _seconds_since(self, key: str) -> float | None:
        """Seconds since a table was last observed, None without a cache of it."""
        last = self._caches.used_at(key)
        return None if last is None else self._clock.now().timestamp() - last

    def _as_cached(
        self, request: ObservationRequest, opened: _Opened[Details], now: datetime
    ) -> ObservationCache[Details] | None:
        """The cache of the known snapshot, judged with the time and options of this observation."""
        cache = self._caches.load(request.cache_key, self._layout)
        if cache is None:
            return None
        with ExitStack() as unless_used:
            unless_used.callback(cache.close)
            newest = cache.state.newest and cache.state.newest.id
            if (cache.state.table, newest) != (opened.table.key, request.known_snapshot):
                return None
            with suppress(Damaged):
                judge_again(cache, opened.table.judge(now))
                unless_used.pop_all()
                return cache
        return None

    def _newest(
        self, request: ObservationRequest, opened: _Opened[Details], now: datetime, *, is_fresh: bool
    ) -> tuple[_Opened[Details], ObservationCache[Details]]:
        """The current state; reopens the table if the open one may be out of date."""
        if not is_fresh and opened.table.is_outdated():
            opened, is_fresh = self._open(request.address), True
        cache = self._caches.load(request.cache_key, self._layout)
        if cache is None:
            return self._everything(request, opened, now, None, is_fresh=is_fresh)
        with ExitStack() as unless_used:
            unless_used.callback(cache.close)
            if not request.is_full and update(opened.table, cache, opened.table.judge(now)):
                unless_used.pop_all()
                return opened, cache
            return self._everything(request, opened, now, cache.state, is_fresh=is_fresh)

    def _everything(
        self,
        request: ObservationRequest,
        opened: _Opened[Details],
        now: datetime,
        earlier: TableState[Details] | None,
        *,
        is_fresh: bool,
    ) -> tuple[_Opened[Details], ObservationCache[Details]]:
        """The result of a full read; in memory if it cannot be cached on disk."""
        if not is_fresh:
            opened = self._open(request.address)
        with suppress(Damaged):
            cache = self._caches.begin(request.cache_key, self._layout)
            return opened, self._filled(cache, opened.table, earlier, now)
        return opened, self._filled(in_memory(self._layout), opened.table, earlier, now)

    def _filled(
        self,
        target: ObservationCache[Details],
        table: ObservedTable[Details],
        earlier: TableState[Details] | None,
        now: datetime,
    ) -> ObservationCache[Details]:
        with ExitStack() as unless_filled:
            unless_filled.callback(self._caches.abandon, target)
            read(table, earlier, target, table.judge(now))
            unless_filled.pop_all()
        return target
