"""Drivers as the controller sees them: the order for one, its state, and the Protocol of launchers.

A Compaction has at most one driver at a time, whose name follows from the Compaction's: the launcher itself
refuses a second one. A driver that has ended stays until it is released, so that no result is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from lithify.contract.order import MaintenanceInstructions
from lithify.contract.outcome import Outcome, Progress
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.resources.catalog import SecretReference
from lithify.resources.compaction import Reason
from lithify.resources.names import ObjectKey
from lithify.resources.spark_template import SparkTemplate


@dataclass(frozen=True, slots=True)
class DriverOrder:
    """One attempt at one Compaction.

    Attributes:
        key: the Compaction.
        uid: the Compaction's; also the id of the run, the same for all its attempts.
        attempt: from 1.
        lake_table: name of the LakeTable.
        table: which table, without credentials; launchers know the driver's reach.
        secret_ref: where the credentials are that its catalog takes; None for none.
        selection: the part of the table to compact, and how much of it.
        maintenance: what is done instead of a compaction; None for one.
        spark: image, resources and settings.
        canary: whether a copy of the table is compacted first, and compared.
        memory_factor: factor by which memory is raised after an attempt ran out of it; 1.0 for unchanged.
        planned_bytes: about how much the run reads, to size it; 0 if unknown.
        bytes_per_second: throughput of one task slot in the table's last run; None if unknown.
        scheduling_seconds: how long pods may wait to be scheduled.
    """

    key: ObjectKey
    uid: str
    attempt: int
    lake_table: str
    table: TableAddress
    secret_ref: SecretReference | None
    selection: Selection
    spark: SparkTemplate
    maintenance: MaintenanceInstructions | None = None
    canary: bool = False
    memory_factor: float = 1.0
    planned_bytes: int = 0
    bytes_per_second: float | None = None
    scheduling_seconds: int = 600


class DriverPhase(StrEnum):
    """Phase of a driver's life cycle."""

    STARTING = "Starting"
    RUNNING = "Running"
    ENDED = "Ended"


class Trouble(StrEnum):
    """Why a driver cannot start, or what ended it from outside."""

    GATED = "Gated"
    UNSCHEDULABLE = "Unschedulable"
    IMAGE = "Image"
    CONFIGURATION = "Configuration"
    OUT_OF_MEMORY = "OutOfMemory"
    DISRUPTED = "Disrupted"
    UNREACHABLE = "Unreachable"


@dataclass(frozen=True, slots=True)
class DriverState:
    """Observed state of a driver.

    Attributes:
        name: name of its pod or process.
        uid: distinguishes it from earlier and later drivers of the same name.
        owner_uid: the uid of the Compaction that it was started for.
        attempt: number of the attempt.
        phase: its phase.
        trouble: what is wrong with it, observed from outside.
        message: `trouble` as a message for people.
        terminating: it has been asked to end.
        released: it has been released, so it may disappear at any time.
        started: when it began to run.
        finished: when it ended, if the kubelet or the process launcher reports it.
        progress: the progress that it reports.
        executors: why it has no executor, for people; empty otherwise.
        outcome: its outcome; None if it is still running, or died before it could report one.
        exit_code: exit code of its process, once it has ended.
        waits: it is shared, and has not started this run.
        log: the file of its log on the operator's machine; empty for a pod.
    """

    name: str
    uid: str
    owner_uid: str
    attempt: int
    phase: DriverPhase
    trouble: Trouble | None = None
    message: str = ""
    terminating: bool = False
    released: bool = False
    started: datetime | None = None
    finished: datetime | None = None
    progress: Progress | None = None
    executors: str = ""
    outcome: Outcome | None = field(default=None)
    exit_code: int | None = None
    waits: bool = False
    log: str = ""


@dataclass(frozen=True, slots=True)
class Member:
    """A Compaction that shares a driver."""

    key: ObjectKey
    uid: str


