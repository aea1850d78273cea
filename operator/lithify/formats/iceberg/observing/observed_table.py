"""An Iceberg table as it is observed; implements the Protocols of `engine.observe.source`.

Made by `observer`. For an unchanged table one request to the catalog suffices. Otherwise the parents of the
newest snapshot are followed to the known one, and only the manifests that each of them added are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

import numpy as np
import pyarrow as pa

from lithify.clock import moment_of
from lithify.columns.column_groups import flagged, integers, listed, with_columns
from lithify.engine.observe.rolled_back import History
from lithify.engine.observe.source import Changes, Listing, Misfit
from lithify.engine.observe.state import SnapshotMark, TableKey
from lithify.errors import MissingFile, NotFound
from lithify.formats.iceberg.manifests.entries import ADDED, DELETED
from lithify.formats.iceberg.manifests.manifest_lists import ManifestFile
from lithify.formats.iceberg.manifests.view import (
    LiveEntries,
    ManifestReader,
    Statistics,
    all_entries,
    live_entries,
)
from lithify.formats.iceberg.model import Content
from lithify.formats.iceberg.observing.cached_files import (
    LAYOUT,
    GlobalDelete,
    IcebergCache,
    IcebergDetails,
    IcebergState,
    frame_of,
    with_global,
)
from lithify.formats.iceberg.observing.judging import PartitionJudge
from lithify.formats.iceberg.observing.summary import summarise
from lithify.formats.iceberg.planning.clustering import ClusterColumn
from lithify.formats.iceberg.planning.columns import clustered_columns
from lithify.formats.iceberg.planning.options import planning_options
from lithify.formats.iceberg.properties import is_true
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.iceberg.table.partition_paths import PartitionSpec, spec_of
from lithify.formats.iceberg.table.row_orders import SORT_ORDER, row_order
from lithify.formats.iceberg.table.snapshots import YIELD_TO_WRITERS, Snapshot
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.observation import Observation
from lithify.formats.protocol.observing import Filter

_MOST_COMMITS = 64
"""Number of new snapshots above which a full read is cheaper: each has a manifest list."""
_TRIES = 3

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Shape:
    """What of a table decides how its files are cached, as it was when the table was opened.

    Attributes:
        specs: its partition specs.
        spec_id: id of the current one.
        unpartitioned: ids of those whose equality deletes apply to all partitions.
        columns: the columns by which files may be clustered.
    """

    specs: Mapping[int, PartitionSpec]
    spec_id: int
    unpartitioned: frozenset[int]
    columns: tuple[ClusterColumn, ...]

    @property
    def statistics(self) -> Statistics:
        """The statistics that planning needs."""
        return Statistics(bounds=frozenset(column.id for column in self.columns))

    @property
    def has_global_deletes(self) -> bool:
        """Whether equality deletes may apply to other partitions than their own."""
        return len(self.specs) > 1 and bool(self.unpartitioned)


class ObservedIcebergTable:
    """An open table; implements `ObservedTable`.

    Attributes:
        key: its identity, and what decides how its files are cached.
    """

    def __init__(self, table: IcebergTable) -> None:
        metadata = table.metadata
        self.key = _key_of(table)
        self._table = table
        self._location: str | None = None
        self._is_replaced = False
        specs = {number: spec_of(metadata, number) for number in metadata.specs}
        columns = clustered_columns(metadata, row_order(metadata, table.properties))
        self._shape = Shape(specs, metadata.spec_id, metadata.unpartitioned_specs, columns)

    def is_unchanged(
        self, known: SnapshotId | None, mark: SnapshotMark | None, seconds: Callable[[], float | None]
    ) -> bool:
        """Whether the newest snapshot is the known one, and nothing else of the metadata has changed since.

        Ids are random, so none is used again.
        """
        del mark, seconds
        try:
            self._table.refresh()
        except NotFound:  # dropped, and perhaps created again: opening tells
            self._is_replaced = True
            return False
        is_same = self._location in (None, self._table.pointer.location)
        return is_same and known == _id_of(self._table.head())

    def is_outdated(self) -> bool:
        """Whether it has another schema, spec or sort order than when it was opened, or another identity."""
        return self._is_replaced or _key_of(self._table) != self.key

    def on_newest(self, read: Callable[[PinnedIcebergSnapshot], Found]) -> Found | None:
        """Reads the newest snapshot, and another one if it expires meanwhile."""
        for left in reversed(range(_TRIES)):
            self._table.refresh()
            self._location, head = self._table.pointer.location, self._table.head()
            if head is None:
                return None
            try:
                return read(PinnedIcebergSnapshot(self._table, self.key, self._shape, head))
            except MissingFile:
                self._table.refresh()
                if not left or self._table.head() == head:
                    raise
        return None

    def judge(self, now: datetime) -> PartitionJudge:
        """The judge of its partitions, by its properties and the options of the request."""
        options = planning_options(self._table.overrides, self._table.properties)
        return PartitionJudge(options, self._shape.columns, now, self._shape.has_global_deletes)

    def history(self) -> History | None:
        """The history of the branch; None if compactions do not give way to writers."""
        if not is_true(self._table.properties, YIELD_TO_WRITERS):
            return None
        metadata = self._table.metadata
        led = frozenset(each.snapshot_id for each in metadata.ancestry(self._table.branch))
        return History(led, moment_of(metadata.last_updated))

    def summarise(self, cache: IcebergCache, wanted: Filter, now: datetime) -> Observation:
        """Sums up a cache of the table; see `summary.summarise`."""
        return summarise(self._table, cache, self.judge(now), wanted)


@dataclass(frozen=True)
class PinnedIcebergSnapshot:
    """A snapshot of a table; implements `PinnedSnapshot`."""

    table: IcebergTable
    key: TableKey
    shape: Shape
    snapshot: Snapshot
    everywhere: dict[str, GlobalDelete] = field(default_factory=dict)

    @property
    def mark(self) -> SnapshotMark:
        """Identifies it."""
        return SnapshotMark(self.snapshot.snapshot_id, "", self.snapshot.millis)

    def listing(self, earlier: IcebergState | None) -> Listing[IcebergDetails]:
        """All its files: every manifest is read, one after the other."""
        del earlier
        manifests = [each for each in self._manifests(self.snapshot) if each.may_have_live]
        return Listing(
            entries=sum(_live_count(each) or 0 for each in manifests),
            frames=self._frames(manifests),
            live=lambda frames: with_global(pa.concat_tables(frames), self.everywhere),
            details=self._details,
        )

    def changes_since(self, state: IcebergState) -> Changes[IcebergDetails]:
        """What the snapshots since a known one added and removed, from the manifests that each added.

        Raises:
            Misfit: it is no ancestor, or the manifests of this one have other files than these changes lead
                to: somebody has left out files without saying so.
        """
        if _key_of(self.table) != self.key:
            raise Misfit
        commits = [self._commit(step) for step in self._steps(state)]
        added = sum(int(integers(each["is_added"]).sum()) for each in commits)
        removed = sum(len(each) for each in commits) - added
        if commits and self._live_files() != state.details.files + added - removed:
            raise Misfit
        if self.shape.has_global_deletes:
            self._follow_global(state, commits)
        return Changes(
            commits, lambda files: with_global(files, self.everywhere), LAYOUT.no_files, self._details
        )

    def _live_files(self) -> int | None:
        """The number of live files by the counts of the manifest list; None if a writer did not count."""
        counts = [_live_count(each) for each in self._manifests(self.snapshot)]
        known = [each for each in counts if each is not None]
        return sum(known) if len(known) == len(counts) else None

    def _steps(self, state: IcebergState) -> Sequence[Snapshot]:
        """The snapshots since a known one, oldest first."""
        steps: list[Snapshot] = []
        for snapshot in self.table.metadata.ancestry(self.table.branch):
            if not steps and snapshot.id != self.snapshot.id:
                raise Misfit  # the branch has moved meanwhile
            if state.newest is not None and snapshot.snapshot_id == state.newest.id:
                return steps[::-1]
            if len(steps) >= _MOST_COMMITS:
                break
            steps.append(snapshot)
        raise Misfit

    def _follow_global(self, state: IcebergState, commits: Sequence[pa.Table]) -> None:
        """Equality deletes for all partitions: where these change, every partition has to be judged again."""
        if any(self._global_in(commit) for commit in commits):
            raise Misfit
        self.everywhere.update(state.details.everywhere)

    def _manifests(self, snapshot: Snapshot) -> tuple[ManifestFile, ...]:
        listed_in = snapshot.manifest_list
        return self._reader.manifests(listed_in) if listed_in else ()

    @property
    def _reader(self) -> ManifestReader:
        return ManifestReader(self.table.storage)

    def _frames(self, manifests: Sequence[ManifestFile]) -> Iterator[pa.Table]:
        for manifest, content in self._reader.contents(manifests):
            entries = live_entries(manifest, content, self.shape.statistics)
            frame = self._frame(manifest, entries)
            if self.shape.has_global_deletes:
                self.everywhere.update(self._global_in(frame))
            yield frame

    def _commit(self, step: Snapshot) -> pa.Table:
        """The files that a snapshot added and removed."""
        frames = [with_columns(LAYOUT.no_files, is_added=pa.array([], pa.bool_()))]
        manifests = [each for each in self._manifests(step) if each.snapshot_id == step.id]
        for manifest, content in self._reader.contents(manifests):
            entries = all_entries(manifest, content, self.shape.statistics)
            status, by = integers(entries.rows["status"]), integers(entries.rows["snapshot_id"])
            is_change = (status == ADDED) | ((status == DELETED) & (by == step.id))
            frame = with_columns(self._frame(manifest, entries), is_added=status == ADDED)
            frames.append(flagged(frame, np.asarray(is_change)))
        return pa.concat_tables(frames)

    def _frame(self, manifest: ManifestFile, entries: LiveEntries) -> pa.Table:
        shape = self.shape
        times = self.table.metadata.commit_times
        return frame_of(manifest, entries, shape.specs, shape.spec_id, shape.columns, times)

    def _global_in(self, files: pa.Table) -> dict[str, GlobalDelete]:
        """The equality deletes among some files that apply to all partitions."""
        chosen = flagged(files, integers(files["content"]) == Content.EQUALITY_DELETES)
        columns = (listed(chosen[name]) for name in ("path", "partition", "sequence"))
        specs = {f"[{number}," for number in self.shape.unpartitioned}
        return {
            path: GlobalDelete(partition, sequence)
            for path, partition, sequence in zip(*columns, strict=True)
            if partition[: partition.index(",") + 1] in specs
        }

    def _details(self, figures: pa.Table) -> IcebergDetails:
        return IcebergDetails(int(integers(figures["files"]).sum()), dict(self.everywhere))


def open_observed(address: TableAddress) -> ObservedIcebergTable:
    """Opens a table; see `table.opening`."""
    return ObservedIcebergTable(open_iceberg_table(address))


def _key_of(table: IcebergTable) -> TableKey:
    metadata: TableMetadata = table.metadata
    order = f"{metadata.sort_order_id} {table.properties.get(SORT_ORDER, '')}"
    home = f"{table.branch} {metadata.spec_id} {metadata.format_version} {order}"
    return TableKey(table.uuid, metadata.schema_id, home)


def _id_of(snapshot: Snapshot | None) -> SnapshotId | None:
    return None if snapshot is None else snapshot.snapshot_id


def _live_count(manifest: ManifestFile) -> int | None:
    """The number of its live files; None if its writer did not count."""
    if manifest.added_files is None or manifest.existing_files is None:
        return None
    return manifest.added_files + manifest.existing_files
