"""Reconciles one Compaction: gathers facts, asks the state machine, writes status, acts.

Called by `loop`. Nothing in here decides; what must survive a crash stands in status before anything is done.
`run_facts` gathers, `acts` carries out, `run_memory` keeps what this process has found out.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import InitVar, dataclass, field

from lithify.controller.cluster.table_lock import Holder
from lithify.controller.driver import DriverPhase
from lithify.controller.reconciling.acts import Acting
from lithify.controller.reconciling.context import Context
from lithify.controller.reconciling.locking import TableLocking
from lithify.controller.reconciling.pacing import Backoff
from lithify.controller.reconciling.run_facts import RunFactsGatherer
from lithify.controller.reconciling.run_memory import RunMemories
from lithify.controller.reconciling.searches import Begin
from lithify.controller.reconciling.sharing import Sharing
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
"""Between two looks at a shared driver that is about to end."""
_ACCOUNT_SECONDS = 10.0
"""Between two looks for a service account that is missing: somebody has just read that it is."""


@dataclass(slots=True)
class Compactions:
    """Reconciles Compactions.

    Attributes:
        context: what it works with.
        unreleased: Compactions that have a driver whose result may not be recorded; all others that are over
            need no second look.
        begin: begins something that goes on beside everything else.
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
        """Takes a Compaction one step further; returns the seconds until it is to be asked again."""
        run = self.context.store.compactions.get(key)
        if run is None:
            return await self._clear(key)
        if run.is_over and key not in self.unreleased:
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
            answer.acts, written, facts, memory, is_shared=run.status.shared_run is not None
        )
        memory.forget_answers(answer.acts)
        wake = None if answer.wake is None else (answer.wake - now).total_seconds()
        wake = await self._tend(run, written, wake)
        if answer.acts:
            stage = (written.reason, written.status.attempts)
            wait = memory.repeats.wait(stage, answer.acts)
            return wait if wake is None else min(wait, wake)
        memory.repeats.clear()
        rest = self._rest(written, wake, is_new=not run.is_over)
        if memory.missing is None or written.is_over:
            return rest
        return _ACCOUNT_SECONDS if rest is None else min(rest, _ACCOUNT_SECONDS)

    async def _tend(self, before: Compaction, run: Compaction, wake: float | None) -> float | None:
        """Lets go of the driver that a run has shared, once nobody needs it; when to look again."""
        if before.status.shared_run is None or run.reason.has_driver or await self._sharing.tend(before):
            return wake
        return _SHARED_SECONDS if wake is None else min(wake, _SHARED_SECONDS)

    def _rest(self, run: Compaction, wake: float | None, *, is_new: bool) -> float | None:
        """Seconds after which to look again at a run for which there is nothing to do now."""
        if run.is_over and is_new:
            return 0.0  # what is left to let go is said the next time
        if run.is_over and wake is None:
            self._forget(run.metadata.key)  # nothing is, so nobody has to look again
        return wake

    async def _clear(self, key: ObjectKey) -> float | None:
        """Ends what is left of a Compaction that was deleted: first its driver, then its lock."""
        context, memory = self.context, self._memories.known(key)
        context.metrics.compaction_changed(key, None)
        driver = await context.launcher.look(key)
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
        """Whether a Compaction that is not known is there all the same, asked live."""
        found = await self.context.api.get(COMPACTION, key)
        return found is not None and found["metadata"].get("uid") == uid

    async def take_over(self) -> None:
        """What comes first when this operator begins to lead: the locks that its predecessor left."""
        for member in await self._sharing.members():
            self.unreleased.add(member)
            self.context.queue.add(COMPACTION, member)
        await self._locking.rename()
        await self.sweep()

    async def sweep(self) -> None:
        """Drops the locks of runs that are over: whoever should have done so was killed before.

        So with shared drivers that nobody needs.
        """
        await self._locking.sweep()
        await self._sharing.sweep()

    async def _tell(self, old: Compaction, new: Compaction) -> None:
        """Tells everybody whom a change of a run concerns."""
        context, table = self.context, ObjectKey(new.metadata.namespace, new.spec.table_ref.name)
        for severity, reason, message in events_between(old.status, new.status):
            await context.recorder.post(COMPACTION, new.metadata, severity, reason, message)
        self._measure(old, new)
        if old.reason is not new.reason:
            self._sharing.moved(new)
            if new.reason is not Reason.QUEUED:  # whoever is queued keeps its place in the line
                context.slots.leave(new.metadata.key, COMPACTION)
            context.queue.add(LAKE_TABLE, table)
        if new.is_over and not old.is_over:
            # A run that fails may have met what small looks do not notice: a table dropped, or made anew.
            context.scheduler.want(table, whole=new.reason.status is ConditionStatus.FALSE)
            for waiting in context.slots.next_in_line(context.now()):
                context.queue.add(*waiting)

    def _measure(self, old: Compaction, new: Compaction) -> None:
        metrics = self.context.metrics
        for failure in Failure:
            if count_of(new.status.failures, failure) > count_of(old.status.failures, failure):
                metrics.attempt_ended(failure)
        if old.status.start_time is None and new.status.start_time is not None:
            metrics.compaction_started(new.spec.strategy)
        if old.reason is new.reason:
            return
        if old.status.stage_time is not None:
            metrics.stage_left(old.reason, (self.context.now() - old.status.stage_time).total_seconds())
        if new.is_over:
            metrics.compaction_finished(new.status, new.spec.strategy)
            if new.reason.status is ConditionStatus.TRUE:
                metrics.attempt_ended(None)

    def _forget(self, key: ObjectKey) -> None:
        self._sharing.forget(key)
        self._memories.forget(key)
        self._clearing.pop(key, None)
        self.unreleased.discard(key)
