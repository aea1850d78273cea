"""The verdict of each trigger of universal compaction on a bucket, in numbers and in words.

`picks` evaluates them in Paimon's order and stops at the first that fires; `lithify inspect` and table
conditions show them all. Pure; `now` is an aware time in the table's time zone.

The rules are those of Paimon's `UniversalCompaction` and `EarlyFullCompaction`, with one difference: the
interval starts at the creation time of the newest file of the top level (as in Paimon since 2.0) for every
version, because a job that always starts a new interval would rewrite the table at every run. The top level
is the highest that the bucket has, also where `num-levels` was lowered since.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from lithify.amounts import bytes_text, count_of, seconds_text
from lithify.clock import epoch_millis, epoch_of_wall
from lithify.formats.paimon.planning.universal.levels import Levels
from lithify.formats.paimon.planning.universal.policy import UniversalOptions
from lithify.formats.protocol.model import TriggerVerdict


class Trigger(StrEnum):
    """Why runs are picked, other than that a full compaction was asked for."""

    INTERVAL = "OptimizationInterval"
    TOTAL_SIZE = "TotalSize"
    INCREMENTAL_SIZE = "IncrementalSize"
    SIZE_AMPLIFICATION = "SizeAmplification"
    SIZE_RATIO = "SizeRatio"
    SORTED_RUNS = "SortedRuns"
    FORCED_LEVEL0 = "ForcedLevel0"


def early_full_verdicts(levels: Levels, policy: UniversalOptions, now: datetime) -> list[TriggerVerdict]:
    """The early-full conditions that are switched on, in order of evaluation."""
    early = policy.early_full
    verdicts = []
    if early.interval_millis is not None:
        verdicts.append(_interval(levels, early.interval_millis, now))
    if early.total_size is not None:
        detail = (
            f"the bucket has {bytes_text(levels.size)}, compacted fully below {bytes_text(early.total_size)}"
        )
        verdicts.append(TriggerVerdict(Trigger.TOTAL_SIZE, levels.size < early.total_size, detail))
    if early.incremental_size is not None:
        newer = sum(run.size for run in levels.runs if run.level != levels.max_level)
        limit = bytes_text(early.incremental_size)
        detail = f"{bytes_text(newer)} lie outside the top level, the limit is {limit}"
        verdicts.append(TriggerVerdict(Trigger.INCREMENTAL_SIZE, newer > early.incremental_size, detail))
    if len(levels.runs) == 1:
        return [
            TriggerVerdict(v.trigger, fired=False, detail="there is a single sorted run") for v in verdicts
        ]
    return verdicts


def size_amplification(levels: Levels, policy: UniversalOptions) -> TriggerVerdict:
    """Whether the newer runs are too large relative to the oldest one."""
    too_few = _too_few_runs(levels, policy)
    if too_few is not None:
        return TriggerVerdict(Trigger.SIZE_AMPLIFICATION, fired=False, detail=too_few)
    newer, oldest = sum(run.size for run in levels.runs[:-1]), levels.runs[-1].size
    limit = policy.size_amplification_percent
    detail = (
        f"newer runs have {bytes_text(newer)}, the oldest has {bytes_text(oldest)}, the limit is {limit} %"
    )
    return TriggerVerdict(Trigger.SIZE_AMPLIFICATION, newer * 100 > limit * oldest, detail)


def size_ratio(levels: Levels, policy: UniversalOptions, taken: int, hour: int) -> TriggerVerdict:
    """Whether the newest runs are of similar size; `taken` is the number of runs in such a pick."""
    too_few = _too_few_runs(levels, policy)
    if too_few is not None:
        return TriggerVerdict(Trigger.SIZE_RATIO, fired=False, detail=too_few)
    extra = policy.off_peak.ratio_at(hour) if policy.off_peak else 0
    limit = policy.size_ratio + extra
    detail = (
        f"the newest {taken} runs are within {limit} % of each other"
        if taken > 1
        else f"the run after the newest is more than {limit} % larger"
    )
    return TriggerVerdict(Trigger.SIZE_RATIO, taken > 1, detail)


def sorted_runs(levels: Levels, policy: UniversalOptions) -> TriggerVerdict:
    """Whether there are more sorted runs than the table allows."""
    detail = f"{count_of(len(levels.runs), 'sorted run')}, due above {policy.run_trigger}"
    return TriggerVerdict(Trigger.SORTED_RUNS, len(levels.runs) > policy.run_trigger, detail)


def forced_level0(levels: Levels, policy: UniversalOptions, now: datetime) -> TriggerVerdict:
    """Whether level 0 has enough files, or old ones, where none may stay there for ever."""
    count = len(levels.level0)
    if policy.level0_trigger == 1:
        detail = f"{count_of(count, 'level-0 file')}, compacted as soon as there is one"
        return TriggerVerdict(Trigger.FORCED_LEVEL0, count > 0, detail)
    fires = level0_fires(levels, policy, now)
    is_old = fires is not None and epoch_millis(now) >= fires
    detail = f"{count_of(count, 'level-0 file')}, compacted from {policy.level0_trigger} on"
    if policy.level0_millis is not None:
        detail += f", or when the oldest is {seconds_text(policy.level0_millis // 1000)} old"
    return TriggerVerdict(Trigger.FORCED_LEVEL0, count >= policy.level0_trigger or is_old, detail)


def level0_fires(levels: Levels, policy: UniversalOptions, now: datetime) -> int | None:
    """When the age of the oldest level-0 file makes level 0 due (epoch milliseconds), None for never."""
    created = [file.created_millis for run in levels.level0 for file in run.files]
    if policy.level0_millis is None or not created:
        return None
    return epoch_of_wall(min(created), now.tzinfo) + policy.level0_millis


def last_full_compaction(levels: Levels, now: datetime) -> int | None:
    """When the top level was last written (epoch milliseconds), None if it is empty.

    Creation times are wall-clock readings of the writers, assumed to be in the time zone of `now`.
    """
    top = [run for run in levels.runs if run.level == levels.max_level]
    created = [file.created_millis for run in top for file in run.files]
    if not created:
        return None
    return epoch_of_wall(max(created), now.tzinfo)


def size_limit(taken_size: int, policy: UniversalOptions, hour: int) -> float:
    """The largest next run (bytes) that the size ratio allows; in floating point, as Paimon computes it."""
    extra = policy.off_peak.ratio_at(hour) if policy.off_peak else 0
    return taken_size * (100.0 + policy.size_ratio + extra) / 100.0


def _interval(levels: Levels, interval: int, now: datetime) -> TriggerVerdict:
    last = last_full_compaction(levels, now)
    if last is None:
        detail = "the top level has never been written"
        return TriggerVerdict(Trigger.INTERVAL, fired=True, detail=detail)
    age = epoch_millis(now) - last
    limit = seconds_text(interval // 1000)
    detail = f"the top level was last written {age // 1000} s ago, the interval is {limit}"
    return TriggerVerdict(Trigger.INTERVAL, age > interval, detail)


def _too_few_runs(levels: Levels, policy: UniversalOptions) -> str | None:
    count = len(levels.runs)
    if count >= policy.run_trigger:
        return None
    return f"{count_of(count, 'sorted run')}, applies from {policy.run_trigger} on"
