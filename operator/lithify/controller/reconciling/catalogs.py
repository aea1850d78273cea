"""Reconciles Catalogs: says whether they answer, and creates LakeTables where discovery is wanted.

What looks at a catalog's tables find out is used where there are any; a catalog without is asked seldom, so
that it says whether it can be reached before anybody relies on it.

Called by `loop`, and by `tables` whenever a look has ended differently than the one before.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from lithify.controller.deciding.discovery import discover
from lithify.controller.deciding.problems import TableProblem, problem_of
from lithify.controller.deciding.surroundings import Discovered, catalog_status
from lithify.controller.observing.request import NO_TABLES, PROBE, TableFilter, TableList, TableTarget
from lithify.controller.reconciling.status import write_status
from lithify.controller.reconciling.world import World
from lithify.errors import ClusterExists, ClusterRefused, LithifyError, NotAllowed
from lithify.resources.catalog import Catalog, CatalogSpec
from lithify.resources.names import CATALOG, LAKE_TABLE, ObjectKey

_log = logging.getLogger(__name__)
_BATCH = 500
"""LakeTables that are created before other objects have their turn, and before status is written."""
_PROBE_SECONDS = 600.0
"""Between two questions to a catalog that has no tables here."""
_PROBE_RETRY_SECONDS = 60.0
"""The same after one that failed: somebody may be waiting for what they have just mended."""
_NEXT_BATCH = 1.0
"""Seconds in which the events of a batch arrive."""


@dataclass(slots=True)
class _Listing:
    """The last list of a catalog's tables: of which spec, when, and what came of it."""

    generation: int
    ended: float
    found: TableList = NO_TABLES
    problem: TableProblem | None = None

    def lasts(self, spec: CatalogSpec) -> float:
        """Seconds after which the catalog is asked again."""
        if spec.discovery is not None:
            return spec.discovery.interval_seconds
        return _PROBE_SECONDS if self.problem is None else _PROBE_RETRY_SECONDS


@dataclass(slots=True)
class Catalogs:
    """Reconciles Catalogs.

    Attributes:
        world: what it works with.
        ticks: seconds that only ever grow.
    """

    world: World
    ticks: Callable[[], float] = monotonic
    _listings: dict[ObjectKey, _Listing] = field(default_factory=dict)
    _underway: dict[ObjectKey, asyncio.Task[None]] = field(default_factory=dict)

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Makes status true and creates what is missing; returns the seconds until the next list is due."""
        world = self.world
        catalog = world.store.catalogs.get(key)
        if catalog is None:
            self._listings.pop(key, None)
            world.secrets.forget(key)
            return None
        again = self._list(catalog)
        listing = self._listings.get(key)
        discovered = None
        if listing is not None and listing.problem is None and catalog.spec.discovery is not None:
            left_out, is_done = await self._create(catalog, listing)
            discovered = Discovered(listing.found.wanted, left_out, listing.found.unusable)
            again = again if is_done else _NEXT_BATCH
        status = catalog_status(
            catalog,
            [*self._looks(key), *([listing.problem] if listing else [])],
            len(world.store.tables.using("catalog", key)),
            world.now(),
            discovered=discovered,
            cut_timeout=world.limits.cut_timeout(catalog.spec),
        )
        written = await write_status(world.api, CATALOG, catalog, status)
        if written is not None:
            world.store.catalogs.put(written)
        return again

    def _looks(self, key: ObjectKey) -> list[TableProblem | None]:
        """How the last look at each table of the catalog ended."""
        tables = self.world.store.tables.using("catalog", key)
        seen = [self.world.looks.seen(table.metadata.key) for table in tables]
        return [problem_of(one.error) if one.error else None for one in seen if one.looked is not None]

    def _list(self, catalog: Catalog) -> float | None:
        """Has the tables listed, or the catalog only probed, if it is time; the seconds until it is."""
        key, spec = catalog.metadata.key, catalog.spec
        if spec.discovery is None and self.world.store.tables.using("catalog", key):
            self._listings.pop(key, None)  # looks at the tables know better
            return None
        known = self._listings.get(key)
        if known is not None and known.generation == catalog.metadata.generation:
            wait = known.ended + known.lasts(spec) - self.ticks()
            if wait > 0:
                return wait
        if key not in self._underway:
            self._underway[key] = asyncio.create_task(self._ask(catalog))
        return None

    async def _ask(self, catalog: Catalog) -> None:
        """Lists the tables, beside everything else: catalogs may be slow to answer."""
        key, spec = catalog.metadata.key, catalog.spec
        found = NO_TABLES
        problem: TableProblem | None = None
        try:
            options = await self.world.secrets.of_catalog(catalog)
            reach = self.world.reach(key.namespace)
            target = TableTarget(spec.warehouse, "", options, catalog=str(key), reach=reach)
            found = await self.world.observer.list_tables(
                target, self.world.limits.timeout_of(spec), self._wanted(spec)
            )
        except LithifyError as error:
            problem = problem_of(error)
            if isinstance(error, NotAllowed):
                self.world.secrets.refused(key)
        finally:
            self._underway.pop(key, None)
        self._listings[key] = _Listing(catalog.metadata.generation, self.ticks(), found, problem)
        self.world.queue.add(CATALOG, key)

    def _wanted(self, spec: CatalogSpec) -> TableFilter:
        most, discovery = self.world.limits.tables, spec.discovery
        return TableFilter(discovery.include, discovery.exclude, most) if discovery else PROBE

    async def _create(self, catalog: Catalog, listing: _Listing) -> tuple[int, bool]:
        """Creates LakeTables; returns how many tables get none, and whether all others have theirs."""
        namespace, most = catalog.metadata.namespace, self.world.limits.tables
        existing = [table for table in self.world.store.tables if table.metadata.namespace == namespace]
        refusals: list[ClusterRefused] = []
        found = discover(listing.found.names, listing.found.wanted, most, catalog, existing)
        for body in found.bodies[:_BATCH]:
            try:
                await self.world.api.create(LAKE_TABLE, namespace, body)
            except ClusterExists:
                continue
            except ClusterRefused as error:
                refusals.append(error)  # the other tables need not wait for that
                continue
            _log.info("discovered a table", extra={"namespace": namespace, "table": body["metadata"]["name"]})
        if refusals:
            _log.warning("%d discovered tables are left out; the last: %s", len(refusals), refusals[-1])
        return found.left_out, len(found.bodies) <= _BATCH
