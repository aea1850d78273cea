"""One run of maintenance of a table: planned, then executed unless it is a dry run.

Called by `library`. A plan that is stale when it should be executed has done nothing, so the table is planned
again; after some tries in a row the error ends the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lithify.clock import Clock
from lithify.errors import StalePlan
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.maintenance import (
    DEFAULT_SETTINGS,
    Maintained,
    Maintenance,
    MaintenanceKind,
    MaintenanceSettings,
)
from lithify.formats.protocol.model import SnapshotId
from lithify.formats.registry import open_maintenance

MOST_PLANS = 5
"""Plans of one run: a table whose holders change each time while it is planned is better left for later."""


@dataclass(frozen=True, slots=True)
class MaintenanceReport:
    """What a run of maintenance has done, or would do.

    Attributes:
        table: the name of the table.
        kind: the kind of maintenance.
        figures: numbers by name: what was deleted or rewritten.
        oldest: the oldest snapshot that is left; None if the table has none.
        is_dry_run: whether nothing was done.
        samples: paths of some of the files that were, or would be, deleted.
    """

    table: str
    kind: MaintenanceKind
    figures: Mapping[str, int]
    oldest: SnapshotId | None
    is_dry_run: bool
    samples: tuple[str, ...] = ()

    @property
    def status(self) -> str:
        """`NothingToDo`, `Planned` (a dry run) or `Done`."""
        if not any(self.figures.values()):
            return "NothingToDo"
        return "Planned" if self.is_dry_run else "Done"


def maintain(
    address: TableAddress,
    kind: MaintenanceKind,
    clock: Clock,
    settings: MaintenanceSettings = DEFAULT_SETTINGS,
    *,
    is_dry_run: bool = False,
) -> MaintenanceReport:
    """Maintains a table once.

    Raises:
        UserError: the table, a setting or an option cannot be served.
        CorruptTable: metadata is missing or unreadable, so it is unknown what is still needed.
        StorageError: the file system refuses; run it again.
        StalePlan: the table has changed each time while it was planned.
    """
    maintenance = open_maintenance(address, kind, settings)
    found = maintenance.plan(clock) if is_dry_run else _planned_and_executed(maintenance, clock)
    return MaintenanceReport(
        address.name, kind, found.figures, found.oldest, is_dry_run, tuple(found.samples)
    )


def _planned_and_executed(maintenance: Maintenance[Any], clock: Clock) -> Maintained:
    for _ in range(MOST_PLANS - 1):
        try:
            return maintenance.execute(maintenance.plan(clock))
        except StalePlan:
            continue
    return maintenance.execute(maintenance.plan(clock))
