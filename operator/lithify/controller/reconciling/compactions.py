"""Reconciles one Compaction: gathers facts, asks the state machine, writes status, acts.

Called by `loop`. Nothing in here decides; what must survive a crash stands in status before anything is done.
What is kept in memory is only ever something that can be found out again.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field

from lithify.controller.cluster.table_lock import Holder
from lithify.controller.deciding.blocked import held_by
from lithify.controller.deciding.overrides import table_overrides
from lithify.controller.driver import DriverOrder, DriverPhase, DriverState
from lithify.controller.launching.sizing import learned_speed
from lithify.controller.reconciling.context import Context
from lithify.controller.reconciling.locking import LockView, TableLocking, holder_of
from lithify.controller.reconciling.pacing import Backoff, Repeats
from lithify.controller.reconciling.planning import Planning
from lithify.controller.reconciling.searches import LONGEST_WAIT, Begin, Search
from lithify.controller.reconciling.sharing import SharedView, Sharing
from lithify.controller.reconciling.status import write_status
from lithify.controller.running.case import is_planned_here
from lithify.controller.running.events import events_between
from lithify.controller.running.facts import UNKNOWN, Act, Lock, Problem, RunFacts, Unknown
from lithify.controller.running.failures import count_of, memory_factor
from lithify.controller.running.machine import step
from lithify.errors import (
    AccountMissing,
    ClusterRefused,
    ClusterUnavailable,
    Failure,
    NameTaken,
    UserError,
)
from lithify.resources.catalog import Catalog
from lithify.resources.compaction import Compaction, Reason, RunStrategy
from lithify.resources.names import (
    ANNOTATION_REQUESTED,
    COMPACTION,
    LABEL_TABLE,
    LAKE_TABLE,
    SERVICE_ACCOUNT,
    ObjectKey,
)
from lithify.resources.objects import ConditionStatus
from lithify.resources.table import LakeTable

_log = logging.getLogger(__name__)
_SHARED_SECONDS = 5.0
"""Between two looks at a shared driver that is about to end."""
_ACCOUNT_SECONDS = 10.0
"""Between two looks for a service account that is missing: somebody has just read that it is."""


@dataclass(slots=True)
class _Memory:
    """What this process has found out about a run.

    Attributes:
        uid: which run it is, of its name.
        repeats: how fast acts without effect are repeated.
        absences: how fast a driver is looked for that the API server does not tell of.
        search: the search for what it has committed.
        planning: the plan, if it only plans.
        lock: the name of its table's lock.
        former: who had the lock, and is over.
        refusal: why its driver was refused, and in which attempt.
        delay: why its driver could not be started the last time, and in which attempt.
        missing: the service account that its driver could not be started without.
        lead: the Compaction that its driver was named after when it last shared one.
    """

    uid: str
    repeats: Repeats
    absences: Backoff
    search: Search
    planning: Planning = field(default_factory=Planning)
    lock: str | None = None
    former: Holder | None = None
    refusal: tuple[int, str] | None = None
    delay: tuple[int, str] | None = None
    missing: AccountMissing | None = None
    lead: ObjectKey | None = None

    @classmethod
    def of(cls, uid: str) -> _Memory:
        """Nothing is known of a run yet."""
        search = Search(Backoff(f"{uid}:search", LONGEST_WAIT))
        return cls(uid, Repeats(Backoff(f"{uid}:acts")), Backoff(f"{uid}:driver"), search)

    def forget_answers(self, acts: tuple[Act, ...]) -> None:
        """Forgets what was found out for steps that are over; `acts` are those of the step now."""
        if Act.FIND_RUN not in acts:
            self.search.forget()  # a driver may be alive from here on, so an answer grows old
        if Act.PLAN not in acts:
            self.planning.forget()


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
    begin: Begin = asyncio.create_task
    _memories: dict[ObjectKey, _Memory] = field(default_factory=dict)
    _clearing: dict[ObjectKey, Backoff] = field(default_factory=dict)
    _sharing: Sharing = field(init=False)
    _locking: TableLocking = field(init=False)

    def __post_init__(self) -> None:
        self._sharing = Sharing(self.context)
        self._locking = TableLocking(self.context, self._sharing)

    async def reconcile(self, key: ObjectKey) -> float | None:
        """Takes a Compaction one step further; returns the seconds until it is to be asked again."""
        run = self.context.store.compactions.get(key)
        if run is None:
            return await self._clear(key)
        if run.is_over and key not in self.unreleased:
            return None
        memory = self._memory(key, run.metadata.uid)
        facts = await self._facts(run, memory)
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
        await self._act_all(answer.acts, written, facts, memory, is_shared=run.status.shared_run is not None)
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
        context, memory = self.context, self._memories.get(key)
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
            self._wake_waiting(memory.lock, memory.uid)
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

    async def _facts(self, run: Compaction, memory: _Memory) -> RunFacts:
        context, store = self.context, self.context.store
        if run.status.shared_run is not None:
            memory.lead = ObjectKey(run.metadata.namespace, run.status.shared_run.lead)
        table = store.table_of(run)
        catalog = store.catalog_of(table) if table else None
        is_planned = is_planned_here(run)
        is_waiting = not run.is_over and (is_planned or not run.reason.has_driver)
        problem = await self._problem(run, table, catalog) if is_waiting else None
        if problem is None and memory.missing is not None:
            problem = await self._account(memory, is_waiting=is_waiting)
        if memory.refusal is not None and memory.refusal[0] == run.status.attempts:
            problem = Problem(Reason.INVALID_SPEC, memory.refusal[1], may_pass=False)
        seen = await self._lock(run, memory)
        hold = context.slots.hold_of_run(run, self.context.now()) if is_waiting and not is_planned else ""
        view = await self._view(run)
        may_start = is_waiting and not hold and problem is None and seen.lock is Lock.OURS
        has_wishes = run.spec.cancel or run.spec.suspend or run.metadata.deletion_timestamp is not None
        sharing = self._sharing.join(run, context.now()) if may_start and not has_wishes else None
        return RunFacts(
            policy=store.rules_of(table),
            identifier=table.spec.identifier if table else None,
            table_uuid=table.status.table_uuid if table else None,
            driver=view.driver if isinstance(view, SharedView) else view,
            lock=seen.lock,
            lock_holder=seen.holder,
            admitted=not hold,
            hold=hold,
            problem=problem,
            delay=memory.delay[1] if memory.delay and memory.delay[0] == run.status.attempts else "",
            found=memory.search.found,
            plan=memory.planning.outcome,
            deleted=run.metadata.deletion_timestamp is not None,
            sharing=sharing,
            stranded=view.stranded if isinstance(view, SharedView) else "",
        )

    async def _view(self, run: Compaction) -> SharedView | Unknown:
        """The driver that a run's status names: its own, or one that it shares."""
        try:
            if run.status.shared_run is not None:
                return await self._sharing.view(run)
            return SharedView(await self.context.launcher.look(run.metadata.key))
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
        try:
            await self.context.secrets.of_catalog(catalog)
        except UserError as error:
            return Problem(Reason.INVALID_SPEC, str(error), may_pass=True)
        except ClusterRefused as error:
            return Problem(Reason.ACCESS_DENIED, str(error), may_pass=True)
        return None

    async def _account(self, memory: _Memory, *, is_waiting: bool) -> Problem | None:
        """What to say of the service account that was missing; None if it is there now."""
        missing = memory.missing
        if missing is None:
            return None
        if is_waiting and await self._may_exist(ObjectKey(missing.namespace, missing.account)):
            memory.missing = None
            return None
        return Problem(Reason.INVALID_SPEC, missing.problem, may_pass=True, ends_attempt=True)

    async def _may_exist(self, account: ObjectKey) -> bool:
        """Whether a service account exists, asked live; true if this operator may not know."""
        try:
            return await self.context.api.get(SERVICE_ACCOUNT, account) is not None
        except ClusterRefused:
            return True

    async def _lock(self, run: Compaction, memory: _Memory) -> LockView:
        if memory.lock is None:
            memory.lock = self._locking.name_for(run)
        if memory.lock is None:
            return LockView(Lock.FREE if run.is_over else Lock.UNKNOWN)
        seen = await self._locking.view(memory.lock, run)
        memory.former = seen.former
        return seen

    async def _act_all(
        self, acts: tuple[Act, ...], run: Compaction, facts: RunFacts, memory: _Memory, *, is_shared: bool
    ) -> None:
        """Does what there is to do. Nobody takes the table's lock for free meanwhile.

        A driver that others share is not let go by one of them.
        """
        if is_shared:
            acts = tuple(act for act in acts if act not in {Act.KEEP_DRIVER, Act.REMOVE_DRIVER})
        self._locking.acting.add(run.metadata.key)
        try:
            for act in acts:
                await self._act(act, run, facts, memory)
        finally:
            self._locking.acting.discard(run.metadata.key)

    async def _act(self, act: Act, run: Compaction, facts: RunFacts, memory: _Memory) -> None:
        context, key = self.context, run.metadata.key
        driver = facts.driver if isinstance(facts.driver, DriverState) else None
        if act is Act.TAKE_LOCK and memory.lock:
            await context.locks.take(memory.lock, holder_of(run), after=memory.former)
        elif act is Act.DROP_LOCK and memory.lock:
            await context.locks.drop(memory.lock, holder_of(run))
            self._wake_waiting(memory.lock, run.metadata.uid)
        elif act is Act.START_DRIVER and run.status.shared_run is not None:
            await self._start_shared(run, memory)
        elif act is Act.START_DRIVER:
            await self._start(run, memory)
        elif act is Act.STOP_DRIVER and driver and run.status.shared_run is not None:
            await self._sharing.stop(run)
        elif act is Act.STOP_DRIVER and driver:
            await context.launcher.stop(key, driver.uid)
        elif act in {Act.KEEP_DRIVER, Act.REMOVE_DRIVER} and driver:
            await context.launcher.release(key, driver.uid, remove=act is Act.REMOVE_DRIVER)
        elif act is Act.FIND_RUN:
            memory.search.go_on(context, run, self.begin)
        elif act is Act.PLAN:
            memory.planning.go_on(context, run, self.begin, heeds_blocks=_is_by_itself(run))

    def _wake_waiting(self, lock: str, former_uid: str) -> None:
        """Has those looked at who may wait for a lock that is free now."""
        for run in self.context.store.compactions:
            memory = self._memories.get(run.metadata.key)
            if memory is not None and memory.lock == lock and run.metadata.uid != former_uid:
                self.context.queue.add(COMPACTION, run.metadata.key)

    async def _start(self, run: Compaction, memory: _Memory) -> None:
        order = self._order(run)
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

    async def _start_shared(self, run: Compaction, memory: _Memory) -> None:
        """Starts the driver that is named after a run; the others that share it wait for that."""
        shared, metrics = run.status.shared_run, self.context.metrics
        self.unreleased.add(run.metadata.key)
        if shared is None or shared.lead_uid != run.metadata.uid:
            return
        try:
            is_started = await self._sharing.start(run, self._order)
        except AccountMissing as error:
            memory.missing = error
            metrics.launched("refused")
        except ClusterRefused:
            metrics.launched("refused")  # each of them starts alone, and hears why that is refused
        except ClusterUnavailable as error:
            memory.delay = (run.status.attempts, str(error))
            metrics.launched("unavailable")
            raise
        else:
            if is_started:
                metrics.launched("started")

    def _order(self, run: Compaction) -> DriverOrder | None:
        store = self.context.store
        table = store.table_of(run)
        catalog = store.catalog_of(table) if table else None
        if table is None or catalog is None:
            return None
        rules = store.rules_of(table)
        seen = self.context.scheduler.seen(table.metadata.key).observation
        if seen is None:
            planned = 0
        elif run.spec.strategy is RunStrategy.FULL:
            planned = seen.full_bytes
        else:
            planned = sum(finding.bytes for finding in seen.findings)
        return DriverOrder(
            key=run.metadata.key,
            uid=run.metadata.uid,
            attempt=run.status.attempts,
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

    def _memory(self, key: ObjectKey, uid: str) -> _Memory:
        """What is remembered of a run, and of no other one that had its name before."""
        memory = self._memories.get(key)
        if memory is None or memory.uid != uid:
            if memory is not None:
                memory.planning.forget()
            memory = self._memories[key] = _Memory.of(uid)
        return memory

    def _forget(self, key: ObjectKey) -> None:
        self._sharing.forget(key)
        memory = self._memories.pop(key, None)
        if memory is not None:
            memory.planning.forget()
        self._clearing.pop(key, None)
        self.unreleased.discard(key)


def _is_by_itself(run: Compaction) -> bool:
    """Whether the operator began the run unasked; what a person asks for takes blocked buckets, too."""
    return LABEL_TABLE in run.metadata.labels and ANNOTATION_REQUESTED not in run.metadata.annotations
