"""Removal of orphan files of one Paimon table: implements `formats.protocol.maintenance.Maintenance`.

Created by `paimon.maintaining`. Lists the table's folder, then reads what attempts and holders name
(`names_in_use`), and compares the two (`engine.maintenance`). Unlike Java it leaves files of attempts alone
that have a journal, which clean-up deletes, empty directories, and external paths, whose orphans it counts.
"""

from __future__ import annotations

from collections.abc import Iterator

from lithify.clock import Clock
from lithify.engine.attempts.journal import Journal
from lithify.engine.maintenance.file_places import FilePlaces
from lithify.engine.maintenance.orphan_age import age_refusals, check_settings, written_before
from lithify.engine.maintenance.orphan_plan import OrphanPlan, remove_planned, search_orphans
from lithify.errors import UnsupportedTable
from lithify.formats.paimon.access.identity import is_main
from lithify.formats.paimon.maintenance.names_in_use import NamesInUse
from lithify.formats.paimon.maintenance.orphan_places import FIGURES, ExternalPlaces, OrphanPlaces
from lithify.formats.paimon.snapshots.attempt_scope import AttemptScope, AttemptScopes
from lithify.formats.paimon.snapshots.holders import branch_homes
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.maintenance import (
    DEFAULT_SETTINGS,
    Maintained,
    Maintenance,
    MaintenanceKind,
    MaintenanceSettings,
)


class OrphanRemoval(Maintenance[OrphanPlan]):
    """Removes files of a table that nothing names.

    Args:
        table: the table.
        settings: how old orphans must be, and how many there may be.
    """

    kind = MaintenanceKind.REMOVE_ORPHANS

    def __init__(self, table: PaimonTable, settings: MaintenanceSettings = DEFAULT_SETTINGS) -> None:
        self._table = table
        self._settings = settings

    def plan(self, clock: Clock) -> OrphanPlan:
        """See the Protocol."""
        check_settings(self._settings)
        refusals = tuple(orphan_refusals(self._table))
        if refusals:
            raise UnsupportedTable(self._table.name, refusals, "searched for orphan files")
        table, before = self._table, written_before(self._settings, clock)
        locations = table.options.locations
        where = (table.schema.partition_keys, locations.directory)
        plan = _search(table, table.root, OrphanPlaces(*where), before)
        outside = [_search(table, root, ExternalPlaces(*where), before) for root in locations.external]
        return plan.beside(outside) if outside else plan

    def execute(self, plan: OrphanPlan) -> Maintained:
        """See the Protocol.

        Raises:
            TooManyOrphans: there are more than the settings allow; nothing was deleted.
        """
        return remove_planned(plan, self._table.name, self._table.storage, self._settings)


def _search(table: PaimonTable, root: str, places: FilePlaces, before_millis: int) -> OrphanPlan:
    return search_orphans(
        table.storage.listings(root),
        places,
        lambda: _journals(table),
        lambda: NamesInUse(table),
        root,
        FIGURES,
        before_millis,
    )


def orphan_refusals(table: PaimonTable) -> Iterator[str]:
    """Every reason why orphans cannot be found. Tables that cannot be compacted are refused, too."""
    yield from table.refusals
    if not is_main(table.native):
        yield f"branch {table.native.current_branch()}: name the table, whose folder has the files of all"
    if table.snapshots.has_server:
        yield "a catalog whose server commits: it may know snapshots that are not in the table's folder"
    yield from age_refusals(table.storage)


def _journals(table: PaimonTable) -> Iterator[Journal[AttemptScope]]:
    """The journals of the table and of its branches."""
    homes = (table.root, *branch_homes(table.storage, table.root))
    return (Journal(home, table.storage, AttemptScopes()) for home in homes)
