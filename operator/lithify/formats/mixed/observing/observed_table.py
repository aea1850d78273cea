"""A keyed table as it is observed; implements the Protocols of `engine.observe.source`.

Made by `observer`. For an unchanged table one request to the catalog for each store suffices; otherwise the
manifests of both are read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import pyarrow as pa

from lithify.engine.observe.cache import ObservationCache
from lithify.engine.observe.layout import Layout
from lithify.engine.observe.source import Changes, Listing, Misfit
from lithify.engine.observe.state import SnapshotMark, TableKey, TableState
from lithify.errors import MissingFile, NotFound
from lithify.formats.iceberg.table.partition_paths import spec_of
from lithify.formats.iceberg.table.snapshots import EMPTY
from lithify.formats.mixed.file_columns import FILES, files_of
from lithify.formats.mixed.observing.judging import PartitionJudge
from lithify.formats.mixed.observing.summary import summarise
from lithify.formats.mixed.pinning import pin_view
from lithify.formats.mixed.stores import MixedTable, open_mixed_table
from lithify.formats.mixed.view import MixedView
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.observation import Observation
from lithify.formats.protocol.observing import Filter

_TRIES = 3

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class MixedDetails:
    """What is remembered of a state besides its files: nothing."""


class _DetailsFormat:
    """The JSON form of details; implements `DetailsFormat`."""

    def to_json(self, details: MixedDetails) -> Mapping[str, Any]:
        """No fields."""
        del details
        return {}

    def parse(self, fields: Mapping[str, Any]) -> MixedDetails:
        """Parses no fields."""
        del fields
        return MixedDetails()


LAYOUT = Layout("mixed 2", FILES, ("group",), ("group", "path", "offset"), _DetailsFormat(), MixedDetails())
"""How the files of keyed tables are cached."""

MixedCache = ObservationCache[MixedDetails]


class ObservedMixedTable:
    """An open table; implements `ObservedTable`.

    Attributes:
        key: its identity.
    """

    def __init__(self, table: MixedTable) -> None:
        self.key = _key_of(table)
        self._table = table
        self._locations: tuple[str, ...] | None = None
        self._is_replaced = False

    def is_unchanged(
        self, known: SnapshotId | None, mark: SnapshotMark | None, seconds: Callable[[], float | None]
    ) -> bool:
        """Whether the newest snapshots of both stores are the known ones, and their metadata the same.

        Only this process knows the change store's, from its last observation.
        """
        del seconds
        try:
            self._table.refresh()
        except NotFound:  # dropped, and perhaps created again: opening tells
            self._is_replaced = True
            return False
        if mark is None:
            return known is None and _is_empty(self._table)
        is_same = self._locations in (None, _locations_of(self._table))
        return is_same and mark.version == _change_version(self._table) and known == _id_of(self._table)

    def is_outdated(self) -> bool:
        """Whether it has another schema or identity than when it was opened."""
        return self._is_replaced or _key_of(self._table) != self.key

    def on_newest(self, read: Callable[[PinnedState], Found]) -> Found | None:
        """Reads the newest state, and another one if a snapshot expires meanwhile."""
        for left in reversed(range(_TRIES)):
            try:
                view = pin_view(self._table, Selection())
            except MissingFile:
                if not left:
                    raise
                continue
            self._locations = _locations_of(self._table)
            return None if view is None else read(PinnedState(self._table, view))
        return None

    def judge(self, now: datetime) -> PartitionJudge:
        """The judge of its partitions, by its properties and the options of the request."""
        return PartitionJudge(self._table.options, now)

    def history(self) -> None:
        """None: compactions of keyed tables give way to nobody."""

    def summarise(self, cache: MixedCache, wanted: Filter, now: datetime) -> Observation:
        """Sums up a cache of the table; see `summary.summarise`."""
        return summarise(self._table, cache, self.judge(now), wanted)


@dataclass(frozen=True, slots=True)
class PinnedState:
    """A state of a table; implements `PinnedSnapshot`."""

    table: MixedTable
    view: MixedView

    @property
    def mark(self) -> SnapshotMark:
        """Identifies it, with the time of the later of its two snapshots."""
        millis = max((head.millis for store in self.table.stores if (head := store.head())), default=0)
        return SnapshotMark(self.view.snapshot_id, _change_version(self.table), millis)

    def listing(self, earlier: TableState[MixedDetails] | None) -> Listing[MixedDetails]:
        """All files of both stores, without changes that base already has."""
        del earlier
        metadata = self.table.base.metadata
        files = files_of(self.view, self.table.change_metadata, spec_of(metadata, metadata.spec_id))
        return Listing(len(files), [files], pa.concat_tables, _no_details)

    def changes_since(self, state: TableState[MixedDetails]) -> Changes[MixedDetails]:
        """Everything is read again: a line that moves changes which files of the other store count.

        Raises:
            Misfit: always.
        """
        del state
        raise Misfit


def _no_details(figures: pa.Table) -> MixedDetails:
    del figures
    return MixedDetails()


def open_observed(address: TableAddress) -> ObservedMixedTable:
    """Opens a table; see `stores`."""
    return ObservedMixedTable(open_mixed_table(address))


def _key_of(table: MixedTable) -> TableKey:
    base = table.base.metadata
    home = f"{base.spec_id} {table.change_metadata.uuid} {','.join(table.key)}"
    return TableKey(table.uuid, base.schema_id, home)


def _locations_of(table: MixedTable) -> tuple[str, ...]:
    return tuple(store.pointer.location for store in table.stores)


def _id_of(table: MixedTable) -> SnapshotId | None:
    return None if _is_empty(table) else (table.base.head() or EMPTY).snapshot_id


def _change_version(table: MixedTable) -> str:
    """What tells two states of the change store apart."""
    return table.change_head.snapshot_id


def _is_empty(table: MixedTable) -> bool:
    return all(store.head() is None for store in table.stores)
