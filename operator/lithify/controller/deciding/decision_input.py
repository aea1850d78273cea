"""The input and the output of a decision about a table.

Gathered by `reconciling.tables`; decided by `decide`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from lithify.controller.deciding.failing import AttemptFailure
from lithify.controller.deciding.problems import TableProblem
from lithify.formats.protocol.observation import Observation
from lithify.resources.compaction import RunStrategy
from lithify.resources.policy import CompactionPolicySpec
from lithify.resources.table import LakeTable


class Hold(StrEnum):
    """Reason that holds back a due compaction."""

    SUSPENDED = "Suspended"
    POLICY_MISSING = "PolicyMissing"
    POLICY_INVALID = "PolicyInvalid"
    POLICY_SUSPENDED = "PolicySuspended"
    OUTSIDE_WINDOW = "OutsideWindow"
    CONCURRENCY_LIMIT = "ConcurrencyLimit"
    BACK_OFF = "BackOff"
    CANCELLED = "Cancelled"
    MIN_INTERVAL = "MinInterval"
    LITTLE_GAIN = "LittleGain"
    ALREADY_ACTIVE = "AlreadyActive"
    NOT_READY = "NotReady"
    DUPLICATE = "Duplicate"


@dataclass(frozen=True, slots=True)
class DecisionInput:
    """A table and the objects that it depends on.

    Attributes:
        table: the LakeTable.
        policy: its policy's spec, None if there is none of that name.
        policy_name: the name that the table gives.
        policy_generation: of the policy's spec, 0 if there is none.
        policy_problem: why the policy cannot be followed (an invalid schedule).
        observation: the last observation, None before the first.
        held: the blocked buckets that the observation received, by path with their fingerprint.
        problem: why the table cannot be observed now.
        active: the unfinished Compaction of the table.
        failing: how its last attempt failed, None if none has.
        admitted: whether limits and priorities let one more start now.
        limit: if not, which limit; for people.
        requested: the value of the annotation `lithify.dev/requested-at`.
        requested_strategy: the value of the annotation `lithify.dev/requested-strategy`.
        duplicate_of: the oldest LakeTable of the same table, None if that is this one.
    """

    table: LakeTable
    policy: CompactionPolicySpec | None
    policy_name: str
    observation: Observation | None
    policy_generation: int = 0
    policy_problem: str | None = None
    problem: TableProblem | None = None
    active: str | None = None
    failing: AttemptFailure | None = None
    admitted: bool = True
    limit: str = ""
    requested: str | None = None
    requested_strategy: str | None = None
    duplicate_of: str | None = None
    held: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Due:
    """A compaction that should run.

    Attributes:
        strategy: its strategy.
        trigger: its cause: a trigger of `planning.triggers`, `Schedule`, `Interval` or `Requested`.
        message: the same for people.
        partitions: which partitions; empty for all.
        bytes: about how much it reads.
        surplus_files: the most files that it can remove, None if unknown.
    """

    strategy: RunStrategy
    trigger: str
    message: str
    partitions: tuple[Mapping[str, str], ...] = ()
    bytes: int = 0
    surplus_files: int | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about a table.

    Attributes:
        due: the compaction that should run, None if none is due.
        hold: what holds it back; None with `due` set means: start it.
        message: why it is compacted, or why not; shown in status.
        waits_for_slot: whether only a limit holds it back, so it queues for a slot.
        next_full: when the next full compaction is due.
        wake: when to decide again if nothing changes before; None for never.
    """

    due: Due | None
    hold: Hold | None
    message: str
    waits_for_slot: bool = False
    next_full: datetime | None = None
    wake: datetime | None = None

    @property
    def start(self) -> Due | None:
        """The compaction to start now, None if there is none."""
        return self.due if self.hold is None else None
