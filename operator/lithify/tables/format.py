"""The seam between runs and table formats: what a run needs of a table, whatever its format.

`job` works with these Protocols only; `registry` finds the adapter that implements them. A group is what one
decision is about and what one commit takes as a whole: in Paimon a bucket of a partition, elsewhere a
partition or a node of a tree. Units and tasks are the adapter's own; a run counts them, ships tasks to
executors, and hands results back.
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
    """How work is cut.

    Attributes:
        task_bytes: about how much one task reads; None for four times the target file size.
        budget: memory of one task.
        share: the part of the usual size that one task reads, where `task_bytes` is None.
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
        group: its path.
        trigger: the trigger that fired, for example `SortedRuns`.
        reason: the numbers behind it.
        output_level: where output went; None where files have no levels.
        upgraded: files that only changed in metadata.
        before: the files that were rewritten.
        after: what they became.
        levels_before: live files a level, before; None where files have no levels.
        levels_after: the same, after.
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


@dataclass(frozen=True, slots=True)
class Block:
    """A group that cannot be compacted while its files stay as they are.

    Attributes:
        group: which.
        error: what was met.
        told: the same for people, and for the decision about the next run.
    """

    group: GroupId
    error: LithifyError
    told: BlockedBucket


@dataclass(frozen=True, slots=True)
class TaskFailure:
    """What went wrong for good, in a form that survives the way back to the driver."""

    kind: str
    path: str
    problem: str

    def as_error(self) -> LithifyError:
        """The error that it stands for."""
        kind: Any = getattr(errors, self.kind)
        if kind is UnsupportedTable:
            return UnsupportedTable(self.path, (self.problem,))
        error: LithifyError = kind(self.path) if kind is MissingFile else kind(self.path, self.problem)
        return error


@dataclass(frozen=True, slots=True)
class TaskOutputs:
    """The new files of a task or of a group, as handles that only the adapter reads.

    Attributes:
        data: data files, in their order.
        changelog: files with the changes that the data files make visible.
        index: index files, such as deletion vectors.
    """

    data: tuple[Any, ...] = ()
    changelog: tuple[Any, ...] = ()
    index: tuple[Any, ...] = ()

    @staticmethod
    def joined(parts: Collection[TaskOutputs]) -> TaskOutputs:
        """The outputs of several tasks, in the order of the tasks."""
        return TaskOutputs(
            data=tuple(file for part in parts for file in part.data),
            changelog=tuple(file for part in parts for file in part.changelog),
            index=tuple(file for part in parts for file in part.index),
        )


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What a task did.

    Attributes:
        index: number of the task.
        outputs: what it wrote.
        seconds: processor time.
        peak_bytes: largest resident size of the process so far.
        attempt: which try of the task this was, from 0.
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
    """One piece of work for one executor; picklable."""

    @property
    def index(self) -> int:
        """Number of the task in its step."""
        ...

    @property
    def input_sizes(self) -> Mapping[str, int]:
        """Bytes of the files that it reads, by path."""
        ...

    def run(self, clock: Clock, attempt: int = 0, attempt_id: int = 0) -> TaskResult:
        """Does the work, on an executor.

        Args:
            clock: for creation times.
            attempt: counts the tries of this task from 0.
            attempt_id: unique among all tries of all tasks of the step; part of the file names.
        """
        ...


class TableView(Protocol):
    """The selected groups in one pinned snapshot; what else it holds is the adapter's own."""

    @property
    def snapshot_id(self) -> SnapshotId:
        """The snapshot."""
        ...


class WorkUnit(Protocol):
    """What a run does in one group."""

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
        """How many files are rewritten."""
        ...

    @property
    def upgraded_files(self) -> int:
        """How many files change in metadata only."""
        ...

    @property
    def trigger(self) -> str:
        """The trigger that fired, for example `SortedRuns`."""
        ...

    @property
    def reason(self) -> str:
        """The numbers behind it, as a sentence for people."""
        ...

    @property
    def output_level(self) -> int | None:
        """Where output goes; None where files have no levels."""
        ...

    @property
    def drop_deletes(self) -> bool:
        """Whether rows that retract their key vanish."""
        ...

    @property
    def rewrites(self) -> Sequence[Sequence[str]]:
        """Names of the files that are rewritten, those that are merged with each other together."""
        ...

    @property
    def upgrades(self) -> Sequence[str]:
        """Names of the files that change in metadata only."""
        ...


class Plan(Protocol):
    """What a run does, and where it does nothing."""

    @property
    def snapshot_id(self) -> SnapshotId:
        """The snapshot that it was made for."""
        ...

    @property
    def units(self) -> Sequence[WorkUnit]:
        """What is to be done."""
        ...

    @property
    def resting(self) -> Mapping[str, int]:
        """In how many groups there is nothing to do, by reason."""
        ...

    @property
    def blocks(self) -> Sequence[Block]:
        """Groups that cannot be compacted."""
        ...

    @property
    def held(self) -> Sequence[GroupId]:
        """Groups that could not be compacted before, and whose files are the same as then: not tried."""
        ...

    @property
    def conflicts(self) -> Mapping[Any, str]:
        """Groups that others have compacted since the snapshot, with the reason."""
        ...


