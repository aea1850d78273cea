"""The operator: assembles the parts, runs them while this process is the leader, and shuts them down.

Called by `lithify operator` (a real API server, kopf's events) and `lithify watch` (a folder). Everything
that differs between the two is passed in as a Protocol.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Protocol, TypeVar

from lithify.clock import Clock
from lithify.controller.api import Api, Object, Tell
from lithify.controller.cluster.election import Election, Fenced, Terms
from lithify.controller.cluster.table_lock import TableLocks
from lithify.controller.deciding.admission import Caps
from lithify.controller.deciding.health import problem_with, refusal_in
from lithify.controller.deciding.limits import OperatorLimits
from lithify.controller.driver import Launcher
from lithify.controller.observing.request import TableObserver
from lithify.controller.reconciling.catalogs import Catalogs
from lithify.controller.reconciling.compactions import Compactions
from lithify.controller.reconciling.context import Context
from lithify.controller.reconciling.intake import Intake
from lithify.controller.reconciling.loop import work
from lithify.controller.reconciling.observation_scheduler import ObservationScheduler
from lithify.controller.reconciling.pacing import Backoff
from lithify.controller.reconciling.policies import Policies
from lithify.controller.reconciling.queue import Item, Queue
from lithify.controller.reconciling.recorder import Recorder
from lithify.controller.reconciling.redaction_scope import redaction_scope
from lithify.controller.reconciling.reporting import Reports
from lithify.controller.reconciling.secrets import Hidden, Secrets
from lithify.controller.reconciling.slots import Slots
from lithify.controller.reconciling.store import Store
from lithify.controller.reconciling.tables import Tables
from lithify.controller.telemetry.health import HealthFacts, LoopLag
from lithify.controller.telemetry.metrics import Metrics
from lithify.errors import ClusterUnavailable
from lithify.io.access_policy import AccessPolicy, OwnIdentity
from lithify.resources.names import CATALOG, COMPACTION, LAKE_TABLE, POLICY, ObjectKey, ResourceKind
from lithify.resources.spark_template import SparkTemplate
from lithify.resources.table import LakeTable

_log = logging.getLogger(__name__)
_PRIORITIES = {COMPACTION.name: 0, CATALOG.name: 1, POLICY.name: 1, LAKE_TABLE.name: 2}
"""Runs under way go first: results are recorded before any new work is started."""

Answer = TypeVar("Answer")


class EventSource(Protocol):
    """A source of events about objects."""

    async def run(self, tell: Tell, stop: asyncio.Event) -> None:
        """Reports every object, and every change, until `stop` is set."""
        ...


@dataclass(frozen=True, slots=True)
class OperatorSettings:
    """How this operator works.

    Attributes:
        identity: distinguishes it from other operators.
        home: the namespace of its Leases.
        lease: the name of its leader election Lease.
        terms: duration and renewal of that Lease.
        caps: limits on concurrent runs.
        workers: number of concurrent reconciles.
        per_catalog: number of concurrent observation requests for each catalog.
        limits: bounds on what tenants may request.
        resync_seconds: interval between full lists of all objects.
    """

    identity: str
    home: str = "default"
    lease: str = "lithify-operator"
    terms: Terms = field(default_factory=Terms)
    caps: Caps = field(default_factory=Caps)
    workers: int = 16
    per_catalog: int = 2
    limits: OperatorLimits = field(default_factory=OperatorLimits)
    resync_seconds: float = 600.0


@dataclass(frozen=True, slots=True)
class Edges:
    """The operator's external interfaces.

    Attributes:
        api: the API server.
        events: the source of events about its objects.
        launcher: makes the launcher of drivers, from the API as this operator may use it and its Secrets.
        observer: observes tables.
        clock: the wall clock.
        metrics: the operator's metrics.
        credentials: receives the credentials to redact from texts.
        conf_problem: returns why Spark settings are refused.
        reach: locations where a namespace's tables may be read with this process's rights; default none.
    """

    api: Api
    events: EventSource
    launcher: Callable[[Api, Secrets], Launcher]
    observer: TableObserver
    clock: Clock
    metrics: Metrics
    credentials: Hidden
    conf_problem: Callable[[SparkTemplate], str | None]
    reach: Callable[[str], AccessPolicy] = OwnIdentity().reach


class Operator:
    """One operator process.

    Attributes:
        queue: keys of the objects to reconcile.
        scheduler: schedules observations of tables.
        election: the leader election.
        is_synced: whether it has listed all objects since it became the leader.
    """

    def __init__(self, settings: OperatorSettings, edges: Edges) -> None:
        self._settings = settings
        self._edges = edges
        self._stop = asyncio.Event()
        home = ObjectKey(settings.home, settings.lease)
        self.election = Election(edges.api, home, settings.identity, edges.clock, settings.terms)
        self.queue = Queue(_PRIORITIES)
        self.is_synced = False
        self._lag = LoopLag()
        self._since = monotonic()
        self._heard: float | None = None
        api = Fenced(edges.api, self.election)
        store = Store()
        secrets = Secrets(api, edges.credentials)
        self.scheduler = ObservationScheduler(
            edges.observer,
            lambda key: self.queue.add(LAKE_TABLE, key),
            lambda key, seconds: self.queue.add_after(Item(LAKE_TABLE.name, key), seconds),
            edges.metrics.observed,
            settings.per_catalog,
        )
        self._context = Context(
            api=api,
            store=store,
            queue=self.queue,
            launcher=edges.launcher(api, secrets),
            observer=edges.observer,
            scheduler=self.scheduler,
            secrets=secrets,
            locks=TableLocks(api, settings.home),
            slots=Slots(store, settings.caps),
            recorder=Recorder(api, edges.clock, settings.identity),
            metrics=edges.metrics,
            clock=edges.clock,
            conf_problem=edges.conf_problem,
            limits=settings.limits,
            reach=edges.reach,
            fence=self.election.check,
        )
        self._compactions = Compactions(self._context)
        self._catalogs = Catalogs(self._context)
        self._intake = Intake(store, self.queue)

    def stop(self) -> None:
        """Requests a shutdown; drivers keep running."""
        self._stop.set()

    @property
    def facts(self) -> HealthFacts:
        """Facts for the health checks."""
        return HealthFacts(
            is_leader=self.election.holds,
            is_synced=self.is_synced,
            since=self._since,
            last_event=self._heard,
            queue_seconds=self.queue.oldest_seconds,
            reconcile_seconds=self.queue.longest_seconds,
            lag_seconds=self._lag.seconds,
        )

    @property
    def is_idle(self) -> bool:
        """Whether every catalog has answered, every table is observed, and nothing is due or under way."""
        store = self._context.store
        return (
            self.is_synced
            and self.queue.is_empty
            and all(map(self._is_settled, store.tables))
            and all(run.is_over for run in store.compactions)
            and not self._compactions.unreleased
            and not self._catalogs.is_asking
        )

    def _is_settled(self, table: LakeTable) -> bool:
        """Whether no observation of a table is wanted or under way, or none is possible without a Catalog."""
        seen = self.scheduler.seen(table.metadata.key)
        return seen.is_settled or (self._context.store.catalog_of(table) is None and not seen.underway)

    @property
    def failures(self) -> list[str]:
        """The tables that cannot be observed, or whose last compaction failed; then Catalogs without tables.

        What is wrong with other Catalogs is said of their tables.
        """
        store = self._context.store
        tables = sorted(store.tables, key=lambda table: table.metadata.key)
        used = {catalog.metadata.key for table in tables if (catalog := store.catalog_of(table))}
        unused = [catalog for catalog in store.catalogs if catalog.metadata.key not in used]
        told = [(table.metadata.key, problem_with(table)) for table in tables]
        told += [(catalog.metadata.key, refusal_in(catalog.status.conditions)) for catalog in unused]
        return [f"{key}: {problem}" for key, problem in told if problem]

    def measure(self) -> None:
        """Updates the metrics that are sampled rather than counted as events happen."""
        metrics = self._edges.metrics
        metrics.leads(self.election.holds)
        metrics.queue(self.queue.depth, self.queue.oldest_seconds)
        metrics.observation_age(self.scheduler.oldest_seconds)
        metrics.loop_lag(self._lag.seconds)
        metrics.waiting(self._context.slots.waiting)

    async def run(self) -> bool:
        """Runs until it is stopped (returns True) or another operator has its lease (returns False).

        Raises:
            ClusterRefused: a permission or the CRDs are missing.
        """
        await _first_of(self._stop.wait(), self.election.win(), self._lag.measure())
        if self._stop.is_set():
            return True
        self._since = monotonic()
        try:
            await self._lead()
        finally:
            await self.election.resign()
        return self._stop.is_set()

    async def _lead(self) -> None:
        """Runs for as long as the Lease is held."""
        self._catalogs = Catalogs(self._context)  # lists of an earlier lead are out of date
        reconcilers = {
            COMPACTION: self._compactions.reconcile,
            LAKE_TABLE: Tables(self._context).reconcile,
            POLICY: Policies(self._context).reconcile,
            CATALOG: self._catalogs.reconcile,
        }
        reports = Reports(self._context)
        beside = {kind.name: reports.beside(kind, each) for kind, each in reconcilers.items()}
        keep = asyncio.create_task(self.election.keep())
        try:
            await _first_of(keep, self._sync())
            if keep.done():
                return
            await _first_of(
                keep,
                self._stop.wait(),
                self._edges.events.run(self._take, self._stop),
                self._lag.measure(),
                self._context.launcher.watch(),
                self._resync(),
                self.scheduler.work(),
                work(
                    self.queue,
                    beside,
                    self._edges.metrics.reconciled,
                    self._settings.workers,
                    within=partial(redaction_scope, self._context.store),
                ),
            )
        finally:
            keep.cancel()

    async def _sync(self) -> None:
        """Loads the state of the cluster: drivers first, so that no run seems to lack its driver."""
        self._context.launcher.on_change(self._driver_changed)
        for key, _ in await self._retried(self._context.launcher.all):
            self._compactions.unreleased.add(key)
            self.queue.add(COMPACTION, key)
        await self._retried(lambda: self._intake.resync(self._context.api))
        await self._retried(self._compactions.take_over)
        self.is_synced = True
        _log.info("synced", extra={"tables": len(self._context.store.tables)})

    def _take(self, kind: ResourceKind, body: Object, gone: bool) -> None:  # the events' signature
        self._heard = monotonic()
        self._intake.take(kind, body, gone)

    async def _resync(self) -> None:
        while True:
            await asyncio.sleep(self._settings.resync_seconds)
            await self._retried(lambda: self._intake.resync(self._context.api))
            await self._retried(self._compactions.sweep)
            self._heard = monotonic()

    async def _retried(self, request: Callable[[], Awaitable[Answer]]) -> Answer:
        """The response to a request, retried with backoff while the API server is unavailable.

        The end of the lease ends the retries.
        """
        backoff = Backoff(self._settings.identity)
        while True:
            try:
                return await request()
            except ClusterUnavailable as error:
                seconds = backoff.failed()
                _log.warning("%s; tried again in %.1f s", error, seconds)
                await asyncio.sleep(seconds)

    def _driver_changed(self, key: ObjectKey) -> None:
        self.queue.add(COMPACTION, key)


async def _first_of(*works: Awaitable[object]) -> None:
    """Waits for the first awaitable, cancels the tasks started here, and raises the first one's error."""
    tasks = [asyncio.ensure_future(each) for each in works]
    begun = [task for task, each in zip(tasks, works, strict=True) if task is not each]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in begun:
            task.cancel()
        await asyncio.gather(*begun, return_exceptions=True)
    for task in done:
        task.result()
