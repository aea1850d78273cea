"""The interface between `lithify demo` and table formats: a sample table that is worth compacting.

`registry` finds the `SampleMaker` of adapters that have one. Samples are written by the format's own library,
so they contain nothing from Lithify before they are compacted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from lithify.formats.protocol.address import TableAddress

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class SampleScan:
    """All rows of a sample.

    Attributes:
        rows: the rows in key order.
        seconds: time taken to read them.
    """

    rows: pa.Table
    seconds: float


class SampleMaker(Protocol):
    """Makes sample tables of one format, and reads them with the format's own library."""

    @property
    def commits(self) -> int:
        """Number of commits of a sample."""
        ...

    @property
    def story(self) -> str:
        """What these commits do, as a clause."""
        ...

    def address(self, warehouse: str, name: str) -> TableAddress:
        """The address of a sample in a folder, with the options of its catalog."""
        ...

    def make_sample(self, address: TableAddress, progress: Callable[[int], None]) -> None:
        """Creates and fills the table; `progress` receives the number of commits done."""
        ...

    def read_sample(self, address: TableAddress) -> SampleScan:
        """Reads all rows."""
        ...
