"""Searches a table for a run's commits, as a background task: catalogs may be slow to respond.

Used by `compactions`. A search that fails is retried with exponential backoff, as a person has to fix the
cause; after a change of the Catalog it is retried at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from lithify.controller.reconciling.addressing import address_of
from lithify.controller.reconciling.context import Context
from lithify.controller.reconciling.pacing import Backoff
from lithify.controller.reconciling.queue import Item
from lithify.controller.running.facts import UNKNOWN, Unknown
from lithify.errors import LithifyError, NotAllowed, NotFound
from lithify.formats.protocol.observation import RunFound
from lithify.resources.catalog import Catalog
from lithify.resources.compaction import Compaction
from lithify.resources.names import COMPACTION
from lithify.resources.table import LakeTable

Begin = Callable[[Coroutine[Any, Any, None]], asyncio.Future[None]]
"""Starts a background task."""

_log = logging.getLogger(__name__)
_TIMEOUT = 120.0
LONGEST_WAIT = 300.0
"""Longest wait between two searches, in seconds: a search may keep a process busy for two minutes."""


@dataclass(slots=True)
class Search:
    """The search for a run's commits.

    Attributes:
        backoff: waits between failed searches.
        found: what the run has committed; unknown until a search succeeds.
    """

    backoff: Backoff
    found: RunFound | Unknown | None = UNKNOWN
    _underway: asyncio.Future[None] | None = None
    _number: int = 0
    _due: float = 0.0
    _asked: tuple[str, int] | None = None

    def forget(self) -> None:
        """Discards the result, and that of a search under way."""
        self.found, self._underway = UNKNOWN, None
        self._number += 1

    def go_on(self, context: Context, run: Compaction, begin: Begin) -> None:
        """Starts a search if one is due and none is under way; the run is requeued when it ends."""
        if self._underway is not None and not self._underway.done():
            return
        table = context.store.table_of(run)
        catalog = context.store.catalog_of(table) if table else None
        asked = (catalog.metadata.uid, catalog.metadata.generation) if catalog else None
        if asked == self._asked and context.queue.ticks() < self._due:
            return
        self._asked = asked
        self._underway = begin(self._search(context, run, table, catalog))

    async def _search(
        self, context: Context, run: Compaction, table: LakeTable | None, catalog: Catalog | None
    ) -> None:
        number = self._number
        try:
            found = await _find(context, run, table, catalog)
        except LithifyError as error:
            _log.warning("whether the run has committed is not known yet: %s", error)
            self._wait(context, run)
        except Exception:  # noqa: BLE001  # it concerns one run, and is logged
            _log.exception("looking for what a run has committed failed unexpectedly")
            self._wait(context, run)
        else:
            self.backoff.succeeded()
            self._due = 0.0
            if number == self._number:
                self.found = found
            context.queue.add(COMPACTION, run.metadata.key)

    def _wait(self, context: Context, run: Compaction) -> None:
        seconds = self.backoff.failed()
        self._due = context.queue.ticks() + seconds
        context.queue.add_after(Item(COMPACTION.name, run.metadata.key), seconds)


async def _find(
    context: Context, run: Compaction, table: LakeTable | None, catalog: Catalog | None
) -> RunFound | None:
    namespace, wanted = run.metadata.namespace, run.spec.table_ref.name
    if table is None or catalog is None:
        raise NotFound(
            "LakeTable or Catalog", f"of table {namespace}/{wanted}", "the run's commits are in it"
        )
    try:
        options = await context.secrets.of_catalog(catalog)
        address = address_of(table, None, catalog, options, context.reach(namespace))
        return await context.observer.find_run(
            address, run.metadata.uid, _TIMEOUT, run.metadata.creation_timestamp
        )
    except NotAllowed:
        context.secrets.refused(catalog.metadata.key)
        raise
