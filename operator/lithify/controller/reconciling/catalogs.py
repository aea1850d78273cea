"""Reconciles Catalogs: says whether they answer, and creates LakeTables where discovery is wanted.

Called by `loop`, and by `tables` whenever a look has ended differently than the one before.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from lithify.controller.deciding.discovery import discover, wanted_tables
from lithify.controller.deciding.problems import TableProblem, problem_of
from lithify.controller.deciding.surroundings import catalog_status
from lithify.controller.observing.request import TableTarget
from lithify.controller.reconciling.status import write_status
from lithify.controller.reconciling.world import World
from lithify.errors import ClusterExists, LithifyError
from lithify.resources.catalog import Catalog
from lithify.resources.names import CATALOG, LAKE_TABLE, ObjectKey

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Listing:
    """The last list of a catalog's tables: of which spec, when, and what came of it."""

    generation: int
    ended: float
    found: tuple[str, ...] = ()
    problem: TableProblem | None = None


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
            return None
        again = self._list(catalog)
        listing = self._listings.get(key)
        discovered = None
        if listing is not None and listing.problem is None and catalog.spec.discovery is not None:
            discovered = len(wanted_tables(listing.found, catalog.spec.discovery))
            await self._create(catalog, listing)
        status = catalog_status(
            catalog,
            [*self._looks(key), *([listing.problem] if listing else [])],
            len(world.store.tables.using("catalog", key)),
            world.now(),
            discovered=discovered,
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
        """Has the catalog's tables listed if it is time; the seconds until that is."""
        key, discovery = catalog.metadata.key, catalog.spec.discovery
        if discovery is None:
            self._listings.pop(key, None)
            return None
        known = self._listings.get(key)
        if known is not None and known.generation == catalog.metadata.generation:
            wait = known.ended + discovery.interval_seconds - self.ticks()
            if wait > 0:
                return wait
        if key not in self._underway:
            self._underway[key] = asyncio.create_task(self._ask(catalog))
        return None

    async def _ask(self, catalog: Catalog) -> None:
        """Lists the tables, beside everything else: catalogs may be slow to answer."""
        key, spec = catalog.metadata.key, catalog.spec
        found: tuple[str, ...] = ()
        problem: TableProblem | None = None
        try:
            options = await self.world.secrets.of_catalog(key.namespace, spec)
            reach = self.world.reach(key.namespace)
            target = TableTarget(spec.warehouse, "", options, reach=reach)
            found = await self.world.observer.list_tables(target, float(spec.timeout_seconds))
        except LithifyError as error:
            problem = problem_of(error)
        finally:
            self._underway.pop(key, None)
        self._listings[key] = _Listing(catalog.metadata.generation, self.ticks(), found, problem)
        self.world.queue.add(CATALOG, key)

    async def _create(self, catalog: Catalog, listing: _Listing) -> None:
        namespace = catalog.metadata.namespace
        existing = [table for table in self.world.store.tables if table.metadata.namespace == namespace]
        for body in discover(listing.found, catalog, existing):
            try:
                await self.world.api.create(LAKE_TABLE, namespace, body)
            except ClusterExists:
                continue
            _log.info("discovered a table", extra={"namespace": namespace, "table": body["metadata"]["name"]})
