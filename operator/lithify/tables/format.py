"""The interface between runs and table formats: what a run needs of a table in any format.

`job` works with these Protocols only; `registry` finds the adapter that implements them. A group is the unit
of decisions and of commits: in Paimon a bucket of a partition, in other formats a partition or a node of a
tree. Units and tasks are opaque to a run; it counts them, ships tasks to executors and returns their results.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from lithify import errors
from lithify.clock import Clock
from lithify.errors import InvalidOption, LithifyError, MissingFile, UnsupportedTable
from lithify.rewriting.budget import Budget
from lithify.settings import RUN
from lithify.tables.address import Selection
from lithify.tables.inspection import TableInspection
from lithify.tables.model import RUN_ID, BlockedBucket, GroupId, SnapshotId
from lithify.tables.observation import RunFound


@dataclass(frozen=True, slots=True)
class Sizing:
    """How work is split into tasks.

    Attributes:
        task_bytes: approximate bytes that one task reads; None for four times the target file size.
        budget: memory budget of one task.
        share: fraction of the default size that one task reads if `task_bytes` is None.
    """

    task_bytes: int | None = None
    budget: Budget = field(default_factory=Budget)
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Totals:
    """Files, bytes and rows."""

    files: int = 0
    bytes: int = 0
    rows: int = 0

    def __add__(self, other: Totals) -> Totals:
        return Totals(self.files + other.files, self.bytes + other.bytes, self.rows + other.rows)


@dataclass(frozen=True, slots=True)
class GroupReport:
    """One group that was compacted.

    Attributes:
        group: path of the group.
        trigger: the trigger that fired, for example `SortedRuns`.
        reason: the numbers behind the trigger.
        output_level: level of the output; None where files have no levels.
        upgraded: number of files changed in metadata only.
        before: totals of the rewritten files.
        after: totals of the new files.
        levels_before: number of live files per level before; None where files have no levels.
        levels_after: number of live files per level after; None where files have no levels.
        copied_bytes: bytes of the rewritten files that were copied without decoding them.
    """

    group: str
    trigger: str
    reason: str
    output_level: int | None
    upgraded: int
    before: Totals
    after: Totals
    levels_before: Mapping[int, int] | None = None
    levels_after: Mapping[int, int] | None = None
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
    told: BlockedBucket


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
        error: LithifyError = kind(self.path) if kind is MissingFile else kind(self.path, self.problem)
        return error


@dataclass(frozen=True, slots=True)
class TaskOutputs:
    """The new files of a task or of a group, as handles that only the adapter reads.

    Attributes:
        data: data files in order.
        changelog: changelog files of the changes that the data files make visible.
        index: index files, such as deletion vectors.
        copied_bytes: bytes of the inputs that were copied without decoding them.
    """

    data: tuple[Any, ...] = ()
    changelog: tuple[Any, ...] = ()
    index: tuple[Any, ...] = ()
    copied_bytes: int = 0

    @staticmethod
    def joined(parts: Collection[TaskOutputs]) -> TaskOutputs:
        """The outputs of several tasks, in the order of the tasks."""
        return TaskOutputs(
            data=tuple(file for part in parts for file in part.data),
            changelog=tuple(file for part in parts for file in part.changelog),
            index=tuple(file for part in parts for file in part.index),
            copied_bytes=sum(part.copied_bytes for part in parts),
        )


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
    """

    index: int
    outputs: TaskOutputs
    seconds: float
    peak_bytes: int
    attempt: int = 0
    failure: TaskFailure | None = None
    elapsed: float = 0.0


class Task(Protocol):
    """Work for one executor; picklable."""

    @property
    def index(self) -> int:
        """Number of the task in its step."""
        ...

    @property
    def input_sizes(self) -> Mapping[str, int]:
        """Bytes of the files that the task reads, by path."""
        ...

    def run(self, clock: Clock, attempt: int = 0, attempt_id: int = 0) -> TaskResult:
        """Runs the task on an executor.

        Args:
            clock: source of creation times.
            attempt: number of the try, from 0.
            attempt_id: unique among all tries of all tasks of the step; part of the file names.
        """
        ...


class TableView(Protocol):
    """The selected groups in one pinned snapshot; everything else in it is private to the adapter."""

    @property
    def snapshot_id(self) -> SnapshotId:
        """Id of the pinned snapshot."""
        ...


class WorkUnit(Protocol):
    """The work of a run in one group."""

    @property
    def group(self) -> GroupId:
        """The group."""
        ...

    @property
    def read_bytes(self) -> int:
        """Bytes of the files that are rewritten."""
        ...

    @property
    def rewritten_files(self) -> int:
        """Number of files that are rewritten."""
        ...

    @property
    def upgraded_files(self) -> int:
        """Number of files that change in metadata only."""
        ...

    @property
    def trigger(self) -> str:
        """The trigger that fired, for example `SortedRuns`."""
        ...

    @property
    def reason(self) -> str:
        """The numbers behind the trigger, as a sentence for people."""
        ...

    @property
    def output_level(self) -> int | None:
        """Level of the output; None where files have no levels."""
        ...

    @property
    def drop_deletes(self) -> bool:
        """Whether rows that retract their key are dropped."""
        ...

    @property
    def rewrites(self) -> Sequence[Sequence[str]]:
        """Names of the rewritten files, grouped by merge."""
        ...

    @property
    def upgrades(self) -> Sequence[str]:
        """Names of the files that change in metadata only."""
        ...


