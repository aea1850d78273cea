"""The plan of one bucket whose rows are clustered: which files are sorted together, and to which level.

Called by the adapter's planner and observer. Pure: the same files, options and time always give the same
plan. Follows Paimon's `IncrementalClusterManager` and `IncrementalClusterStrategy`: every level-0 file is a
run by itself, the files of a higher level are one run, and universal compaction picks runs. The files of a
level are sorted within themselves; nothing forbids that they overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from lithify.amounts import seconds_text, wall_text
from lithify.clock import wall_millis
from lithify.formats.paimon.model import Bucket, BucketId, DataFile
from lithify.formats.paimon.planning.clustering.policy import ClusteringOptions
from lithify.formats.paimon.planning.files import in_order
from lithify.formats.paimon.planning.universal.levels import Levels, SortedRun
from lithify.formats.paimon.planning.universal.picks import explain, pick_universal
from lithify.formats.paimon.planning.work import ALL_AT_TOP, FULL, NO_FILES, BucketWork, Idle
from lithify.formats.protocol.model import TriggerVerdict
from lithify.formats.protocol.strategy import NO_TRIGGER, Strategy

HISTORY = "HistoryPartition"
"""The trigger of partitions to which nothing is written any more."""

SameColumns = Callable[[int], bool]
"""Whether the schema with this id has the clustering columns of the newest one."""


@dataclass(frozen=True, slots=True)
class ClusteredUnit(BucketWork):
    """The files of one bucket that are sorted together.

    Attributes:
        bucket: the bucket.
        files: the files of whole runs.
        output_level: level of the output.
        verdict: the trigger that fired.
        levels: all runs of the bucket.
        drop_deletes: there are no rows that retract others.
    """

    bucket: BucketId
    files: tuple[DataFile, ...]
    output_level: int
    verdict: TriggerVerdict
    levels: Levels
    drop_deletes: bool = field(default=False, init=False)

    @property
    def merges(self) -> tuple[tuple[DataFile, ...], ...]:
        """All files together."""
        return (self.files,)


def build_runs(files: Iterable[DataFile], options: ClusteringOptions) -> Levels:
    """Arranges the live files of a bucket into runs, level 0 first, in the order of sequence numbers."""
    by_level: dict[int, list[DataFile]] = {}
    for file in in_order(files):
        by_level.setdefault(file.level, []).append(file)
    runs = [SortedRun(0, (file,)) for file in by_level.pop(0, [])]
    runs.extend(SortedRun(level, tuple(by_level[level])) for level in sorted(by_level))
    highest = runs[-1].level if options.grows and runs else 0
    return Levels(tuple(runs), max(options.universal.num_levels, highest + 1))


def plan_bucket(
    bucket: Bucket,
    options: ClusteringOptions,
    strategy: Strategy,
    now: datetime,
    has_same_columns: SameColumns,
    *,
    takes_history: bool = True,
) -> ClusteredUnit | Idle:
    """Plans one bucket.

    Args:
        bucket: the bucket.
        options: the options that steer clustering.
        strategy: minor or full.
        now: an aware time in the table's time zone.
        has_same_columns: tells by which columns files may have been sorted.
        takes_history: whether the plan may cluster the bucket fully because of its age.
    """
    levels = build_runs(bucket.files, options)
    if not levels.runs:
        return Idle(bucket.id, NO_FILES)
    if strategy is Strategy.FULL:
        if _is_sorted(levels, has_same_columns):
            return Idle(bucket.id, ALL_AT_TOP)
        return _full(bucket.id, levels, FULL)
    history = explain_history(bucket, options, now)
    if history is not None and history.fired and takes_history:
        return _full(bucket.id, levels, history)
    pick = pick_universal(levels, options.universal, now)
    if pick is None:
        return Idle(bucket.id, NO_TRIGGER)
    files = tuple(file for run in pick.runs for file in run.files)
    return ClusteredUnit(bucket.id, files, pick.output_level, pick.verdict, levels)


def verdicts(bucket: Bucket, options: ClusteringOptions, now: datetime) -> list[TriggerVerdict]:
    """What each trigger of a minor compaction says of a bucket."""
    history = explain_history(bucket, options, now)
    found = explain(build_runs(bucket.files, options), options.universal, now)
    return [*([] if history is None else [history]), *found]


def explain_history(bucket: Bucket, options: ClusteringOptions, now: datetime) -> TriggerVerdict | None:
    """Whether a bucket is clustered fully because of its age; None if the table does not ask for that."""
    if options.history is None:
        return None
    due, age = history_due_millis(bucket.files, options), seconds_text(options.history.idle_millis // 1000)
    if due is None:
        return TriggerVerdict(HISTORY, fired=False, detail="all files are in the top level")
    newest = f"the newest came at {wall_text(due - options.history.idle_millis)}, by its writer's clock"
    if wall_millis(now) > due:
        detail = f"files below the top level, and none has come for {age}; {newest}"
        return TriggerVerdict(HISTORY, fired=True, detail=detail)
    detail = f"files below the top level, sorted when none has come for {age}; {newest}"
    return TriggerVerdict(HISTORY, fired=False, detail=detail)


def history_due_millis(files: Iterable[DataFile], options: ClusteringOptions) -> int | None:
    """After which time files count as history, by the writers' wall clock; None if they never do."""
    if options.history is None:
        return None
    top = options.universal.num_levels - 1
    newest = max((file.created_millis for file in files if file.level < top), default=None)
    return None if newest is None else newest + options.history.idle_millis


def _is_sorted(levels: Levels, has_same_columns: SameColumns) -> bool:
    """Whether all files are one run of the top level, sorted by the table's clustering columns."""
    (only, *others) = levels.runs
    if others or only.level != levels.max_level:
        return False
    return all(has_same_columns(schema_id) for schema_id in {file.schema_id for file in only.files})


def _full(bucket: BucketId, levels: Levels, verdict: TriggerVerdict) -> ClusteredUnit:
    files = tuple(file for run in levels.runs for file in run.files)
    return ClusteredUnit(bucket, files, levels.max_level, verdict, levels)
