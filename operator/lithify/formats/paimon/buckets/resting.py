"""Finds buckets that certainly have no work, from their statistics alone.

Called by the observer and the planners before they create objects for a bucket's files. Conservative:
`plan_bucket` confirms every bucket reported here, unless its metadata is damaged; other buckets may have no
work, either. Pure.
"""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pyarrow as pa

from lithify.clock import epoch_millis, epoch_of_wall
from lithify.columns.column_groups import (
    Flags,
    Numbers,
    integers,
    is_null,
    nullable,
)
from lithify.formats.paimon.planning.merge_tree.plan import LEFT_TO_WRITERS
from lithify.formats.paimon.planning.merge_tree.policy import MergeTreeOptions
from lithify.formats.paimon.planning.universal.policy import UniversalOptions
from lithify.formats.paimon.planning.work import ALL_AT_TOP
from lithify.formats.protocol.strategy import NO_TRIGGER, Strategy


def resting_reasons(
    statistics: pa.Table, policy: MergeTreeOptions, strategy: Strategy, now: datetime
) -> pa.Array:
    """Why each bucket of a primary-key table has no work, in `plan_bucket`'s words.

    Null if it must be planned to know.

    Args:
        statistics: one row per bucket, of `bucket_statistics`.
        policy: the options that steer planning.
        strategy: strategy of the run.
        now: an aware time in the table's time zone.
    """
    if strategy is Strategy.FULL:
        rests, reason = _needs_no_rewrite(statistics, policy, now), ALL_AT_TOP
    else:
        rests, reason = triggers_nothing(statistics, policy, now), NO_TRIGGER
    is_left = _is_left_to_writers(statistics, policy)
    reasons = np.where(is_left, LEFT_TO_WRITERS, reason)
    return pa.array(reasons, pa.string(), mask=~(rests | is_left))


def interval_fires(statistics: pa.Table, policy: MergeTreeOptions, now: datetime) -> pa.Array:
    """When the interval between full compactions ends in each bucket, as milliseconds since the epoch.

    Null if it never does: no interval is set, there is a single sorted run, or writers compact it. 0 if
    the top level has never been written.
    """
    ends = _interval_ends(statistics, policy, now)
    return nullable(integers(ends), ~is_null(ends) & ~_is_left_to_writers(statistics, policy))


def _interval_ends(statistics: pa.Table, options: UniversalOptions, now: datetime) -> pa.Array:
    """Like `interval_fires`, but also for buckets that writers compact."""
    interval = options.early_full.interval_millis
    if interval is None:
        return pa.nulls(len(statistics), pa.int64())
    last = _moments(integers(statistics["highest_created_millis"]), now)
    fires = np.where(_has_top(statistics, options), last + min(interval, _MOST_MILLIS) + 1, 0)
    return nullable(fires, integers(statistics["sorted_runs"]) > 1)


def level0_fires(statistics: pa.Table, options: UniversalOptions, now: datetime) -> pa.Array:
    """When the age of the oldest level-0 file makes each bucket due, as milliseconds since the epoch.

    Null if it never does: level 0 has no files, or their age does not matter.
    """
    oldest = statistics["level0_created_millis"]
    if options.level0_millis is None or not options.force_level0:
        return pa.nulls(len(statistics), pa.int64())
    return nullable(_moments(integers(oldest), now) + options.level0_millis, ~is_null(oldest))


def _moments(walls: Numbers, now: datetime) -> Numbers:
    """Wall-clock times as milliseconds since the epoch."""
    distinct, places = np.unique(walls, return_inverse=True)
    # A call for each time: Arrow and Python may know different time zones.
    moments = [epoch_of_wall(wall, now.tzinfo) for wall in distinct.tolist()]
    found: Numbers = np.array(moments, dtype=np.int64)[places]
    return found


_MOST_MILLIS = 1 << 61
"""Later than the end of any calendar."""


def _needs_no_rewrite(statistics: pa.Table, policy: MergeTreeOptions, now: datetime) -> Flags:
    """Whether a bucket is a single run of the top level, without expired rows."""
    rests, before = is_all_at_top(statistics, policy), policy.expired_before(now)
    if before is not None:
        rests &= is_null(statistics["earliest"]) | (integers(statistics["earliest"]) >= before)
    return np.zeros(len(rests), dtype=bool) if policy.force_rewrite else rests


def is_all_at_top(statistics: pa.Table, options: UniversalOptions) -> Flags:
    """Whether a bucket is a single run of the top level."""
    is_alone: Flags = integers(statistics["sorted_runs"]) == 1
    return is_alone & _has_top(statistics, options)


def triggers_nothing(statistics: pa.Table, options: UniversalOptions, now: datetime) -> Flags:
    """Whether no trigger can fire.

    Size amplification and size ratio apply from `run_trigger` sorted runs on, and depend on the order of
    runs; so buckets with that many runs are left to the planner.
    """
    runs = integers(statistics["sorted_runs"])
    is_short = (runs < options.run_trigger) | ((runs == 1) & (options.run_trigger == 1))
    rests: Flags = is_short & ~_early_full(statistics, options, now)
    if not options.force_level0:
        return rests
    ages = level0_fires(statistics, options, now)
    is_old = ~is_null(ages) & (integers(ages) <= epoch_millis(now))
    return rests & (integers(statistics["level0_files"]) < options.level0_trigger) & ~is_old


def _early_full(statistics: pa.Table, options: UniversalOptions, now: datetime) -> Flags:
    early, size = options.early_full, integers(statistics["bytes"])
    ends = _interval_ends(statistics, options, now)
    fires = ~is_null(ends) & (integers(ends) <= epoch_millis(now))
    if early.total_size is not None:
        fires |= size < early.total_size
    if early.incremental_size is not None:
        at_top = np.where(_has_top(statistics, options), integers(statistics["highest_bytes"]), 0)
        fires |= size - at_top > early.incremental_size
    return fires & (integers(statistics["sorted_runs"]) > 1)


def _is_left_to_writers(statistics: pa.Table, policy: MergeTreeOptions) -> Flags:
    """Whether a bucket is left alone because level 0 is empty."""
    is_left: Flags = integers(statistics["level0_files"]) == 0
    return is_left & policy.writers_compact


def _has_top(statistics: pa.Table, options: UniversalOptions) -> Flags:
    """Whether the highest level with files is the top one; the number of levels grows with existing files."""
    return integers(statistics["highest_level"]) >= options.num_levels - 1
