"""Results of tasks, steps and clean-up, in any table format: made by adapters, reported by runs.

`planning`, `committing` and `recovery` say which method returns which. Picklable: results of tasks travel
from executors to the driver.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from lithify import errors
from lithify.errors import LithifyError, MissingFile, TaskStopped, UnsupportedTable
from lithify.formats.protocol.details import Details
from lithify.formats.protocol.model import BlockedGroup, GroupId, SnapshotId
from lithify.formats.protocol.observation import RunFound


@dataclass(frozen=True, slots=True)
class Totals:
    """Files, bytes and rows."""

    files: int = 0
    bytes: int = 0
    rows: int = 0

    def __add__(self, other: Totals) -> Totals:
        return Totals(self.files + other.files, self.bytes + other.bytes, self.rows + other.rows)


class Slot(StrEnum):
    """What files of a commit are that are no data files."""

    CHANGELOG = "changelog_files"
    INDEX = "index_files"
    DELETES = "delete_files"
    REMOVED_DELETES = "removed_delete_files"


Slots = Mapping[Slot, Totals]
"""The files in each slot; slots without files are missing."""


def slots_of(**files: Totals) -> Slots:
    """The slots that have files. Arguments are named after the members of `Slot`, in small letters."""
    return {Slot[name.upper()]: totals for name, totals in files.items() if totals.files}


def joined_slots(slots: Iterable[Slots]) -> dict[Slot, Totals]:
    """The files of several groups, by slot."""
    found: dict[Slot, Totals] = {}
    for slot, totals in (entry for each in slots for entry in each.items()):
        found[slot] = found.get(slot, Totals()) + totals
    return found


@dataclass(frozen=True, slots=True)
class GroupReport:
    """One group that was compacted.

    Attributes:
        group: path of the group.
        trigger: the trigger that fired, for example `SortedRuns`.
        reason: the numbers behind the trigger.
        before: totals of the rewritten data files.
        after: totals of the new data files.
        details: what the adapter reports besides.
        other_files: other files that were written, or removed, where there are any.
        copied_bytes: bytes of the rewritten files that were copied without decoding them.
    """

    group: str
    trigger: str
    reason: str
    before: Totals
    after: Totals
    details: Details = ()
    other_files: Slots = field(default_factory=dict)
    copied_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Block:
    """A group that cannot be compacted while its files stay the same.

    Attributes:
        group: the group.
        error: the error that blocks it.
        told: the same as a report, for people and for the decision about the next run.
    """

    group: GroupId
    error: LithifyError
    told: BlockedGroup


@dataclass(frozen=True, slots=True)
class TaskFailure:
    """A permanent failure of a task, in a form that can be sent to the driver."""

    kind: str
    path: str
    problem: str

    def as_error(self) -> LithifyError:
        """The error that this failure describes."""
        kind: Any = getattr(errors, self.kind)
        if kind is UnsupportedTable:
            return UnsupportedTable(self.path, (self.problem,))
        error: LithifyError = (
            kind(self.path) if kind in (MissingFile, TaskStopped) else kind(self.path, self.problem)
        )
        return error


@dataclass(frozen=True, slots=True)
class TaskOutputs:
    """The new files of a task or of a group, as handles that only the adapter reads.

    Attributes:
        data: data files in order.
        changelog: changelog files of the changes that the data files make visible.
        index: index files, such as deletion vectors.
        deletes: delete files, where a format keeps deleted rows in files of their own.
        maps: where rows of the inputs went, where a format carries deletes over that land while tasks run.
        copied_bytes: bytes of the inputs that were copied without decoding them.
    """

    data: tuple[Any, ...] = ()
    changelog: tuple[Any, ...] = ()
    index: tuple[Any, ...] = ()
    deletes: tuple[Any, ...] = ()
    maps: tuple[Any, ...] = ()
    copied_bytes: int = 0

    @staticmethod
    def joined(parts: Collection[TaskOutputs]) -> TaskOutputs:
        """The outputs of several tasks, in the order of the tasks."""
        return TaskOutputs(
            data=tuple(file for part in parts for file in part.data),
            changelog=tuple(file for part in parts for file in part.changelog),
            index=tuple(file for part in parts for file in part.index),
            deletes=tuple(file for part in parts for file in part.deletes),
            maps=tuple(each for part in parts for each in part.maps),
            copied_bytes=sum(part.copied_bytes for part in parts),
        )


@dataclass(frozen=True, slots=True)
class ExecutorTime:
    """Processor time of an executor since its start.

    Attributes:
        executor: identifies it.
        seconds: of its JVM and all Python workers.
    """

    executor: str
    seconds: float


@dataclass(frozen=True, slots=True)
class TaskResult:
    """Result of one task.

    Attributes:
        index: number of the task.
        outputs: files that the task wrote.
        seconds: processor time.
        peak_bytes: peak resident memory of the process.
        attempt: number of the try, from 0.
        failure: why there are no outputs.
        elapsed: wall time in seconds.
        executor: the processor time of its executor so far; None if that is unknown, or part of the driver.
    """

    index: int
    outputs: TaskOutputs
    seconds: float
    peak_bytes: int
    attempt: int = 0
    failure: TaskFailure | None = None
    elapsed: float = 0.0
    executor: ExecutorTime | None = None


@dataclass(frozen=True, slots=True)
class Recovered:
    """Result of cleaning up after earlier attempts.

    Attributes:
        deleted: files that were deleted.
        problems: why other files could not be deleted; later runs retry.
    """

    deleted: int
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PastRun:
    """What a run committed before it was restarted, or before its driver was lost.

    Attributes:
        found: its figures, last snapshot included.
        groups: the groups that it has compacted, as far as its snapshots still exist.
    """

    found: RunFound
    groups: frozenset[Any]


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """Outcome of a step.

    Attributes:
        snapshot: the committed snapshot; None if nothing was committed.
        tries: how often the commit was built.
        reports: the committed groups.
        conflicts: groups that were not committed, with the reason.
        filled: other groups to which the commit moved rows, so that they may be due now.
    """

    snapshot: SnapshotId | None
    tries: int
    reports: tuple[GroupReport, ...]
    conflicts: Mapping[Any, str]
    filled: Collection[Any] = ()
