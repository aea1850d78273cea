"""Plans a plan-only run on the operator's workers, as a background task: a large table takes time.

Used by `compactions`. The result has the form of a driver's outcome, so the state machine treats both alike.
It is held in memory only: a new leader plans again.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace

from lithify.contract.outcome import Outcome
from lithify.contract.reasons import outcome_of_error, outcome_of_plan
from lithify.controller.observing.request import PlanRequest
from lithify.controller.reconciling.addressing import address_of, selection_of
from lithify.controller.reconciling.context import Context
from lithify.controller.reconciling.searches import Begin
from lithify.errors import (
    ClusterError,
    Failure,
    LithifyError,
    NotAllowed,
    ProcessLimit,
    TimedOut,
)
from lithify.resources.catalog import Catalog
from lithify.resources.compaction import Compaction, Reason
from lithify.resources.names import COMPACTION
from lithify.resources.quantities import quantity_bytes
from lithify.resources.table import LakeTable

_log = logging.getLogger(__name__)
_ELSEWHERE = "`lithify plan` makes the same plan without the operator and its limits"


@dataclass(slots=True)
class Planning:
    """The plan of a run's attempt, as far as this process has it.

    Attributes:
        outcome: the outcome; None until the plan is done.
    """

    outcome: Outcome | None = None
    _underway: asyncio.Future[None] | None = None
    _number: int = 0

    def forget(self) -> None:
        """Cancels a plan under way and drops the outcome."""
        if self._underway is not None:
            self._underway.cancel()
        self.outcome, self._underway = None, None
        self._number += 1

    def go_on(self, context: Context, run: Compaction, begin: Begin) -> None:
        """Starts a plan unless one is under way or done; the run is requeued when it is done."""
        is_asked = self._underway is not None and not self._underway.done()
        if not is_asked and self.outcome is None:
            self._underway = begin(self._plan(context, run))

    async def _plan(self, context: Context, run: Compaction) -> None:
        number, uid, attempt = self._number, run.metadata.uid, run.status.attempts
        table = context.store.table_of(run)
        catalog = context.store.catalog_of(table) if table else None
        if table is None or catalog is None:
            return  # the state machine learns so by other means
        try:
            outcome = await _outcome(context, run, table, catalog)
        except ClusterError as error:
            _log.warning("the run cannot be planned yet: %s", error)
            return
        except LithifyError as error:
            if isinstance(error, NotAllowed):
                context.secrets.refused(catalog.metadata.key)
            outcome = outcome_of_failure(uid, attempt, error)
        except Exception as error:  # noqa: BLE001  # it concerns one run, and is logged
            _log.exception("planning a run failed unexpectedly")
            outcome = outcome_of_error(uid, attempt, error)
        if number == self._number:
            self.outcome = outcome
            context.queue.add(COMPACTION, run.metadata.key)


def outcome_of_failure(run: str, attempt: int, error: LithifyError) -> Outcome:
    """The outcome of an attempt whose plan failed. A plan that exceeds a worker's limits is not retried."""
    outcome = outcome_of_error(run, attempt, error)
    if isinstance(error, ProcessLimit):
        return replace(outcome, failure=Failure.USER, message=f"{error}; {_ELSEWHERE}")
    if isinstance(error, TimedOut):
        message = f"{error}; raise timeoutSeconds of the Catalog if the table is large, or: {_ELSEWHERE}"
        return replace(outcome, reason=Reason.STORAGE_UNAVAILABLE, message=message)
    return outcome


async def _outcome(context: Context, run: Compaction, table: LakeTable, catalog: Catalog) -> Outcome:
    rules = context.store.rules_of(table)
    options = await context.secrets.of_catalog(catalog)
    address = address_of(table, rules, catalog, options, context.reach(run.metadata.namespace))
    task_size = rules.spark.task_size
    request = PlanRequest(
        address=replace(address, uuid=run.status.table_uuid),
        selection=selection_of(run, table),
        task_bytes=None if task_size is None else int(quantity_bytes(task_size)),
    )
    found = await context.observer.plan(request, context.limits.timeout_of(catalog.spec))
    return outcome_of_plan(run.metadata.uid, run.status.attempts, found)
