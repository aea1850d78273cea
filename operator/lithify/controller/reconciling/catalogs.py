"""Reconciles Catalogs: reports whether they respond, and creates LakeTables where discovery is enabled.

A catalog's state follows from the observations of its tables. A catalog without tables is probed at long
intervals, so that its status shows whether it can be reached before any table depends on it.

Called by `loop`; `tables` requeues a Catalog when an observation ends differently than the one before.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic

from lithify.controller.deciding.discovery import Found, discover
from lithify.controller.deciding.health import catalog_health
from lithify.controller.deciding.problems import TableProblem, is_unsupported, problem_of
from lithify.controller.deciding.pruning import ListedTables, absent_tables, prune
from lithify.controller.deciding.references import Discovered, catalog_problem, catalog_status
from lithify.controller.deciding.seen_tables import remember
from lithify.controller.observing.request import NO_TABLES, PROBE, TableFilter, TableList
from lithify.controller.reconciling.addressing import catalog_address
from lithify.controller.reconciling.context import Context
from lithify.controller.reconciling.pruning import carry_out
from lithify.controller.reconciling.secrets import SUSPECT_SECONDS
from lithify.controller.reconciling.status import write_status
from lithify.errors import ClusterExists, ClusterRefused, LithifyError, UserError
from lithify.resources.catalog import Catalog, CatalogSpec, Recreate
from lithify.resources.names import CATALOG, LAKE_TABLE, ObjectKey
from lithify.resources.objects import READY, condition_of
from lithify.resources.table import LakeTable

_log = logging.getLogger(__name__)
_BATCH = 500
"""Most LakeTables created in one reconcile, before other objects have their turn and status is written."""
_PROBE_SECONDS = 600.0
"""Seconds between two probes of a catalog that has no LakeTables."""
_PROBE_RETRY_SECONDS = 60.0
"""Seconds until the next probe after a failed one: a user may be waiting for a fix to show."""
_NEXT_BATCH = 1.0
"""Seconds to wait for the events of a batch before the next batch is created."""
_CONFIRMING = 30.0
"""Seconds from a list that lacks a table to the list that must confirm it: longer than dropping a table and
creating it again takes."""


@dataclass(slots=True)
class _Listing:
    """The last list of a catalog's tables: the spec's generation, when it ended, and its result."""

    generation: int
    ended: float
    found: TableList = NO_TABLES
    problem: TableProblem | None = None
    uid: str = ""
    earlier: TableList | None = None
    """The previous list, if it succeeded and was made for the same spec."""
    needs_list: bool = False
    """Whether another list is needed soon to confirm this one."""
    is_checked: bool = False
    """Whether observations of the tables that it lacks have been requested."""
    secret: int = 0
    """The version of the catalog's options from its Secret for which it was made."""

    def is_of(self, catalog: Catalog) -> bool:
        """Whether the list was made for the Catalog's current generation."""
        return (self.uid, self.generation) == (catalog.metadata.uid, catalog.metadata.generation)

    def lasts(self, spec: CatalogSpec) -> float:
        """Seconds after which the tables are listed, or the catalog is probed, again."""
        if spec.discovery is not None:
            return _CONFIRMING if self.needs_list else spec.discovery.interval_seconds
        return _PROBE_SECONDS if self.problem is None else _PROBE_RETRY_SECONDS


