"""A reference table as it is observed; implements the Protocols of `engine.observe.source`.

Made by `observing`. A snapshot lists all files, so what has changed since another one is the difference of
two lists; formats with manifests read it from those that are new.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from lithify.amounts import count_of
from lithify.clock import moment_of
from lithify.columns.column_groups import (
    ColumnGroups,
    Flags,
    flagged,
    integers,
    is_one_of,
    listed,
    taken,
    with_columns,
)
from lithify.engine.observe.cache import ObservationCache
from lithify.engine.observe.layout import Layout
from lithify.engine.observe.source import Changes, Listing, Misfit
from lithify.engine.observe.state import SnapshotMark, TableKey, TableState
from lithify.engine.observe.summing import most, total
from lithify.formats.memory.declarations import FORMAT
from lithify.formats.memory.planning import LEAST_SMALL, SMALL_FILES, check_selection, small_files
from lithify.formats.memory.snapshot import DataFile, Group, Snapshot
from lithify.formats.memory.table import MemoryTable, open_table
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.model import BlockedGroup, SnapshotId, fingerprint_of
from lithify.formats.protocol.observation import Finding, KeptSnapshots, Observation
from lithify.formats.protocol.observing import Filter
from lithify.formats.protocol.partition import PartitionFilter

Found = TypeVar("Found")

_FILES = pa.schema({"group": pa.string(), "name": pa.string(), "bytes": pa.int64(), "rows": pa.int64()})


@dataclass(frozen=True, slots=True)
class MemoryDetails:
    """What is remembered of a snapshot, besides its files.

    Attributes:
        number: its number.
        kept: number of snapshots that the table had then.
    """

    number: int = 0
    kept: int = 0


class _DetailsFormat:
    """The JSON form of details; implements `DetailsFormat`."""

    def to_json(self, details: MemoryDetails) -> Mapping[str, Any]:
        """The fields of some details."""
        return {"number": details.number, "kept": details.kept}

    def parse(self, fields: Mapping[str, Any]) -> MemoryDetails:
        """Parses the fields of some details; errors are those of a wrong form."""
        return MemoryDetails(int(fields["number"]), int(fields["kept"]))


MemoryCache = ObservationCache[MemoryDetails]
LAYOUT = Layout("memory 1", _FILES, ("group",), ("group", "name"), _DetailsFormat(), MemoryDetails())


@dataclass(frozen=True, slots=True)
class GroupJudge:
    """Tells which groups have small files; implements `Judge`. Time alone makes nothing due."""

    small_file_size: int
    now: datetime

    @property
    def terms(self) -> str:
        """The option that figures depend on."""
        return f"small files below {self.small_file_size}"

    def figures(self, files: pa.Table) -> pa.Table:
        """The number, bytes, rows and small files of each group."""
        groups, size = ColumnGroups(files, ["group"]), integers(files["bytes"])
        rows = integers(files["rows"])
        return with_columns(
            taken(files.select(["group"]), groups.firsts),
            files=groups.sizes,
            bytes=groups.sum(size),
            rows=groups.sum(rows),
            small_files=groups.sum(size < self.small_file_size),
            valid_until=pa.nulls(len(groups), pa.int64()),
        )


class ObservedMemoryTable:
    """An open table; implements `ObservedTable`."""

    def __init__(self, table: MemoryTable) -> None:
        self.key = TableKey(table.uuid, 0)
        self._table = table

    def is_unchanged(
        self, known: SnapshotId | None, mark: SnapshotMark | None, seconds: Callable[[], float | None]
    ) -> bool:
        """Whether the newest snapshot is the known one; ids are never used again."""
        del mark, seconds
        newest = self._table.latest()
        return known == (None if newest is None else newest.id)

    def is_outdated(self) -> bool:
        """Always: the definition is small, and has no version that tells whether it has changed."""
        return True

    def on_newest(self, read: Callable[[PinnedMemorySnapshot], Found]) -> Found | None:
        """Reads the newest snapshot, which has all that is read of it."""
        newest = self._table.latest()
        return None if newest is None else read(PinnedMemorySnapshot(self._table, newest))

    def judge(self, now: datetime) -> GroupJudge:
        """The judge of the table's groups."""
        return GroupJudge(self._table.small_file_size, now)

    def history(self) -> None:
        """None: nobody takes snapshots of compactions back."""

    def summarise(self, cache: MemoryCache, wanted: Filter, now: datetime) -> Observation:
        """Sums up the groups.

        Raises:
            InvalidOption: the filter does not fit the table.
        """
        del now
        check_selection(self._table, wanted.selection)
        return _summary(self._table, cache, wanted)


