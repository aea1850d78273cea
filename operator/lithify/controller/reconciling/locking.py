"""Finds the holder of a table's lock, as a run sees it, and whether the holder is over.

Used by `compactions`. A holder whose state cannot be read keeps its lock; runs on other tables go on.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from pydantic import ValidationError

from lithify.controller.cluster.table_lock import Holder, lock_name
from lithify.controller.driver import DriverPhase
from lithify.controller.reconciling.context import Context
from lithify.controller.reconciling.sharing import Sharing
from lithify.controller.running.facts import Lock
from lithify.errors import ClusterError, ClusterRefused
from lithify.resources.compaction import Compaction
from lithify.resources.modelling import read
from lithify.resources.names import COMPACTION, ObjectKey

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LockView:
    """A table's lock, as one run sees it.

    Attributes:
        lock: whether the lock is free, this run's or another's.
        holder: the other holder, for people; empty if there is none.
        former: a holder that is over, from which the lock may be taken over.
    """

    lock: Lock
    holder: str = ""
    former: Holder | None = None


@dataclass(slots=True)
class TableLocking:
    """Reads locks and the state of their holders.

    Attributes:
        context: what the reconcilers share.
        sharing: the drivers that runs share.
        acting: the runs whose actions are being carried out right now.
    """

    context: Context
    sharing: Sharing
    acting: set[ObjectKey] = field(default_factory=set)

    def name_for(self, run: Compaction) -> str | None:
        """The name of the lock of a run's table; None while its LakeTable or Catalog is missing."""
        table = self.context.store.table_of(run)
        catalog = self.context.store.catalog_of(table) if table else None
        if table is None or catalog is None:
            return None
        return lock_name(run.metadata.namespace, catalog.spec, table.spec.identifier)

    async def view(self, name: str, run: Compaction) -> LockView:
        """The state of a lock as a run sees it; UNKNOWN if the cluster cannot be asked now."""
        try:
            holder = await self.context.locks.holder(name)
            if holder is None or holder == holder_of(run):
                return LockView(Lock.FREE if holder is None else Lock.OURS)
            if await self.is_over(holder):
                return LockView(Lock.FREE, former=holder)
        except ClusterError as error:
            _log.warning("who has the lock of a table is not known: %s", error)
            return LockView(Lock.UNKNOWN)
        is_near = holder.key.namespace == run.metadata.namespace
        return LockView(Lock.OTHERS, str(holder.key) if is_near else "a run in another namespace")

    async def is_over(self, holder: Holder) -> bool:
        """Whether the run that holds a lock can no longer have a driver.

        True is returned only after asking the API server; False may come from the store.
        """
        context = self.context
        if holder.key in self.acting:
            return False  # it may be starting a driver right now
        known = context.store.compactions.get(holder.key)
        if known is not None and known.metadata.uid == holder.uid and not known.is_over:
            return False
        try:
            found = await context.api.get(COMPACTION, holder.key)
            driver = await context.launcher.observe(holder.key)
            is_at_work = await self._is_at_work(holder, found)
        except ClusterRefused as error:
            # E.g. a namespace was deleted together with its roles. The state is unknown; other runs go on.
            _log.warning("a table stays locked, since its run cannot be looked at: %s", error)
            return False
        if found is not None and found["metadata"].get("uid") == holder.uid and not _has_ended(found):
            return False
        if is_at_work:
            return False
        return driver is None or driver.owner_uid != holder.uid or driver.phase is DriverPhase.ENDED

    async def _is_at_work(self, holder: Holder, found: object) -> bool:
        """Whether a shared driver may still be working for the holder of a lock."""
        run = _readable(found)
        if run is not None and run.metadata.uid == holder.uid:
            if run.status.shared_run is None:
                return False
            driver = (await self.sharing.view(run)).driver
            return driver is not None and driver.phase is not DriverPhase.ENDED
        return await self.sharing.is_at_work(holder.key.namespace, holder.uid)

    async def sweep(self) -> None:
        """Drops locks of runs that are over, left by an operator that was killed before it dropped them."""
        for name, holder in await self.context.locks.all():
            try:
                if await self.is_over(holder):
                    await self.context.locks.drop(name, holder)
            except Exception as error:  # noqa: BLE001  # it concerns one run, and is logged
                _warn("its lock stays", holder, error)

    async def rename(self) -> None:
        """Renames locks that an older release named differently; called before any reconcile."""
        for name, holder in await self.context.locks.all():
            run = self.context.store.compactions.get(holder.key)
            wanted = self.name_for(run) if run is not None and run.metadata.uid == holder.uid else None
            if wanted is None or wanted == name:
                continue
            try:
                if await self.context.locks.take(wanted, holder, after=None):
                    await self.context.locks.drop(name, holder)
            except Exception as error:  # noqa: BLE001  # it concerns one run, and is logged
                _warn("its lock keeps an older release's name", holder, error)


def holder_of(run: Compaction) -> Holder:
    """The run as the holder of a lock."""
    return Holder(run.metadata.key, run.metadata.uid)


def _has_ended(found: object) -> bool:
    """Whether the Compaction in an API server's response is over; False if it is unreadable."""
    run = _readable(found)
    return run is not None and run.is_over


def _readable(found: object) -> Compaction | None:
    """The Compaction in an API server's response; None if it is missing or unreadable."""
    try:
        return None if found is None else read(Compaction, found)
    except (ValidationError, RecursionError):
        return None


def _warn(what: str, holder: Holder, error: Exception) -> None:
    _log.warning("%s: %s: %s", what, type(error).__name__, error, extra={"compaction": str(holder.key)})
