"""Why a compaction is due, or not, and what holds it back: closed lists of typed reasons with their figures.

Made by `due_compactions`, `hold_reasons` and `admission`; `sentences` makes their text. Nothing here is text
for people.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from lithify.controller.deciding.failing import AttemptFailure
from lithify.controller.deciding.problems import TableProblem
from lithify.formats.protocol.observation import CommitCount, Finding, Observation
from lithify.resources.compaction import RunStrategy
from lithify.resources.maintenance import RunKind
from lithify.resources.windows import Window


class Occasion(StrEnum):
    """Why a compaction is due regardless of triggers."""

    REQUESTED = "Requested"
    SCHEDULE = "Schedule"
    INTERVAL = "Interval"
    COMMITS = "Commits"


@dataclass(frozen=True, slots=True)
class Requested:
    """A person requested the compaction.

    Attributes:
        value: of the annotation `lithify.dev/requested-at`.
        strategy: the strategy that is used.
        is_understood: whether that is the requested one.
    """

    trigger: ClassVar[str] = Occasion.REQUESTED
    value: str
    strategy: RunStrategy
    is_understood: bool


@dataclass(frozen=True, slots=True)
class IntervalOver:
    """The policy's interval of full compactions is over; `last` is None if there was none yet."""

    trigger: ClassVar[str] = Occasion.INTERVAL
    seconds: int
    last: datetime | None


@dataclass(frozen=True, slots=True)
class ScheduledTime:
    """A time of the policy's schedule of full compactions has come."""

    trigger: ClassVar[str] = Occasion.SCHEDULE
    since: datetime


@dataclass(frozen=True, slots=True)
class CommitsReached:
    """The table has the number of commits after which it asks for a full compaction."""

    trigger: ClassVar[str] = Occasion.COMMITS
    commits: CommitCount


@dataclass(frozen=True, slots=True)
class MaintenanceTime:
    """The time of a kind of maintenance has come; `detail` is what it would do, empty if only it can tell."""

    kind: RunKind
    since: datetime
    detail: str

    @property
    def trigger(self) -> str:
        """The kind's name."""
        return self.kind.value


@dataclass(frozen=True, slots=True)
class TriggerFired:
    """A trigger of the table's format fired; `finding` is the strongest."""

    finding: Finding

    @property
    def trigger(self) -> str:
        """The trigger's name."""
        return self.finding.trigger


DueReason = Requested | IntervalOver | ScheduledTime | CommitsReached | TriggerFired | MaintenanceTime
"""Why a run is due. `trigger` is the reason of the condition CompactionNeeded, but for maintenance."""


@dataclass(frozen=True, slots=True)
class NotDue:
    """No compaction is due.

    Attributes:
        observation: the figures that reach no trigger, None if the table cannot be observed now.
        full_gains: whether a full compaction would have work to do.
        next_full: when the next full compaction is due, None for never.
        without_zone: kinds of maintenance that wait until somebody names the time zone of the writers.
    """

    observation: Observation | None
    full_gains: bool
    next_full: datetime | None
    without_zone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OperatorRuns:
    """The operator's limit of active runs is reached."""

    most: int


@dataclass(frozen=True, slots=True)
class NamespaceRuns:
    """The limit of active runs in a namespace is reached."""

    most: int


@dataclass(frozen=True, slots=True)
class PolicyRuns:
    """A policy's limit of active runs is reached."""

    policy: str
    most: int


@dataclass(frozen=True, slots=True)
class PolicyBytes:
    """The runs of a policy have used its bytes of this hour."""

    policy: str
    most: int


SlotLimit = OperatorRuns | NamespaceRuns | PolicyRuns | PolicyBytes
"""The limit that keeps a run from a slot."""


class Hold(StrEnum):
    """Name of a reason that holds back a compaction."""

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
class TableSuspended:
    """The LakeTable is suspended."""

    hold: ClassVar[Hold] = Hold.SUSPENDED


@dataclass(frozen=True, slots=True)
class NotReady:
    """The table cannot be observed or compacted; `problem` is None before the first observation."""

    hold: ClassVar[Hold] = Hold.NOT_READY
    problem: TableProblem | None


@dataclass(frozen=True, slots=True)
class PolicyMissing:
    """There is no policy of the name that the table gives."""

    hold: ClassVar[Hold] = Hold.POLICY_MISSING
    policy: str


@dataclass(frozen=True, slots=True)
class PolicyInvalid:
    """The policy cannot be followed; `problem` says why."""

    hold: ClassVar[Hold] = Hold.POLICY_INVALID
    policy: str
    problem: str


@dataclass(frozen=True, slots=True)
class PolicySuspended:
    """The policy is suspended."""

    hold: ClassVar[Hold] = Hold.POLICY_SUSPENDED
    policy: str


@dataclass(frozen=True, slots=True)
class RunActive:
    """A run of the table is active; `failure` is that of its last attempt, None if none has failed."""

    hold: ClassVar[Hold] = Hold.ALREADY_ACTIVE
    run: str
    failure: AttemptFailure | None


@dataclass(frozen=True, slots=True)
class OlderLakeTable:
    """An older LakeTable is for the same table."""

    hold: ClassVar[Hold] = Hold.DUPLICATE
    name: str


@dataclass(frozen=True, slots=True)
class RunsFailed:
    """The last runs failed, so the table is left alone until a time."""

    hold: ClassVar[Hold] = Hold.BACK_OFF
    failures: int
    until: datetime


@dataclass(frozen=True, slots=True)
class NothingFound:
    """The last run found nothing to do, and nothing has been written since."""

    hold: ClassVar[Hold] = Hold.BACK_OFF
    run: str
    until: datetime


@dataclass(frozen=True, slots=True)
class RunCancelled:
    """A person cancelled the last run, and nothing has changed since."""

    hold: ClassVar[Hold] = Hold.CANCELLED
    run: str
    until: datetime


@dataclass(frozen=True, slots=True)
class IntervalNotOver:
    """The policy's shortest interval between runs is not over; `seconds` is its length."""

    hold: ClassVar[Hold] = Hold.MIN_INTERVAL
    run: str
    ended: datetime
    seconds: int
    until: datetime


@dataclass(frozen=True, slots=True)
class LittleGain:
    """The run would gain less than the policy requires.

    Attributes:
        bytes: about how much it would read.
        files: the most files that it could remove.
        least_files: what the policy requires, None for no requirement.
        least_bytes: what the policy requires, None for no requirement.
    """

    hold: ClassVar[Hold] = Hold.LITTLE_GAIN
    bytes: int
    files: int
    least_files: int | None
    least_bytes: int | None


@dataclass(frozen=True, slots=True)
class WindowClosed:
    """No window of the policy is open; `window` opens next."""

    hold: ClassVar[Hold] = Hold.OUTSIDE_WINDOW
    window: Window
    time_zone: str | None


@dataclass(frozen=True, slots=True)
class LimitReached:
    """Only a limit holds the run back: it queues for a slot."""

    hold: ClassVar[Hold] = Hold.CONCURRENCY_LIMIT
    limit: SlotLimit


PolicyHold = PolicyMissing | PolicyInvalid | PolicySuspended
"""Why the table's policy is not followed."""

TimedHold = RunsFailed | NothingFound | RunCancelled | IntervalNotOver
"""Why a table is left alone until a time, its `until`."""

HoldReason = (
    TableSuspended
    | NotReady
    | PolicyHold
    | RunActive
    | OlderLakeTable
    | TimedHold
    | LittleGain
    | WindowClosed
    | LimitReached
)
"""What holds a compaction back."""
