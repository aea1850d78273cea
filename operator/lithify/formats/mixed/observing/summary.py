"""The summary of a keyed table: figures of its partitions, why some are due, and its snapshots.

Called by `observed_table`. Sends the table no requests and writes nothing. Loops over partitions, never over
files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from lithify.amounts import count_of
from lithify.clock import moment_of
from lithify.columns.column_groups import flagged, integers, is_one_of, taken
from lithify.engine.observe.cache import ObservationCache
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
from lithify.formats.declarations import MOST_GROUPS, FigureValue
from lithify.formats.iceberg.compaction.groups import parse_group
from lithify.formats.iceberg.observing.needs import expiry_needs
from lithify.formats.iceberg.observing.other_compactors import other_compactors
from lithify.formats.iceberg.observing.summary import kept_snapshots
from lithify.formats.iceberg.table.partition_paths import WHOLE
from lithify.formats.mixed.declarations import CHANGES
from lithify.formats.mixed.file_columns import fingerprint_in, folder_of
from lithify.formats.mixed.observing.judging import PartitionJudge
from lithify.formats.mixed.stores import MixedTable
from lithify.formats.protocol.model import BlockedGroup
from lithify.formats.protocol.observation import Observation
from lithify.formats.protocol.observing import Filter
from lithify.formats.protocol.partition import wanted_partitions

_CHECK_SECONDS = 600
"""Ten minutes, as in Arctic's service: both stores are read again after a commit to either."""


def summarise(
    table: MixedTable, cache: ObservationCache[Any], judge: PartitionJudge, wanted: Filter
) -> Observation:
    """Sums up a table's cache.

    Raises:
        InvalidOption: the filter does not fit the table.
        Damaged: the cache cannot be read.
    """
    newest, figures = cache.state.newest, cache.figures.sort_by("group")
    held = _held(cache, figures, wanted.selection.held)
    keys = table.keys
    chosen = selected(figures, wanted_partitions(wanted.selection, table.name, keys.seam), keys.values_of)
    is_due = integers(chosen["due_files"]) > 0
    due = flagged(chosen, is_due & ~is_one_of(chosen["group"], [*held]))
    idle, busy = by_idleness(chosen, wanted, judge.now)
    until = first_idle(busy, wanted)
    kept = kept_snapshots(table.base)
    others = other_compactors(table.base.metadata, table.base.branch, table.properties, judge.now)
    deleted, rows = total(figures, "delete_rows"), total(figures, "base_rows") + total(figures, "insert_rows")
    is_filtered = bool(wanted.selection.partitions)
    takes_some = is_filtered or wanted.idle_seconds is not None
    return Observation(
        table_uuid=cache.state.table.uuid,
        snapshot=None if newest is None else newest.id,
        snapshot_time=None if newest is None else moment_of(newest.millis),
        schema_id=table.base.metadata.schema_id,
        refusals=table.refusals,
        write_only=True,
        partitions=len(figures),
        files=total(figures, "base_files") + total(figures, "change_files"),
        bytes=total(figures, "bytes"),
        small_files=total(figures, "small_base_files"),
        delete_percent=min(100, 100 * deleted // rows) if rows else 0,
        findings=findings(due, judge.verdicts, lambda folder: folder or WHOLE, "bytes"),
        full_bytes=total(flagged(idle, integers(idle["full_files"]) > 0), "bytes"),
        snapshots=kept,
        needs=expiry_needs(kept, table.base.properties, judge.now),
        partitions_due=largest(due, keys.values_of) if is_filtered else (),
        full_partitions=largest(idle, keys.values_of) if takes_some else (),
        next_trigger=earliest(figures, judge.now, until, forgotten_at(others, judge.now)),
        full_wait=idle_wait(wanted, len(busy), until),
        blocked=tuple(held.values()),
        groups=len(figures),
        deleted_rows=deleted + total(figures, "position_rows"),
        nearest=_nearest(figures),
        other_compactors=others,
        check_seconds=_CHECK_SECONDS,
        blocks={CHANGES.name: _changes(figures)},
    )


def _held(
    cache: ObservationCache[Any], figures: pa.Table, held: Mapping[str, str]
) -> dict[str, BlockedGroup]:
    """The held groups that still have the files on which a run failed, by the folder of their partition."""
    folders = {folder_of(parse_group(path)): path for path in held}
    files = cache.files_in(flagged(figures, is_one_of(figures["group"], folders)))
    return {
        folder: BlockedGroup.confirmed(path, held[path])
        for folder, path in folders.items()
        if fingerprint_in(files, folder) == held[path]
    }


def _nearest(figures: pa.Table) -> str:
    changes, _ = most(figures, "change_files", "group")
    return f"at most {count_of(changes, 'unmerged change file')} in a partition"


def _changes(figures: pa.Table) -> dict[str, FigureValue]:
    most_files, busiest = most(figures, "change_files", "group")
    lag, furthest = most(figures, "lag", "group")
    return {
        "changeFiles": total(figures, "change_files"),
        "insertBytes": total(figures, "insert_bytes"),
        "deleteBytes": total(figures, "delete_bytes"),
        "positionDeleteFiles": total(figures, "position_files"),
        "maxChangeFiles": most_files,
        "maxChangeFilesPartition": (busiest or WHOLE) if most_files else None,
        "maxLag": lag,
        "maxLagPartition": (furthest or WHOLE) if lag else None,
        "furthestBehind": tuple(_furthest_behind(figures)),
    }


def _furthest_behind(figures: pa.Table) -> Iterator[Mapping[str, int | str]]:
    """The partitions whose lines are furthest behind, with what readers of them have to merge."""
    lags = integers(figures["lag"])
    order = np.argsort(-lags, kind="stable")[: min(MOST_GROUPS, int((lags > 0).sum()))]
    columns = ["group", "line", "lag", "change_files", "delete_bytes"]
    for row in taken(figures.select(columns), order).to_pylist():
        yield {
            "name": row["group"] or WHOLE,
            "line": max(0, row["line"]),
            "lag": row["lag"],
            "changeFiles": row["change_files"],
            "deleteBytes": row["delete_bytes"],
        }
