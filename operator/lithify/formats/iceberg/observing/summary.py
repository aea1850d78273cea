"""The summary of an Iceberg table: figures of its partitions, why some are due, and its snapshots.

Called by `observed_table`. Sends the table no requests and writes nothing. Loops over partitions, never over
files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from lithify.amounts import count_of
from lithify.clock import moment_of
from lithify.columns.column_groups import (
    flagged,
    integers,
    listed,
    taken,
    whole,
    with_columns,
)
from lithify.engine.observe.summing import (
    MOST_PARTITIONS,
    by_idleness,
    first_idle,
    idle_wait,
    most,
    total,
)
from lithify.formats.iceberg.declarations import DATA_FILES, DELETES
from lithify.formats.iceberg.observing.cached_files import IcebergCache, partition_of
from lithify.formats.iceberg.observing.held_files import held_work
from lithify.formats.iceberg.observing.judging import PartitionJudge, clustered_by
from lithify.formats.iceberg.planning.statistics import SUMS_BY_COLUMN
from lithify.formats.iceberg.planning.triggers import verdicts
from lithify.formats.iceberg.properties import digits_in, is_true
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.partition_paths import OLDER_SPECS, WHOLE, spec_of
from lithify.formats.iceberg.table.partition_values import seam_spec
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.formats.protocol.model import TriggerVerdict
from lithify.formats.protocol.observation import Finding, KeptSnapshots, Observation
from lithify.formats.protocol.observing import Filter
from lithify.formats.protocol.partition import PartitionFilter, PartitionSpec, PartitionValues

_AMORO_ENABLED = "self-optimizing.enabled"


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
    idle, busy = by_idleness(selected, wanted, judge.now)
    counted = not integers(figures["uncounted"]).any()
    deleted, rows = total(figures, "deleted_rows"), total(figures, "rows")
    is_filtered = bool(wanted.selection.partitions)
    until = first_idle(busy, wanted)
    return Observation(
        table_uuid=cache.state.table.uuid,
        snapshot=None if newest is None else newest.id,
        snapshot_time=None if newest is None else moment_of(newest.millis),
        schema_id=metadata.schema_id,
        refusals=table.refusals,
        write_only=True,
        partitions=len(figures),
        files=total(figures, "data_files"),
        bytes=total(figures, "bytes"),
        small_files=total(figures, "small_files"),
        delete_percent=(100 * deleted // rows if rows else 0) if counted else None,
        findings=tuple(_findings(due, judge, column, places)),
        full_bytes=total(idle, "bytes"),
        snapshots=kept_snapshots(table),
        partitions_due=_largest(due, places) if is_filtered else (),
        full_partitions=_largest(idle, places) if is_filtered or wanted.idle_seconds is not None else (),
        next_trigger=until,
        waits=other_optimizers(table.properties),
        full_wait=idle_wait(wanted, len(busy), until),
        blocked=held.blocked,
        groups=len(figures),
        deleted_rows=deleted if counted else None,
        nearest=_nearest(figures, judge),
        blocks={
            DATA_FILES.name: _data_files(figures, judge, places),
            DELETES.name: _deletes(cache.figures, figures, places),
        },
    )


def other_optimizers(properties: Mapping[str, str]) -> tuple[str, ...]:
    """The services of other projects that optimize a table, too, as sentences for people.

    Where the property is missing, only Amoro knows whether its service takes the table.
    """
    if not is_true(properties, _AMORO_ENABLED):
        return ()
    return (f"Amoro's service optimizes it, too ({_AMORO_ENABLED} = true): turn one of both off",)


def _by_column(figures: pa.Table, column: int | None) -> pa.Table:
    """The figures with those of the column by which the table is clustered."""
    if column is None:
        return with_columns(figures, depth=pa.nulls(len(figures), pa.float64()))
    chosen = {name: whole(figures[f"{name}_{column}"]) for name in (*SUMS_BY_COLUMN, "depth")}
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
    groups = listed(taken(figures.select(["group"]), order[: MOST_PARTITIONS + 1])["group"])
    found = (places.values(group) for group in groups)
    return tuple(each.by_name for each in found if each is not None and each.by_name)[:MOST_PARTITIONS]


def _nearest(figures: pa.Table, judge: PartitionJudge) -> str:
    most = int(integers(figures["small_files"]).max(initial=0))
    return (
        f"at most {count_of(most, 'small file')} in a partition, joined from "
        f"{judge.options.min_input_files} side by side on"
    )


def _data_files(figures: pa.Table, judge: PartitionJudge, places: Places) -> dict[str, int | str | None]:
    most_of_one, group = most(figures, "small_files", "group")
    is_sorted = any(column.is_sorted for column in judge.columns)
    return {
        "maxSmallFiles": most_of_one,
        "maxSmallFilesPartition": places.path(group) if group is not None and most_of_one else None,
        "overlappingFiles": total(figures, "files_crowded") if is_sorted else None,
    }


def _deletes(every: pa.Table, figures: pa.Table, places: Places) -> dict[str, int | str | None]:
    """Figures of deletes; those that apply to no file count, too."""
    most_of_one, group = most(figures, "most_deletes", "group")
    return {
        "positionDeleteFiles": total(every, "position_files"),
        "equalityDeleteFiles": total(every, "equality_files"),
        "deletionVectors": total(every, "vectors"),
        "maxDeletesPerFile": most_of_one,
        "maxDeletesPartition": places.path(group) if group is not None and most_of_one else None,
    }


def kept_snapshots(table: IcebergTable) -> KeptSnapshots:
    """The snapshots that have not expired; all but the oldest say what they removed from earlier ones."""
    kept = table.metadata.snapshots.values()
    later = [*table.metadata.ancestry(table.branch)][:-1]
    return KeptSnapshots(
        count=len(kept),
        oldest=min((moment_of(each.millis) for each in kept), default=None),
        expired_bytes=sum(digits_in(each.summary, "removed-files-size") for each in later),
        writers_expire=False,
    )