@dataclass(frozen=True, slots=True)
class PinnedMemorySnapshot:
    """A snapshot; implements `PinnedSnapshot`."""

    table: MemoryTable
    snapshot: Snapshot

    @property
    def mark(self) -> SnapshotMark:
        """Identifies it."""
        return SnapshotMark(self.snapshot.id, "", self.snapshot.millis)

    def listing(self, earlier: TableState[MemoryDetails] | None) -> Listing[MemoryDetails]:
        """All its files."""
        del earlier
        files = _frame(_rows(self.snapshot))
        return Listing(len(files), [files], pa.concat_tables, self._details)

    def changes_since(self, state: TableState[MemoryDetails]) -> Changes[MemoryDetails]:
        """The files that it has and the cached snapshot does not, and the reverse."""
        before = self.table.snapshot(state.details.number)
        if before is None or state.newest is None or before.id != state.newest.id:
            raise Misfit
        there, here = (set(_rows(snapshot)) for snapshot in (before, self.snapshot))
        added, removed = here - there, there - here
        is_added = pa.array([True] * len(added) + [False] * len(removed), pa.bool_())
        commit = with_columns(_frame([*added, *removed]), is_added=is_added)
        return Changes([commit], lambda files: files, LAYOUT.no_files, self._details)

    def _details(self, figures: pa.Table) -> MemoryDetails:
        del figures
        return MemoryDetails(self.snapshot.number, len(self.table.numbers()))


def open_observed(address: TableAddress) -> ObservedMemoryTable:
    """Opens a table; see `table.open_table`."""
    return ObservedMemoryTable(open_table(address))


def _rows(snapshot: Snapshot) -> Iterable[tuple[Group, DataFile]]:
    return ((group, file) for group, files in snapshot.files.items() for file in files)


def _frame(rows: Iterable[tuple[Group, DataFile]]) -> pa.Table:
    found = [(group.path, file.name, file.bytes, file.rows) for group, file in rows]
    columns = list(zip(*found, strict=True)) or [()] * len(_FILES)
    return pa.table(list(map(pa.array, columns, _FILES.types)), schema=_FILES)


def _summary(table: MemoryTable, cache: MemoryCache, wanted: Filter) -> Observation:
    figures, newest = cache.figures.sort_by("group"), cache.state.newest
    held = _held(cache, wanted.selection.held)
    small, _ = most(figures, "small_files", "group")
    return Observation(
        table_uuid=table.uuid,
        snapshot=None if newest is None else newest.id,
        snapshot_time=None if newest is None else moment_of(newest.millis),
        schema_id=0,
        refusals=table.refusals,
        write_only=True,
        partitions=len(figures),
        files=total(figures, "files"),
        bytes=total(figures, "bytes"),
        small_files=total(figures, "small_files"),
        delete_percent=0,
        findings=_findings(flagged(figures, _is_due(figures, held, wanted))),
        full_bytes=total(figures, "bytes"),
        snapshots=KeptSnapshots(cache.state.details.kept, None, 0, writers_expire=True),
        groups=len(figures),
        deleted_rows=0,
        nearest=f"at most {count_of(small, 'small file')} in a group, joined from {LEAST_SMALL} on",
        blocked=tuple(BlockedGroup.confirmed(path, wanted.selection.held[path]) for path in held),
        blocks={block.name: _declared(figures) for block in FORMAT.blocks},
    )


def _declared(figures: pa.Table) -> dict[str, int | str | None]:
    """The declared figures: of groups with equally many rows the first is named."""
    rows, group = most(figures, "rows", "group")
    return {"maxRows": rows, "maxRowsGroup": group}


def _is_due(figures: pa.Table, held: Sequence[str], wanted: Filter) -> Flags:
    """Which groups have work, are selected, and are not held."""
    paths, small = listed(figures["group"]), listed(figures["small_files"])
    partitions = PartitionFilter(wanted.selection.partitions)
    due = [
        small_files(count).fired and partitions.selects(Group(path).partition)
        for path, count in zip(paths, small, strict=True)
    ]
    return np.array(due, dtype=bool) & ~is_one_of(figures["group"], held)


def _held(cache: MemoryCache, held: Mapping[str, str]) -> list[str]:
    """The held groups that still have the files on which a run failed."""
    there = flagged(cache.figures, is_one_of(cache.figures["group"], held))
    files = cache.files_in(there)
    prints = {path: _fingerprint(flagged(files, is_one_of(files["group"], [path]))) for path in held}
    return [path for path, found in prints.items() if found == held[path]]


def _fingerprint(files: pa.Table) -> str:
    return fingerprint_of((name, 0) for name in listed(files["name"]))


def _findings(due: pa.Table) -> tuple[Finding, ...]:
    if not len(due):
        return ()
    first = int(np.argmax(integers(due["files"])))
    group, small = (due[name][first].as_py() for name in ("group", "small_files"))
    size, files = (total(due, name) for name in ("bytes", "files"))
    return (Finding(SMALL_FILES, group, small_files(small).detail, len(due), size, files),)
