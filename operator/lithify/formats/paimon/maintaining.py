"""Opens Paimon tables for their maintenance. Loaded by `formats.registry`.

Imports nothing that merges or writes data files, and what commits only when it is needed: processes that plan
do not. A table is opened with its own options, because a run of
maintenance may override others than a compaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from lithify.clock import Clock, SystemClock
from lithify.formats.paimon.maintenance.partition_expiry import Dropped, PartitionExpiry
from lithify.formats.paimon.maintenance.snapshot_expiry import SnapshotExpiry
from lithify.formats.paimon.maintenance.tag_management import TagManagement
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.options.retention_options import overridden, read_retention
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.maintenance import MaintainedTable, MaintenanceSettings


def open_maintained(address: TableAddress, settings: MaintenanceSettings) -> MaintainedTable:  # noqa: ARG001  # expiry has none
    """Opens a table for its maintenance; see `opening`.

    Raises:
        InvalidOption: an option of how long snapshots are kept has no valid value.
    """
    table = open_table(replace(address, overrides={}))
    retention = read_retention(overridden(table.stored_options, address.overrides))
    drop = partial(_drop, SystemClock(address.zone()))
    kinds = (
        SnapshotExpiry(table, retention),
        PartitionExpiry(table, table.stored_options, drop),
        TagManagement(table, table.stored_options),
    )
    return MaintainedTable(table.name, table.uuid, {each.kind: each for each in kinds})


def _drop(
    clock: Clock, table: PaimonTable, partitions: Sequence[bytes], before_millis: int | None
) -> Dropped:
    from lithify.formats.paimon.commit.dropping import drop_partitions  # see the module

    outcome = drop_partitions(table, partitions, before_millis, clock)
    if outcome is None:
        return Dropped((), dict.fromkeys(partitions, "the table has no snapshot any more"))
    return Dropped(
        tuple(bucket.partition for bucket in outcome.committed),
        {bucket.partition: reason for bucket, reason in outcome.conflicts.items()},
    )
