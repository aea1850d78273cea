"""Expiry of partitions of one Paimon table: implements `formats.protocol.maintenance.Maintenance`.

Created by `paimon.maintaining`, which says how partitions are dropped: that is a commit, and this room makes
none. The files of dropped partitions stay until the snapshots expire that have them. Source: Paimon's
`PartitionExpire`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from lithify.clock import Clock
from lithify.errors import StalePlan, UnsupportedTable
from lithify.formats.paimon.maintenance.expiring_partitions import (
    due_partitions,
    newest_of_due,
    partition_files,
)
from lithify.formats.paimon.maintenance.refusals import expiry_refusals, partition_refusals
from lithify.formats.paimon.names.snapshot_ids import snapshot_id
from lithify.formats.paimon.options.partition_expiry_options import (
    ExpiryStrategy,
    PartitionExpiryOptions,
    read_partition_expiry,
)
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.maintenance import MOST_SAMPLES, Maintained, Maintenance, MaintenanceKind
from lithify.formats.protocol.model import SnapshotId


@dataclass(frozen=True, slots=True)
class Dropped:
    """The outcome of a commit that drops partitions.

    Attributes:
        partitions: those that it dropped.
        conflicts: the others, each with the reason.
    """

    partitions: Sequence[bytes]
    conflicts: Mapping[bytes, str]


DropPartitions = Callable[[PaimonTable, Sequence[bytes], int | None], Dropped]
"""Drops partitions in one commit; those with a file of that local time (milliseconds) or later stay."""


@dataclass(frozen=True, slots=True)
class ExpiringPartition:
    """A partition that expires.

    Attributes:
        partition: its values as a BinaryRow.
        name: its values for people.
        files: number of its data files.
    """

    partition: bytes
    name: str
    files: int


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """What one expiry of partitions drops.

    Attributes:
        partitions: the partitions, in the order in which they go.
        before_millis: the local time before which all of their files must have been written; None if the
            values of a partition decide.
        oldest: the oldest snapshot of the table.
    """

    partitions: tuple[ExpiringPartition, ...]
    before_millis: int | None
    oldest: SnapshotId | None

    @property
    def kind(self) -> MaintenanceKind:
        """The kind of maintenance."""
        return MaintenanceKind.EXPIRE_PARTITIONS

    @property
    def is_empty(self) -> bool:
        """Whether no partition goes."""
        return not self.partitions

    @property
    def figures(self) -> Mapping[str, int]:
        """How many partitions go, and how many data files they have."""
        return _figures(self.partitions)

    @property
    def samples(self) -> Sequence[str]:
        """The values of some of the partitions."""
        return _names(self.partitions)


class PartitionExpiry(Maintenance[PartitionPlan]):
    """Expires partitions of a table.

    Args:
        table: the table.
        options: the table's options, of which it reads when partitions expire; not before it plans, because
            values that it does not know are no reason against another kind of maintenance.
        drop: drops partitions.
    """

    kind = MaintenanceKind.EXPIRE_PARTITIONS

    def __init__(self, table: PaimonTable, options: Mapping[str, str], drop: DropPartitions) -> None:
        self._table = table
        self._read = options
        self._drop = drop

    @cached_property
    def _options(self) -> PartitionExpiryOptions | None:
        return read_partition_expiry(self._read)

    def plan(self, clock: Clock) -> PartitionPlan:
        """See the Protocol."""
        table, options = self._table, self._options
        oldest = next((snapshot_id(number) for number in table.snapshots.numbers()), None)
        if options is None:
            return PartitionPlan((), None, oldest)
        refusals = (*expiry_refusals(table), *partition_refusals(table))
        if refusals:
            raise UnsupportedTable(table.name, refusals, "expired")
        now = clock.now()
        files = table.on_newest(
            lambda snapshot: partition_files(table.manifests.frames(table.manifests.list_files(snapshot)))
        )
        due = due_partitions(table, files or {}, options, now)
        is_by_files = options.strategy is ExpiryStrategy.UPDATE_TIME
        return PartitionPlan(
            tuple(ExpiringPartition(each, self._name(each), (files or {})[each].files) for each in due),
            newest_of_due(options, now) if is_by_files else None,
            oldest,
        )

    def _name(self, partition: bytes) -> str:
        values = self._table.locations.values(partition).by_name
        return "/".join(f"{column}={value}" for column, value in values.items())

    def execute(self, plan: PartitionPlan) -> Maintained:
        """See the Protocol. Where partitions go in several commits, each of them is whole."""
        dropped: set[bytes] = set()
        conflicts: dict[bytes, str] = {}
        wanted = [each.partition for each in plan.partitions]
        size = self._batch(len(wanted))
        for start in range(0, len(wanted), size):
            done = self._drop(self._table, wanted[start : start + size], plan.before_millis)
            dropped.update(done.partitions)
            conflicts.update(done.conflicts)
        if conflicts and not dropped:
            raise StalePlan(self._table.name, next(iter(conflicts.values())))
        gone = [each for each in plan.partitions if each.partition in dropped]
        return Maintained(self.kind, _figures(gone), plan.oldest, _names(gone))

    def _batch(self, count: int) -> int:
        batch = None if self._options is None else self._options.batch
        return max(1, count if batch is None else batch)


def _figures(partitions: Sequence[ExpiringPartition]) -> dict[str, int]:
    return {"partitions": len(partitions), "dataFiles": sum(each.files for each in partitions)}


def _names(partitions: Sequence[ExpiringPartition]) -> tuple[str, ...]:
    return tuple(each.name for each in partitions[:MOST_SAMPLES])
