"""Maintenance of a table in any format: work that changes no rows, planned before it deletes anything.

An adapter offers one `Maintenance` per kind, of a table that it opens for that (`registry.open_maintenance`).
Planning only reads, so a plan is also the answer of a dry run; execution does what the plan says, or refuses
if the table has changed in a way that the plan cannot know. Nothing outside the adapter reads the plan
itself: it sees the kind, the figures and the oldest snapshot. `engine.run.maintaining` plans and executes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from lithify.clock import Clock
from lithify.formats.protocol.model import SnapshotId


class MaintenanceKind(StrEnum):
    """The kinds of maintenance; a format need not have all."""

    EXPIRE_SNAPSHOTS = "ExpireSnapshots"


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


Plan = TypeVar("Plan", bound=MaintenancePlan)


@dataclass(frozen=True, slots=True)
class Maintained:
    """What a run of maintenance has done.

    Attributes:
        kind: the kind of maintenance.
        figures: what was deleted or rewritten, by the names of the plan.
        oldest: the oldest snapshot that is left; None if the table has none.
    """

    kind: MaintenanceKind
    figures: Mapping[str, int]
    oldest: SnapshotId | None = None


class Maintenance(Protocol[Plan]):
    """One kind of maintenance of one open table."""

    @property
    def kind(self) -> MaintenanceKind:
        """Its kind."""
        ...

    def plan(self, clock: Clock) -> Plan:
        """Plans a run; writes nothing.

        Raises:
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


@dataclass(frozen=True, slots=True)
class MaintainedTable:
    """A table that was opened for its maintenance.

    Attributes:
        name: its name, as the address has it.
        uuid: its identity; see `TableAddress.uuid`.
        kinds: the kinds of maintenance that its format has.
    """

    name: str
    uuid: str
    kinds: Mapping[MaintenanceKind, Maintenance[Any]]
