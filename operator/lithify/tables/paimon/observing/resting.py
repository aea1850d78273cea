"""Which buckets certainly have no work, told by their statistics alone.

Called by the observer and the planner before they make objects of a bucket's files. Exact or cautious: a
bucket that is said to rest gets the same answer from `planning.plan.plan_bucket`, unless its metadata is
damaged; a bucket of which nothing is said may rest all the same. Pure.
"""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pyarrow as pa

from lithify.clock import epoch_millis, epoch_of_wall
from lithify.planning.merge_tree.plan import ALL_AT_TOP, NO_TRIGGER
from lithify.planning.merge_tree.policy import MergeTreeOptions, Strategy
from lithify.tables.paimon.metadata.column_groups import Flags, integers, is_null, nullable


def resting_reasons(
    statistics: pa.Table, policy: MergeTreeOptions, strategy: Strategy, now: datetime
) -> pa.Array:
    """Why each bucket rests, as `plan_bucket` words it; null where the bucket has to be planned to know.

    Args:
        statistics: one row a bucket, of `bucket_statistics`.
        policy: the options that steer planning.
        strategy: of the run.
        now: an aware time in the table's time zone.
    """
    if strategy is Strategy.FULL:
        rests, reason = _is_all_at_top(statistics, policy, now), ALL_AT_TOP
    else:
        rests, reason = _triggers_nothing(statistics, policy, now), NO_TRIGGER
    return pa.array(np.where(rests, reason, ""), pa.string(), mask=~rests)


def interval_fires(statistics: pa.Table, policy: MergeTreeOptions, now: datetime) -> pa.Array:
    """When the interval between full compactions ends in each bucket, as milliseconds since the epoch.

    Null where it never does: no interval is set, or there is a single sorted run. 0 where the top level has
    never been written.
    """
    interval = policy.early_full.interval_millis
    if interval is None:
        return pa.nulls(len(statistics), pa.int64())
    walls, places = np.unique(integers(statistics["highest_created_millis"]), return_inverse=True)
    # A call for each time: Arrow and Python may know different time zones.
    moments = [epoch_of_wall(wall, now.tzinfo) for wall in walls.tolist()]
    last = np.array(moments, dtype=np.int64)[places]
    fires = np.where(_has_top(statistics, policy), last + min(interval, _MOST_MILLIS) + 1, 0)
    return nullable(fires, integers(statistics["sorted_runs"]) > 1)


_MOST_MILLIS = 1 << 61
"""More than until the end of any calendar."""


def _is_all_at_top(statistics: pa.Table, policy: MergeTreeOptions, now: datetime) -> Flags:
    """Whether a bucket is a single run of the top level, which nothing asks to be rewritten."""
    is_alone = (integers(statistics["sorted_runs"]) == 1) & _has_top(statistics, policy)
    before = policy.expired_before(now)
    if before is not None:
        is_alone &= is_null(statistics["earliest"]) | (integers(statistics["earliest"]) >= before)
    return np.zeros(len(is_alone), dtype=bool) if policy.force_rewrite else is_alone


def _triggers_nothing(statistics: pa.Table, policy: MergeTreeOptions, now: datetime) -> Flags:
    """Whether no trigger can fire.

    Size amplification and size ratio are asked from `run_trigger` sorted runs on, and the order of runs
    decides about them; so a bucket that has as many is left to the planner.
    """
    runs = integers(statistics["sorted_runs"])
    is_short = (runs < policy.run_trigger) | ((runs == 1) & (policy.run_trigger == 1))
    rests: Flags = is_short & ~_early_full(statistics, policy, now)
    return rests & (integers(statistics["level0_files"]) == 0) if policy.force_level0 else rests


def _early_full(statistics: pa.Table, policy: MergeTreeOptions, now: datetime) -> Flags:
    early, size = policy.early_full, integers(statistics["bytes"])
    ends = interval_fires(statistics, policy, now)
    fires = ~is_null(ends) & (integers(ends) <= epoch_millis(now))
    if early.total_size is not None:
        fires |= size < early.total_size
    if early.incremental_size is not None:
        at_top = np.where(_has_top(statistics, policy), integers(statistics["highest_bytes"]), 0)
        fires |= size - at_top > early.incremental_size
    return fires & (integers(statistics["sorted_runs"]) > 1)


def _has_top(statistics: pa.Table, policy: MergeTreeOptions) -> Flags:
    """Whether the highest level that has files is the top one; levels grow with the files that are there."""
    return integers(statistics["highest_level"]) >= policy.num_levels - 1
