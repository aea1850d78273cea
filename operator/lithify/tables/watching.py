"""The seam between the operator's workers and table formats: looks at tables, whatever their format.

`registry` finds the adapter. Nothing here reads data, and nothing is written but what an adapter keeps of a
table between two looks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Protocol

from lithify.tables.format import TableAddress
from lithify.tables.model import SnapshotId
from lithify.tables.observation import Observation, RunFound


@dataclass(frozen=True, slots=True)
class Filter:
    """Which partitions and buckets count as due.

    Attributes:
        partitions: those with the values of one of these; empty for all.
        idle_millis: for full compactions, partitions written to more recently do not count.
        held: fingerprints of buckets by path: those that still have these files are blocked, and not due.
    """

    partitions: tuple[Mapping[str, str], ...] = ()
    idle_millis: int | None = None
    held: Mapping[str, str] = field(default_factory=dict)

    def selects(self, spec: Mapping[str, str]) -> bool:
        """Whether a partition has the values that are asked for."""
        return not self.partitions or any(wanted.items() <= spec.items() for wanted in self.partitions)


@dataclass(frozen=True, slots=True)
class Look:
    """A look at a table.

    Attributes:
        address: which table.
        key: names what is kept of it between two looks.
        zone: time zone of the table's writers.
        known_uuid: the table that was seen last.
        known_snapshot: its newest snapshot then, None if it had none.
        is_full: look as if for the first time.
        reconsider: tell what there is also if nothing has changed.
        wanted: which partitions and buckets count as due.
    """

    address: TableAddress
    key: str
    zone: tzinfo
    known_uuid: str | None = None
    known_snapshot: SnapshotId | None = None
    is_full: bool = False
    reconsider: bool = False
    wanted: Filter = field(default_factory=Filter)


class TableWatch(Protocol):
    """Looks at tables, and keeps of them what makes the next look cheap."""

    def observe(self, look: Look) -> Observation | None:
        """Looks at a table; None if it still has the snapshot that is known.

        Raises:
            InvalidOption: the filter names a column that is none of the partition's.
            LithifyError: the table cannot be opened or read.
        """
        ...

    def find_run(self, address: TableAddress, run: str, since: datetime | None = None) -> RunFound | None:
        """What a run has committed; None if no snapshot says that it committed anything.

        Raises:
            CommitUnknown: snapshots are expired that may have been its.
        """
        ...

    def check_catalog(self, address: TableAddress) -> None:
        """Asks a catalog for its databases only."""
        ...

    def list_tables(self, address: TableAddress) -> tuple[str, ...]:
        """All tables of a catalog, as `database.table`."""
        ...
