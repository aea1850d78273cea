"""Removal of orphan files of one Iceberg table: implements `formats.protocol.maintenance.Maintenance`.

Created by `iceberg.maintaining`. Lists the folders of data and metadata, then reads what attempts and the
newest metadata name (`names_in_use`), and compares the two (`engine.maintenance`).
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from lithify.clock import Clock
from lithify.columns.column_groups import whole, with_columns
from lithify.engine.maintenance.orphan_age import age_refusals, check_settings, written_before
from lithify.engine.maintenance.orphan_plan import OrphanPlan, remove_planned, search_orphans
from lithify.errors import UnsupportedTable
from lithify.formats.iceberg.attempts.scope import journal_of
from lithify.formats.iceberg.maintenance.names_in_use import NamesInUse
from lithify.formats.iceberg.maintenance.orphan_places import FIGURES, OrphanPlaces
from lithify.formats.iceberg.properties import is_true
from lithify.formats.iceberg.table.metadata import MAIN, TableMetadata
from lithify.formats.iceberg.table.table import IcebergTable
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

    def __init__(self, table: IcebergTable, settings: MaintenanceSettings = DEFAULT_SETTINGS) -> None:
        self._table = table
        self._settings = settings

    def plan(self, clock: Clock) -> OrphanPlan:
        """See the Protocol."""
        check_settings(self._settings)
        table, metadata = self._table, self._table.refresh()
        refusals = tuple(orphan_refusals(table, metadata))
        if refusals:
            raise UnsupportedTable(table.name, refusals, "searched for orphan files")
        data, own = _inside(metadata, metadata.data_folder), _inside(metadata, metadata.metadata_folder)
        places = OrphanPlaces(data, own)
        listings = _listings(table, metadata.location, (data, own))
        return search_orphans(
            listings,
            places,
            lambda: [journal_of(table)],
            lambda: NamesInUse(table),
            metadata.location,
            FIGURES,
            written_before(self._settings, clock),
        )

    def execute(self, plan: OrphanPlan) -> Maintained:
        """See the Protocol.

        Raises:
            TooManyOrphans: there are more than the settings allow; nothing was deleted.
        """
        return remove_planned(plan, self._table.name, self._table.storage, self._settings)


def orphan_refusals(table: IcebergTable, metadata: TableMetadata) -> Iterator[str]:
    """Every reason why orphans cannot be found. Tables that cannot be compacted are refused, too."""
    yield from table.refusals
    if table.branch != MAIN:
        yield f"branch {table.branch}: name the table, whose folder has the files of all"
    if not is_true(metadata.properties, "gc.enabled", "true"):
        yield "property gc.enabled is false: other tables may use its files"
    for name, folder in (("data", metadata.data_folder), ("metadata", metadata.metadata_folder)):
        if not _inside(metadata, folder):
            yield (
                f"its {name} files are in {folder}, which is not below {metadata.location}: nothing there "
                "tells whose they are"
            )
    yield from age_refusals(table.storage)


def _inside(metadata: TableMetadata, folder: str) -> str:
    """A folder relative to the table's; empty if it does not lie below it."""
    above = f"{metadata.location}/"
    return folder.removeprefix(above) if folder.startswith(above) else ""


def _listings(table: IcebergTable, location: str, folders: tuple[str, ...]) -> Iterator[pa.Table]:
    """The files in some folders, with paths relative to the table's; each file once."""
    outer = [
        folder
        for folder in dict.fromkeys(folders)
        if not any(folder.startswith(f"{other}/") for other in folders)
    ]
    for folder in outer:
        for files in table.storage.listings(f"{location}/{folder}"):
            paths = pc.binary_join_element_wise(folder, whole(files["path"]), "/")
            yield with_columns(files, path=paths)
