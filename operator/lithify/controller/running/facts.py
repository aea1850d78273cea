"""Input and output of the state machine of a Compaction.

`reconciling.run_facts` gathers the facts, `reconciling.actions` carries out the actions; the machine itself
is in `machine`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto

from lithify.contract.outcome import Outcome
from lithify.controller.driver import DriverState
from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.observation import RunFound
from lithify.resources.compaction import CompactionStatus, Reason, SharedRun
from lithify.resources.policy import CompactionPolicySpec


class Lock(Enum):
    """State of the table's lock for this run."""

    FREE = auto()
    OURS = auto()
    OTHERS = auto()
    UNKNOWN = auto()


class Unknown(Enum):
    """Marks a fact that cannot be determined now."""

    UNKNOWN = auto()


UNKNOWN = Unknown.UNKNOWN


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a run cannot go on: no table, no catalog, a Secret without the key...

    Attributes:
        reason: the final reason if it persists.
        message: for people.
        may_pass: someone may be about to fix it (a catalog that does not exist yet): wait before giving up.
        ends_attempt: it ends an attempt that has no driver yet, and the run is Pending.
    """

    reason: Reason
    message: str
    may_pass: bool
    ends_attempt: bool = False


@dataclass(frozen=True, slots=True)
class Gathering:
    """A run that could start waits for others to share a driver with.

    Attributes:
        message: for people.
        until: when the run is reconciled again.
    """

    message: str
    until: datetime


@dataclass(frozen=True, slots=True)
class RunFacts:
    """The facts about a Compaction now.

    Attributes:
        policy: the settings of its table's policy; the defaults if there is none.
        identifier: `database.table`, None if its LakeTable is missing.
        table_uuid: the table that its LakeTable refers to now, None if it was never seen.
        driver: its driver, None if there certainly is none.
        lock: the table's lock.
        lock_holder: its holder, for people.
        admitted: whether limits and priorities let it start now.
        hold: if not, why; for people.
        problem: why it cannot start at all.
        delay: why the last try to start its driver failed, though the next may succeed; for people.
        found: what it has committed, the answer to `Action.FIND_RUN` of the step before; None if nothing.
            Unknown while there is no answer, and again after any step that did not ask: a driver may have
            been alive since.
        plan: the answer to the `Action.PLAN` of the current attempt, None while there is none.
        deleted: the object is being deleted, or gone.
        sharing: the driver that it starts with others if it can start now, or that it waits for others; None
            if it has a driver of its own.
        stranded: why the shared driver that its status names does not run it; for people.
        undo: says how to go back to a snapshot of the table; None if its format knows no way back.
        rolled_back: the last observation of the table found that the run was rolled back.
    """

    policy: CompactionPolicySpec = field(default_factory=CompactionPolicySpec)
    identifier: str | None = None
    table_uuid: str | None = None
    driver: DriverState | Unknown | None = None
    lock: Lock = Lock.FREE
    lock_holder: str = ""
    admitted: bool = False
    hold: str = ""
    problem: Problem | None = None
    delay: str = ""
    found: RunFound | Unknown | None = UNKNOWN
    plan: Outcome | None = None
    deleted: bool = False
    sharing: SharedRun | Gathering | None = None
    stranded: str = ""
    undo: Callable[[SnapshotId], str] | None = None
    rolled_back: bool = False


class Action(Enum):
    """Actions of the reconciler; each is idempotent.

    TAKE_LOCK and DROP_LOCK concern the lock of the table. START_DRIVER starts the attempt in status.
    STOP_DRIVER asks the driver to end. KEEP_DRIVER releases it and keeps its logs, REMOVE_DRIVER without
    logs, so that the name is free for the next attempt. FIND_RUN searches the table for the run's commits.
    PLAN has the operator's workers plan the attempt in status.
    """

    TAKE_LOCK = auto()
    DROP_LOCK = auto()
    START_DRIVER = auto()
    STOP_DRIVER = auto()
    KEEP_DRIVER = auto()
    REMOVE_DRIVER = auto()
    FIND_RUN = auto()
    PLAN = auto()


@dataclass(frozen=True, slots=True)
class Step:
    """The output of the machine.

    The status is written first, the actions follow; if either fails, the machine is asked again.

    Attributes:
        status: the new status.
        actions: what to do once it is written, in this order.
        wake: when to ask again if nothing happens before; None for never. The caller decides when to repeat
            actions that have shown no effect.
    """

    status: CompactionStatus
    actions: tuple[Action, ...] = ()
    wake: datetime | None = None
