"""Statistics over a table's buckets: why it is due, the cost of a full compaction, what blocks a run.

Called by `summary` with the figures of all buckets of a table (`due_work`). Pure: the same figures, filter
and time always give the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lithify.clock import moment_of, wall_millis
from lithify.columns.column_groups import (
    ColumnGroups,
    flagged,
    integers,
    is_among,
    is_null,
    is_one_of,
    listed,
    taken,
    with_columns,
)
from lithify.engine.observe.summing import MOST_PARTITIONS
from lithify.formats.paimon.observing.due_work import ratio_changes
from lithify.formats.paimon.planning.merge_tree.policy import MergeTreeOptions
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.model import BlockedGroup
from lithify.formats.protocol.observation import Finding
from lithify.formats.protocol.observing import Filter
from lithify.formats.protocol.partition import PartitionFilter, PartitionValues

_MOST_BLOCKED = 256
"""More than the status of a LakeTable lists, so that the number of omitted ones is known."""
_MOST_PERCENT = 10**9
"""Upper bound of percentages: sizes in broken metadata may be anything."""

Spec = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DueWork:
    """Due work in the selected partitions.

    Attributes:
        findings: why a minor compaction is due.
        partitions_due: the partitions that it should compact.
        full_partitions: the partitions that a full one should compact.
        full_bytes: bytes that it would read.
        next_trigger: when any of this changes by time alone.
        busy_partitions: number of partitions that a full compaction leaves out because they are not idle.
        idle_from: when the first of them is idle; None if there is none.
    """

    findings: tuple[Finding, ...]
    partitions_due: tuple[Spec, ...]
    full_partitions: tuple[Spec, ...]
    full_bytes: int
    next_trigger: datetime | None
    busy_partitions: int = 0
    idle_from: datetime | None = None


def delete_percent(figures: pa.Table) -> int | None:
    """Rows that retract their key or are deleted by vectors, in per cent; None if not counted.

    The vectors of merge trees are not among the figures.
    """
    deleted = deleted_rows(figures)
    rows = int(integers(figures["rows"]).sum())
    return None if deleted is None else min(100, 100 * deleted // max(1, rows))


def deleted_rows(figures: pa.Table) -> int | None:
    """Rows that retract their key or are deleted by vectors; None if not counted."""
    if figures["delete_rows"].null_count or figures["deleted_rows"].null_count:
        return None
    return sum(int(integers(figures[name]).sum()) for name in ("delete_rows", "deleted_rows"))


def size_amplification_percent(figures: pa.Table) -> int | None:
    """Bytes outside the highest level of each bucket relative to those in it, in per cent; None without one.

    `compaction.max-size-amplification-percent` limits the same figure of one bucket. Buckets with only
    level-0 files are left out: they have no base data to compare with.
    """
    leveled = flagged(figures, integers(figures["highest_level"]) > 0)
    total, highest = (int(integers(leveled[name]).sum()) for name in ("bytes", "highest_bytes"))
    return min(max(0, 100 * (total - highest) // highest), _MOST_PERCENT) if highest > 0 else None


def work_in(
    figures: pa.Table,
    values_of: Callable[[bytes], PartitionValues],
    wanted: Filter,
    policy: MergeTreeOptions,
    now: datetime,
) -> DueWork:
    """Due work in the partitions that a filter selects.

    Args:
        figures: figures of all buckets of the table.
        values_of: returns the values of a partition.
        wanted: the filter; its held buckets are those that still have the listed files.
        policy: the policy with which they were judged.
        now: an aware time in the table's time zone.
    """
    selected = selected_buckets(figures, values_of, wanted.selection)
    due = flagged(selected, ~is_null(selected["trigger"]))
    full = flagged(selected, ~is_null(selected["full_bytes"]))
    waits = _waits(full, figures, wanted, now)
    takes = flagged(full, ~is_among(full, waits, ["partition_path"]))
    idle = _idle_moments(waits, now)
    next_trigger = min([*idle, *_trigger_moments(selected, policy, now)], default=None)
    is_filtered = bool(wanted.selection.partitions) or wanted.idle_seconds is not None
    return DueWork(
        findings=_findings(due),
        partitions_due=_largest(due, values_of) if wanted.selection.partitions else (),
        full_partitions=_largest(takes, values_of) if is_filtered else (),
        full_bytes=int(integers(takes["full_bytes"]).sum()),
        next_trigger=next_trigger and next_trigger.astimezone(UTC),
        busy_partitions=len(waits),
        idle_from=min(idle, default=None),
    )


def selected_buckets(
    figures: pa.Table, values_of: Callable[[bytes], PartitionValues], selection: Selection
) -> pa.Table:
    """The figures of the buckets that count as due: those in a selection's partitions that are not held."""
    selected = _selected(figures, values_of, selection)
    return flagged(selected, ~is_one_of(selected["path"], selection.held))


