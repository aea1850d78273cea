"""Planning of a table in any format: a pinned view, the plan made on it, and its tasks.

A group is the unit of decisions and of commits: in Paimon a bucket of a partition, in other formats a
partition or a node of a tree. Units and tasks are opaque to a run; it counts them, ships tasks to executors
and returns their results. Parameters are Any where an adapter gets back what it has made itself.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from lithify.clock import Clock
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.details import Details
from lithify.formats.protocol.inspection import TableInspection
from lithify.formats.protocol.model import GroupId, SnapshotId
from lithify.formats.protocol.results import Block
from lithify.formats.protocol.tasks import Sizing


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
    def trigger(self) -> str:
        """The trigger that fired, for example `SortedRuns`."""
        ...

    @property
    def reason(self) -> str:
        """The numbers behind the trigger, as a sentence for people."""
        ...

    @property
    def rewrites(self) -> Sequence[Sequence[str]]:
        """Names of the rewritten files, grouped by merge."""
        ...

    @property
    def details(self) -> Details:
        """What the adapter says of the unit besides."""
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
    def deferred(self) -> int:
        """Number of groups with work that another plan takes, so that this one fits into memory."""
        ...

    @property
    def remaining(self) -> TableView | None:
        """The view with these groups only; None if there are none."""
        ...

    @property
    def totals(self) -> Mapping[str, int]:
        """The sums of the units' details, and the adapter's figures of the plan as a whole, by name."""
        ...


class PlannedTable(Protocol):
    """What of a table is compacted, and how."""

    def inspect(self, selection: Selection, clock: Clock) -> TableInspection:
        """Describes the selected groups in the newest snapshot, also for unsupported tables.

        Raises:
            InvalidOption, NotFound: the selection does not fit the table.
            CorruptTable: metadata is missing or unreadable.
        """
        ...

    def pin_view(self, selection: Selection) -> TableView | None:
        """Pins the newest snapshot and lists the files of the selected groups; None if there is none.

        Raises:
            InvalidOption, NotFound: the selection does not fit the table.
        """
        ...

    def repin_view(self, groups: Collection[Any]) -> TableView | None:
        """Pins the newest snapshot and lists the files of exactly these groups; None if there is none."""
        ...

    def plan(self, view: Any, selection: Selection, clock: Clock, *, reads_data: bool = True) -> Plan:
        """Plans the groups of a view by the selection's strategy, except groups in `selection.held`.

        Without `reads_data`, no data file is opened; adapters may count those that matter in `Plan.totals`.

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
