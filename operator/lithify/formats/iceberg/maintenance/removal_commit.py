"""Commits that some snapshots and references leave the metadata.

Called by `snapshot_expiry`. A commit that was outrun is tried again on the newer metadata, if that would let
the same snapshots go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lithify.clock import Clock
from lithify.formats.iceberg.maintenance.metadata_commit import commit_patiently
from lithify.formats.iceberg.maintenance.next_metadata import (
    removal_requirements,
    removal_updates,
    version_without,
)
from lithify.formats.iceberg.maintenance.retention import Removal
from lithify.formats.iceberg.table.evolving import NextVersion
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.table import IcebergTable

CheckCurrent = Callable[[], None]
"""Raises `StalePlan` if something may not leave the metadata as it was last loaded."""


@dataclass(frozen=True, slots=True)
class RemovalChange:
    """Snapshots and references leave; implements `metadata_commit.MetadataChange`.

    Attributes:
        removal: what leaves.
    """

    removal: Removal

    @property
    def title(self) -> str:
        """How many snapshots go."""
        return f"without {len(self.removal.snapshots)} snapshots"

    def version(self, base: TableMetadata, millis: int) -> NextVersion:
        """See the Protocol."""
        return version_without(base, self.removal, millis)

    def updates(self, base: TableMetadata) -> Sequence[Mapping[str, Any]]:
        """See the Protocol."""
        return removal_updates(base, self.removal)

    def requirements(self, base: TableMetadata) -> Sequence[Mapping[str, Any]]:
        """See the Protocol."""
        return removal_requirements(base)

    def is_in(self, found: TableMetadata) -> bool:
        """See the Protocol."""
        return is_gone(self.removal, found)


def is_gone(removal: Removal, metadata: TableMetadata) -> bool:
    """Whether metadata have nothing of what leaves them."""
    return not (removal.snapshots & metadata.snapshots.keys() or removal.references & metadata.refs.keys())


def commit_removal(
    table: IcebergTable, removal: Removal, check_current: CheckCurrent, clock: Clock
) -> TableMetadata:
    """Removes snapshots and references from a table's metadata; returns the metadata without them.

    Raises:
        StalePlan: they may not go any more.
        CommitOutrun: other commits were faster at every try.
        CommitUnknown: the outcome is unknown, so no file may be deleted.
        LithifyError: they certainly have not gone.
    """

    def change() -> RemovalChange:
        check_current()
        return RemovalChange(removal)

    commit_patiently(table, change, clock)
    return table.metadata
