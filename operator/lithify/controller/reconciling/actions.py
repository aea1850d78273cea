"""Carries out the actions that a run's state machine returns: locks, drivers, searches, plans.

Used by `compactions` after it has written the matching status. Makes no decisions; every action is
idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from lithify.controller.driver import DriverOrder, DriverState
from lithify.controller.launching.sizing import learned_speed
from lithify.controller.reconciling.addressing import address_of, maintenance_of, selection_of
from lithify.controller.reconciling.context import Context
from lithify.controller.reconciling.locking import TableLocking, holder_of
from lithify.controller.reconciling.run_memory import RunMemories, RunMemory
from lithify.controller.reconciling.searches import Begin
from lithify.controller.reconciling.sharing import Sharing
from lithify.controller.running.facts import Action, RunFacts
from lithify.controller.running.failures import memory_factor
from lithify.errors import AccountMissing, ClusterRefused, ClusterUnavailable, NameTaken
from lithify.io.access_policy import NOWHERE
from lithify.resources.catalog import catalog_options
from lithify.resources.compaction import Compaction, RunStrategy
from lithify.resources.names import COMPACTION, ObjectKey


@dataclass(frozen=True, slots=True)
class Acting:
    """Carries out actions.

    Attributes:
        context: what the reconcilers share.
        sharing: the runs that share drivers.
        locking: the locks of tables.
        memories: in-memory state of each run.
        unreleased: Compactions that may have a driver; `carry_out` adds those it starts one for.
        begin: starts a background task.
    """

    context: Context
    sharing: Sharing
    locking: TableLocking
    memories: RunMemories
    unreleased: set[ObjectKey]
    begin: Begin

    async def carry_out(
        self,
        actions: tuple[Action, ...],
        run: Compaction,
        facts: RunFacts,
        memory: RunMemory,
        *,
        is_shared: bool,
    ) -> None:
        """Carries out actions in order. Until they end, no other run treats the table's lock as free.

        With `is_shared`, actions that release the driver are skipped: other runs still use it.
        """
        if is_shared:
            actions = tuple(
                action for action in actions if action not in {Action.KEEP_DRIVER, Action.REMOVE_DRIVER}
            )
        self.locking.acting.add(run.metadata.key)
        try:
            for action in actions:
                # Processes start without the API server, which refuses the writes of a former leader.
                self.context.fence(f"{action} for {run.metadata.key}")
                await self._act(action, run, facts, memory)
        finally:
            self.locking.acting.discard(run.metadata.key)

    async def _act(self, action: Action, run: Compaction, facts: RunFacts, memory: RunMemory) -> None:
        context, key = self.context, run.metadata.key
        driver = facts.driver if isinstance(facts.driver, DriverState) else None
        if action is Action.TAKE_LOCK and memory.lock:
            await context.locks.take(memory.lock, holder_of(run), after=memory.former)
        elif action is Action.DROP_LOCK and memory.lock:
            await context.locks.drop(memory.lock, holder_of(run))
            self.wake_waiting(memory.lock, run.metadata.uid)
        elif action is Action.START_DRIVER and run.status.shared_run is not None:
            await self._start_shared(run, memory)
        elif action is Action.START_DRIVER:
            await self._start(run, memory)
        elif action is Action.STOP_DRIVER and driver and run.status.shared_run is not None:
            await self.sharing.stop(run)
        elif action is Action.STOP_DRIVER and driver:
            await context.launcher.stop(key, driver.uid)
        elif action in {Action.KEEP_DRIVER, Action.REMOVE_DRIVER} and driver:
            await context.launcher.release(key, driver.uid, remove=action is Action.REMOVE_DRIVER)
        elif action is Action.FIND_RUN:
            memory.search.go_on(context, run, self.begin)
        elif action is Action.PLAN:
            memory.planning.go_on(context, run, self.begin)

    def wake_waiting(self, lock: str, former_uid: str) -> None:
        """Requeues the runs that may be waiting for a lock that has become free."""
        for run in self.context.store.compactions:
            memory = self.memories.known(run.metadata.key)
            if memory is not None and memory.lock == lock and run.metadata.uid != former_uid:
                self.context.queue.add(COMPACTION, run.metadata.key)

    async def _start(self, run: Compaction, memory: RunMemory) -> None:
        order = driver_order(self.context, run)
        if order is None:
            return
        self.unreleased.add(run.metadata.key)
        metrics = self.context.metrics
        try:
            state = await self.context.launcher.start(order)
        except AccountMissing as error:
            memory.missing = error
            metrics.launched("refused")
        except ClusterRefused as error:
            memory.refusal = (run.status.attempts, str(error))
            metrics.launched("refused")
        except (ClusterUnavailable, NameTaken) as error:
            memory.delay = (run.status.attempts, str(error))
            metrics.launched("unavailable")
            raise
        else:
            metrics.launched("started" if state.attempt == order.attempt else "found")

    async def _start_shared(self, run: Compaction, memory: RunMemory) -> None:
        """Starts the shared driver if this run is its lead; the other members wait for the lead."""
        shared, metrics = run.status.shared_run, self.context.metrics
        self.unreleased.add(run.metadata.key)
        if shared is None or shared.lead_uid != run.metadata.uid:
            return
        try:
            is_started = await self.sharing.start(run, partial(driver_order, self.context))
        except AccountMissing as error:
            memory.missing = error
            metrics.launched("refused")
        except ClusterRefused:
            metrics.launched("refused")  # each member then starts alone and learns why it is refused
        except ClusterUnavailable as error:
            memory.delay = (run.status.attempts, str(error))
            metrics.launched("unavailable")
            raise
        else:
            if is_started:
                metrics.launched("started")


def driver_order(context: Context, run: Compaction) -> DriverOrder | None:
    """The driver order for the attempt in a run's status; None if its LakeTable or Catalog is missing."""
    store = context.store
    table = store.table_of(run)
    catalog = store.catalog_of(table) if table else None
    if table is None or catalog is None:
        return None
    rules = store.rules_of(table)
    seen = context.scheduler.seen(table.metadata.key).observation
    if seen is None or run.is_maintenance:
        planned = 0
    elif run.spec.strategy is RunStrategy.FULL:
        planned = seen.full_bytes
    else:
        planned = sum(finding.bytes for finding in seen.findings)
    address = address_of(table, rules, catalog, catalog_options(catalog.spec, {}), NOWHERE)
    if run.is_maintenance:  # the overrides are of compactions; how a table is maintained, its own options say
        address = replace(address, overrides={})
    return DriverOrder(
        key=run.metadata.key,
        uid=run.metadata.uid,
        attempt=run.status.attempts,
        lake_table=table.metadata.name,
        table=replace(address, uuid=run.status.table_uuid),
        secret_ref=catalog.spec.secret_ref,
        selection=selection_of(run, table),
        maintenance=maintenance_of(run),
        canary=rules.canary and not run.is_maintenance,
        spark=rules.spark,
        memory_factor=memory_factor(run),
        planned_bytes=planned,
        bytes_per_second=learned_speed(store.runs_of(table.metadata.key)),
        scheduling_seconds=rules.deadlines.scheduling_seconds,
    )
