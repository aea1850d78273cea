"""Admits runs within the limits of policies, of namespaces and of this operator, by what is in the store.

Called by the reconcilers of tables and Compactions. A run that must wait is remembered with the time since
when, so that its turn comes; `deciding.admission` decides the order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from time import monotonic

from lithify.controller.deciding.admission import (
    HOUR,
    Active,
    Admission,
    Caps,
    Pool,
    Waiting,
    admit,
    limits_of,
)
from lithify.controller.deciding.reasons import SlotLimit
from lithify.controller.deciding.sharing import bytes_of_sharing, pool_of
from lithify.controller.reconciling.store import Store
from lithify.controller.running.reconcile_input import is_planned_here
from lithify.resources.compaction import Compaction, Reason
from lithify.resources.names import COMPACTION, LAKE_TABLE, ObjectKey, ResourceKind
from lithify.resources.table import LakeTable

_REMEMBERED = 1.0
"""Seconds for which a full policy is cached as full: thousands of tables ask at the same time."""
_PARKED = frozenset({Reason.BACKING_OFF, Reason.SUSPENDED, Reason.AWAITING_APPROVAL})


@dataclass(slots=True)
class Slots:
    """The slots of this operator.

    Attributes:
        store: the known objects.
        caps: this operator's own limits.
        ticks: monotonic clock, in seconds.
    """

    store: Store
    caps: Caps
    ticks: Callable[[], float] = monotonic
    _waiting: dict[ObjectKey, tuple[ResourceKind, Waiting]] = field(default_factory=dict)
    _granted: dict[ObjectKey, Active] = field(default_factory=dict)
    _full: dict[tuple[ObjectKey, Pool | None], tuple[float, SlotLimit]] = field(default_factory=dict)

    def limit_of_table(
        self, table: LakeTable, planned_bytes: int, now: datetime, shared: int | None = None
    ) -> SlotLimit | None:
        """The limit that keeps a new run of a table waiting; takes a slot and returns None if it may start.

        `shared` is the bytes it reads if it may share a driver, and thus a slot; None if it may not.
        """
        key = _place(table.metadata.key)
        waiting = Waiting(
            key,
            self._priority(table),
            self._since(key, now),
            _policy_key(table),
            planned_bytes,
            pool_of(table, self.store.rules_of(table), shared),
        )
        return self._ask(LAKE_TABLE, waiting, now)

    def limit_of_run(self, run: Compaction, now: datetime) -> SlotLimit | None:
        """The limit that keeps a run waiting; takes a slot and returns None if it may start."""
        table = self.store.table_of(run)
        if table is None or has_slot(run) or is_planned_here(run):
            return None
        since = min(run.metadata.creation_timestamp or now, now)
        waiting = Waiting(run.metadata.key, self._priority(table), since, _policy_key(table), _bytes(run))
        return self._ask(COMPACTION, waiting, now)

    def leave(self, key: ObjectKey, kind: ResourceKind) -> None:
        """Removes a table or run from the line: it is no longer due, has started, or is gone."""
        place = _place(key) if kind is LAKE_TABLE else key
        self._waiting.pop(place, None)
        if self._granted.pop(place, None) is not None:
            self._full.clear()

    def next_in_line(self, now: datetime) -> list[tuple[ResourceKind, ObjectKey]]:
        """Waiting tables and runs that may start now; called when a slot has become free."""
        self._full.clear()
        admitted = self._admission(now).admitted
        return [(self._waiting[key][0], _object(key)) for key in admitted]

    @property
    def waiting(self) -> int:
        """Number of waiting tables and runs."""
        return len(self._waiting)

    def _priority(self, table: LakeTable) -> int:
        own = table.spec.priority
        return self.store.rules_of(table).priority if own is None else own

    def _since(self, key: ObjectKey, now: datetime) -> datetime:
        known = self._waiting.get(key)
        return min(known[1].since, now) if known else now

    def _ask(self, kind: ResourceKind, waiting: Waiting, now: datetime) -> SlotLimit | None:
        if waiting.key in self._granted:
            return None
        self._waiting[waiting.key] = (kind, waiting)
        asked = waiting.policy, waiting.pool
        full = self._full.get(asked)
        if full is not None and self.ticks() < full[0] + _REMEMBERED:
            return full[1]
        admission = self._admission(now)
        if waiting.key not in admission.admitted:
            limit = self._full[asked] = (self.ticks(), admission.held[waiting.key])
            return limit[1]
        del self._waiting[waiting.key]
        self._granted[waiting.key] = Active(waiting.key, waiting.policy, waiting.bytes, now, waiting.pool)
        return None

    def _admission(self, now: datetime) -> Admission:
        active, recent = [*self._granted.values()], []
        for run in self.store.compactions:
            if is_planned_here(run):
                continue  # it reads no data
            found = self._active(run, now)
            if found is not None and has_slot(run):
                active.append(found)
            elif found is not None and found.started + HOUR > now and run.status.attempts:
                recent.append(found)
        limits = {policy.metadata.key: limits_of(policy.spec.limits) for policy in self.store.policies}
        waiting = (waiting for _, waiting in self._waiting.values())
        return admit(waiting, active, recent, self.caps, limits, now)

    def _active(self, run: Compaction, now: datetime) -> Active | None:
        table = self.store.table_of(run)
        if table is None:
            return None
        started = run.status.start_time or run.metadata.creation_timestamp or now
        shared, size = run.status.shared_run, bytes_of_sharing(run)
        pool = pool_of(table, self.store.rules_of(table), size)
        driver = f"{run.metadata.namespace}/{shared.lead_uid}" if shared is not None else ""
        bytes_read = _bytes(run) or size or 0
        return Active(run.metadata.key, _policy_key(table), bytes_read, started, pool, driver)


def has_slot(run: Compaction) -> bool:
    """Whether a run holds a slot: it has a driver, or the operator created it because a slot was free.

    Not while it searches its table for a commit: that uses no resources of the cluster.
    """
    if run.is_over or run.reason in _PARKED:
        return False
    return run.reason.has_driver or (run.is_automatic and run.status.attempts == 0)


def _bytes(run: Compaction) -> int:
    if run.status.plan is not None:
        return run.status.plan.bytes
    return run.status.result.input_bytes if run.status.result is not None else 0


def _policy_key(table: LakeTable) -> ObjectKey:
    return ObjectKey(table.metadata.namespace, table.spec.policy_ref.name)


def _place(key: ObjectKey) -> ObjectKey:
    """A table's place in the queue; Compactions may have the same name, but no slash in it."""
    return ObjectKey(key.namespace, f"{key.name}/")


def _object(place: ObjectKey) -> ObjectKey:
    return ObjectKey(place.namespace, place.name.rstrip("/"))
