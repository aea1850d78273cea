"""What a driver is to the controller: the order for one, its state, and the Protocol of launchers.

A Compaction has at most one driver at a time, whose name follows from the Compaction's: the launcher itself
refuses a second one. A driver that has ended stays until it is released, so that no result is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from lithify.contract.outcome import Outcome, Progress
from lithify.resources.catalog import SecretReference
from lithify.resources.compaction import Reason
from lithify.resources.names import ObjectKey
from lithify.resources.spark_template import SparkTemplate
from lithify.tables.address import Selection, TableAddress


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
        selection: which part of it, and how much to take.
        spark: image, resources and settings.
        memory_factor: by how much memory is raised after an attempt ran out of it, 1.0 for not.
        planned_bytes: about how much the run reads, to size it; 0 if unknown.
        bytes_per_second: what one task slot got done in the table's last run, None if nothing is known.
        scheduling_seconds: how long pods may wait for room.
    """

    key: ObjectKey
    uid: str
    attempt: int
    lake_table: str
    table: TableAddress
    secret_ref: SecretReference | None
    selection: Selection
    spark: SparkTemplate
    memory_factor: float = 1.0
    planned_bytes: int = 0
    bytes_per_second: float | None = None
    scheduling_seconds: int = 600


class DriverPhase(StrEnum):
    """Where a driver is in its life."""

    STARTING = "Starting"
    RUNNING = "Running"
    ENDED = "Ended"


class Trouble(StrEnum):
    """What keeps a driver from starting, or ended it from outside."""

    GATED = "Gated"
    UNSCHEDULABLE = "Unschedulable"
    IMAGE = "Image"
    CONFIGURATION = "Configuration"
    OUT_OF_MEMORY = "OutOfMemory"
    DISRUPTED = "Disrupted"
    UNREACHABLE = "Unreachable"


@dataclass(frozen=True, slots=True)
class DriverState:
    """A driver as it was found.

    Attributes:
        name: its pod's, or its process's.
        uid: tells it from others of the same name, before and after it.
        owner_uid: the uid of the Compaction that it was started for.
        attempt: which attempt it is.
        phase: where it is.
        trouble: what is wrong with it, seen from outside.
        message: the same for people.
        terminating: it has been asked to end.
        released: it has been let go, so that it may vanish at any time.
        started: when it began to run.
        finished: when it ended, as far as whoever ran it says.
        progress: what it says of itself.
        executors: why there is no executor, if it has none; for people.
        outcome: how it ended; None if it has not, or died before it could say.
        exit_code: of its process, once it has ended.
        waits: it is shared, and has not begun with this run.
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


@dataclass(frozen=True, slots=True)
class Member:
    """A Compaction that shares a driver."""

    key: ObjectKey
    uid: str


@dataclass(frozen=True, slots=True)
class SharedDriver:
    """A driver that several Compactions share, as it was found.

    Attributes:
        lead: the Compaction that it is named after.
        state: the driver as a whole; its owner is the lead.
        members: who shares it, in the order of their turns.
        outcomes: how runs ended, by uid, of those that have.
        stopped: the uids of those that were asked to end early.
    """

    lead: ObjectKey
    state: DriverState
    members: tuple[Member, ...]
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    stopped: frozenset[str] = frozenset()

    def of_member(self, uid: str) -> DriverState | None:
        """The driver as one of its runs sees it, as if it had it for itself; None if it is no member.

        To a run whose outcome is there the driver has ended, whatever becomes of the others. Nobody lets it
        go by itself, so it counts as let go.
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
        """The number of the last run that it has begun with, -1 for none; some are given up before that."""
        progress = self.state.progress
        current = progress.run if progress is not None else None
        done = {uid for uid, told in self.outcomes.items() if told.reason is not Reason.CANCELLED}
        told = [number for number, uid in enumerate(turns) if uid in done]
        return max([turns.index(current) if current in turns else -1, *told])


class SharedDrivers(Protocol):
    """Runs drivers that several Compactions share. All raise `ClusterUnavailable` if there is no telling now.

    Everything but `start` may be called for a driver that does not exist.
    """

    async def start(self, orders: Sequence[DriverOrder]) -> None:
        """Starts a driver for some orders of one namespace, named after the first, unless there is one.

        Raises:
            AccountMissing, ClusterRefused, NameTaken: see `Launcher.start`.
        """
        ...

    async def look(self, lead: ObjectKey) -> SharedDriver | None:
        """The driver that is named after a Compaction; None if there certainly is none."""
        ...

    async def stop_member(self, driver: SharedDriver, uid: str) -> None:
        """Asks a driver to end one of its runs, or not to begin with it."""
        ...

    async def stop(self, driver: SharedDriver) -> None:
        """Asks a driver to end with all its runs."""
        ...

    async def release(self, driver: SharedDriver) -> None:
        """Lets a driver go; its logs stay."""
        ...

    async def all(self) -> list[SharedDriver]:
        """The shared drivers that have not been released."""
        ...


class Launcher(Protocol):
    """Runs drivers. Everything but `start` may be called for a driver that does not exist.

    All raise `ClusterUnavailable` if there is no telling now.
    """

    @property
    def shared(self) -> SharedDrivers | None:
        """Runs those drivers that several Compactions share; None if this launcher has none such."""
        ...

    async def start(self, order: DriverOrder) -> DriverState:
        """Starts a driver, or returns the one that there is, of whatever attempt or owner.

        Raises:
            AccountMissing: somebody has to create the driver's service account first.
            ClusterRefused: it can never be started like this; the message says why.
            NameTaken: something that is no driver of this Compaction has the name that its driver would have.
        """
        ...

    async def look(self, key: ObjectKey) -> DriverState | None:
        """The driver of a Compaction, looked at now; None if there certainly is none."""
        ...

    async def stop(self, key: ObjectKey, driver_uid: str) -> None:
        """Asks a driver to end; it stays until it is released."""
        ...

    async def release(self, key: ObjectKey, driver_uid: str, *, remove: bool) -> None:
        """Lets a driver go whose result is recorded; removes it and its logs if asked to."""
        ...

    async def all(self) -> list[tuple[ObjectKey, str]]:
        """The drivers that have not been released: the Compaction's key, and the driver's uid."""
        ...

    async def watch(self) -> None:
        """Notices changes of drivers, for as long as it runs; never returns by itself."""
        ...

    def on_change(self, tell: Callable[[ObjectKey], None]) -> None:
        """Has `tell` called with a Compaction's key when its driver may have changed."""
        ...