def blocked_buckets(figures: pa.Table, held: Mapping[str, str]) -> tuple[BlockedGroup, ...]:
    """The first `_MOST_BLOCKED` buckets by path that cannot be planned, and those that are held.

    Args:
        figures: figures of all buckets of the table.
        held: by path, fingerprints of buckets that still have the files on which a run failed.
    """
    blocked = flagged(figures, ~is_null(figures["problem"])).sort_by("path").slice(0, _MOST_BLOCKED)
    columns = map(listed, blocked.select(["path", "is_corrupt", "problem", "fingerprint"]).columns)
    found = {path: BlockedGroup(path, *fields) for path, *fields in zip(*columns, strict=True)}
    stand = {path: BlockedGroup.confirmed(path, fingerprint) for path, fingerprint in held.items()}
    return tuple(bucket for _, bucket in sorted({**stand, **found}.items()))


def _selected(
    figures: pa.Table, values_of: Callable[[bytes], PartitionValues], selection: Selection
) -> pa.Table:
    if selection.buckets:
        figures = flagged(figures, np.isin(integers(figures["bucket"]), list(selection.buckets)))
    if not selection.partitions:
        return figures
    groups = ColumnGroups(figures, ["partition"])
    partitions = listed(taken(figures.select(["partition"]), groups.firsts)["partition"])
    wanted = PartitionFilter(selection.partitions)
    selected = np.array([wanted.selects(values_of(partition)) for partition in partitions], dtype=bool)
    return flagged(figures, selected[groups.numbers])


def _waits(full: pa.Table, figures: pa.Table, wanted: Filter, now: datetime) -> pa.Table:
    """Milliseconds until each partition is idle; idle partitions are left out."""
    of_partitions = flagged(figures, is_among(figures, full, ["partition_path"]))
    groups, idle = ColumnGroups(of_partitions, ["partition_path"]), wanted.idle_seconds
    waits = np.zeros(len(groups), dtype=np.int64)
    if idle is not None:
        waits = groups.max(integers(of_partitions["created_millis"])) + idle * 1000 - wall_millis(now)
    paths = taken(of_partitions.select(["partition_path"]), groups.firsts)
    return flagged(with_columns(paths, wait=waits), waits > 0)


def _idle_moments(waits: pa.Table, now: datetime) -> list[datetime]:
    """When the first of some partitions becomes idle."""
    first = pc.min(waits["wait"]).as_py()
    return [] if first is None else [now + timedelta(milliseconds=first)]


def _trigger_moments(selected: pa.Table, policy: MergeTreeOptions, now: datetime) -> list[datetime]:
    """The next times at which a timed trigger fires, rows expire, or a size ratio changes."""
    firsts = [pc.min(selected[name]).as_py() for name in ("next_trigger", "expires_at")]
    moments = [moment_of(first) for first in firsts if first is not None]
    is_long = is_null(selected["problem"]) & (integers(selected["sorted_runs"]) >= policy.run_trigger)
    if policy.off_peak is not None and is_long.any():
        moments.append(ratio_changes(policy.off_peak, now))
    return moments


def _findings(due: pa.Table) -> tuple[Finding, ...]:
    """One finding per trigger, most buckets first; the bucket with most sorted runs represents it."""
    worst = taken(due, _descending(due, ["sorted_runs", "bytes", "path"]))
    groups = ColumnGroups(worst, ["trigger"])
    speaks = taken(worst.select(["trigger", "path", "detail"]), groups.firsts)
    size, files = (groups.sum(integers(worst[name])) for name in ("bytes", "files"))
    sums = with_columns(speaks, buckets=groups.sizes, bytes=size, files=files)
    findings = [Finding(*row) for row in zip(*map(listed, sums.columns), strict=True)]
    return tuple(sorted(findings, key=lambda each: (-each.buckets, -each.bytes, each.trigger)))


def _largest(buckets: pa.Table, values_of: Callable[[bytes], PartitionValues]) -> tuple[Spec, ...]:
    """The partitions of some buckets, largest first, up to the limit of the list."""
    groups = ColumnGroups(buckets, ["partition_path"])
    partitions = taken(buckets.select(["partition", "partition_path"]), groups.firsts)
    sizes = with_columns(partitions, bytes=groups.sum(integers(buckets["bytes"])))
    ordered = sizes.sort_by([("bytes", "descending"), ("partition_path", "ascending")])
    return tuple(
        values_of(partition).by_name for partition in listed(ordered["partition"].slice(0, MOST_PARTITIONS))
    )


def _descending(rows: pa.Table, names: Sequence[str]) -> npt.NDArray[Any]:
    return cast(npt.NDArray[Any], pc.sort_indices(rows, [(name, "descending") for name in names]).to_numpy())
