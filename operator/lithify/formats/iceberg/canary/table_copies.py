"""Copies of an Iceberg table: branches, each one reference in the metadata.

Implements `formats.protocol.canary`. A branch is dropped like snapshots that expire (`snapshot_expiry`): one
commit removes the reference and the snapshots that the canary committed, and the files that only these reach
are deleted after it; a journal of expiries completes what is cut off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta

from lithify.clock import Clock, SystemClock
from lithify.engine.tasks.foreign_rows import not_checked
from lithify.errors import StalePlan
from lithify.formats.iceberg.canary.new_branch import NewBranch
from lithify.formats.iceberg.canary.rows import FileRows, ForeignReader, foreign_reader, planned, rows_of
from lithify.formats.iceberg.maintenance.metadata_commit import commit_patiently
from lithify.formats.iceberg.maintenance.options import GC
from lithify.formats.iceberg.maintenance.retention import Removal
from lithify.formats.iceberg.maintenance.snapshot_expiry import SnapshotExpiry
from lithify.formats.iceberg.properties import is_true
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.snapshots import RUN, Snapshot
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.model import SnapshotId
from lithify.io.storage import Storage

_MOST_PLANS = 5


@dataclass(frozen=True, slots=True)
class DroppedBranch:
    """What leaves with a branch; implements `snapshot_expiry.LeavingSnapshots`.

    Attributes:
        table: the table.
        branch: the branch.
        run: the run whose snapshots leave, unless others reach them.
    """

    table: IcebergTable
    branch: str
    run: str

    def removal(self, now_millis: int, floor_millis: int) -> Removal:
        """See the Protocol; nobody reads the branch, so its snapshots go at any age."""
        del now_millis, floor_millis
        metadata = self.table.metadata
        if self.branch not in metadata.refs:
            return Removal()
        return Removal(frozenset(each.id for each in self._own(metadata)), frozenset({self.branch}))

    def _own(self, metadata: TableMetadata) -> Iterator[Snapshot]:
        others = {name for name in metadata.refs if name != self.branch}
        named = {metadata.refs[name].snapshot for name in others}
        reached = named | {each.id for name in others for each in metadata.ancestry(name)}
        for snapshot in metadata.ancestry(self.branch):
            if snapshot.id in reached or snapshot.summary.get(RUN) != self.run:
                return
            yield snapshot


class IcebergCopies:
    """A table, or a branch of one, of which copies are made.

    Args:
        table: the table.
        address: its address.
        clock: times and waits of commits.
    """

    def __init__(self, table: IcebergTable, address: TableAddress, clock: Clock | None = None) -> None:
        self._table = table
        self._address = address
        self._clock = clock or SystemClock(address.zone())

    @property
    def home(self) -> str:
        """The folder of the table."""
        return self._table.metadata.location

    @property
    def storage(self) -> Storage:
        """Access to the table's files."""
        return self._table.storage

    def check_supported(self) -> None:
        """Checks that files may be deleted, and has pyiceberg plan the newest snapshot."""
        reasons = tuple(self._refusals())
        if reasons:
            raise not_checked(self._table.name, *reasons)
        head = self._table.refresh().head(self._table.branch)
        reader = self._reader()
        if head is not None and head.manifest_list is not None:
            planned(reader, head.manifest_list)

    def _refusals(self) -> Iterator[str]:
        yield from self._table.refusals
        if not is_true(self._table.metadata.properties, GC, "true"):
            yield f"{GC} = {self._table.metadata.properties[GC]}: files of a dropped copy may not be deleted"

    def _reader(self) -> ForeignReader:
        return foreign_reader(self._table.name, self._table.metadata.json, self.storage)

    def address_of(self, copy: str) -> TableAddress:
        """The address of a branch."""
        return replace(self._address, name=str(replace(self._table.address, branch=copy)), uuid=None)

    def make_copy(self, copy: str) -> SnapshotId | None:
        """Makes a branch of the newest snapshot."""
        table, made = self._table, list[Snapshot]()

        def change() -> NewBranch:
            head = table.head()
            if head is None:
                raise StalePlan(table.name, "its newest snapshot is gone")
            made.append(head)
            return NewBranch(copy, head.id)

        if table.refresh().head(table.branch) is None:
            return None
        commit_patiently(table, change, self._clock)
        return made[-1].snapshot_id

    def has_expired(self, first: SnapshotId) -> bool:
        """Whether the snapshot has left the metadata."""
        return int(first) not in self._table.refresh().snapshots

    def parts(self, copy: str, first: SnapshotId) -> tuple[Sequence[FileRows], Sequence[FileRows]]:
        """See the Protocol; both sides are read with the newest schema."""
        metadata = self._table.refresh()
        before, after = metadata.snapshots.get(int(first)), metadata.head(copy)
        if before is None or after is None:
            raise StalePlan(self._table.name, f"snapshot {first} of branch {copy} is gone")
        reader = self._reader()
        lists = [each.manifest_list for each in (before, after)]
        sides = [() if path is None else planned(reader, path) for path in lists]
        had, has = rows_of(reader, sides)
        return had, has

    def has_copy(self, copy: str) -> bool:
        """Whether there is such a branch."""
        return copy in self._table.refresh().refs

    def drop_copy(self, copy: str, run: str) -> None:
        """Removes the branch with a run's snapshots on it, and deletes the files that only these reach."""
        table = self._table
        leaving = DroppedBranch(table, copy, run)
        dropping = SnapshotExpiry(
            table.name, (leaving,), table.storage, self._refusals, timedelta(), self._clock
        )
        for _ in range(_MOST_PLANS):
            plan = dropping.plan(self._clock)
            if plan.is_empty:
                return
            with suppress(StalePlan):
                dropping.execute(plan)
        if self.has_copy(copy):
            raise StalePlan(table.name, f"it changed each time while branch {copy} was to be dropped")
