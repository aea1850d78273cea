"""The identity of a table in any format, and whether it may be compacted."""

from __future__ import annotations

from typing import Protocol


class IdentifiedTable(Protocol):
    """Identifies a table, and tells whether this release can serve it."""

    @property
    def name(self) -> str:
        """The table's name for people."""
        ...

    @property
    def uuid(self) -> str:
        """UUID that distinguishes the table from others of the same name."""
        ...

    def check_supported(self) -> None:
        """Checks that this release can compact the table.

        Raises:
            UnsupportedTable: it cannot; the error names every unsupported option and column.
        """
        ...

    def check_writable(self) -> None:
        """Checks that commits to the table are safe.

        Raises:
            UnsupportedTable: the store would let commits overwrite each other.
            NotAllowed, StorageError: the store refuses writes.
        """
        ...
