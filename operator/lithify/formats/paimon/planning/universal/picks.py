"""Picks the runs of a bucket for a minor compaction: universal compaction and forced level 0.

Called by the plans of `merge_tree` and `clustering`. Follows Paimon's `UniversalCompaction` and
`ForceUpLevel0Compaction` (themselves after RocksDB's universal style) in the order of evaluation and the
arithmetic, so that picks agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from lithify.formats.paimon.planning.universal.levels import Levels, SortedRun
from lithify.formats.paimon.planning.universal.policy import PickingRule, UniversalOptions
from lithify.formats.paimon.planning.universal.triggers import (
    early_full_verdicts,
    forced_level0,
    size_amplification,
    size_limit,
    size_ratio,
    sorted_runs,
)
from lithify.formats.protocol.model import TriggerVerdict


@dataclass(frozen=True, slots=True)
class Pick:
    """The newest whole runs, their output level, and the reason."""

    runs: tuple[SortedRun, ...]
    output_level: int
    verdict: TriggerVerdict


def pick_universal(levels: Levels, policy: UniversalOptions, now: datetime) -> Pick | None:
    """The pick of a minor compaction, None if no trigger fires. `now` is in the table's time zone."""
    if not levels.runs:
        return None
    for verdict in (*early_full_verdicts(levels, policy, now), size_amplification(levels, policy)):
        if verdict.fired:
            return Pick(levels.runs, levels.max_level, verdict)
    taken = _grow(levels, policy, 1, now.hour)
    ratio = size_ratio(levels, policy, taken, now.hour)
    if ratio.fired:
        return _unit(levels, taken, ratio)
    count = sorted_runs(levels, policy)
    if not count.fired:
        return None
    start = len(levels.runs) - policy.run_trigger + 1
    return _unit(levels, _grow(levels, policy, start, now.hour), count)


def pick_level0(levels: Levels, policy: UniversalOptions, now: datetime) -> Pick | None:
    """The universal pick, else all of level 0, if it is due, plus runs that the size ratio adds."""
    pick = pick_universal(levels, policy, now)
    forced = forced_level0(levels, policy, now)
    if pick is not None or not forced.fired:
        return pick
    taken = len(levels.level0)
    if policy.rule is PickingRule.V2_0 and taken < len(levels.runs) and levels.runs[taken].level == 1:
        taken += 1
    return _unit(levels, _grow(levels, policy, taken, now.hour, forced=True), forced)


def explain(levels: Levels, policy: UniversalOptions, now: datetime) -> list[TriggerVerdict]:
    """The verdict of every trigger, fired or not, in the order in which a minor compaction evaluates them."""
    if not levels.runs:
        return []
    verdicts = [
        *early_full_verdicts(levels, policy, now),
        size_amplification(levels, policy),
        size_ratio(levels, policy, _grow(levels, policy, 1, now.hour), now.hour),
        sorted_runs(levels, policy),
    ]
    if policy.force_level0:
        verdicts.append(forced_level0(levels, policy, now))
    return verdicts


def _grow(levels: Levels, policy: UniversalOptions, taken: int, hour: int, *, forced: bool = False) -> int:
    """The final number of runs of a pick starting with `taken`: it grows until the next run is too large."""
    triggered = forced or taken > 1
    size = sum(run.size for run in levels.runs[:taken])
    for run in levels.runs[taken:]:
        too_large = size_limit(size, policy, hour) < float(run.size)
        inflates = policy.rule is PickingRule.V2_1 and triggered and run.level <= 1
        if too_large and not inflates:
            break
        size += run.size
        taken += 1
        triggered = True
    return taken


def _unit(levels: Levels, taken: int, verdict: TriggerVerdict) -> Pick:
    """Chooses the output level: the next run's minus one, never level 0, the top if no run is left."""
    runs = levels.runs
    output = levels.max_level if taken == len(runs) else max(0, runs[taken].level - 1)
    if output == 0:
        while taken < len(runs):
            following = runs[taken]
            taken += 1
            if following.level != 0:
                output = following.level
                break
    if taken == len(runs):
        output = levels.max_level
    return Pick(runs[:taken], output, verdict)
