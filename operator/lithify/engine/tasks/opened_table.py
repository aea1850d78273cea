"""What open tables of all formats do alike; adapters add the rest of `formats.protocol.table`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Generic, Protocol, TypeVar

from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.canary import CanaryTable
from lithify.formats.protocol.details import DetailKind


class SupportedTable(Protocol):
    """An adapter's own table."""

    @property
    def name(self) -> str:
        """The table's name for people."""
        ...

    @property
    def uuid(self) -> str:
        """UUID that distinguishes the table from others of the same name."""
        ...

    def check_supported(self) -> None:
        """Checks that this release can compact the table."""
        ...


TableT = TypeVar("TableT", bound=SupportedTable)


class OpenedTable(Generic[TableT]):
    """An open table, as runs use it.

    Attributes:
        table: the adapter's own table.
        reported: the details of reports.
    """

    reported: Sequence[DetailKind] = ()

    def __init__(self, table: TableT) -> None:
        self.table = table

    @property
    def name(self) -> str:
        """The table's name for people."""
        return self.table.name

    @property
    def uuid(self) -> str:
        """UUID that distinguishes the table from others of the same name."""
        return self.table.uuid

    def check_supported(self) -> None:
        """Checks that this release can compact the table."""
        self.table.check_supported()

    def canary(self, address: TableAddress) -> CanaryTable | None:
        """None: tables have no copies, unless their format makes some."""
        del address
        return None

    def part_of(self, plan: Any, units: Sequence[Any]) -> Any:
        """The plan, a dataclass of the adapter, restricted to some of its units."""
        return replace(plan, units=tuple(units))
