"""The summary of an Iceberg table: figures of its partitions, why some are due, and its snapshots.

Called by `observed_table`. Sends the table no requests and writes nothing. Loops over partitions, never over
files.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from lithify.amounts import count_of
from lithify.clock import moment_of
from lithify.columns.column_groups import (
    flagged,
    integers,
    whole,
    with_columns,
)
from lithify.engine.observe.summing import (
    by_idleness,
    earliest,
    findings,
    first_idle,
    forgotten_at,
    idle_wait,
    largest,
    most,
    selected,
    total,
)
from lithify.formats.iceberg.declarations import DATA_FILES, DELETES
from lithify.formats.iceberg.observing.cached_files import IcebergCache, partition_of
from lithify.formats.iceberg.observing.held_files import held_work
from lithify.formats.iceberg.observing.judging import PartitionJudge, clustered_by
from lithify.formats.iceberg.observing.needs import expiry_needs
from lithify.formats.iceberg.observing.other_compactors import other_compactors
from lithify.formats.iceberg.planning.statistics import SUMS_BY_COLUMN
from lithify.formats.iceberg.planning.triggers import dangling_verdict
from lithify.formats.iceberg.properties import digits_in
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.partition_paths import DANGLING, OLDER_SPECS, WHOLE, spec_of
from lithify.formats.iceberg.table.partition_values import seam_spec
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.formats.protocol.observation import Finding, KeptSnapshots, Observation
from lithify.formats.protocol.observing import Filter
from lithify.formats.protocol.partition import PartitionSpec, PartitionValues, wanted_partitions


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
    chosen = selected(held.figures, wanted_partitions(wanted.selection, table.name, typed), places.values)
    due = flagged(chosen, integers(chosen["due_files"]) > 0)
    idle, busy = by_idleness(chosen, wanted, judge.now)
    counted = not integers(figures["uncounted"]).any()
    deleted, rows = total(figures, "deleted_rows"), total(figures, "rows")
    is_filtered = bool(wanted.selection.partitions)
    takes_some = is_filtered or wanted.idle_seconds is not None
    until = first_idle(busy, wanted)
    kept = kept_snapshots(table)
    others = other_compactors(metadata, table.branch, table.properties, judge.now)
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
        findings=findings(due, judge.verdicts_by(column), places.path, "due_bytes")
        or _dangling(cache.figures, judge),
        full_bytes=total(idle, "bytes"),
        snapshots=kept,
        needs=expiry_needs(kept, table.properties, judge.now),
        partitions_due=largest(due, places.values) if is_filtered else (),
        full_partitions=largest(idle, places.values) if takes_some else (),
        next_trigger=earliest(figures, judge.now, until, forgotten_at(others, judge.now)),
        full_wait=idle_wait(wanted, len(busy), until),
        blocked=held.blocked,
        groups=len(figures),
        deleted_rows=deleted if counted else None,
        nearest=_nearest(figures, judge),
        other_compactors=others,
        blocks={
            DATA_FILES.name: _data_files(figures, judge, places),
            DELETES.name: _deletes(cache.figures, figures, places),
        },
    )


def _by_column(figures: pa.Table, column: int | None) -> pa.Table:
    """The figures with those of the column by which the table is clustered."""
    if column is None:
        return with_columns(figures, depth=pa.nulls(len(figures), pa.float64()))
    chosen = {name: whole(figures[f"{name}_{column}"]) for name in (*SUMS_BY_COLUMN, "depth")}
    return with_columns(figures, **chosen)


def _dangling(every: pa.Table, judge: PartitionJudge) -> tuple[Finding, ...]:
    """The finding of deletes that apply to no data file, in all partitions, those without data included.

    Any commit drops them, so they count where nothing else is due.
    """
    count = total(every, "dangling")
    verdict = dangling_verdict(count, judge.options)
    if not verdict.fired:
        return ()
    return (Finding(str(verdict.trigger), DANGLING, verdict.detail, buckets=1, bytes=0, files=count),)


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
        operator_expires=False,
    )