class Plan(Protocol):
    """The work of a run and the groups that it leaves alone."""

    @property
    def snapshot_id(self) -> SnapshotId:
        """Id of the snapshot that was planned on."""
        ...

    @property
    def units(self) -> Sequence[WorkUnit]:
        """The work, one unit per group."""
        ...

    @property
    def resting(self) -> Mapping[str, int]:
        """Number of groups without work, by reason."""
        ...

    @property
    def blocks(self) -> Sequence[Block]:
        """Groups that cannot be compacted."""
        ...

    @property
    def held(self) -> Sequence[GroupId]:
        """Groups skipped because they could not be compacted before and their files are unchanged."""
        ...

    @property
    def conflicts(self) -> Mapping[Any, str]:
        """Groups that other writers have compacted since the snapshot, with the reason."""
        ...

    @property
    def left(self) -> int:
        """Number of groups with work that another plan takes, so that this one fits into memory."""
        ...

    @property
    def rest(self) -> Any:
        """The view with these groups only; None if there are none."""
        ...


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
class CommittedRun:
    """What a run committed before it was restarted.

    Attributes:
        snapshot: the run's last snapshot.
        is_complete: whether the run has committed all of its work.
    """

    snapshot: SnapshotId
    is_complete: bool


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


class CommitStep(Protocol):
    """The part of a run that is committed together. From `begin` on, a later run can find all of its files.

    Order of calls: run `tasks`, run `followers`, then `finish`, `commit` and `clean`; or `give_up` at any
    time before `commit` returns.
    """

    has_stragglers: bool
    """Whether a task may still be running somewhere; set by the run."""

    @property
    def number(self) -> int:
        """Number of the step in its run, counting steps before a restart."""
        ...

    @property
    def tasks(self) -> Sequence[Task]:
        """The tasks of the step."""
        ...

    def beat(self) -> None:
        """Writes a heartbeat."""
        ...

    def followers(self, results: Sequence[TaskResult]) -> Sequence[Task]:
        """Tasks to run after all of `tasks` are done."""
        ...

    def finish(self, results: Sequence[TaskResult], followed: Sequence[TaskResult]) -> Sequence[Block]:
        """Accepts the tasks' results; returns the groups that their tasks found to be blocked.

        Raises:
            LithifyError: a task failed for a reason that affects more than its own group.
        """
        ...

    def commit(self, to_come: int) -> StepOutcome:
        """Commits the step; `to_come` is the number of groups of the run's plan not yet begun.

        Raises:
            CommitUnknown: it cannot be determined whether the commit succeeded.
            CommitOutrun: every try lost to a concurrent commit.
        """
        ...

    def clean(self) -> Sequence[str]:
        """Deletes uncommitted files and the step's records; returns why something could not be deleted."""
        ...

    def give_up(self) -> None:
        """Ends a step that can no longer be committed."""
        ...


class OpenTable(Protocol):
    """An open table as a run uses it."""

    @property
    def name(self) -> str:
        """The table's name for people."""
        ...

    @property
    def uuid(self) -> str:
        """UUID that distinguishes the table from others of the same name."""
        ...

    def check_supported(self) -> None:
        """Checks that this release can compact the table.

        Raises:
            UnsupportedTable: it cannot; the error names every unsupported option and column.
        """
        ...

    def check_writable(self) -> None:
        """Checks that commits to the table are safe.

        Raises:
            UnsupportedTable: the store would let commits overwrite each other.
            NotAllowed, StorageError: the store refuses writes.
        """
        ...

    def recover(self, clock: Clock) -> Recovered:
        """Removes the files of dead attempts where that is certain to be safe."""
        ...

    def committed_by(self, run: str) -> CommittedRun | None:
        """What a run has committed; None if it has committed nothing."""
        ...

    def find_run(self, run: str) -> RunFound | None:
        """Figures of what a run has committed; None if no snapshot records a commit of it."""
        ...

    def groups_of(self, run: str) -> Collection[GroupId]:
        """Groups that a run has compacted."""
        ...

    def inspect(self, selection: Selection, clock: Clock) -> TableInspection:
        """Describes the selected groups in the newest snapshot, also for unsupported tables.

        Raises:
            InvalidOption, NotFound: the selection does not fit the table.
            CorruptTable: metadata is missing or unreadable.
        """
        ...

    def look(self, selection: Selection) -> TableView | None:
        """Pins the newest snapshot and lists the files of the selected groups; None if there is none.

        Raises:
            InvalidOption, NotFound: the selection does not fit the table.
        """
        ...

    def look_again(self, groups: Collection[Any]) -> TableView | None:
        """Pins the newest snapshot and lists the files of exactly these groups; None if there is none."""
        ...

    def plan(self, view: Any, selection: Selection, clock: Clock) -> Plan:
        """Plans the groups of a view by the selection's strategy, except groups in `selection.held`.

        Raises:
            UnsupportedTable: a problem prevents the compaction of every group.
        """
        ...

    def tasks_of(self, plan: Any, sizing: Sizing) -> Mapping[Any, Sequence[Any]]:
        """The tasks of each group."""
        ...

    def count_tasks(self, plan: Any, sizing: Sizing) -> int:
        """Number of tasks of a plan, without keeping the tasks."""
        ...

    def part_of(self, plan: Any, units: Sequence[Any]) -> Any:
        """The plan restricted to some of its units."""
        ...

    def check_again(self, units: Sequence[Any]) -> Mapping[Any, str]:
        """Groups whose units can no longer be committed, with the reason."""
        ...

    def begin(
        self, plan: Any, tasks: Mapping[Any, Sequence[Any]], run: str, after: int, clock: Clock
    ) -> CommitStep:
        """Begins a step with all units of a plan; `after` is the number of the run's last step."""
        ...


def check_run_id(run: str) -> None:
    """Checks that the id of a run can be part of file names.

    Raises:
        InvalidOption: it cannot.
    """
    if re.fullmatch(RUN_ID, run) is None:
        raise InvalidOption(RUN, f"'{run}' is not up to 63 letters, digits and dashes")
