"""The seam between `lithify demo` and table formats: a sample table that is worth compacting.

An adapter that has one offers a `SampleMaker`, which `registry` finds. Samples are made with the format's own
library, so that nothing of Lithify's is in them before they are compacted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from lithify.tables.address import TableAddress

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class SampleScan:
    """All rows of a sample.

    Attributes:
        rows: in key order.
        seconds: how long it took to read them.
    """

    rows: pa.Table
    seconds: float


class SampleMaker(Protocol):
    """Makes sample tables of one format, and reads them with the format's own library."""

    @property
    def commits(self) -> int:
        """How many commits a sample has."""
        ...

    def make_sample(self, address: TableAddress, progress: Callable[[int], None]) -> None:
        """Creates the table and fills it; `progress` receives how many commits are done."""
        ...

    def read_sample(self, address: TableAddress) -> SampleScan:
        """Reads all rows."""
        ...
