"""The parameters of universal compaction: the table's compaction options as numbers.

The format adapters create them from table options; the planners only read them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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
class UniversalOptions:
    """The options of one table that steer what is picked. Sizes in bytes.

    Attributes:
        num_levels: number of levels, level 0 included.
        run_trigger: sorted runs that make a bucket due (`num-sorted-run.compaction-trigger`).
        size_amplification_percent: maximum size of newer data relative to the oldest run.
        size_ratio: per cent by which the next run may be larger and still be taken.
        early_full: conditions of an early full compaction.
        off_peak: hours with a relaxed size ratio.
        force_level0: a minor pick always takes all of level 0 (`compaction.force-up-level-0`).
        level0_trigger: number of level-0 files from which it does.
        level0_millis: age of the oldest level-0 file from which it takes fewer, too; None for never.
        target_file_size: size at which output files roll.
        small_file_size: files below this are small.
        rule: the Paimon version whose picking rule applies.
    """

    num_levels: int = 6
    run_trigger: int = 5
    size_amplification_percent: int = 200
    size_ratio: int = 1
    early_full: EarlyFull = EarlyFull()
    off_peak: OffPeak | None = None
    force_level0: bool = False
    level0_trigger: int = 1
    level0_millis: int | None = None
    target_file_size: int = 128 << 20
    small_file_size: int = (128 << 20) // 10 * 7
    rule: PickingRule = PickingRule.V1_4
