"""Reconciles one Compaction: gathers facts, asks the state machine, writes status, acts.

Called by `loop`. Nothing in here decides; what must survive a crash stands in status before anything is done.
What is kept in memory is only ever something that can be found out again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from lithify.controller.cluster.table_lock import Holder, lock_name
from lithify.controller.deciding.blocked import held_by
from lithify.controller.deciding.overrides import table_overrides
from lithify.controller.driver import DriverOrder, DriverPhase, DriverState
from lithify.controller.launching.sizing import learned_speed
from lithify.controller.reconciling.status import write_status
from lithify.controller.reconciling.targets import target_of
from lithify.controller.reconciling.world import World
from lithify.controller.running.events import events_between
from lithify.controller.running.facts import UNKNOWN, Act, Facts, Lock, Problem, Unknown
from lithify.controller.running.failures import count_of
from lithify.controller.running.machine import is_plan_only, memory_factor, step
from lithify.errors import ClusterRefused, ClusterUnavailable, Failure, LithifyError, NotFound
from lithify.resources.catalog import Catalog
from lithify.resources.compaction import Compaction, Reason, Strategy
from lithify.resources.modelling import read
from lithify.resources.names import (
    ANNOTATION_REQUESTED,
    COMPACTION,
    LABEL_TABLE,
    LAKE_TABLE,
    ObjectKey,
)
from lithify.resources.objects import ConditionStatus
from lithify.resources.table import LakeTable
from lithify.tables.observation import RunFound

_log = logging.getLogger(__name__)
_AGAIN = 1.0
"""Seconds until acts that have not shown their effect yet are repeated."""
_SEARCH_TIMEOUT = 120.0


@dataclass(slots=True)
class _Memory:
    """What this process has found out about a run.

    Attributes:
        uid: which run it is, of its name.
        acts: what was done last.
        lock: the name of its table's lock.
        former: who had the lock, and is over.
        found: what it has committed.
        search: the search for that.
        searches: counts the searches, so that the answer to an old one is known as such.
        refusal: why its driver was refused, and in which attempt.
        delay: why its driver could not be started the last time, and in which attempt.
    """

    uid: str
    acts: tuple[Act, ...] = ()
    lock: str | None = None
    former: Holder | None = None
    found: RunFound | Unknown | None = UNKNOWN
    search: asyncio.Future[None] | None = None
    searches: int = 0
    refusal: tuple[int, str] | None = None
    delay: tuple[int, str] | None = None

    def forget_search(self) -> None:
        """What was found does not count any more, nor what a search that is under way will find."""
        self.found, self.search = UNKNOWN, None
        self.searches += 1


@dataclass(slots=True)
class Compactions:
    """Reconciles Compactions.

    Attributes:
        world: what it works with.
        unreleased: Compactions that have a driver whose result may not be recorded; all others that are over
            need no second look.
        begin: begins something that goes on beside everything else.
    """

    world: World
    unreleased: set[ObjectKey] = field(default_factory=set)
    begin: Callable[[Coroutine[Any, Any, None]], asyncio.Future[None]] = asyncio.create_task
    _memories: dict[ObjectKey, _Memory] = field(default_factory=dict)
    _acting: set[ObjectKey] = field(default_factory=set)

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Takes a Compaction one step further; returns the seconds until it is to be asked again."""
        run = self.world.store.compactions.get(key)
        if run is None:
            return await self._clear(key)
        if run.is_over and key not in self.unreleased:
            return None
        memory = self._memories.get(key)
        if memory is None or memory.uid != run.metadata.uid:
            memory = self._memories[key] = _Memory(run.metadata.uid)
        facts = await self._facts(run, memory)
        now = self.world.now()
        answer = step(run, facts, now)
        written = await write_status(self.world.api, COMPACTION, run, answer.status)
        if written is None:
            self.world.store.compactions.drop(key)
            return 0.0
        if written is not run:
            self.world.store.compactions.put(written)
            await self._tell(run, written)
        self.world.metrics.compaction_changed(key, written)
        await self._act_all(answer.acts, written, facts, memory)
        if Act.FIND_RUN not in answer.acts:
            memory.forget_search()  # a driver may be alive from here on, so an answer grows old
        again, memory.acts = (_AGAIN if answer.acts == memory.acts else 0.0), answer.acts
        if answer.acts:
            return again
        if written.is_over and not run.is_over:
            return 0.0  # what is left to let go is said the next time
        if written.is_over and answer.wake is None:
            self._forget(key)  # nothing is, so nobody has to look again
        return None if answer.wake is None else (answer.wake - now).total_seconds()

    async def _clear(self, key: ObjectKey) -> float | None:
        """Ends what is left of a Compaction that was deleted: first its driver, then its lock."""
        world, memory = self.world, self._memories.get(key)
        world.metrics.compaction_changed(key, None)
        driver = await world.launcher.look(key)
        if driver is not None and driver.phase is DriverPhase.ENDED:
            await world.launcher.release(key, driver.uid, remove=True)
        elif driver is not None:
            await world.launcher.stop(key, driver.uid)
        if driver is not None:
            return _AGAIN
        if memory is not None and memory.lock is not None:
            await world.locks.drop(memory.lock, Holder(key, memory.uid))
        world.room.leave(key, COMPACTION)
        self._forget(key)
        return None

    async def sweep(self) -> None:
        """Drops the locks of runs that are over: whoever should have done so was killed before."""
        for name, holder in await self.world.locks.all():
            if await self._is_over(holder):
                await self.world.locks.drop(name, holder)

    async def _facts(self, run: Compaction, memory: _Memory) -> Facts:
        world, store = self.world, self.world.store
        table = store.table_of(run)
        catalog = store.catalog_of(table) if table else None
        is_waiting = not (run.reason.has_driver or run.is_over)
        problem = await self._problem(run, table, catalog) if is_waiting else None
        if memory.refusal is not None and memory.refusal[0] == run.status.attempts:
            problem = Problem(Reason.INVALID_SPEC, memory.refusal[1], may_pass=False)
        lock, holder = await self._lock(run, memory, table, catalog)
        hold = world.room.hold_of_run(run, self.world.now()) if is_waiting else ""
        return Facts(
            policy=store.rules_of(table),
            identifier=table.spec.identifier if table else None,
            table_uuid=table.status.table_uuid if table else None,
            driver=await self._driver(run),
            lock=lock,
            lock_holder=holder,
            admitted=not hold,
            hold=hold,
            problem=problem,
            delay=memory.delay[1] if memory.delay and memory.delay[0] == run.status.attempts else "",
            found=memory.found,
            deleted=run.metadata.deletion_timestamp is not None,
        )

    async def _driver(self, run: Compaction) -> DriverState | Unknown | None:
        try:
            return await self.world.launcher.look(run.metadata.key)
        except ClusterUnavailable:
            return UNKNOWN

    async def _problem(
        self, run: Compaction, table: LakeTable | None, catalog: Catalog | None
    ) -> Problem | None:
        """What is missing around a run that has no driver yet."""
        namespace = run.metadata.namespace
        if table is None:
            missing = f"there is no LakeTable {run.spec.table_ref.name} in namespace {namespace}"
            return Problem(Reason.INVALID_SPEC, missing, may_pass=True)
        if catalog is None:
            missing = f"there is no Catalog {table.spec.catalog_ref.name} in namespace {namespace}"
            return Problem(Reason.INVALID_SPEC, missing, may_pass=True)
        if catalog.spec.secret_ref is not None:
            try:
                await self.world.secrets.options(namespace, catalog.spec.secret_ref)
            except NotFound as error:
                return Problem(Reason.INVALID_SPEC, str(error), may_pass=True)
            except ClusterRefused as error:
                return Problem(Reason.ACCESS_DENIED, str(error), may_pass=True)
        return None

    async def _lock(
        self, run: Compaction, memory: _Memory, table: LakeTable | None, catalog: Catalog | None
    ) -> tuple[Lock, str]:
        if table is not None and catalog is not None and memory.lock is None:
            memory.lock = lock_name(catalog.spec, table.spec.identifier)
        if memory.lock is None:
            return (Lock.FREE if run.is_over else Lock.UNKNOWN), ""
        try:
            holder = await self.world.locks.holder(memory.lock)
            if holder is None or holder == holder_of(run):
                return (Lock.FREE, "") if holder is None else (Lock.OURS, "")
            memory.former = holder if await self._is_over(holder) else None
        except ClusterUnavailable:
            return Lock.UNKNOWN, ""
        return (Lock.FREE, "") if memory.former else (Lock.OTHERS, str(holder.key))

    async def _is_over(self, holder: Holder) -> bool:
        """Whether a run that holds a lock can have no driver any more; asked live, not of what is known."""
        if holder.key in self._acting:
            return False  # it may be starting one right now
        try:
            found = await self.world.api.get(COMPACTION, holder.key)
            driver = await self.world.launcher.look(holder.key)
        except ClusterRefused as error:
            # As in a namespace that was deleted, and its roles with it: nobody knows, and others go on.
            _log.warning("a table stays locked, since its run cannot be looked at: %s", error)
            return False
        other = None if found is None else read(Compaction, found)
        if other is not None and other.metadata.uid == holder.uid and not other.is_over:
            return False
        return driver is None or driver.owner_uid != holder.uid or driver.phase is DriverPhase.ENDED

    async def _act_all(self, acts: tuple[Act, ...], run: Compaction, facts: Facts, memory: _Memory) -> None:
        """Does what there is to do. Nobody takes the table's lock for free meanwhile."""
        self._acting.add(run.metadata.key)
        try:
            for act in acts:
                await self._act(act, run, facts, memory)
        finally:
            self._acting.discard(run.metadata.key)

    async def _act(self, act: Act, run: Compaction, facts: Facts, memory: _Memory) -> None:
        world, key = self.world, run.metadata.key
        driver = facts.driver if isinstance(facts.driver, DriverState) else None
        if act is Act.TAKE_LOCK and memory.lock:
            await world.locks.take(memory.lock, holder_of(run), after=memory.former)
        elif act is Act.DROP_LOCK and memory.lock:
            await world.locks.drop(memory.lock, holder_of(run))
            self._wake_waiting(memory.lock, run)
        elif act is Act.START_DRIVER:
            await self._start(run, memory)
        elif act is Act.STOP_DRIVER and driver:
            await world.launcher.stop(key, driver.uid)
        elif act in {Act.KEEP_DRIVER, Act.REMOVE_DRIVER} and driver:
            await world.launcher.release(key, driver.uid, remove=act is Act.REMOVE_DRIVER)
        elif act is Act.FIND_RUN:
            self._search(run, memory)

    def _wake_waiting(self, lock: str, former: Compaction) -> None:
        """Has those looked at who may wait for a lock that is free now."""
        for run in self.world.store.compactions:
            memory = self._memories.get(run.metadata.key)
            if memory is not None and memory.lock == lock and run.metadata.uid != former.metadata.uid:
                self.world.queue.add(COMPACTION, run.metadata.key)

    async def _start(self, run: Compaction, memory: _Memory) -> None:
        order = self._order(run)
        if order is None:
            return
        self.unreleased.add(run.metadata.key)
        metrics = self.world.metrics
        try:
            state = await self.world.launcher.start(order)
        except ClusterRefused as error:
            memory.refusal = (run.status.attempts, str(error))
            metrics.launched("refused")
        except ClusterUnavailable as error:
            memory.delay = (run.status.attempts, str(error))
            metrics.launched("unavailable")
            raise
        else:
            metrics.launched("started" if state.attempt == order.attempt else "found")

    def _order(self, run: Compaction) -> DriverOrder | None:
        store = self.world.store
        table = store.table_of(run)
        catalog = store.catalog_of(table) if table else None
        if table is None or catalog is None:
            return None
        rules = store.rules_of(table)
        seen = self.world.looks.seen(table.metadata.key).observation
        if seen is None:
            planned = 0
        elif run.spec.strategy is Strategy.FULL:
            planned = seen.full_bytes
        else:
            planned = sum(finding.bytes for finding in seen.findings)
        return DriverOrder(
            key=run.metadata.key,
            uid=run.metadata.uid,
            attempt=run.status.attempts,
            plan_only=is_plan_only(run),
            lake_table=table.metadata.name,
            identifier=table.spec.identifier,
            table_uuid=run.status.table_uuid,
            catalog=catalog.spec,
            overrides=table_overrides(rules, table),
            time_zone=table.spec.time_zone,
            strategy=run.spec.strategy,
            partitions=run.spec.partitions,
            buckets=run.spec.buckets,
            spark=rules.spark,
            memory_factor=memory_factor(run),
            planned_bytes=planned,
            bytes_per_second=learned_speed(store.runs_of(table.metadata.key)),
            scheduling_seconds=rules.deadlines.scheduling_seconds,
            held=held_by(table.status) if _is_by_itself(run) else {},
        )

    def _search(self, run: Compaction, memory: _Memory) -> None:
        """Looks for what a run has committed, beside everything else: catalogs may be slow to answer."""
        if memory.search is None or memory.search.done():
            memory.search = self.begin(self._find(run, memory))

    async def _find(self, run: Compaction, memory: _Memory) -> None:
        world, number = self.world, memory.searches
        try:
            table = world.store.table_of(run)
            catalog = world.store.catalog_of(table) if table else None
            if table is None or catalog is None:
                return
            options = await world.secrets.of_catalog(run.metadata.namespace, catalog.spec)
            target = target_of(table, None, options, catalog.spec.warehouse)
            found = await world.observer.find_run(
                target, run.metadata.uid, _SEARCH_TIMEOUT, run.metadata.creation_timestamp
            )
            if number == memory.searches:
                memory.found = found
        except LithifyError as error:
            _log.warning("whether the run has committed is not known yet: %s", error)
        finally:
            world.queue.add(COMPACTION, run.metadata.key)

    async def _tell(self, old: Compaction, new: Compaction) -> None:
        """Tells everybody whom a change of a run concerns."""
        world, table = self.world, ObjectKey(new.metadata.namespace, new.spec.table_ref.name)
        for severity, reason, message in events_between(old.status, new.status):
            await world.recorder.post(COMPACTION, new.metadata, severity, reason, message)
        self._measure(old, new)
        if old.reason is not new.reason:
            if new.reason is not Reason.QUEUED:  # whoever is queued keeps its place in the line
                world.room.leave(new.metadata.key, COMPACTION)
            world.queue.add(LAKE_TABLE, table)
        if new.is_over and not old.is_over:
            # A run that fails may have met what small looks do not notice: a table dropped, or made anew.
            world.looks.want(table, whole=new.reason.status is ConditionStatus.FALSE)
            for waiting in world.room.next_in_line(world.now()):
                world.queue.add(*waiting)

    def _measure(self, old: Compaction, new: Compaction) -> None:
        metrics = self.world.metrics
        for failure in Failure:
            if count_of(new.status.failures, failure) > count_of(old.status.failures, failure):
                metrics.attempt_ended(failure)
        if old.status.start_time is None and new.status.start_time is not None:
            metrics.compaction_started(new.spec.strategy)
        if old.reason is new.reason:
            return
        if old.status.stage_time is not None:
            metrics.stage_left(old.reason, (self.world.now() - old.status.stage_time).total_seconds())
        if new.is_over:
            metrics.compaction_finished(new.status, new.spec.strategy)
            if new.reason.status is ConditionStatus.TRUE:
                metrics.attempt_ended(None)

    def _forget(self, key: ObjectKey) -> None:
        self._memories.pop(key, None)
        self.unreleased.discard(key)


def _is_by_itself(run: Compaction) -> bool:
    """Whether the operator began the run unasked; what a person asks for takes blocked buckets, too."""
    return LABEL_TABLE in run.metadata.labels and ANNOTATION_REQUESTED not in run.metadata.annotations


def holder_of(run: Compaction) -> Holder:
    """The run as the holder of a lock."""
    return Holder(run.metadata.key, run.metadata.uid)
