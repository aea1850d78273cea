"""The input and the output of a decision about a table.

Gathered by `reconciling.tables`; decided by `decide`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from lithify.controller.deciding.failing import AttemptFailure
from lithify.controller.deciding.problems import TableProblem
from lithify.controller.deciding.reasons import (
    DueReason,
    Hold,
    HoldReason,
    LimitReached,
    NotDue,
    Requested,
    SlotLimit,
)
from lithify.formats.protocol.observation import Observation
from lithify.resources.compaction import RunStrategy
from lithify.resources.maintenance import OrphanRemoval, RunKind
from lithify.resources.policy import CompactionPolicySpec
from lithify.resources.table import LakeTable


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
        held: the blocked groups that the observation received, by path with their fingerprint.
        problem: why the table cannot be observed now.
        active: the unfinished Compaction of the table.
        failing: how its last attempt failed, None if none has.
        limit: the limit that keeps one more from starting now, None if it may start.
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
    limit: SlotLimit | None = None
    requested: str | None = None
    requested_strategy: str | None = None
    duplicate_of: str | None = None
    held: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Due:
    """A compaction that should run, or maintenance.

    Attributes:
        strategy: its strategy.
        reason: why it is due.
        partitions: which partitions; empty for all.
        bytes: about how much it reads.
        surplus_files: the most files that it can remove, None if unknown.
        kind: what it does.
        orphans: which orphan files it removes, if that is what it does.
    """

    strategy: RunStrategy
    reason: DueReason
    partitions: tuple[Mapping[str, str], ...] = ()
    bytes: int = 0
    surplus_files: int | None = None
    kind: RunKind = RunKind.COMPACT
    orphans: OrphanRemoval | None = None


@dataclass(frozen=True, slots=True)
class DueMaintenance:
    """The maintenance of a table.

    Attributes:
        due: the run to start now; None if none is, or something else holds the table back.
        next_times: the next time of each kind that has a schedule; None if the table is held back.
        changes: when this answer changes by itself, None for never.
    """

    due: Due | None = None
    next_times: Mapping[RunKind, datetime] | None = None
    changes: datetime | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about a table; `sentences.why_text` puts it into words.

    Attributes:
        due: the compaction that should run, None if none is due.
        not_due: why none is, None if one is due.
        held: what holds it back; None with `due` set means: start it.
        next_full: when the next full compaction is due.
        maintenance: the maintenance that is due, and when the next one is.
        wake: when to decide again if nothing changes before; None for never.
    """

    due: Due | None
    not_due: NotDue | None
    held: HoldReason | None
    next_full: datetime | None = None
    maintenance: DueMaintenance = field(default_factory=DueMaintenance)
    wake: datetime | None = None

    @property
    def hold(self) -> Hold | None:
        """The name of what holds it back, None if nothing does."""
        return None if self.held is None else self.held.hold

    @property
    def waits_for_slot(self) -> bool:
        """Whether only a limit holds it back, so it queues for a slot."""
        return isinstance(self.held, LimitReached)

    @property
    def start(self) -> Due | None:
        """The run to start now, None if there is none.

        Maintenance goes first, except before a compaction that a person requested: it is short, its intervals
        bound how often it runs, and a table that is written to all the time may always need a compaction.
        """
        compaction = self.due if self.held is None else None
        if compaction is not None and isinstance(compaction.reason, Requested):
            return compaction
        return self.maintenance.due or compaction
