"""Maintenance in resources: the kinds of runs, and when a policy wants which.

Used by `compaction` and `policy`. The kinds of maintenance are those of `formats.protocol.maintenance`;
formats that lack one refuse its runs.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field

from lithify.formats.protocol.maintenance import MaintenanceKind
from lithify.resources.modelling import Rule, part
from lithify.resources.recurrence import FIVE_FIELDS, ONE_RECURRENCE, schedule_field
from lithify.resources.windows import Window

_HOUR, _DAY = 3600, 86400
_YEAR = 365 * _DAY
_MIN_AGE: Any = Field(
    default=3 * _DAY,
    description="Files that were written more recently are left alone: a writer may be about to commit them.",
    ge=_DAY,
    le=_YEAR,
)
_DELETE: Any = Field(
    default=False, description="Deletes them. False: status only says how many there are, with samples."
)


class RunKind(StrEnum):
    """What a run does: it compacts, or it is one kind of maintenance. A rollback is only a command."""

    COMPACT = "Compact"
    EXPIRE_SNAPSHOTS = MaintenanceKind.EXPIRE_SNAPSHOTS.value
    EXPIRE_PARTITIONS = MaintenanceKind.EXPIRE_PARTITIONS.value
    MANAGE_TAGS = MaintenanceKind.MANAGE_TAGS.value
    MERGE_MANIFESTS = MaintenanceKind.MERGE_MANIFESTS.value
    REMOVE_ORPHANS = MaintenanceKind.REMOVE_ORPHANS.value

    @property
    def maintenance(self) -> MaintenanceKind | None:
        """The kind of maintenance; None for a compaction."""
        return None if self is RunKind.COMPACT else MaintenanceKind(self.value)


class MaintenanceMode(StrEnum):
    """When the operator starts a kind of maintenance that a table's own options describe."""

    AUTOMATIC = "Automatic"
    ALWAYS = "Always"
    NEVER = "Never"


@part(ONE_RECURRENCE, FIVE_FIELDS)
class TableMaintenance:
    """When maintenance runs that a table's own options describe, such as the expiry of its snapshots."""

    mode: MaintenanceMode = Field(
        default=MaintenanceMode.AUTOMATIC,
        description="Automatic: if the table's writers leave it to others (in Paimon, write-only tables). "
        "Always: also if they do it themselves, or nobody asks for it. Never: not at all.",
    )
    interval_seconds: int | None = Field(
        default=None,
        description="Minimum seconds between two runs. Default, without a schedule: an hour.",
        ge=60,
        le=_YEAR,
    )
    schedule: str | None = schedule_field()


@part(ONE_RECURRENCE, FIVE_FIELDS)
class ManifestMerges:
    """When manifests are merged."""

    interval_seconds: int | None = Field(
        default=None,
        description="Seconds between two runs. Default, without a schedule: a day.",
        ge=60,
        le=_YEAR,
    )
    schedule: str | None = schedule_field()


@part()
class OrphanRemoval:
    """Which orphan files are removed: files in a table's folders that nothing names."""

    min_age_seconds: int = _MIN_AGE
    delete: bool = _DELETE


@part(ONE_RECURRENCE, FIVE_FIELDS)
class OrphanRemovals:
    """When orphan files are looked for, and which are removed."""

    interval_seconds: int | None = Field(
        default=None,
        description="Seconds between two runs. Default, without a schedule: a week.",
        ge=_HOUR,
        le=_YEAR,
    )
    schedule: str | None = schedule_field()
    min_age_seconds: int = _MIN_AGE
    delete: bool = _DELETE


MaintenanceRule = TableMaintenance | ManifestMerges | OrphanRemovals
"""When one kind of maintenance runs."""

_KINDS = ("expireSnapshots", "expirePartitions", "manageTags", "mergeManifests", "removeOrphans")

TIME_ZONE_OF_MAINTENANCE = (
    Rule(
        "has(self.timeZone) || ("
        + " && ".join(
            f"(!has(self.maintenance.{kind}) || !has(self.maintenance.{kind}.schedule))" for kind in _KINDS
        )
        + ")",
        "a schedule of maintenance needs a timeZone",
        ".timeZone",
    ),
    Rule(
        "!has(self.maintenance.windows) || size(self.maintenance.windows) == 0 || has(self.timeZone)",
        "windows of maintenance need a timeZone",
        ".timeZone",
    ),
)
"""Rules of a policy's spec."""


@part()
class Maintenance:
    """When tables are maintained beside compaction. Runs count against the policy's limits."""

    expire_snapshots: TableMaintenance = Field(
        default=TableMaintenance(),
        description="Expires snapshots by the table's options, with the files that only they need.",
    )
    expire_partitions: TableMaintenance = Field(
        default=TableMaintenance(), description="Drops partitions by the table's options, if it has any."
    )
    manage_tags: TableMaintenance = Field(
        default=TableMaintenance(),
        description="Creates and deletes tags by the table's options, if it has any.",
    )
    merge_manifests: ManifestMerges | None = Field(
        default=None, description="Merges small manifests, so that reads are planned faster. Unset: never."
    )
    remove_orphans: OrphanRemovals | None = Field(
        default=None, description="Removes files that nothing names. Unset: never."
    )
    windows: tuple[Window, ...] = Field(
        default=(),
        description="When maintenance may start. Empty: in the windows of the policy.",
        max_length=16,
    )

    def rule_of(self, kind: RunKind) -> MaintenanceRule | None:
        """When a kind of maintenance runs; None for never."""
        return {
            RunKind.EXPIRE_SNAPSHOTS: self.expire_snapshots,
            RunKind.EXPIRE_PARTITIONS: self.expire_partitions,
            RunKind.MANAGE_TAGS: self.manage_tags,
            RunKind.MERGE_MANIFESTS: self.merge_manifests,
            RunKind.REMOVE_ORPHANS: self.remove_orphans,
        }.get(kind)
