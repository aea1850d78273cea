"""Opens Paimon tables for their maintenance. Loaded by `formats.registry`.

Imports nothing that merges or writes data files. A table is opened with its own options, because a run of
maintenance may override others than a compaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from lithify.clock import Clock, SystemClock
from lithify.formats.paimon.commit.dropping import drop_partitions
from lithify.formats.paimon.maintenance.manifest_merge import ManifestMerge
from lithify.formats.paimon.maintenance.manifest_refusals import manifest_refusals
from lithify.formats.paimon.maintenance.orphan_removal import OrphanRemoval
from lithify.formats.paimon.maintenance.partition_expiry import Dropped, PartitionExpiry
from lithify.formats.paimon.maintenance.snapshot_expiry import SnapshotExpiry
from lithify.formats.paimon.maintenance.table_rollback import TableRollback
from lithify.formats.paimon.maintenance.tag_management import TagManagement
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.options.retention_options import overridden, read_retention
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.maintenance import MaintainedTable, MaintenanceKind, MaintenanceSettings, Maker


def open_maintained(address: TableAddress, settings: MaintenanceSettings) -> MaintainedTable:
    """Opens a table for its maintenance; see `opening`.

    Raises:
        InvalidOption: an option is overridden that does not say which snapshots are kept.
    """
    table = open_table(replace(address, overrides={}))
    stored, clock = table.stored_options, SystemClock(address.zone())
    options = overridden(stored, address.overrides)
    kinds: dict[MaintenanceKind, Maker] = {
        SnapshotExpiry.kind: lambda: SnapshotExpiry(table, read_retention(options)),
        PartitionExpiry.kind: lambda: PartitionExpiry(table, stored, partial(_drop, clock)),
        TagManagement.kind: lambda: TagManagement(table, stored),
        ManifestMerge.kind: lambda: ManifestMerge(
            table, tuple(manifest_refusals(table, address.catalog_options)), settings.memory
        ),
        OrphanRemoval.kind: lambda: OrphanRemoval(table, settings),
        TableRollback.kind: lambda: TableRollback(table, settings),
    }
    return MaintainedTable(table.name, table.uuid, kinds)


def _drop(
    clock: Clock, table: PaimonTable, partitions: Sequence[bytes], before_millis: int | None
) -> Dropped:
    outcome = drop_partitions(table, partitions, before_millis, clock)
    if outcome is None:
        return Dropped((), dict.fromkeys(partitions, "the table has no snapshot any more"))
    return Dropped(
        tuple(bucket.partition for bucket in outcome.committed),
        {bucket.partition: reason for bucket, reason in outcome.conflicts.items()},
    )
