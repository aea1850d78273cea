"""Which buckets certainly have no work, told by their statistics alone.

Called by the observer and the planner before they make objects of a bucket's files. Exact or cautious: a
bucket that is said to rest gets the same answer from `planning.plan.plan_bucket`, unless its metadata is
damaged; a bucket of which nothing is said may rest all the same. Pure.
"""

from __future__ import annotations

from datetime import datetime

import polars as pl

from lithify.clock import epoch_millis, epoch_of_wall
from lithify.planning.merge_tree.plan import ALL_AT_TOP, NO_TRIGGER
from lithify.planning.merge_tree.policy import CompactionPolicy, EarlyFull, Strategy


def resting_reasons(
    statistics: pl.DataFrame, policy: CompactionPolicy, strategy: Strategy, now: datetime
) -> pl.Series:
    """Why each bucket rests, as `plan_bucket` words it; null where the bucket has to be planned to know.

    Args:
        statistics: one row a bucket, of `bucket_statistics`.
        policy: the options that steer planning.
        strategy: of the run.
        now: an aware time in the table's time zone.
    """
    if strategy is Strategy.FULL:
        rests, reason = _is_all_at_top(policy), ALL_AT_TOP
    else:
        rests, reason = _triggers_nothing(policy, now), NO_TRIGGER
    timed = statistics.with_columns(interval_fires(statistics, policy, now))
    return timed.with_columns(reason=pl.when(rests).then(pl.lit(reason, pl.String)))["reason"]


def interval_fires(statistics: pl.DataFrame, policy: CompactionPolicy, now: datetime) -> pl.Series:
    """When the interval between full compactions ends in each bucket, as milliseconds since the epoch.

    Null where it never does: no interval is set, or there is a single sorted run. 0 where the top level has
    never been written.
    """
    interval = policy.early_full.interval_millis
    if interval is None:
        return pl.Series("fires", [None] * len(statistics), pl.Int64)
    walls = statistics["highest_created_millis"].unique()
    # A call for each time rather than an expression: Polars and Python may know different time zones.
    moments = pl.Series([epoch_of_wall(wall, now.tzinfo) for wall in walls], dtype=pl.Int64)
    last = pl.col("highest_created_millis").replace_strict(walls, moments, return_dtype=pl.Int64)
    fires = pl.when(_has_top(policy)).then(last + interval + 1).otherwise(0)
    return statistics.with_columns(fires=pl.when(pl.col("sorted_runs") > 1).then(fires))["fires"]


def _is_all_at_top(policy: CompactionPolicy) -> pl.Expr:
    """Whether a bucket is a single run of the top level, which nobody asks to be rewritten."""
    alone = (pl.col("sorted_runs") == 1) & _has_top(policy)
    return alone & pl.lit(not policy.force_rewrite)


def _triggers_nothing(policy: CompactionPolicy, now: datetime) -> pl.Expr:
    """Whether no trigger can fire.

    Size amplification and size ratio are asked from `run_trigger` sorted runs on, and the order of runs
    decides about them; so a bucket that has as many is left to the planner.
    """
    runs = pl.col("sorted_runs")
    is_short = (runs < policy.run_trigger) | ((runs == 1) & pl.lit(policy.run_trigger == 1))
    rests = is_short & ~_early_full(policy.early_full, policy, now)
    return rests & (pl.col("level0_files") == 0) if policy.force_level0 else rests


def _early_full(early: EarlyFull, policy: CompactionPolicy, now: datetime) -> pl.Expr:
    fires = pl.col("fires").is_not_null() & (pl.col("fires") <= epoch_millis(now))
    if early.total_size is not None:
        fires |= pl.col("bytes") < early.total_size
    if early.incremental_size is not None:
        at_top = pl.when(_has_top(policy)).then("highest_bytes").otherwise(0)
        fires |= pl.col("bytes") - at_top > early.incremental_size
    return fires & (pl.col("sorted_runs") > 1)


def _has_top(policy: CompactionPolicy) -> pl.Expr:
    """Whether the highest level that has files is the top one; levels grow with the files that are there."""
    return pl.col("highest_level") >= policy.num_levels - 1
