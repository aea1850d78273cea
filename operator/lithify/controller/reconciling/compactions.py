"""Reconciles one Compaction: gathers facts, asks the state machine, writes status, acts.

Called by `loop`. The state machine makes all decisions; state that must survive a crash is written to status
before any action. `run_facts` gathers, `actions` carries out, `run_memory` holds this process's findings.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import InitVar, dataclass, field

from lithify.controller.cluster.table_lock import Holder
from lithify.controller.driver import DriverPhase
from lithify.controller.reconciling.actions import Acting
from lithify.controller.reconciling.context import Context
from lithify.controller.reconciling.locking import TableLocking
from lithify.controller.reconciling.pacing import Backoff
from lithify.controller.reconciling.run_facts import RunFactsGatherer
from lithify.controller.reconciling.run_memory import RunMemories
from lithify.controller.reconciling.searches import Begin
from lithify.controller.reconciling.sharing import Sharing
from lithify.controller.reconciling.slots import has_slot
from lithify.controller.reconciling.status import write_status
from lithify.controller.running.events import events_between
from lithify.controller.running.facts import UNKNOWN
from lithify.controller.running.failures import count_of
from lithify.controller.running.machine import step
from lithify.errors import Failure
from lithify.resources.compaction import Compaction, Reason
from lithify.resources.names import COMPACTION, LAKE_TABLE, ObjectKey
from lithify.resources.objects import ConditionStatus

_log = logging.getLogger(__name__)
_SHARED_SECONDS = 5.0
"""Seconds between two checks of a shared driver that is about to end."""
_ACCOUNT_SECONDS = 10.0
"""Seconds between two checks for a missing service account: a user has just read that it is missing."""


@dataclass(slots=True)
class Compactions:
    """Reconciles Compactions.

    Attributes:
        context: what the reconcilers share.
        unreleased: Compactions with a driver whose result may not be recorded yet; any other Compaction that
            is over needs no further reconcile.
        begin: starts a background task.
    """

    context: Context
    unreleased: set[ObjectKey] = field(default_factory=set)
    begin: InitVar[Begin] = asyncio.create_task
    _memories: RunMemories = field(default_factory=RunMemories)
    _clearing: dict[ObjectKey, Backoff] = field(default_factory=dict)
    _sharing: Sharing = field(init=False)
    _locking: TableLocking = field(init=False)
    _gatherer: RunFactsGatherer = field(init=False)
    _acting: Acting = field(init=False)

    def __post_init__(self, begin: Begin) -> None:
        self._sharing = Sharing(self.context)
        self._locking = TableLocking(self.context, self._sharing)
        shared = self.context, self._sharing, self._locking
        self._gatherer = RunFactsGatherer(*shared)
        self._acting = Acting(*shared, self._memories, self.unreleased, begin)

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Advances a Compaction by one step; returns the seconds until it is to be reconciled again."""
        run = self.context.store.compactions.get(key)
        if key in self.context.creating:
            return None  # queued again once the operator has recorded that the run is its own
        if run is None:
            return await self._clear(key)
        if run.is_over and key not in self.unreleased and not self._gatherer.is_rolled_back(run):
            return None
        memory = self._memories.of(key, run.metadata.uid)
        facts = await self._gatherer.gather(run, memory)
        if facts.driver is UNKNOWN:
            memory.search.forget()
            return memory.absences.failed()
        memory.absences.succeeded()
        now = self.context.now()
        answer = step(run, facts, now)
        written = await write_status(self.context.api, COMPACTION, run, answer.status)
        if written is None:
            self.context.store.compactions.drop(key)
            return 0.0
        if written is not run:
            self.context.store.compactions.put(written)
            await self._tell(run, written)
        self.context.metrics.compaction_changed(key, written)
        await self._acting.carry_out(
            answer.actions, written, facts, memory, is_shared=run.status.shared_run is not None
        )
        memory.forget_answers(answer.actions)
        wake = None if answer.wake is None else (answer.wake - now).total_seconds()
        wake = await self._tend(run, written, wake)
        if answer.actions:
            stage = (written.reason, written.status.attempts)
            wait = memory.repeats.wait(stage, answer.actions)
            return wait if wake is None else min(wait, wake)
        memory.repeats.clear()
        rest = self._rest(written, wake, is_new=not run.is_over)
        if memory.missing is None or written.is_over:
            return rest
        return _ACCOUNT_SECONDS if rest is None else min(rest, _ACCOUNT_SECONDS)

    async def _tend(self, before: Compaction, run: Compaction, wake: float | None) -> float | None:
        """Releases a run's former shared driver once no run needs it; returns the seconds until requeue."""
        if before.status.shared_run is None or run.reason.has_driver or await self._sharing.tend(before):
            return wake
        return _SHARED_SECONDS if wake is None else min(wake, _SHARED_SECONDS)

    def _rest(self, run: Compaction, wake: float | None, *, is_new: bool) -> float | None:
        """Seconds after which to requeue a run that needs no action now; None for not at all."""
        if run.is_over and is_new:
            return 0.0  # the next reconcile returns what is left to release
        if run.is_over and wake is None:
            self._forget(run.metadata.key)  # nothing is left to release
        return wake

    async def _clear(self, key: ObjectKey) -> float | None:
        """Cleans up after a deleted Compaction: first its driver, then its lock."""
        context, memory = self.context, self._memories.known(key)
        context.metrics.compaction_changed(key, None)
        driver = await context.launcher.observe(key)
        if driver is not None:
            backoff = self._clearing.setdefault(key, Backoff(driver.uid))
            if await self._is_there(key, driver.owner_uid):
                _log.error(
                    "a Compaction that cannot be read keeps its driver", extra={"compaction": str(key)}
                )
            elif driver.phase is DriverPhase.ENDED:
                await context.launcher.release(key, driver.uid, remove=True)
            elif not driver.terminating:
                await context.launcher.stop(key, driver.uid)
            return backoff.failed()
        lead = memory.lead if memory is not None else None
        if memory is not None and lead and not await self._sharing.end_deleted(lead, memory.uid):
            return self._clearing.setdefault(key, Backoff(memory.uid)).failed()
        if memory is not None and memory.lock is not None:
            await context.locks.drop(memory.lock, Holder(key, memory.uid))
            self._acting.wake_waiting(memory.lock, memory.uid)
        context.slots.leave(key, COMPACTION)
        self._forget(key)
        return None

    async def _is_there(self, key: ObjectKey, uid: str) -> bool:
        """Whether a Compaction missing from the store still exists; asks the API server."""
        found = await self.context.api.get(COMPACTION, key)
        return found is not None and found["metadata"].get("uid") == uid

    async def take_over(self) -> None:
        """First step of a new leader: requeues runs on shared drivers, cleans up its predecessor's locks."""
        for member in await self._sharing.members():
            self.unreleased.add(member)
            self.context.queue.add(COMPACTION, member)
        await self._locking.rename()
        await self.sweep()

    async def sweep(self) -> None:
        """Drops locks of runs that are over, and releases shared drivers that no run needs.

        Both are left behind when an operator is killed before it has dropped them.
        """
        await self._locking.sweep()
        await self._sharing.sweep()

    async def _tell(self, old: Compaction, new: Compaction) -> None:
        """Propagates a run's status change: Events, metrics, and the queue keys that depend on it."""
        context, table = self.context, ObjectKey(new.metadata.namespace, new.spec.table_ref.name)
        for severity, reason, message in events_between(old.status, new.status):
            await context.recorder.post(COMPACTION, new.metadata, severity, reason, message)
        self._measure(old, new)
        if old.reason is not new.reason:
            self._sharing.moved(new)
            if new.reason is not Reason.QUEUED:  # a queued run keeps its place in the line
                context.slots.leave(new.metadata.key, COMPACTION)
            context.queue.add(LAKE_TABLE, table)
        if has_slot(old) and not has_slot(new):
            for waiting in context.slots.next_in_line(context.now()):
                context.queue.add(*waiting)

    def _measure(self, old: Compaction, new: Compaction) -> None:
        metrics = self.context.metrics
        for failure in Failure:
            if count_of(new.status.failures, failure) > count_of(old.status.failures, failure):
                metrics.attempt_ended(failure)
        if old.status.start_time is None and new.status.start_time is not None:
            metrics.compaction_started(new.work)
        if old.reason is new.reason:
            return
        if old.is_over:
            metrics.compaction_rolled_back(new.work)
            return
        if old.status.stage_time is not None:
            metrics.stage_left(old.reason, (self.context.now() - old.status.stage_time).total_seconds())
        if new.is_over:
            table = self.context.store.table_of(new)
            policy = ObjectKey(new.metadata.namespace, table.spec.policy_ref.name) if table else None
            metrics.compaction_finished(new.status, new.work, policy)
            if new.reason.status is ConditionStatus.TRUE:
                metrics.attempt_ended(None)

    def _forget(self, key: ObjectKey) -> None:
        self._sharing.forget(key)
        self._memories.forget(key)
        self._clearing.pop(key, None)
        self.unreleased.discard(key)
