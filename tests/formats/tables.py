"""What the contract needs of a table format: tables to try it on, and what others do to them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Protocol

from lithify.formats.protocol.address import TableAddress


class FormatTables(Protocol):
    """Tables of one format, made, read and changed by the format's own engine."""

    @property
    def own_points(self) -> Collection[str]:
        """The fault points that runs on these tables come to, besides those of every run."""
        ...

    @property
    def a_partition(self) -> Mapping[str, str]:
        """What a user writes to select a partition of a table that `make` makes; empty if it has none."""
        ...

    @property
    def tells_lost(self) -> bool:
        """Whether runs find out which groups others have changed while their tasks run."""
        ...

    def make(self, folder: Path) -> Any:
        """A table of two groups, both of which have work, with all its files below the folder."""
        ...

    def make_again(self, table: Any) -> None:
        """Drops a table and creates another one of its name, in its place."""
        ...

    def make_unsupported(self, folder: Path) -> tuple[Any, str]:
        """A table that is refused, and the option or column that the refusal names."""
        ...

    def address(self, table: Any) -> TableAddress:
        """Returns the address of the table."""
        ...

    def rows(self, table: Any) -> list[Any]:
        """All rows as the format's own engine reads them."""
        ...

    def append(self, table: Any) -> None:
        """Others add a row that says `late`."""
        ...

    def compact_first_group(self, table: Any) -> str:
        """Others compact one group; returns its path."""
        ...

    def roll_back(self, table: Any) -> None:
        """Others put the table back to the snapshot before its newest."""
        ...

    def strays(self, table: Any) -> set[str]:
        """Data and metadata files that no snapshot refers to."""
        ...

    def notes(self, table: Any) -> set[str]:
        """What runs keep beside the table about their attempts."""
        ...
