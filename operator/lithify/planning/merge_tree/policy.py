"""The parameters of planning: the table's compaction options as numbers, and the run's strategy.

The format adapters create a `MergeTreeOptions` from table options; the planners only read it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lithify.clock import epoch_millis


class PickingRule(StrEnum):
    """The Paimon version whose picking rule applies where versions differ.

    Any pick of whole runs from the top is correct, so this changes how much is compacted, never the rows.
    `V1_4` stops at the first run that is larger than the size ratio allows. `V2_0` also takes the run of
    level 1 into every forced level-0 pick. `V2_1` also lets a pick that has already grown take runs of levels
    0 and 1 of any size.
    """

    V1_4 = "1.4"
    V2_0 = "2.0"
    V2_1 = "2.1"


class Strategy(StrEnum):
    """`MINOR` makes one pick per bucket by the table's triggers, `FULL` compacts all to the top level."""

    MINOR = "minor"
    FULL = "full"


class LoggedUpgrades(StrEnum):
    """Which upgraded files are read because their rows go to the changelog."""

    NONE = "none"
    TO_TOP = "to the top level"
    OF_LEVEL0 = "of level 0"


@dataclass(frozen=True, slots=True)
class OffPeak:
    """Hours (local to the table's time zone) in which the size ratio is relaxed by `ratio` per cent."""

    start_hour: int
    end_hour: int
    ratio: int

    def ratio_at(self, hour: int) -> int:
        """The increment of the size ratio at this hour of the day, 0 in peak hours."""
        if self.start_hour <= self.end_hour:
            inside = self.start_hour <= hour < self.end_hour
        else:
            inside = hour < self.end_hour or self.start_hour <= hour
        return self.ratio if inside else 0


@dataclass(frozen=True, slots=True)
class EarlyFull:
    """Conditions that turn a minor compaction into a full one; None switches a condition off.

    Attributes:
        interval_millis: a full compaction is due when the last one is older than this.
        total_size: a bucket smaller than this (bytes) is compacted fully.
        incremental_size: more bytes than this outside the top level make a full compaction due.
    """

    interval_millis: int | None = None
    total_size: int | None = None
    incremental_size: int | None = None


@dataclass(frozen=True, slots=True)
class MergeTreeOptions:
    """The options of one table that steer planning. Sizes in bytes.

    Attributes:
        num_levels: levels of the merge tree, level 0 included.
        run_trigger: sorted runs that make a bucket due (`num-sorted-run.compaction-trigger`).
        size_amplification_percent: maximum size of newer data relative to the oldest run.
        size_ratio: per cent by which the next run may be larger and still be taken.
        early_full: conditions of an early full compaction.
        off_peak: hours with a relaxed size ratio.
        force_level0: a minor pick always takes all of level 0 (`compaction.force-up-level-0`).
        looks_up: a level-0 file is upgraded only to the top level and otherwise rewritten, because its rows
            are merged with rows of their keys in levels above, or dropped for them.
        has_vectors: rows of levels above the output that level 0 supersedes are deleted by deletion vectors,
            so no level but 0 has deletes (`deletion-vectors.enabled`).
        writers_compact: writers of a table with deletion vectors compact, too, so that a bucket is only
            compacted as a whole (see `plan.LEFT_TO_WRITERS`).
        level0_trigger: number of level-0 files from which it does.
        level0_millis: age of the oldest level-0 file from which it takes fewer, too; None for never.
        reformatted: levels to which a level-0 file is always rewritten, because files there have another
            format and rows are looked up.
        logged_upgrades: which upgraded files are read for the changelog.
        force_rewrite: no file is ever upgraded in metadata (`compaction.force-rewrite-all-files`).
        target_file_size: size at which output files roll.
        small_file_size: files below this are rewritten with adjacent ones.
        expire_seconds: seconds after a row's time until the row expires; None if rows never expire.
        rule: the Paimon version whose picking rule applies.
    """

    num_levels: int = 6
    run_trigger: int = 5
    size_amplification_percent: int = 200
    size_ratio: int = 1
    early_full: EarlyFull = EarlyFull()
    off_peak: OffPeak | None = None
    force_level0: bool = False
    force_rewrite: bool = False
    looks_up: bool = False
    has_vectors: bool = False
    writers_compact: bool = False
    level0_trigger: int = 1
    level0_millis: int | None = None
    reformatted: frozenset[int] = frozenset()
    logged_upgrades: LoggedUpgrades = LoggedUpgrades.NONE
    target_file_size: int = 128 << 20
    small_file_size: int = (128 << 20) // 10 * 7
    expire_seconds: int | None = None
    rule: PickingRule = PickingRule.V1_4

    def expired_before(self, now: datetime) -> int | None:
        """Rows with an earlier time (seconds since the epoch) have expired; None if rows never expire."""
        return None if self.expire_seconds is None else epoch_millis(now) // 1000 - self.expire_seconds
