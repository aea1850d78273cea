"""One run of maintenance of a table: planned, then executed unless it is a dry run.

Called by `library` and by drivers. A plan that is stale when it should be executed has done nothing, so the
table is planned again; after some tries in a row the error ends the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lithify.clock import Clock
from lithify.errors import StalePlan
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.maintenance import (
    DEFAULT_SETTINGS,
    FOREIGN_FILES,
    Maintained,
    Maintenance,
    MaintenanceKind,
    MaintenancePlan,
    MaintenanceSettings,
)
from lithify.formats.protocol.model import SnapshotId
from lithify.formats.registry import open_maintenance

MOST_ROUNDS = 1000
"""Rounds of one run."""
_BOUNDED = frozenset({MaintenanceKind.EXPIRE_SNAPSHOTS})
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
        samples: paths of some of the files that were, or would be, deleted; of a rollback, what is undone.
    """

    table: str
    kind: MaintenanceKind
    figures: Mapping[str, int]
    oldest: SnapshotId | None
    is_dry_run: bool
    samples: tuple[str, ...] = ()

    @property
    def status(self) -> str:
        """`NothingToDo`, `Planned` (a dry run) or `Done`; files that are left alone are nothing to do."""
        if not any(count for name, count in self.figures.items() if name != FOREIGN_FILES):
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
    if is_dry_run:
        return _report(address, kind, maintenance.plan(clock), is_dry_run=True)
    return _report(address, kind, _planned_and_executed(maintenance, clock))


def maintain_fully(
    address: TableAddress,
    kind: MaintenanceKind,
    clock: Clock,
    settings: MaintenanceSettings = DEFAULT_SETTINGS,
) -> MaintenanceReport:
    """Maintains a table until there is nothing left to do, where one round does only a part.

    Tables bound how many snapshots expire at a time, because writers wait for it. Nobody waits for the
    operator, and a table that is new to it may have thousands. Raises what `maintain` raises, also after
    earlier rounds.
    """
    maintenance = open_maintenance(address, kind, settings)
    report = _report(address, kind, _planned_and_executed(maintenance, clock))
    for _ in range(MOST_ROUNDS if kind in _BOUNDED else 0):
        more = _report(address, kind, _planned_and_executed(maintenance, clock))
        if more.status == "NothingToDo":
            break
        report = replace(report, figures=_sums(report.figures, more.figures), oldest=more.oldest)
    return report


def _report(
    address: TableAddress,
    kind: MaintenanceKind,
    found: MaintenancePlan | Maintained,
    *,
    is_dry_run: bool = False,
) -> MaintenanceReport:
    samples = tuple(found.samples)
    return MaintenanceReport(address.name, kind, found.figures, found.oldest, is_dry_run, samples)


def _sums(one: Mapping[str, int], other: Mapping[str, int]) -> Mapping[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


def _planned_and_executed(maintenance: Maintenance[Any], clock: Clock) -> Maintained:
    for _ in range(MOST_PLANS - 1):
        try:
            return maintenance.execute(maintenance.plan(clock))
        except StalePlan:
            continue
    return maintenance.execute(maintenance.plan(clock))
