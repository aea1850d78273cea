"""Everything that the reconcilers share: external interfaces, known objects, and this operator's settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from lithify.clock import Clock
from lithify.controller.api import Api
from lithify.controller.cluster.table_lock import TableLocks
from lithify.controller.deciding.limits import OperatorLimits
from lithify.controller.deciding.schedule import policy_problem
from lithify.controller.driver import Launcher
from lithify.controller.observing.request import TableObserver
from lithify.controller.reconciling.observation_scheduler import ObservationScheduler
from lithify.controller.reconciling.queue import Queue
from lithify.controller.reconciling.recorder import Recorder
from lithify.controller.reconciling.secrets import Secrets
from lithify.controller.reconciling.slots import Slots
from lithify.controller.reconciling.store import Store
from lithify.controller.telemetry.metrics import Metrics
from lithify.io.access_policy import AccessPolicy, OwnIdentity
from lithify.resources.names import ObjectKey
from lithify.resources.policy import CompactionPolicySpec


@dataclass(frozen=True, slots=True)
class Context:
    """State and services that the reconcilers share.

    Attributes:
        api: the API server; it refuses writes of an operator that is not the leader.
        store: the known version of each of its objects.
        queue: keys of the objects to reconcile.
        launcher: starts drivers.
        observer: observes tables.
        scheduler: schedules the observations.
        secrets: catalog options from Secrets.
        locks: the locks of tables.
        slots: admits runs within the limits.
        recorder: posts Events.
        metrics: the operator's metrics.
        clock: the wall clock.
        conf_problem: why the Spark settings of a policy are refused, None if they are not.
        limits: what tenants may ask for at most.
        reach: locations where a namespace's tables may be read with the rights of this process.
        fence: raises `ClusterUnavailable` for an action of an operator that is not the leader.
        creating: Compactions that are being created, and are not reconciled before their record is written.
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
    reach: Callable[[str], AccessPolicy] = OwnIdentity().reach
    fence: Callable[[str], None] = lambda _: None
    creating: set[ObjectKey] = field(default_factory=set)

    def policy_problem(self, policy: CompactionPolicySpec) -> str | None:
        """Why a policy cannot be followed, all reasons in one text; None if it can."""
        problems = (policy_problem(policy), self.conf_problem(policy.spark))
        return "; ".join(problem for problem in problems if problem is not None) or None

    def now(self) -> datetime:
        """The time in whole seconds, the precision of timestamps in Kubernetes objects."""
        return self.clock.now().astimezone(UTC).replace(microsecond=0)
