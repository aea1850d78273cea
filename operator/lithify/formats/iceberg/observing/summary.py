"""The summary of an Iceberg table: figures of its partitions, why some are due, and its snapshots.

Called by `observed_table`. Sends the table no requests and writes nothing. Loops over partitions, never over
files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from lithify.amounts import count_of, moment_text, seconds_text
from lithify.columns.column_groups import (
    Numbers,
    flagged,
    integers,
    listed,
    taken,
    whole,
    with_columns,
)
from lithify.formats.iceberg.declarations import DATA_FILES, DELETES
from lithify.formats.iceberg.observing.cached_files import IcebergCache, partition_of
from lithify.formats.iceberg.observing.held_files import held_work
from lithify.formats.iceberg.observing.judging import OF_COLUMN, PartitionJudge, clustered_by
from lithify.formats.iceberg.planning.triggers import verdicts
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.partition_paths import OLDER_SPECS, WHOLE, spec_of
from lithify.formats.iceberg.table.partition_values import seam_spec
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.formats.protocol.model import TriggerVerdict
from lithify.formats.protocol.observation import Finding, KeptSnapshots, Observation
from lithify.formats.protocol.observing import Filter
from lithify.formats.protocol.partition import PartitionFilter, PartitionSpec, PartitionValues

_MOST_PARTITIONS = 256
"""Partitions that an observation lists, the largest first."""


@dataclass(frozen=True, slots=True)
class Places:
    """Reads the texts of partitions.

    Attributes:
        metadata: the table's metadata.
        typed: its current spec.
    """

    metadata: TableMetadata
    typed: PartitionSpec

    def values(self, group: str) -> PartitionValues | None:
        """The partition of a group; None for files of older specs."""
        return None if group == OLDER_SPECS else partition_of(group, self.typed)

    def path(self, group: str) -> str:
        """Where the files of a group are, for people."""
        values = self.values(group)
        if values is None:
            return OLDER_SPECS
        return spec_of(self.metadata, self.typed.id).folder_of(values.texts) or WHOLE


def summarise(table: IcebergTable, cache: IcebergCache, judge: PartitionJudge, wanted: Filter) -> Observation:
    """Sums up a table's cache.

    Raises:
        InvalidOption: the filter does not fit the table.
        Damaged: the cache cannot be read.
    """
    metadata, newest = table.metadata, cache.state.newest
    typed = seam_spec(metadata, metadata.spec_id, spec_of(metadata, metadata.spec_id))
    places = Places(metadata, typed)
    column = clustered_by(cache.figures, judge.columns)
    figures = flagged(_by_column(cache.figures, column), integers(cache.figures["data_files"]) > 0)
    figures = figures.sort_by("group")
    held = held_work(cache, figures, judge, column, wanted.selection.held, places.path)
    selected = _selected(table, held.figures, places, wanted)
    due = flagged(selected, integers(selected["due_files"]) > 0)
    idle, busy = _by_idleness(selected, wanted, judge.now)
    counted = not integers(figures["uncounted"]).any()
    deleted, rows = _sum(figures, "deleted_rows"), _sum(figures, "rows")
    is_filtered = bool(wanted.selection.partitions)
    until = _first_idle(busy, wanted)
    return Observation(
        table_uuid=cache.state.table.uuid,
        snapshot=None if newest is None else newest.id,
        snapshot_time=None if newest is None else _time(newest.millis),
        schema_id=metadata.schema_id,
        refusals=table.refusals,
        write_only=True,
        partitions=len(figures),
        files=_sum(figures, "data_files"),
        bytes=_sum(figures, "bytes"),
        small_files=_sum(figures, "small_files"),
        delete_percent=(100 * deleted // rows if rows else 0) if counted else None,
        findings=tuple(_findings(due, judge, column, places)),
        full_bytes=_sum(idle, "bytes"),
        snapshots=_kept(table),
        partitions_due=_largest(due, places) if is_filtered else (),
        full_partitions=_largest(idle, places) if is_filtered or wanted.idle_seconds is not None else (),
        next_trigger=until,
        full_wait=_full_wait(busy, wanted, until),
        blocked=held.blocked,
        groups=len(figures),
        deleted_rows=deleted if counted else None,
        nearest=_nearest(figures, judge),
        blocks={
            DATA_FILES.name: _data_files(figures, judge, places),
            DELETES.name: _deletes(cache.figures, figures, places),
        },
    )


def _by_column(figures: pa.Table, column: int | None) -> pa.Table:
    """The figures with those of the column by which the table is clustered."""
    if column is None:
        return with_columns(figures, depth=pa.nulls(len(figures), pa.float64()))
    chosen = {name: whole(figures[f"{name}_{column}"]) for name in (*OF_COLUMN, "depth")}
    return with_columns(figures, **chosen)


def _selected(table: IcebergTable, figures: pa.Table, places: Places, wanted: Filter) -> pa.Table:
    selection = wanted.selection
    selection.check_without_buckets(table.name, "partition")
    if not selection.partitions:
        return figures
    partitions = PartitionFilter(selection.partitions)
    partitions.check(table.name, (places.typed,))
    found = (places.values(group) for group in listed(figures["group"]))
    chosen = [each is not None and partitions.selects(each) for each in found]
    return flagged(figures, np.array(chosen, dtype=bool))


def _by_idleness(figures: pa.Table, wanted: Filter, now: datetime) -> tuple[pa.Table, pa.Table]:
    """The partitions that a full compaction takes, and those that were written to lately."""
    if wanted.idle_seconds is None:
        return figures, figures.slice(0, 0)
    limit = (now - timedelta(seconds=wanted.idle_seconds)).timestamp() * 1000
    is_idle = integers(figures["millis"]) <= limit
    return flagged(figures, is_idle), flagged(figures, ~is_idle)


def _first_idle(busy: pa.Table, wanted: Filter) -> datetime | None:
    if not len(busy) or wanted.idle_seconds is None:
        return None
    return _time(int(integers(busy["millis"]).min())) + timedelta(seconds=wanted.idle_seconds)


def _full_wait(busy: pa.Table, wanted: Filter, until: datetime | None) -> str:
    if until is None or wanted.idle_seconds is None:
        return ""
    return (
        f"a full compaction takes only partitions without writes for {seconds_text(wanted.idle_seconds)} "
        f"(partitionIdleSeconds): {count_of(len(busy), 'other partition')}, the first until "
        f"{moment_text(until)}"
    )


def _findings(due: pa.Table, judge: PartitionJudge, column: int | None, places: Places) -> Iterator[Finding]:
    """One finding per trigger, of the partitions for which it is the most telling one; the largest first."""
    is_sorted = column is not None and judge.columns[column].is_sorted
    found: dict[str, list[tuple[Mapping[str, Any], TriggerVerdict]]] = {}
    for row in due.to_pylist():
        statistics = {**row, "files": row["data_files"]}
        fired = [each for each in verdicts(statistics, judge.options, is_sorted=is_sorted) if each.fired]
        if fired:
            found.setdefault(str(fired[0].trigger), []).append((row, fired[0]))
    every = [_finding(trigger, rows, places) for trigger, rows in found.items()]
    yield from sorted(every, key=lambda each: (-each.bytes, each.trigger))


def _finding(
    trigger: str, rows: Sequence[tuple[Mapping[str, Any], TriggerVerdict]], places: Places
) -> Finding:
    first, verdict = max(rows, key=lambda each: each[0]["due_bytes"])
    return Finding(
        trigger=trigger,
        bucket=places.path(first["group"]),
        detail=verdict.detail,
        buckets=len(rows),
        bytes=sum(row["due_bytes"] for row, _ in rows),
        files=sum(row["due_files"] for row, _ in rows),
    )


def _largest(figures: pa.Table, places: Places) -> tuple[Mapping[str, str], ...]:
    """The partitions of some figures, largest first; files of older specs are in none."""
    order = np.argsort(-integers(figures["bytes"]), kind="stable")
    groups = listed(taken(figures.select(["group"]), order[: _MOST_PARTITIONS + 1])["group"])
    found = (places.values(group) for group in groups)
    return tuple(each.by_name for each in found if each is not None and each.by_name)[:_MOST_PARTITIONS]


def _nearest(figures: pa.Table, judge: PartitionJudge) -> str:
    most = int(integers(figures["small_files"]).max(initial=0))
    return (
        f"at most {count_of(most, 'small file')} in a partition, joined from "
        f"{judge.options.min_input_files} side by side on"
    )


def _data_files(figures: pa.Table, judge: PartitionJudge, places: Places) -> dict[str, int | str | None]:
    most, group = _most(figures, "small_files")
    is_sorted = any(column.is_sorted for column in judge.columns)
    return {
        "maxSmallFiles": most,
        "maxSmallFilesPartition": places.path(group) if group is not None and most else None,
        "overlappingFiles": _sum(figures, "files_crowded") if is_sorted else None,
    }


def _deletes(every: pa.Table, figures: pa.Table, places: Places) -> dict[str, int | str | None]:
    """Figures of deletes; those that apply to no file count, too."""
    most, group = _most(figures, "most_deletes")
    return {
        "positionDeleteFiles": _sum(every, "position_files"),
        "equalityDeleteFiles": _sum(every, "equality_files"),
        "deletionVectors": _sum(every, "vectors"),
        "maxDeletesPerFile": most,
        "maxDeletesPartition": places.path(group) if group is not None and most else None,
    }


def _kept(table: IcebergTable) -> KeptSnapshots:
    """The snapshots that have not expired; all but the oldest say what they removed from earlier ones."""
    kept = table.metadata.snapshots.values()
    later = [*table.metadata.ancestry(table.branch)][:-1]
    sizes = (each.summary.get("removed-files-size", "") for each in later)
    return KeptSnapshots(
        count=len(kept),
        oldest=min((_time(each.millis) for each in kept), default=None),
        expired_bytes=sum(int(size) for size in sizes if size.isascii() and size.isdecimal()),
        writers_expire=False,
    )


def _most(figures: pa.Table, name: str) -> tuple[int, str | None]:
    """The maximum of a figure, and the first group that has it."""
    numbers: Numbers = integers(figures[name])
    if not len(numbers):
        return 0, None
    row = int(np.argmax(numbers))
    return int(numbers[row]), figures["group"][row].as_py()


def _sum(figures: pa.Table, name: str) -> int:
    return int(integers(figures[name]).sum())


def _time(millis: int) -> datetime:
    return datetime.fromtimestamp(millis / 1000, UTC)