@dataclass(slots=True)
class Catalogs:
    """Reconciles Catalogs.

    Attributes:
        context: what the reconcilers share.
        ticks: monotonic clock, in seconds.
    """

    context: Context
    ticks: Callable[[], float] = monotonic
    _listings: dict[ObjectKey, _Listing] = field(default_factory=dict)
    _underway: dict[ObjectKey, asyncio.Task[None]] = field(default_factory=dict)
    _secrets: dict[ObjectKey, int] = field(default_factory=dict)
    """The version of each catalog's options from its Secret of which its tables know."""

    @property
    def is_asking(self) -> bool:
        """Whether a catalog is asked for its tables, or probed."""
        return bool(self._underway)

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Updates status and creates missing LakeTables; returns the seconds until the next list is due."""
        context = self.context
        catalog = context.store.catalogs.get(key)
        if catalog is None:
            self._listings.pop(key, None)
            self._secrets.pop(key, None)
            context.secrets.forget(key)
            context.metrics.catalog_changed(key, ())
            return None
        discovered, is_done = None, True
        is_going = catalog.metadata.deletion_timestamp is not None
        listing = self._listings.get(key)
        is_good = listing is not None and listing.problem is None and listing.is_of(catalog)
        if listing is not None and is_good and catalog.spec.discovery is not None and not is_going:
            discovered, is_done = await self._discover(catalog, listing)
        met = self._problems(key)
        results = [*met, *([listing.problem] if listing else [])]
        problem = catalog_problem(results)
        words = catalog_health(problem, met)
        read_again = await self._read_again(catalog) if words else None
        again = self._list(catalog) if is_done else _NEXT_BATCH
        status = catalog_status(
            catalog,
            results,
            len(context.store.tables.using("catalog", key)),
            context.now(),
            discovered=discovered,
            unsupported=self._unsupported(key),
            cut_timeout=context.limits.cut_timeout(catalog.spec),
        )
        context.metrics.catalog_changed(key, words)
        written = await write_status(context.api, CATALOG, catalog, status)
        if written is not None:
            context.store.catalogs.put(written)
        return min((wait for wait in (again, read_again) if wait is not None), default=None)

    def _problems(self, key: ObjectKey) -> list[TableProblem | None]:
        """Problem of the last observation of each table of the catalog; None for a successful one."""
        tables = self.context.store.tables.using("catalog", key)
        seen = [self.context.scheduler.seen(table.metadata.key) for table in tables]
        return [problem_of(one.failure) if one.failure else None for one in seen if one.is_known]

    async def _read_again(self, catalog: Catalog) -> float | None:
        """Reads the Secret of a catalog in trouble again; returns the seconds until the next time.

        Once it has changed, the catalog's tables are observed, and listed, at once.
        """
        context, key = self.context, catalog.metadata.key
        if catalog.spec.secret_ref is None:
            return None
        with suppress(UserError, ClusterRefused):  # its tables tell
            await context.secrets.of_catalog(catalog, SUSPECT_SECONDS)
        version = context.secrets.version(key)
        if self._secrets.get(key) != version:
            self._secrets[key] = version
            for table in context.store.tables.using("catalog", key):
                if context.scheduler.seen(table.metadata.key).failure is not None:
                    context.queue.add(LAKE_TABLE, table.metadata.key)
        return SUSPECT_SECONDS

    def _unsupported(self, key: ObjectKey) -> dict[str, str]:
        """The catalog's tables that this release does not support, with the reason."""
        found = {}
        for table in self.context.store.tables.using("catalog", key):
            ready = condition_of(table.status.conditions, READY)
            if ready is not None and is_unsupported(ready.reason):
                found[table.spec.identifier] = ready.message
        return found

    def _list(self, catalog: Catalog) -> float | None:
        """Starts a list of the tables, or a probe, if one is due; else returns the seconds until it is."""
        key, spec = catalog.metadata.key, catalog.spec
        if spec.discovery is None and self.context.store.tables.using("catalog", key):
            self._listings.pop(key, None)  # observations of the tables tell more
            return None
        known = self._listings.get(key)
        is_outdated = (
            known is not None and known.problem and known.secret != self.context.secrets.version(key)
        )
        if known is not None and known.is_of(catalog) and not is_outdated:
            wait = known.ended + known.lasts(spec) - self.ticks()
            if wait > 0:
                return wait
        if key not in self._underway:
            self._underway[key] = asyncio.create_task(self._ask(catalog))
        return None

    async def _ask(self, catalog: Catalog) -> None:
        """Lists the tables. Runs as a background task: catalogs may be slow to respond."""
        key, spec = catalog.metadata.key, catalog.spec
        found = NO_TABLES
        problem: TableProblem | None = None
        secret = 0
        try:
            options = await self.context.secrets.of_catalog(catalog)
            secret = self.context.secrets.version(key)
            reach = self.context.reach(key.namespace)
            address = catalog_address(catalog, options, reach)
            found = await self.context.observer.list_tables(
                address, self.context.limits.timeout_of(spec), self._wanted(spec)
            )
        except LithifyError as error:
            problem = problem_of(error)
            secret = secret or self.context.secrets.version(key)
        finally:
            self._underway.pop(key, None)
        known = self._listings.get(key)
        is_next = known is not None and known.problem is None and known.is_of(catalog)
        self._listings[key] = _Listing(
            catalog.metadata.generation,
            self.ticks(),
            found,
            problem,
            uid=catalog.metadata.uid,
            earlier=known.found if known is not None and is_next else None,
            secret=secret,
        )
        self.context.queue.add(CATALOG, key)

    def _wanted(self, spec: CatalogSpec) -> TableFilter:
        most, discovery = self.context.limits.tables, spec.discovery
        return TableFilter(discovery.include, discovery.exclude, most) if discovery else PROBE

    async def _discover(self, catalog: Catalog, listing: _Listing) -> tuple[Discovered, bool]:
        """Creates and prunes LakeTables; returns the result, and whether all of the work is done."""
        namespace = catalog.metadata.namespace
        existing = [table for table in self.context.store.tables if table.metadata.namespace == namespace]
        found, made = await self._create(catalog, listing, existing)
        latest = _listed(listing.found)
        earlier = None if listing.earlier is None else _listed(listing.earlier)
        pruning = prune(catalog, existing, latest, earlier)
        self._check(listing, absent_tables(catalog, existing, latest))
        listing.needs_list = pruning.needs_list
        pruning = await carry_out(self.context, catalog, pruning, _BATCH)
        discovered = Discovered(
            listing.found.wanted,
            found.left_out,
            listing.found.unusable,
            declined=tuple(name for name in found.declined if name not in made),
            pruning=pruning,
            remembered=_memory(catalog, found.having | made, latest, earlier),
        )
        return discovered, max(len(found.bodies), len(pruning.going)) <= _BATCH

    def _check(self, listing: _Listing, absent: Iterable[LakeTable]) -> None:
        """Requests observations of the tables that a list lacks, once for each list."""
        if listing.is_checked:
            return
        listing.is_checked = True
        for table in absent:
            self.context.scheduler.want(table.metadata.key, full=True)
            self.context.queue.add(LAKE_TABLE, table.metadata.key)

    async def _create(
        self, catalog: Catalog, listing: _Listing, existing: Sequence[LakeTable] = ()
    ) -> tuple[Found, frozenset[str]]:
        """Creates LakeTables; returns what discovery found, and the tables that got a LakeTable."""
        namespace, most = catalog.metadata.namespace, self.context.limits.tables
        refusals: list[ClusterRefused] = []
        made = []
        found = discover(listing.found.names, listing.found.wanted, most, catalog, existing)
        for body in found.bodies[:_BATCH]:
            try:
                await self.context.api.create(LAKE_TABLE, namespace, body)
            except ClusterExists:
                continue
            except ClusterRefused as error:
                refusals.append(error)  # one refusal must not hold up the other tables
                continue
            made.append(body["spec"]["identifier"])
            _log.info("discovered a table", extra={"namespace": namespace, "table": body["metadata"]["name"]})
        if refusals:
            _log.warning("%d discovered tables are left out; the last: %s", len(refusals), refusals[-1])
        return found, frozenset(made)


def _listed(found: TableList) -> ListedTables:
    return ListedTables(frozenset(found.names), found.wanted)


def _memory(
    catalog: Catalog, having: frozenset[str], latest: ListedTables, earlier: ListedTables | None
) -> tuple[str, ...]:
    """The tables that a Catalog's status remembers; two complete lists without a table remove it."""
    discovery = catalog.spec.discovery
    if discovery is None or discovery.recreate is Recreate.ALWAYS:
        return ()
    is_certain = latest.is_complete and earlier is not None and earlier.is_complete and bool(latest.names)
    listed = latest.names | earlier.names if is_certain and earlier is not None else None
    return remember(catalog, having, listed)
