"""Groups runs that share a driver, reads the state of shared drivers, and releases them.

Used by `compactions` and `locking`. The members of a group are recorded in the status of each run before the
driver is started, and in the driver itself: it takes the runs whose status names it, and the others start
alone. Memory holds only which runs wait for a group; after a restart they wait again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from lithify.controller.deciding.admission import Pool
from lithify.controller.deciding.sharing import (
    Candidate,
    bytes_of_sharing,
    group,
    is_gathering,
    pool_of,
)
from lithify.controller.driver import DriverOrder, DriverPhase, DriverState, SharedDriver, SharedDrivers
from lithify.controller.reconciling.context import Context
from lithify.controller.running.facts import Gathering
from lithify.errors import ClusterRefused
from lithify.resources.compaction import Compaction, Reason, SharedRun
from lithify.resources.names import COMPACTION, ObjectKey

_log = logging.getLogger(__name__)
_PATIENCE = 60.0
"""Seconds after which a driver is stopped that does not end a run as asked, or itself after its last run."""
_ASSEMBLY = 10.0
"""Seconds that a lead waits for the members of its group to record the group in their status."""

Order = Callable[[Compaction], DriverOrder | None]


@dataclass(frozen=True, slots=True)
class SharedView:
    """A shared driver as one of its runs sees it.

    Attributes:
        driver: its state as if it were the run's own; None if there is none for this run.
        stranded: why there will be none, for people; empty if one may still come.
    """

    driver: DriverState | None
    stranded: str = ""


@dataclass(slots=True)
class Sharing:
    """The runs that share drivers.

    Attributes:
        context: what the reconcilers share.
    """

    context: Context
    _ready: dict[ObjectKey, tuple[Pool, Candidate]] = field(default_factory=dict)
    _assigned: dict[ObjectKey, SharedRun | None] = field(default_factory=dict)
    """The shared driver assigned to each run that was ready; None for a driver of its own."""
    _starting: set[ObjectKey] = field(default_factory=set)
    _refused: set[str] = field(default_factory=set)
    """The uids of runs whose shared driver was refused."""
    _idle: dict[str, datetime] = field(default_factory=dict)
    """When each driver, by uid, ran out of work."""

    @property
    def _drivers(self) -> SharedDrivers | None:
        return self.context.launcher.shared

    def join(self, run: Compaction, now: datetime) -> SharedRun | Gathering | None:
        """The shared driver of a run that can start now, or its wait for a group; None if it starts alone."""
        key, pool = run.metadata.key, self._pool(run)
        if pool is None or self._drivers is None:
            self.forget(key)
            return None
        if key not in self._assigned:
            known = self._ready.get(key)
            since = now if known is None else known[1].since
            self._ready[key] = pool, Candidate(key, since, bytes_of_sharing(run) or 0)
            until = self._group(pool, run, now)
            if key not in self._assigned:
                message = "Waiting for other small tables to share a Spark application with."
                return Gathering(message, until or now + timedelta(seconds=1))
        return self._assigned[key]

    def forget(self, key: ObjectKey) -> None:
        """Stops a run's wait for a group: it has started, was changed, or is gone."""
        self._ready.pop(key, None)
        self._assigned.pop(key, None)

    def moved(self, run: Compaction) -> None:
        """Handles a run's change of reason; requeues the lead of its shared driver once the run is ready."""
        shared = run.status.shared_run
        self.forget(run.metadata.key)
        if run.reason is not Reason.SUBMITTING:
            self._refused.discard(run.metadata.uid)
        elif shared is not None:
            self.context.queue.add(COMPACTION, ObjectKey(run.metadata.namespace, shared.lead))

    async def view(self, run: Compaction) -> SharedView:
        """The shared driver in a run's status, as this run sees it."""
        shared = run.status.shared_run
        if shared is None or self._drivers is None:
            return SharedView(None, "There are no shared drivers here.")
        lead = ObjectKey(run.metadata.namespace, shared.lead)
        if run.metadata.uid in self._refused:
            return SharedView(None, "The shared driver was refused.")
        # Checked before the driver is read: one that is neither coming nor present will never start.
        is_coming = lead in self._starting or self._is_coming(lead, shared)
        driver = await self._drivers.observe(lead)
        if driver is not None and driver.lead_uid == shared.lead_uid:
            found = driver.of_member(run.metadata.uid)
            return SharedView(found, "" if found else "The shared driver has begun without this table.")
        if is_coming:
            return SharedView(None)
        return SharedView(None, f"Compaction {shared.lead}, whose driver was to be shared, has none.")

    async def start(self, lead: Compaction, order_of: Order) -> bool:
        """Starts a lead's driver for all runs whose status names it; returns whether it did.

        Does nothing while members of the group are about to record it in their status.

        Raises:
            AccountMissing, ClusterRefused, ClusterUnavailable: see `SharedDrivers.start`.
        """
        drivers, key = self._drivers, lead.metadata.key
        if drivers is None or key in self._starting or self._is_assembling(lead):
            return False
        others = [run for run in self._members(lead) if run.metadata.key != key]
        runs = [lead, *sorted(others, key=lambda run: run.metadata.key)]
        orders = [order for run in runs if (order := order_of(run)) is not None]
        if not orders or orders[0].key != key:
            return False
        self._starting.add(key)
        try:
            await drivers.start(orders)
        except ClusterRefused as error:
            _log.warning("a shared driver was refused: %s", error, extra={"compaction": str(key)})
            self._refused |= {order.uid for order in orders}
            raise
        finally:
            self._starting.discard(key)
            for run in runs:
                self.context.queue.add(COMPACTION, run.metadata.key)
        return True

    async def stop(self, run: Compaction) -> None:
        """Asks the driver to end a run; after a timeout, stops the whole driver."""
        driver = await self._driver_of(run)
        if self._drivers is None or driver is None:
            return
        stopping = run.status.driver.stopping if run.status.driver is not None else None
        waited = (self.context.now() - stopping.time).total_seconds() if stopping is not None else 0.0
        if waited >= _PATIENCE and not driver.state.terminating:
            await self._drivers.stop(driver)
        elif run.metadata.uid not in driver.stopped:
            await self._drivers.stop_member(driver, run.metadata.uid)

    async def end_deleted(self, lead: ObjectKey, uid: str) -> bool:
        """Ends the run of a deleted Compaction; returns whether its driver no longer works for it.

        A driver's last run also waits for the driver's release, or its pod would stay until the next sweep.
        """
        driver = await self._drivers.observe(lead) if self._drivers is not None else None
        found = driver.of_member(uid) if driver is not None else None
        if driver is None or found is None:
            return True
        is_let_go = await self._tend(driver)
        return is_let_go and found.phase is DriverPhase.ENDED

    async def is_at_work(self, namespace: str, uid: str) -> bool:
        """Whether a shared driver may still be working for a run, which may have been deleted."""
        drivers = await self._drivers.all() if self._drivers is not None else []
        found = [driver.of_member(uid) for driver in drivers if driver.lead.namespace == namespace]
        return any(one is not None and one.phase is not DriverPhase.ENDED for one in found)

    async def sweep(self) -> None:
        """Releases or stops all shared drivers that no run needs; ends runs whose Compaction is gone."""
        for driver in await self._drivers.all() if self._drivers is not None else []:
            try:
                await self._tend(driver)
            except Exception as error:  # noqa: BLE001  # it concerns one driver, and is logged
                name = type(error).__name__
                _log.warning("a shared driver stays: %s: %s", name, error, extra={"lead": str(driver.lead)})

    async def tend(self, run: Compaction) -> bool:
        """Releases or stops the shared driver of a run if no run needs it any more.

        Returns:
            Whether nothing is left to do for this run.
        """
        driver = await self._driver_of(run)
        return driver is None or await self._tend(driver)

    async def members(self) -> list[ObjectKey]:
        """The runs of all shared drivers that have not been released."""
        drivers = await self._drivers.all() if self._drivers is not None else []
        return [member.key for driver in drivers for member in driver.members]

    async def _tend(self, driver: SharedDriver) -> bool:
        drivers = self._drivers
        if drivers is None or driver.lead in self._starting:
            return True
        known = {member.uid: self._known(member.key, member.uid) for member in driver.members}
        if not any(run is not None and _needs(run, driver) for run in known.values()):
            return await self._end(driver, drivers)
        for uid, run in known.items():
            if run is None and uid not in driver.outcomes and uid not in driver.stopped:
                await drivers.stop_member(driver, uid)
        return True

    async def _end(self, driver: SharedDriver, drivers: SharedDrivers) -> bool:
        """Releases an unneeded driver; returns whether that is done. Lets one that is about to end finish."""
        uid, now = driver.state.uid, self.context.now()
        if driver.state.phase is DriverPhase.ENDED:
            self._idle.pop(uid, None)
            if not driver.state.released:
                await drivers.release(driver)
            return True
        is_done = all(member.uid in driver.outcomes for member in driver.members)
        idle = (now - self._idle.setdefault(uid, now)).total_seconds()
        if not driver.state.terminating and (not is_done or idle >= _PATIENCE):
            await drivers.stop(driver)
        return False

    async def _driver_of(self, run: Compaction) -> SharedDriver | None:
        shared = run.status.shared_run
        if shared is None or self._drivers is None:
            return None
        driver = await self._drivers.observe(ObjectKey(run.metadata.namespace, shared.lead))
        return driver if driver is not None and driver.lead_uid == shared.lead_uid else None

    def _group(self, pool: Pool, asking: Compaction, now: datetime) -> datetime | None:
        """Groups the runs that are ready; returns until when the remaining ones wait."""
        table = self.context.store.table_of(asking)
        rules = self.context.store.rules_of(table).shared_runs
        if rules is None:
            return None
        for key in [key for key in self._ready if not self._is_ready(key)]:
            self.forget(key)
        ready = [candidate for found, candidate in self._ready.values() if found == pool]
        found = group(ready, rules, now)
        for together in found.groups:
            lead = self.context.store.compactions.get(together[0].key)
            shared = SharedRun(lead=lead.metadata.name, lead_uid=lead.metadata.uid) if lead else None
            for one in together:
                del self._ready[one.key]
                self._assigned[one.key] = shared if len(together) > 1 else None
                if one.key != asking.metadata.key:
                    self.context.queue.add(COMPACTION, one.key)
        return found.until

    def _is_ready(self, key: ObjectKey) -> bool:
        run = self.context.store.compactions.get(key)
        return run is not None and is_gathering(run)

    def _pool(self, run: Compaction) -> Pool | None:
        table = self.context.store.table_of(run)
        if table is None:
            return None
        return pool_of(table, self.context.store.rules_of(table), bytes_of_sharing(run))

    def _is_assembling(self, lead: Compaction) -> bool:
        """Whether members of a lead's group have yet to record it in status; False after a timeout."""
        uid, since = lead.metadata.uid, lead.status.stage_time
        followers = [key for key, shared in self._assigned.items() if shared and shared.lead_uid == uid]
        is_late = since is not None and (self.context.now() - since).total_seconds() >= _ASSEMBLY
        if is_late:
            for key in followers:
                self.forget(key)
        return not is_late and any(map(self._is_to_follow, followers))

    def _is_to_follow(self, key: ObjectKey) -> bool:
        """Whether a grouped run has yet to record its group in status."""
        run = self.context.store.compactions.get(key)
        if run is None or not is_gathering(run):
            self._assigned.pop(key, None)
            return False
        return run.status.shared_run is None

    def _members(self, lead: Compaction) -> Iterable[Compaction]:
        """The runs that wait for a lead's driver and whose status names it."""
        name, uid = lead.metadata.name, lead.metadata.uid
        for run in self.context.store.compactions.using("lead", ObjectKey(lead.metadata.namespace, name)):
            shared = run.status.shared_run
            is_waiting = run.reason is Reason.SUBMITTING and not (run.spec.cancel or run.spec.suspend)
            if shared is not None and shared.lead_uid == uid and is_waiting:
                yield run

    def _is_coming(self, lead: ObjectKey, shared: SharedRun) -> bool:
        """Whether the lead of a shared driver is about to start it.

        The other members may have recorded the group in their status before the lead has.
        """
        run = self._known(lead, shared.lead_uid)
        if run is not None and is_gathering(run) and self._assigned.get(lead) == shared:
            return True
        return run is not None and run.reason is Reason.SUBMITTING and run.status.shared_run == shared

    def _known(self, key: ObjectKey, uid: str) -> Compaction | None:
        run = self.context.store.compactions.get(key)
        return run if run is not None and run.metadata.uid == uid else None


def _needs(run: Compaction, driver: SharedDriver) -> bool:
    """Whether a run, by its status, needs this driver."""
    shared = run.status.shared_run
    is_its = shared == SharedRun(lead=driver.lead.name, lead_uid=driver.lead_uid)
    return is_its and run.reason.has_driver
