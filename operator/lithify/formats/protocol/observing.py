"""The interface between the operator's workers and table formats: observes tables of any format.

`registry` finds the adapter. The controller makes requests and sends them unchanged to its workers.
Observers read no data and write only their cache.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.observation import Observation, RunFound


@dataclass(frozen=True, slots=True)
class Filter:
    """Selects the partitions and buckets that count as due.

    Attributes:
        selection: the part of the table. Its strategy is ignored: an observation covers both strategies.
        idle_seconds: partitions written to more recently than this do not count for full compactions.
    """

    selection: Selection = field(default_factory=Selection)
    idle_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class CommittedRun:
    """What an earlier run has committed.

    Attributes:
        base: the snapshot that it was planned on.
        snapshot: its last snapshot.
        ended: when it ended.
    """

    base: SnapshotId
    snapshot: SnapshotId
    ended: datetime


@dataclass(frozen=True, slots=True)
class ObservationRequest:
    """A request to observe a table.

    Attributes:
        address: the table and how to reach it.
        cache_key: key of the table's cached data; in the operator the uid of its LakeTable.
        known_uuid: UUID of the table at the last observation.
        known_snapshot: newest snapshot at the last observation, None if there was none. "Unchanged" means
            that UUID and snapshot are the same as then.
        is_full: observe as if for the first time, ignoring cached data.
        reconsider: answer even if nothing has changed, because a trigger's time has come or the filter has
            changed. Costs no more than an unchanged answer.
        wanted: which partitions and buckets count as due.
        committed: the runs that may have been rolled back. Not part of the comparison of requests: other
            runs make no observation due.
    """

    address: TableAddress
    cache_key: str
    known_uuid: str | None = None
    known_snapshot: SnapshotId | None = None
    is_full: bool = False
    reconsider: bool = False
    wanted: Filter = field(default_factory=Filter)
    committed: tuple[CommittedRun, ...] = field(default=(), compare=False)


class TableObserver(Protocol):
    """Observes tables and caches what makes the next observation cheap."""

    def observe(self, request: ObservationRequest) -> Observation | None:
        """Observes a table; None if its newest snapshot is still the known one.

        Raises:
            InvalidOption: the filter names a column that is not a partition column.
            LithifyError: the table cannot be opened or read.
        """
        ...

    def find_run(self, address: TableAddress, run: str, since: datetime | None = None) -> RunFound | None:
        """The commits of a run; None if no snapshot records one.

        Raises:
            CommitUnknown: expired snapshots may have been of this run.
        """
        ...

    def check_catalog(self, address: TableAddress) -> None:
        """Checks that a catalog answers, by listing its databases."""
        ...

    def list_tables(self, address: TableAddress) -> tuple[str, ...]:
        """All tables of a catalog, as `namespace.table`; levels of a namespace are divided by dots."""
        ...
