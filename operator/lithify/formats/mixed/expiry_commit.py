"""The commit that removes consumed files from a change store; a `CommitExtension`.

Called by `expiring`. Checks in every try that base still has the changes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from lithify.formats.iceberg.commit.changes import GroupChange
from lithify.formats.iceberg.commit.rules import Reasons
from lithify.formats.iceberg.commit.snapshot_files import SnapshotFiles
from lithify.formats.iceberg.manifests.view import View
from lithify.formats.iceberg.table.evolving import TableChanges
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.snapshots import DELETE
from lithify.formats.mixed.stores import MixedTable

LINE_WENT_BACK = "the base store was rolled back, and its readers need these changes again"
_PRODUCER = {"snapshot.producer": "OPTIMIZE"}
"""By this Amoro knows that a snapshot changes no rows."""


@dataclass(frozen=True, slots=True)
class ExpiryCommit:
    """Validates an expiry.

    Attributes:
        table: the table.
        folders: the partition of each group.
    """

    table: MixedTable
    folders: Mapping[Any, str]
    operation: str = DELETE
    carries_deletes: bool = False
    changes_metadata: bool = False

    def conflicts(self, changes: Mapping[Any, GroupChange], metadata: TableMetadata, view: View) -> Reasons:
        """The groups with a file that base no longer has.

        Base is loaded again in every try, after the metadata of the change store that the try is built on. No
        order makes the two commits of two tables one; with this one, only a rollback between here and the
        commit is missed. Whatever else is committed is harmless: sequence numbers only grow, so new change
        files are above every line, and a line that moves on covers more of them.
        """
        del metadata, view
        line = self.table.read_line(self.table.base.refresh())
        highest = {group: max(file.sequence for file in change.inputs) for group, change in changes.items()}
        return {
            group: LINE_WENT_BACK
            for group, sequence in highest.items()
            if sequence > line.sequence_of(self.folders[group])
        }

    def changes(self, groups: Collection[Any], base: TableMetadata, files: SnapshotFiles) -> TableChanges:
        """Who made the snapshot."""
        del groups, base, files
        return TableChanges(summary=_PRODUCER)
