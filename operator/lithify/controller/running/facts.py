"""What the state machine of a Compaction is told, and what it answers.

Gathered by `reconciling.run_facts`, carried out by `reconciling.acts`; the machine itself is in `machine`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto

from lithify.contract.outcome import Outcome
from lithify.controller.driver import DriverState
from lithify.resources.compaction import CompactionStatus, Reason, SharedRun
from lithify.resources.policy import CompactionPolicySpec
from lithify.tables.observation import RunFound


class Lock(Enum):
    """The lock of the table, as this run sees it."""

    FREE = auto()
    OURS = auto()
    OTHERS = auto()
    UNKNOWN = auto()


class Unknown(Enum):
    """Stands for a fact that could not be found out now."""

    UNKNOWN = auto()


UNKNOWN = Unknown.UNKNOWN


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a run cannot go on, from what surrounds it: no table, no catalog, a Secret without the key...

    Attributes:
        reason: the final reason if it stays so.
        message: for people.
        may_pass: somebody may be about to mend it (a catalog that is not there yet): wait before giving up.
        ends_attempt: an attempt that has no driver yet is given up for it, and the run is Pending.
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
        until: when to look again.
    """

    message: str
    until: datetime


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What is known around a Compaction now.

    Attributes:
        policy: what its table's policy says; the defaults if there is none.
        identifier: `database.table`, None if its LakeTable is missing.
        table_uuid: the table that its LakeTable stands for now, None if it was never seen.
        driver: its driver, None if there certainly is none.
        lock: the table's lock.
        lock_holder: who has it, for people.
        admitted: whether limits and priorities let it start now.
        hold: if not, why; for people.
        problem: why it cannot start at all.
        delay: why the last try to start its driver came to nothing, though the next may succeed; for people.
        found: what it has committed, as the answer to the `Act.FIND_RUN` of the step before; None if nothing.
            Unknown while there is no answer, and again after any step that did not ask: a driver may have
            been alive since.
        plan: the answer to the `Act.PLAN` of the attempt that is under way, None while there is none.
        deleted: the object is being deleted, or gone.
        sharing: the driver that it starts with others if it can start now, or that it waits for others; None
            if it has a driver of its own.
        stranded: why the shared driver that its status names will not have it; for people.
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


class Act(Enum):
    """What there is to do; every act may be done again without harm.

    TAKE_LOCK and DROP_LOCK concern the lock of the table. START_DRIVER starts the attempt that status says
    is under way. STOP_DRIVER asks the driver to end. KEEP_DRIVER lets it go with its logs in place,
    REMOVE_DRIVER without, so that the name is free for the next attempt. FIND_RUN looks for what the run has
    committed. PLAN has the operator's workers plan the attempt that status says is under way.
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
    """What the machine answers.

    The status is written first, the acts follow; if either fails, the machine is asked again.

    Attributes:
        status: what status should be now.
        acts: what to do once it is written, in this order.
        wake: when to ask again if nothing happens before; None for never. When acts are to be repeated that
            have not shown their effect is for those to say who carry them out.
    """

    status: CompactionStatus
    acts: tuple[Act, ...] = ()
    wake: datetime | None = None