@dataclass(frozen=True, slots=True)
class SharedDriver:
    """Observed state of a driver that several Compactions share.

    Attributes:
        lead: the Compaction that it is named after.
        state: the driver as a whole; its owner is the lead.
        members: the Compactions that share it, in the order of execution.
        outcomes: outcomes of the runs that have ended, by uid.
        stopped: uids of the runs that were asked to end early.
    """

    lead: ObjectKey
    state: DriverState
    members: tuple[Member, ...]
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    stopped: frozenset[str] = frozenset()

    @property
    def lead_uid(self) -> str:
        """The uid of the lead; empty if it has no members."""
        return self.members[0].uid if self.members else ""

    def of_member(self, uid: str) -> DriverState | None:
        """The driver's state for one run, as if the driver were the run's own; None for a non-member.

        For a run with an outcome the driver counts as ended, whatever the other runs do, and as released,
        because a single run never releases a shared driver.
        """
        turns = [member.uid for member in self.members]
        if uid not in turns:
            return None
        outcome, begun = self.outcomes.get(uid), self._begun(turns)
        waits = turns.index(uid) > begun
        phase = self.state.phase
        if outcome is not None:
            phase = DriverPhase.ENDED
        elif phase is DriverPhase.RUNNING and waits:
            phase = DriverPhase.STARTING
        is_told = outcome is not None
        progress = self.state.progress
        return replace(
            self.state,
            owner_uid=uid,
            phase=phase,
            trouble=None if is_told else self.state.trouble,
            message="" if is_told else self.state.message,
            terminating=self.state.terminating or uid in self.stopped,
            released=phase is DriverPhase.ENDED,
            progress=progress if progress is not None and progress.run == uid else None,
            outcome=outcome,
            exit_code=0 if is_told else self.state.exit_code,
            waits=waits and not is_told and self.state.phase is not DriverPhase.STARTING,
        )

    def _begun(self, turns: Sequence[str]) -> int:
        """Index of the last run that it has started, -1 for none; cancelled runs may never have started."""
        progress = self.state.progress
        current = progress.run if progress is not None else None
        done = {uid for uid, told in self.outcomes.items() if told.reason is not Reason.CANCELLED}
        told = [number for number, uid in enumerate(turns) if uid in done]
        return max([turns.index(current) if current in turns else -1, *told])


class SharedDrivers(Protocol):
    """Runs drivers that several Compactions share. All raise `ClusterUnavailable` if the state is unknown.

    Everything but `start` may be called for a driver that does not exist.
    """

    async def start(self, orders: Sequence[DriverOrder]) -> None:
        """Starts a driver for some orders of one namespace, named after the first, unless there is one.

        Raises:
            AccountMissing, ClusterRefused, NameTaken: see `Launcher.start`.
        """
        ...

    async def observe(self, lead: ObjectKey) -> SharedDriver | None:
        """The driver of a lead Compaction; None only if it certainly does not exist."""
        ...

    async def stop_member(self, driver: SharedDriver, uid: str) -> None:
        """Asks a driver to end one of its runs, or not to start it."""
        ...

    async def stop(self, driver: SharedDriver) -> None:
        """Asks a driver to end with all its runs."""
        ...

    async def release(self, driver: SharedDriver) -> None:
        """Releases a driver; its logs stay."""
        ...

    async def all(self) -> list[SharedDriver]:
        """The shared drivers that have not been released."""
        ...


class Launcher(Protocol):
    """Runs drivers. Everything but `start` may be called for a driver that does not exist.

    All raise `ClusterUnavailable` if the state is unknown.
    """

    @property
    def shared(self) -> SharedDrivers | None:
        """Runs shared drivers; None if this launcher does not support them."""
        ...

    async def start(self, order: DriverOrder) -> DriverState:
        """Starts a driver, or returns the existing one, of any attempt or owner.

        Raises:
            AccountMissing: the driver's service account does not exist.
            ClusterRefused: this order can never be started; the message says why.
            NameTaken: an object that is no driver of this Compaction already has the driver's name.
        """
        ...

    async def observe(self, key: ObjectKey) -> DriverState | None:
        """The current driver of a Compaction; None only if it certainly does not exist."""
        ...

    async def stop(self, key: ObjectKey, driver_uid: str) -> None:
        """Asks a driver to end; it stays until it is released."""
        ...

    async def release(self, key: ObjectKey, driver_uid: str, *, remove: bool) -> None:
        """Releases a driver whose result is recorded; with `remove`, deletes it and its logs."""
        ...

    async def all(self) -> list[tuple[ObjectKey, str]]:
        """The drivers that have not been released: the Compaction's key, and the driver's uid."""
        ...

    async def watch(self) -> None:
        """Watches drivers for changes; never returns by itself."""
        ...

    def on_change(self, tell: Callable[[ObjectKey], None]) -> None:
        """Registers `tell`, to be called with a Compaction's key when its driver may have changed."""
        ...
