"""Observes tables without reading their data: live files, due work, changes since the last observation.

Called by the workers of the controller's observer pool, one `PaimonObserver` per process. For an unchanged
table one small request suffices: does a file of the next snapshot exist or, if a catalog's server commits,
which snapshot is the newest? Writes nothing except each table's cache in a local folder.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from lithify.clock import Clock
from lithify.formats.paimon.buckets.clustered import same_columns
from lithify.formats.paimon.catalog import connecting
from lithify.formats.paimon.commit import found_runs
from lithify.formats.paimon.names.snapshot_ids import snapshot_id, snapshot_number
from lithify.formats.paimon.observing.due_work import Judge
from lithify.formats.paimon.observing.due_work_clustering import ClusteringJudge
from lithify.formats.paimon.observing.due_work_packing import PackingJudge
from lithify.formats.paimon.observing.live_files import (
    is_still_there,
    judge_again,
    mark_of,
    read,
    update,
)
from lithify.formats.paimon.observing.observation_cache import (
    Damaged,
    ObservationCache,
    SnapshotMark,
    TableState,
)
from lithify.formats.paimon.observing.observation_caches import ObservationCaches, in_memory
from lithify.formats.paimon.observing.summary import summarise
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.options.snapshot_options import retention
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.observation import Observation, RunFound
from lithify.formats.protocol.observing import ObservationRequest

_FEW_SNAPSHOTS = 100
"""A table that keeps fewer snapshots may have expired the next one before it is checked."""


@dataclass(frozen=True, slots=True)
class _Opened:
    """A table that stays open between observations, and its newest snapshot then."""

    address: TableAddress
    table: PaimonTable
    uuid: str
    newest: SnapshotMark | None = None


class PaimonObserver:
    """Observes tables, and caches what makes the next observation cheap.

    Args:
        caches: on-disk caches, for what does not fit into memory.
        clock: the current time.
        most_open: maximum number of open tables.
    """

    def __init__(self, caches: ObservationCaches, clock: Clock, most_open: int = 1024) -> None:
        self._caches = caches
        self._clock = clock
        self._most_open = most_open
        self._opened: OrderedDict[str, _Opened] = OrderedDict()

    def observe(self, request: ObservationRequest) -> Observation | None:
        """Observes a table; None if its newest snapshot is still the known one.

        Raises:
            InvalidOption: the filter names a column that is not a partition column.
            LithifyError: see `open_table`, `live_files.read` and `live_files.update`.
        """
        try:
            return self._observe(request)
        except Damaged:
            return self._observe(replace(request, is_full=True))

    def _observe(self, request: ObservationRequest) -> Observation | None:
        zone, opened = request.address.zone(), self._opened.pop(request.cache_key, None)
        if request.is_full or (opened is not None and opened.address != request.address):
            opened = None
        stays = opened or _open(request.address)
        now = self._clock.now().astimezone(zone)
        found: ObservationCache | None = None
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
            return summarise(stays.table, found, request.wanted, now)

    def find_run(self, address: TableAddress, run: str, since: datetime | None = None) -> RunFound | None:
        """What a run has committed; see `found_runs.find_run`."""
        return found_runs.find_run(open_table(address), run, since)

    def check_catalog(self, address: TableAddress) -> None:
        """Checks a catalog with a cheap request; see `connecting.check_catalog`."""
        connecting.check_catalog(address.warehouse, address.catalog_options, address.reach)

    def list_tables(self, address: TableAddress) -> tuple[str, ...]:
        """All tables of a catalog; see `connecting.list_tables`."""
        return connecting.list_tables(address.warehouse, address.catalog_options, address.reach)

    def _keep_open(self, key: str, opened: _Opened) -> None:
        self._opened[key] = opened
        if len(self._opened) > self._most_open:
            self._opened.popitem(last=False)
        self._caches.use(key, self._clock.now().timestamp())

    def _is_unchanged(self, request: ObservationRequest, opened: _Opened) -> bool:
        if request.is_full or request.known_uuid != opened.uuid:
            return False
        known = None
        if request.known_snapshot is not None:
            known = snapshot_number(request.known_snapshot)
            if known is None:
                return False
        snapshots = opened.table.snapshots
        is_marked = opened.newest is not None and opened.newest.id == known
        if snapshots.has_server:
            newest = snapshots.latest()
            if newest is None or newest.id != known:
                return newest is None and known is None
            return not is_marked or mark_of(newest) == opened.newest
        if snapshots.exists((known or 0) + 1):
            return False
        if not self._may_have_skipped(request, opened):
            return True
        if known is None:
            return not snapshots.numbers()
        if opened.newest is not None and is_marked:
            return is_still_there(opened.table, opened.newest)
        return snapshots.exists(known)

    def _may_have_skipped(self, request: ObservationRequest, opened: _Opened) -> bool:
        """Whether snapshots may have come and expired so fast that the next one is gone already."""
        last = self._caches.used_at(request.cache_key)
        keeps = retention(opened.table.stored_options)
        if last is None or (keeps.count is not None and keeps.count < _FEW_SNAPSHOTS):
            return True
        return (self._clock.now().timestamp() - last) * 1000 > keeps.millis / 2

    def _as_cached(
        self, request: ObservationRequest, opened: _Opened, now: datetime
    ) -> ObservationCache | None:
        """The cache of the known snapshot, judged with the time and options of this observation."""
        cache = self._caches.load(request.cache_key)
        if cache is None:
            return None
        with ExitStack() as unless_used:
            unless_used.callback(cache.close)
            state = cache.state
            newest = snapshot_id(state.newest.id) if state.newest else None
            is_known = (state.uuid, state.schema_id, newest) == (
                opened.uuid,
                opened.table.schema.id,
                request.known_snapshot,
            )
            if not is_known:
                return None
            with suppress(Damaged):
                judge_again(cache, _judge(opened.table, now))
                unless_used.pop_all()
                return cache
        return None

    def _newest(
        self, request: ObservationRequest, opened: _Opened, now: datetime, *, is_fresh: bool
    ) -> tuple[_Opened, ObservationCache]:
        """The current state; reopens the table if the open one may be out of date."""
        if not is_fresh and opened.table.has_newer_schema():
            opened, is_fresh = _open(request.address), True
        cache = self._caches.load(request.cache_key)
        if cache is None:
            return self._everything(request, opened, now, None, is_fresh=is_fresh)
        with ExitStack() as unless_used:
            unless_used.callback(cache.close)
            if not request.is_full and update(opened.table, opened.uuid, cache, _judge(opened.table, now)):
                unless_used.pop_all()
                return opened, cache
            return self._everything(request, opened, now, cache.state, is_fresh=is_fresh)

    def _everything(
        self,
        request: ObservationRequest,
        opened: _Opened,
        now: datetime,
        earlier: TableState | None,
        *,
        is_fresh: bool,
    ) -> tuple[_Opened, ObservationCache]:
        """The result of a full read."""
        if not is_fresh:
            opened = _open(request.address)
        judge = _judge(opened.table, now)
        with suppress(Damaged):
            return opened, self._filled(self._caches.begin(request.cache_key), opened, earlier, judge)
        return opened, self._filled(in_memory(), opened, earlier, judge)

    def _filled(
        self, target: ObservationCache, opened: _Opened, earlier: TableState | None, judge: Judge
    ) -> ObservationCache:
        with ExitStack() as unless_filled:
            unless_filled.callback(self._caches.abandon, target)
            read(opened.table, opened.uuid, earlier, target, judge)
            unless_filled.pop_all()
        return target


def _judge(table: PaimonTable, now: datetime) -> Judge:
    options = table.options
    common = (options.policy, now, table.order_keys, table.bucket_id, table.name)
    if options.packing is None:
        return Judge(*common)
    if options.clustering is None:
        return PackingJudge(*common, options.packing)
    return ClusteringJudge(*common, options.clustering.planning, same_columns(table.schema, table.schema_of))


def _open(address: TableAddress) -> _Opened:
    table = open_table(address)
    return _Opened(address, table, table.uuid)


def open_observer(cache: Path, limit: int, clock: Clock, most_open: int) -> PaimonObserver:
    """Opens a watch that caches tables in a folder of about `limit` bytes."""
    return PaimonObserver(ObservationCaches(cache, limit), clock, most_open)
