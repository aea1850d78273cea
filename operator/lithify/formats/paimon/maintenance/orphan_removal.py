"""Removal of orphan files of one Paimon table: implements `formats.protocol.maintenance.Maintenance`.

Created by `paimon.maintaining`. Lists the table's folder, then reads what attempts and holders name
(`names_in_use`), and compares the two (`engine.maintenance.orphan_search`). Unlike Java it leaves files of
attempts alone that have a journal, which clean-up deletes, and empty directories.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from lithify.clock import Clock
from lithify.columns.column_groups import Numbers
from lithify.engine.maintenance.orphan_age import check_settings, written_before
from lithify.engine.maintenance.orphan_search import Orphans, delete_orphans, find_orphans, gather
from lithify.engine.maintenance.share_limit import check_share
from lithify.errors import UnsupportedTable
from lithify.faults import failpoint
from lithify.formats.paimon.access.identity import is_main
from lithify.formats.paimon.maintenance.attempt_prefixes import attempt_prefixes
from lithify.formats.paimon.maintenance.names_in_use import NamesInUse
from lithify.formats.paimon.maintenance.orphan_places import FileKind, OrphanPlaces, is_spared
from lithify.formats.paimon.names.snapshot_ids import snapshot_id
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.maintenance import (
    DEFAULT_SETTINGS,
    Maintained,
    Maintenance,
    MaintenanceKind,
    MaintenanceSettings,
)
from lithify.formats.protocol.model import SnapshotId

_FIGURES = {FileKind.DATA: "dataFiles", FileKind.INDEX: "indexFiles", FileKind.METADATA: "metadataFiles"}


@dataclass(frozen=True, slots=True)
class OrphanPlan:
    """What one removal deletes.

    Attributes:
        orphans: the files.
        root: the table's folder.
        names: what was read of the table's metadata.
        number: the oldest snapshot; None without any.
    """

    orphans: Orphans
    root: str
    names: NamesInUse
    number: int | None

    @property
    def kind(self) -> MaintenanceKind:
        """The kind of maintenance."""
        return MaintenanceKind.REMOVE_ORPHANS

    @property
    def is_empty(self) -> bool:
        """Whether there is no orphan."""
        return not self.orphans.files.count

    @property
    def oldest(self) -> SnapshotId | None:
        """The oldest snapshot."""
        return None if self.number is None else snapshot_id(self.number)

    @property
    def figures(self) -> Mapping[str, int]:
        """How many files of each kind are orphans, and their bytes."""
        return figures_of(self.orphans.counts, self.orphans.files.size)

    @property
    def samples(self) -> Sequence[str]:
        """Paths of some orphans."""
        return [f"{self.root}/{path}" for path in self.orphans.samples]


def figures_of(counts: Numbers, size: int) -> dict[str, int]:
    """Numbers of files by the names of their kinds, and their bytes."""
    return {**{name: int(counts[kind]) for kind, name in _FIGURES.items()}, "bytes": size}


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
        table, options = self._table, self._table.options.locations
        places = OrphanPlaces(table.schema.partition_keys, options.directory)
        listings = table.storage.listings(table.root)
        candidates = gather(listings, places.candidates, written_before(self._settings, clock))
        spared = partial(is_spared, folders=places.others, prefixes=attempt_prefixes(table))
        names = NamesInUse(table)  # after the listing and the journals
        orphans = find_orphans(candidates, lambda: _all_names(table, names), spared, len(FileKind))
        return OrphanPlan(orphans, table.root, names, names.oldest)

    def execute(self, plan: OrphanPlan) -> Maintained:
        """See the Protocol.

        Raises:
            TooManyOrphans: there are more than the settings allow; nothing was deleted.
        """
        orphans = plan.orphans
        check_share(self._table.name, orphans.amount, orphans.listed, self._settings.most_share)
        failpoint("orphans-planned")
        storage = self._table.storage
        counts, size = delete_orphans(orphans, plan.root, storage.delete_all, plan.names.unread)
        return Maintained(self.kind, figures_of(counts, size), plan.oldest, plan.samples)


def _all_names(table: PaimonTable, first: NamesInUse) -> Iterator[pa.Array]:
    """All names in use, for one more portion of files.

    The first reader is asked for new names later: what is committed while other portions are compared counts
    for the first one, too.
    """
    return (NamesInUse(table) if first.has_read else first).unread()


def orphan_refusals(table: PaimonTable) -> Iterator[str]:
    """Every reason why orphans cannot be found. Tables that cannot be compacted are refused, too."""
    yield from table.refusals
    if not is_main(table.native):
        yield f"branch {table.native.current_branch()}: name the table, whose folder has the files of all"
    if table.snapshots.has_server:
        yield "a catalog whose server commits: it may know snapshots that are not in the table's folder"
    if not (table.storage.is_local or table.storage.s3 is not None):
        yield "a file system other than S3 and a local one: this release cannot tell how old its files are"
