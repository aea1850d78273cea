"""What a format that stands on Iceberg's tables adds to their commits; plain tables add nothing.

Called by `committer`: conflicts of its own, the operation, and changes of metadata that belong to the
snapshot and appear with it or not at all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from lithify.formats.iceberg.commit.changes import GroupChange
from lithify.formats.iceberg.commit.rules import Reasons
from lithify.formats.iceberg.commit.snapshot_files import SnapshotFiles
from lithify.formats.iceberg.manifests.view import View
from lithify.formats.iceberg.table.evolving import NO_CHANGES, TableChanges
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.snapshots import OVERWRITE, REPLACE


class CommitExtension(Protocol):
    """Takes part in every try of a commit."""

    @property
    def operation(self) -> str:
        """The operation of the snapshot: what it says of the table's rows."""
        ...

    @property
    def carries_deletes(self) -> bool:
        """Whether position deletes and vectors that land on replaced files are carried over to new ones."""
        ...

    @property
    def changes_metadata(self) -> bool:
        """Whether snapshots change metadata of the format, so that one without files is of use."""
        ...

    def conflicts(self, changes: Mapping[Any, GroupChange], metadata: TableMetadata, view: View) -> Reasons:
        """The groups that the newest metadata and its live files refuse, with the reason."""
        ...

    def changes(self, groups: Collection[Any], base: TableMetadata, files: SnapshotFiles) -> TableChanges:
        """What changes with the snapshot of some groups; writes its files by `files.store`."""
        ...


@dataclass(frozen=True, slots=True)
class PlainTable:
    """Adds nothing; implements `CommitExtension`."""

    operation: str = REPLACE
    carries_deletes: bool = True
    changes_metadata: bool = False

    def conflicts(self, changes: Mapping[Any, GroupChange], metadata: TableMetadata, view: View) -> Reasons:
        """None."""
        del changes, metadata, view
        return {}

    def changes(self, groups: Collection[Any], base: TableMetadata, files: SnapshotFiles) -> TableChanges:
        """None."""
        del groups, base, files
        return NO_CHANGES


PLAIN_TABLE = PlainTable()
TURNS_EQUALITY = PlainTable(OVERWRITE)
"""Of commits that turn equality deletes into positions, and add no data files.

A rewrite of others that began before an equality delete relies on its sequence number: it looks for new
position deletes only, and not into snapshots that replace files.
"""
