"""A Paimon table as it is observed; implements the Protocols of `engine.observe.source`.

Made by `observer`. For an unchanged table one small request suffices: does a file of the next snapshot exist
or, if a catalog's server commits, which snapshot is the newest? Follows snapshots by number, and reads only
metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TypeVar

import pyarrow as pa
from pypaimon.snapshot.snapshot import Snapshot

from lithify.columns.column_groups import integers, with_columns
from lithify.engine.observe.source import Changes, Listing, Misfit
from lithify.engine.observe.state import SnapshotMark, TableKey
from lithify.formats.paimon.buckets.clustered import same_columns
from lithify.formats.paimon.manifests.entries import ADD
from lithify.formats.paimon.manifests.entry_selection import EVERYTHING, Place
from lithify.formats.paimon.manifests.index_manifests import Indexes
from lithify.formats.paimon.manifests.live_entries import live_of
from lithify.formats.paimon.manifests.vector_columns import NOTHING_MARKED, marked_files, with_vectors
from lithify.formats.paimon.model import PLACE
from lithify.formats.paimon.names.snapshot_ids import snapshot_id, snapshot_number
from lithify.formats.paimon.observing.appended import read_appended, update_appended
from lithify.formats.paimon.observing.cached_state import (
    FILES,
    PaimonCache,
    PaimonDetails,
    PaimonState,
    Removal,
)
from lithify.formats.paimon.observing.due_work import Judge
from lithify.formats.paimon.observing.due_work_clustering import ClusteringJudge
from lithify.formats.paimon.observing.due_work_packing import PackingJudge
from lithify.formats.paimon.observing.history import read_history, removal_of, update_history
from lithify.formats.paimon.observing.summary import summarise
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.options.retention_options import read_kept
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.observation import Observation
from lithify.formats.protocol.observing import Filter

_FEW_SNAPSHOTS = 100
"""A table that keeps fewer snapshots may have expired the next one before it is checked."""
_MOST_DELTAS = 256
"""Number of new snapshots above which a full read is cheaper."""

Found = TypeVar("Found")


class ObservedPaimonTable:
    """An open table; implements `ObservedTable`.

    Attributes:
        key: its identity; a branch has its own snapshots.
    """

    def __init__(self, table: PaimonTable) -> None:
        self.key = TableKey(table.uuid, table.schema.id, table.home)
        self._table = table

    def is_unchanged(
        self, known: SnapshotId | None, mark: SnapshotMark | None, seconds: Callable[[], float | None]
    ) -> bool:
        """Whether the newest snapshot is still a known one."""
        snapshots, number = self._table.snapshots, 0
        if known is not None:
            parsed = snapshot_number(known)
            if parsed is None:
                return False
            number = parsed
        if snapshots.has_server:
            newest = snapshots.latest()
            if newest is None or known is None or newest.id != number:
                return newest is None and known is None
            return mark is None or mark_of(newest) == mark
        if snapshots.exists(number + 1):
            return False
        if not self._may_have_skipped(seconds()):
            return True
        if known is None:
            return not snapshots.numbers()
        return snapshots.exists(number) if mark is None else is_still_there(self._table, mark)

    def is_outdated(self) -> bool:
        """Whether the table got a newer schema since it was opened."""
        return self._table.has_newer_schema()

    def on_newest(self, read: Callable[[PinnedPaimonSnapshot], Found]) -> Found | None:
        """Reads the newest snapshot, and another one if it expires meanwhile."""
        return self._table.on_newest(
            lambda snapshot: read(PinnedPaimonSnapshot(self._table, self.key, snapshot))
        )

    def judge(self, now: datetime) -> Judge:
        """The judge of the table's kind."""
        table, options = self._table, self._table.options
        common = (options.policy, now, table.order_keys, table.bucket_id, table.name)
        if options.packing is None:
            return Judge(*common)
        if options.clustering is None:
            return PackingJudge(*common, options.packing)
        same = same_columns(table.schema, table.schema_of)
        return ClusteringJudge(*common, options.clustering.planning, same)

    def history(self) -> None:
        """None: no catalog takes snapshots of compactions back."""

    def summarise(self, cache: PaimonCache, wanted: Filter, now: datetime) -> Observation:
        """Sums up a cache of the table; see `summary.summarise`."""
        return summarise(self._table, cache, wanted, now)

    def _may_have_skipped(self, last: float | None) -> bool:
        """Whether snapshots may have come and expired so fast that the next one is gone already."""
        keeps = read_kept(self._table.stored_options)
        if last is None or keeps.most < _FEW_SNAPSHOTS:
            return True
        return last * 1000 > keeps.millis / 2


