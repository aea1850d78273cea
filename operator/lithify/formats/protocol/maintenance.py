"""Maintenance of a table in any format: work that changes no rows, planned before it deletes anything.

An adapter offers one `Maintenance` per kind, of a table that it opens for that (`registry.open_maintenance`).
Planning only reads, so a plan is also the answer of a dry run; execution does what the plan says, or refuses
if the table has changed in a way that the plan cannot know. Nothing outside the adapter reads the plan
itself: it sees the kind, the figures and the oldest snapshot. `engine.run.maintaining` plans and executes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from lithify.clock import Clock
from lithify.formats.protocol.model import SnapshotId

MOST_SAMPLES = 20
"""Paths of files that a report names; the figures count all."""
FOREIGN_FILES = "foreignFiles"
"""The figure of files that stay although nothing needs them: they lie outside of the table's folders."""


class MaintenanceKind(StrEnum):
    """The kinds of maintenance; a format need not have all."""

    EXPIRE_SNAPSHOTS = "ExpireSnapshots"
    EXPIRE_PARTITIONS = "ExpirePartitions"
    MANAGE_TAGS = "ManageTags"
    REMOVE_ORPHANS = "RemoveOrphans"
    MERGE_MANIFESTS = "MergeManifests"
    ROLL_BACK = "RollBack"


@dataclass(frozen=True, slots=True)
class MaintenanceSettings:
    """What the person or policy that asks for a run of maintenance decides; all else the table's options do.

    Attributes:
        orphan_age: how long ago a file must have been written before it may count as an orphan.
        snapshot: the snapshot that a rollback makes the newest one.
        most_share: the share of a table's files, by number and by bytes, above which orphans are not removed.
        loses_commits: whether a rollback may undo commits that are no compactions.
        memory: bytes of metadata that are held at a time where a table's may be larger; a run takes several
            times as much.
    """

    orphan_age: timedelta = timedelta(days=3)
    snapshot: SnapshotId | None = None
    most_share: float = 0.5
    loses_commits: bool = False
    memory: int = 128 << 20


DEFAULT_SETTINGS = MaintenanceSettings()


class MaintenancePlan(Protocol):
    """What one run of maintenance will do."""

    @property
    def kind(self) -> MaintenanceKind:
        """Its kind."""
        ...

    @property
    def figures(self) -> Mapping[str, int]:
        """What will be deleted or rewritten: numbers by name, for reports and dry runs."""
        ...

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        ...

    @property
    def oldest(self) -> SnapshotId | None:
        """The oldest snapshot that will be left; None if the table has none."""
        ...

    @property
    def samples(self) -> Sequence[str]:
        """Some files that will be deleted, or commits that will be undone; at most `MOST_SAMPLES`."""
        ...


Plan = TypeVar("Plan", bound=MaintenancePlan)


@dataclass(frozen=True, slots=True)
class Maintained:
    """What a run of maintenance has done.

    Attributes:
        kind: the kind of maintenance.
        figures: what was deleted or rewritten, by the names of the plan.
        oldest: the oldest snapshot that is left; None if the table has none.
        samples: paths of some of the files that were deleted.
    """

    kind: MaintenanceKind
    figures: Mapping[str, int]
    oldest: SnapshotId | None = None
    samples: Sequence[str] = ()


class Maintenance(Protocol[Plan]):
    """One kind of maintenance of one open table."""

    @property
    def kind(self) -> MaintenanceKind:
        """Its kind."""
        ...

    def plan(self, clock: Clock) -> Plan:
        """Plans a run; writes nothing.

        Raises:
            InvalidOption: a setting cannot be used.
            UnsupportedTable: this kind of maintenance does not know something that the table has.
            CorruptTable: metadata is missing or unreadable, so it is unknown what is still needed.
        """
        ...

    def execute(self, plan: Plan) -> Maintained:
        """Does what a plan says; a run that was killed is completed by the next plan and run.

        Raises:
            StalePlan: the table has changed since, so nothing was done; plan again.
        """
        ...


Maker = Callable[[], Maintenance[Any]]
"""Makes one kind of maintenance; raises InvalidOption if the table has an invalid option of that kind."""


@dataclass(frozen=True, slots=True)
class MaintainedTable:
    """A table that was opened for its maintenance.

    Attributes:
        name: its name, as the address has it.
        uuid: its identity; see `TableAddress.uuid`.
        kinds: what makes each kind of maintenance that its format has.
    """

    name: str
    uuid: str
    kinds: Mapping[MaintenanceKind, Maker]
