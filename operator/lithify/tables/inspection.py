"""What `lithify inspect` shows of a table: plain values, whatever the format.

Made by the format adapters from metadata alone, read by the command line. Figures that every kind of table
has are fields of a group; those of one kind are a block of their own (`merge_tree`), None for other kinds.
"""

from __future__ import annotations

from dataclasses import dataclass

from lithify.tables.model import BlockedBucket, SnapshotId


@dataclass(frozen=True, slots=True)
class TriggerState:
    """What one trigger says about a group.

    Attributes:
        trigger: its name.
        fired: whether it makes the group due.
        detail: the numbers behind the answer, as a sentence for people.
    """

    trigger: str
    fired: bool
    detail: str


@dataclass(frozen=True, slots=True)
class LevelSummary:
    """One level of a merge tree; sizes are in bytes."""

    level: int
    runs: int
    files: int
    bytes: int
    rows: int


@dataclass(frozen=True, slots=True)
class MergeTreeShape:
    """What a group has that is a merge tree.

    Attributes:
        levels: its non-empty levels, from 0.
        sorted_runs: sorted runs.
    """

    levels: tuple[LevelSummary, ...]
    sorted_runs: int


@dataclass(frozen=True, slots=True)
class GroupInspection:
    """One group of files: in Paimon a bucket of a partition.

    Attributes:
        group: its path.
        files: data files.
        bytes: bytes of them.
        rows: rows of them, deletes included.
        small_files: files below the size from which a file is left alone.
        delete_ratio: share of the rows that retract their key; None if a writer did not count them.
        triggers: what each trigger says.
        due: why a minor compaction would do something; None if it would not.
        merge_tree: its levels; None where files have none.
    """

    group: str
    files: int
    bytes: int
    rows: int
    small_files: int
    delete_ratio: float | None
    triggers: tuple[TriggerState, ...]
    due: str | None
    merge_tree: MergeTreeShape | None = None


@dataclass(frozen=True, slots=True)
class TableInspection:
    """A table.

    Attributes:
        table: `database.table`.
        snapshot: the snapshot that was looked at; None if there is none.
        primary_key: key columns without the partition's; empty for tables without one.
        partition_keys: partition columns.
        unsupported: why this release cannot compact it.
        groups: its groups, but for those that are blocked.
        blocked: groups whose metadata shows that they cannot be compacted.
    """

    table: str
    snapshot: SnapshotId | None
    primary_key: tuple[str, ...]
    partition_keys: tuple[str, ...]
    unsupported: tuple[str, ...]
    groups: tuple[GroupInspection, ...]
    blocked: tuple[BlockedBucket, ...] = ()
