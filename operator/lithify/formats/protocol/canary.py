"""A canary of a table in any format: a copy that shares its files, and its rows as foreign code reads them.

Given by `OpenTable.canary` and used by `engine.run.canary`, which compacts the copy and compares its rows
before and after. What reads them here shares no code with what plans, merges and commits a compaction.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.model import SnapshotId

if TYPE_CHECKING:
    from lithify.io.storage import Storage


class RowsPart(Protocol):
    """Rows of one group in one snapshot; picklable. The parts of a snapshot are disjoint."""

    @property
    def group(self) -> str:
        """Path of the group, for people; rows of one group stay in it, whatever a compaction does."""
        ...

    @property
    def files(self) -> Hashable:
        """Identifies the files and deletes that are read; parts of the same files have the same rows."""
        ...

    @property
    def path(self) -> str:
        """The path of a file that is read, for messages."""
        ...

    @property
    def size(self) -> int:
        """Bytes of the files that are read."""
        ...

    def read(self) -> Iterator[Any]:
        """The rows as record batches of one schema, which is the same for all parts of a table.

        Raises:
            CorruptTable: a file is gone, or cannot be read.
            StorageError: the file system refuses.
        """
        ...


class CanaryTable(Protocol):
    """A table of which copies are made. A copy is a branch, and has the name that its maker gives it."""

    @property
    def home(self) -> str:
        """The folder of the table, in which records of canaries are kept."""
        ...

    @property
    def storage(self) -> Storage:
        """Access to the table's files."""
        ...

    def check_supported(self) -> None:
        """Checks that copies can be made, and that their rows can be read.

        Raises:
            UnsupportedTable: they cannot; the error names every option and feature.
        """
        ...

    def address_of(self, copy: str) -> TableAddress:
        """The address of a copy."""
        ...

    def make_copy(self, copy: str) -> SnapshotId | None:
        """Makes a copy of the newest snapshot, which it returns; None for a table without snapshots."""
        ...

    def has_expired(self, first: SnapshotId) -> bool:
        """Whether the table has lost the snapshot that a copy was made of, and with it perhaps files."""
        ...

    def parts(self, copy: str, first: SnapshotId) -> tuple[Sequence[RowsPart], Sequence[RowsPart]]:
        """The rows of a copy in the snapshot that it was made of, and in its newest one.

        Raises:
            StalePlan: others have expired the first one.
            MissingFile: a metadata file of one of them is gone.
        """
        ...

    def has_copy(self, copy: str) -> bool:
        """Whether a copy exists."""
        ...

    def drop_copy(self, copy: str, run: str) -> None:
        """Drops a copy, with the files that only it names; completes a drop that was cut off.

        Args:
            copy: the copy, which need not exist.
            run: id of the run that compacted it.

        Raises:
            StorageError: the file system refuses; drop it again.
            CorruptTable: what names files cannot be read, so none was deleted.
        """
        ...
