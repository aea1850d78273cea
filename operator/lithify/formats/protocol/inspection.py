"""The inspection of a table for `lithify inspect`: plain values, the same for every format.

Made by the format adapters from metadata alone, read by the command line. Figures common to all kinds of
tables are fields of a group; figures of one kind are blocks, which the adapter declares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lithify.formats.protocol.model import BlockedGroup, SnapshotId, TriggerVerdict


@dataclass(frozen=True, slots=True)
class GroupBlock:
    """Figures of a group that only some kinds of tables have, as the adapter declares them for a block.

    Attributes:
        figures: by name, in the declared order.
        parts: the parts of its files, in order, such as levels; see `formats.declarations.Breakdown`.
    """

    figures: Mapping[str, int]
    parts: tuple[Mapping[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class GroupInspection:
    """One group of files: in Paimon a bucket of a partition.

    Attributes:
        group: path of the group.
        files: number of data files.
        bytes: total size of the data files.
        rows: rows in the data files, deletes included.
        small_files: number of files below the small-file size.
        delete_ratio: fraction of rows that retract their key; None if a writer did not count them.
        triggers: verdict of each trigger.
        due: why a minor compaction has work; None if it has none.
        blocks: figures that its kind of table has, by the names that the adapter has declared.
    """

    group: str
    files: int
    bytes: int
    rows: int
    small_files: int
    delete_ratio: float | None
    triggers: tuple[TriggerVerdict, ...]
    due: str | None
    blocks: Mapping[str, GroupBlock] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TableInspection:
    """A table.

    Attributes:
        table: `database.table`.
        snapshot: id of the inspected snapshot; None if the table has none.
        primary_key: key columns except partition columns; empty for tables without a primary key.
        partition_keys: partition columns.
        unsupported: why this release cannot compact the table.
        groups: all groups that are not blocked.
        blocked: groups whose metadata shows that they cannot be compacted.
    """

    table: str
    snapshot: SnapshotId | None
    primary_key: tuple[str, ...]
    partition_keys: tuple[str, ...]
    unsupported: tuple[str, ...]
    groups: tuple[GroupInspection, ...]
    blocked: tuple[BlockedGroup, ...] = ()
