"""The interface between runs and table formats: what a run needs of a table in any format.

`job` works with these Protocols only; `registry` finds the adapter that implements them. A group is the unit
of decisions and of commits: in Paimon a bucket of a partition, in other formats a partition or a node of a
tree. Units and tasks are opaque to a run; it counts them, ships tasks to executors and returns their results.
Parameters are Any where an adapter gets back what it has made itself.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from lithify.clock import Clock
from lithify.engine.rewrite.budget import Budget
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.inspection import TableInspection
from lithify.formats.protocol.model import GroupId, SnapshotId
from lithify.formats.protocol.observation import RunFound
from lithify.formats.protocol.results import (
    Block,
    CommittedRun,
    Recovered,
    StepOutcome,
    TaskResult,
)


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
    def rest(self) -> TableView | None:
        """The view with these groups only; None if there are none."""
        ...

    @property
    def unread_files(self) -> int:
        """Number of upgraded files that were to be read first and were not; a run may rewrite them."""
        ...


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

    def plan(self, view: Any, selection: Selection, clock: Clock, *, reads_data: bool = True) -> Plan:
        """Plans the groups of a view by the selection's strategy, except groups in `selection.held`.

        Without `reads_data`, no data file is opened: `Plan.unread_files` counts those whose content matters.

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
