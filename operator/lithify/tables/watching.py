"""The seam between the operator's workers and table formats: looks at tables, whatever their format.

`registry` finds the adapter. The controller makes requests and sends them to its workers as they are.
Nothing here reads data, and nothing is written but what an adapter keeps of a table between two looks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from lithify.tables.address import Selection, TableAddress
from lithify.tables.model import SnapshotId
from lithify.tables.observation import Observation, RunFound


@dataclass(frozen=True, slots=True)
class Filter:
    """Which partitions and buckets count as due.

    Attributes:
        selection: which part of the table. Of no concern is its strategy: an observation tells of both.
        idle_seconds: for full compactions, partitions written to more recently do not count.
    """

    selection: Selection = field(default_factory=Selection)
    idle_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class ObservationRequest:
    """A look at a table.

    Attributes:
        address: which table, and how to get at it.
        cache_key: names what is kept of the table between two looks; in the operator its LakeTable's uid.
        known_uuid: the table that was seen last.
        known_snapshot: its newest snapshot then, None if it had none. Unchanged answers are given relative
            to these.
        is_full: look as if for the first time.
        reconsider: answer also if nothing has changed, because the time of a trigger has come or because
            something else than before is asked for. Costs no more than an unchanged answer does.
        wanted: which partitions and buckets count as due.
    """

    address: TableAddress
    cache_key: str
    known_uuid: str | None = None
    known_snapshot: SnapshotId | None = None
    is_full: bool = False
    reconsider: bool = False
    wanted: Filter = field(default_factory=Filter)


class TableWatch(Protocol):
    """Looks at tables, and keeps of them what makes the next look cheap."""

    def observe(self, request: ObservationRequest) -> Observation | None:
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
