"""Everything that the reconcilers work with: the edges, what is known, and the settings of this operator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from lithify.clock import Clock
from lithify.controller.api import Api
from lithify.controller.cluster.table_lock import TableLocks
from lithify.controller.deciding.limits import OperatorLimits
from lithify.controller.driver import Launcher
from lithify.controller.observing.request import TableObserver
from lithify.controller.reconciling.observation_scheduler import ObservationScheduler
from lithify.controller.reconciling.queue import Queue
from lithify.controller.reconciling.recorder import Recorder
from lithify.controller.reconciling.secrets import Secrets
from lithify.controller.reconciling.slots import Slots
from lithify.controller.reconciling.store import Store
from lithify.controller.telemetry.metrics import Metrics
from lithify.tables.io.reach import OwnIdentity, Reach


@dataclass(frozen=True, slots=True)
class Context:
    """What the reconcilers share.

    Attributes:
        api: the API server; it refuses writes of an operator that does not lead.
        store: what is known of its objects.
        queue: what is to be looked at.
        launcher: starts drivers.
        observer: looks at tables.
        scheduler: when tables are looked at.
        secrets: what Secrets say.
        locks: the locks of tables.
        slots: who may start.
        recorder: posts Events.
        metrics: counts.
        clock: tells the time.
        conf_problem: why the Spark settings of a policy are refused, None if they are not.
        limits: what tenants may ask for at most.
        reach: where tables of a namespace may be read with the rights of this process.
    """

    api: Api
    store: Store
    queue: Queue
    launcher: Launcher
    observer: TableObserver
    scheduler: ObservationScheduler
    secrets: Secrets
    locks: TableLocks
    slots: Slots
    recorder: Recorder
    metrics: Metrics
    clock: Clock
    conf_problem: Callable[..., str | None]
    limits: OperatorLimits = field(default_factory=OperatorLimits)
    reach: Callable[[str], Reach] = OwnIdentity().reach

    def now(self) -> datetime:
        """The time in whole seconds, which is all that objects in Kubernetes hold."""
        return self.clock.now().astimezone(UTC).replace(microsecond=0)