@dataclass(frozen=True)
class PinnedPaimonSnapshot:
    """A snapshot of a table; implements `PinnedSnapshot`."""

    table: PaimonTable
    key: TableKey
    snapshot: Snapshot

    @property
    def mark(self) -> SnapshotMark:
        """Identifies it."""
        return mark_of(self.snapshot)

    def listing(self, earlier: PaimonState | None) -> Listing[PaimonDetails]:
        """All its files: every manifest is read."""
        table, snapshot = self.table, self.snapshot
        removed, read_to = self._known_removals(earlier)
        metas = table.manifests.list_files(snapshot)

        def details(figures: pa.Table) -> PaimonDetails:
            history = read_history(table, snapshot, removed, read_to)
            return PaimonDetails(
                self._indexes.types, history, read_appended(table, figures), _vector_files(self._indexes)
            )

        return Listing(
            entries=sum(meta.num_added_files + meta.num_deleted_files for meta in metas),
            frames=table.manifests.frames(metas),
            live=lambda frames: self._with_vectors(live_of(frames)),
            details=details,
        )

    def changes_since(self, state: PaimonState) -> Changes[PaimonDetails]:
        """The delta manifests of the snapshots since."""
        table, known = self.table, state.details
        if known.history is None or self.snapshot.schema_id > state.table.schema_id:
            raise Misfit
        steps = self._steps(state.newest)
        deltas = [table.manifests.delta_columns(step) for step in steps]
        found = {step.id: removal_of(step, delta) for step, delta in zip(steps, deltas, strict=True)}
        removed = {**known.history.removed, **found}
        history = update_history(table, self.snapshot, removed, known.history)
        vector_files = _vector_files(self._indexes)

        def details(figures: pa.Table) -> PaimonDetails:
            appended = update_appended(table, known.appended, steps, figures)
            return PaimonDetails(self._indexes.types, history, appended, vector_files)

        return Changes(
            commits=[_commit(delta) for delta in deltas],
            complete=self._with_vectors,
            touched=_places(place for place, _ in vector_files ^ known.vector_files),
            details=details,
        )

    @cached_property
    def _indexes(self) -> Indexes:
        """Its index files, with deletion vectors only if the table's planning depends on them."""
        packing = self.table.options.packing
        depends = packing is not None and packing.delete_ratio is not None
        return self.table.manifests.indexes(self.snapshot, EVERYTHING if depends else None)

    @cached_property
    def _marked(self) -> pa.Table:
        return marked_files(self._indexes.vectors)

    def _with_vectors(self, files: pa.Table) -> pa.Table:
        return with_vectors(files, self._marked)

    def _known_removals(self, earlier: PaimonState | None) -> tuple[Mapping[int, Removal], int]:
        """Removals by snapshot from earlier cached state, and the last snapshot included.

        Valid whatever the state of files and schemas: past removals do not change if the earlier snapshot is
        part of the history.
        """
        if earlier is None or earlier.newest is None or earlier.details.history is None:
            return {}, 0
        is_of_table = (earlier.table.home, earlier.table.uuid) == (self.key.home, self.key.uuid)
        number = int(earlier.newest.id)
        continues = is_of_table and (
            earlier.newest == self.mark
            or (number < self.snapshot.id and is_still_there(self.table, earlier.newest))
        )
        return (earlier.details.history.removed, number) if continues else ({}, 0)

    def _steps(self, base: SnapshotMark | None) -> Sequence[Snapshot]:
        """The snapshots after the known one, up to this one.

        Raises:
            Misfit: they do not follow it, or some are gone.
        """
        newest, number = self.snapshot, 0 if base is None else int(base.id)
        if base is None or not 0 <= newest.id - number <= _MOST_DELTAS:
            raise Misfit
        if base == self.mark:
            return []
        if number == newest.id or not is_still_there(self.table, base):
            raise Misfit
        steps = [*(self.table.snapshots.get(each) for each in range(number + 1, newest.id)), newest]
        if any(step is None for step in steps):
            raise Misfit
        return steps


def open_observed(address: TableAddress) -> ObservedPaimonTable:
    """Opens a table; see `opening.open_table`."""
    return ObservedPaimonTable(open_table(address))


def mark_of(snapshot: Snapshot) -> SnapshotMark:
    """Identifies a snapshot; numbers are used again after a rollback."""
    return SnapshotMark(snapshot_id(snapshot.id), snapshot.delta_manifest_list, snapshot.time_millis)


def is_still_there(table: PaimonTable, mark: SnapshotMark) -> bool:
    """Whether a known snapshot is neither expired nor replaced by another one; one request."""
    found = table.snapshots.get(int(mark.id))
    return found is not None and mark_of(found) == mark


def _commit(delta: pa.Table) -> pa.Table:
    """The entries of a delta as files that are added and removed; vectors are not among them."""
    files = with_vectors(delta, NOTHING_MARKED).select(FILES.names)
    return with_columns(files, is_added=integers(delta["kind"]) == ADD)


def _vector_files(indexes: Indexes) -> frozenset[tuple[Place, str]]:
    return frozenset((place, index.name) for place, found in indexes.vectors.items() for index in found)


def _places(places: Iterable[Place]) -> pa.Table:
    """Buckets as rows of `PLACE`."""
    distinct = sorted(set(places))
    columns = ([place[number] for place in distinct] for number in range(len(PLACE)))
    schema = pa.schema([FILES.field(name) for name in PLACE])
    return pa.table([pa.array(*each) for each in zip(columns, schema.types, strict=True)], schema=schema)
