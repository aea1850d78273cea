"""Protocol by which a commit carries over late deletes: position deletes that landed after the plan.

Called by `committer` in every try; implemented in `compaction`, which knows where tasks have moved each row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from lithify.engine.commit.loop import Validation
from lithify.formats.iceberg.commit.changes import GroupChange
from lithify.formats.iceberg.manifests.view import View
from lithify.formats.iceberg.model import NewDeleteFile
from lithify.formats.iceberg.table.metadata import TableMetadata


class DeleteCarrier(Protocol):
    """Carries late deletes over to the new files of a step."""

    def carry(
        self, changes: Mapping[Any, GroupChange], view: View, is_live: Callable[[], bool]
    ) -> Validation[GroupChange]:
        """The changes with the rows of their outputs that late deletes delete.

        Depends on nothing but the view. A group is carried wholly, or is in conflict.

        Args:
            changes: the changes that all other rules admit, by group.
            view: the live files of the snapshot that the try is built on.
            is_live: whether that snapshot still exists; what it names may be missing otherwise.

        Raises:
            MissingFile: the snapshot has expired.
            StorageError: the store, or the local disk, refuses.
        """
        ...

    def write(
        self, changes: Sequence[GroupChange], metadata: TableMetadata, writer: str
    ) -> Sequence[NewDeleteFile]:
        """Writes the deletes of outputs: vectors since version 3, before that a file for each output.

        Deletes what it has written if it fails.

        Args:
            changes: what `carry` has returned.
            metadata: the metadata that the try is built on.
            writer: the unique part of the names of the files.

        Raises:
            StorageError: the store refuses.
        """
        ...