@dataclass(frozen=True, slots=True)
class Recovered:
    """What was done about earlier attempts.

    Attributes:
        deleted: files that were deleted.
        problems: why others were not; later runs try again.
    """

    deleted: int
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CommittedRun:
    """What a run has committed before it was started again.

    Attributes:
        snapshot: its last snapshot.
        is_complete: whether all of it is done.
    """

    snapshot: SnapshotId
    is_complete: bool


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """What became of a step.

    Attributes:
        snapshot: what was committed; None if nothing was.
        tries: how often the commit was built.
        reports: the groups that were committed.
        conflicts: groups that were not, with the reason.
    """

    snapshot: SnapshotId | None
    tries: int
    reports: tuple[GroupReport, ...]
    conflicts: Mapping[Any, str]


class CommitStep(Protocol):
    """The part of a run that is committed together; nothing of it can be lost track of once it has begun.

    The order of calls: `tasks` are run, then `followers`, then `finish`, `commit` and `clean`; or `give_up`,
    at any time before `commit` returns.
    """

    has_stragglers: bool
    """Whether a task may still be running somewhere; set by the run."""

    @property
    def number(self) -> int:
        """Which step of its run it is, those of earlier starts of the run included."""
        ...

    @property
    def tasks(self) -> Sequence[Task]:
        """Its tasks."""
        ...

    def beat(self) -> None:
        """Leaves a sign of life."""
        ...

    def followers(self, results: Sequence[TaskResult]) -> Sequence[Task]:
        """Tasks that have to follow once all tasks are done."""
        ...

    def finish(self, results: Sequence[TaskResult], followed: Sequence[TaskResult]) -> Sequence[Block]:
        """Takes the results in; returns the groups that turned out to be blocked.

        Raises:
            LithifyError: a task failed for a reason that does not concern its group alone.
        """
        ...

    def commit(self, to_come: int) -> StepOutcome:
        """Commits; `to_come` is how many groups of the run's plan have not been begun.

        Raises:
            CommitUnknown: nobody can tell whether it was committed.
            CommitOutrun: others committed all the time.
        """
        ...

    def clean(self) -> Sequence[str]:
        """Deletes what the commit left out and forgets the step; returns why something could not be."""
        ...

    def give_up(self) -> None:
        """Ends a step that cannot be committed any more."""
        ...


class OpenTable(Protocol):
    """A table that was opened, as a run works with it."""

    @property
    def name(self) -> str:
        """How people call it."""
        ...

    @property
    def uuid(self) -> str:
        """Tells it from another one of the same name."""
        ...

    def check_supported(self) -> None:
        """Makes sure that this release can compact it.

        Raises:
            UnsupportedTable: it cannot; every option and column in the way is named.
        """
        ...

    def check_writable(self) -> None:
        """Makes sure that commits to it can be made safely.

        Raises:
            UnsupportedTable: the store would let commits overwrite each other.
            NotAllowed, StorageError: it does not let us write.
        """
        ...

    def recover(self, clock: Clock) -> Recovered:
        """Removes what dead attempts have left behind, where that is certain to be safe."""
        ...

    def committed_by(self, run: str) -> CommittedRun | None:
        """What a run has committed, None if nothing."""
        ...

    def find_run(self, run: str) -> RunFound | None:
        """What a run has committed, in numbers; None if no snapshot says that it committed anything."""
        ...

    def groups_of(self, run: str) -> Collection[GroupId]:
        """The groups that a run has compacted."""
        ...

    def inspect(self, selection: Selection, clock: Clock) -> TableInspection:
        """What the newest snapshot holds of the selected groups; also of a table that is not supported.

        Raises:
            InvalidOption, NotFound: the selection makes no sense.
            CorruptTable: metadata is missing or unreadable.
        """
        ...

    def look(self, selection: Selection) -> TableView | None:
        """Pins the newest snapshot and lists the files of the selected groups; None if there is none.

        Raises:
            InvalidOption, NotFound: the selection makes no sense.
        """
        ...

    def look_again(self, groups: Collection[Any]) -> TableView | None:
        """The same for exactly these groups."""
        ...

    def plan(self, view: Any, selection: Selection, clock: Clock) -> Plan:
        """Plans the groups of a view by the selection's strategy, without those that it holds.

        Raises:
            UnsupportedTable: something keeps all groups from being compacted.
        """
        ...

    def tasks_of(self, plan: Any, sizing: Sizing) -> Mapping[Any, Sequence[Any]]:
        """The tasks of each group's unit."""
        ...

    def count_tasks(self, plan: Any, sizing: Sizing) -> int:
        """How many tasks a plan makes; none of them is kept."""
        ...

    def part_of(self, plan: Any, units: Sequence[Any]) -> Any:
        """The same plan with some of its units only."""
        ...

    def check_again(self, units: Sequence[Any]) -> Mapping[Any, str]:
        """The groups of units that could not be committed any more, with the reason."""
        ...

    def begin(
        self, plan: Any, tasks: Mapping[Any, Sequence[Any]], run: str, after: int, clock: Clock
    ) -> CommitStep:
        """Begins a step with all units of a plan; `after` is the number of the run's last one."""
        ...


def check_run_id(run: str) -> None:
    """Makes sure that the names of files can be made of the id of a run.

    Raises:
        InvalidOption: they cannot.
    """
    if re.fullmatch(RUN_ID, run) is None:
        raise InvalidOption(RUN, f"'{run}' is not up to 63 letters, digits and dashes")
