"""Why files of a table are not compacted yet, as sentences for the people who ask.

Called by `summary`; WHY of a LakeTable has the sentences when nothing is due. They name dates, never ages: a
sentence stays the same until the table changes or the observation's `next_trigger` comes. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.amounts import count_of, moment_text, seconds_text
from lithify.clock import epoch_millis, moment_of
from lithify.columns.column_groups import (
    flagged,
    flags,
    integers,
    is_null,
    is_one_of,
    nullable,
    whole,
)
from lithify.engine.pack.options import PackingOptions
from lithify.formats.paimon.buckets.resting import interval_fires, level0_fires
from lithify.formats.paimon.options.table_options import DELTA_COMMITS
from lithify.formats.paimon.planning.clustering.policy import ClusteringOptions
from lithify.formats.paimon.planning.merge_tree.policy import MergeTreeOptions
from lithify.formats.protocol.observing import Filter

_COUNTED_BY_WRITERS = f"{DELTA_COMMITS} is left to the table's writers because write-only is not true"


@dataclass(frozen=True, slots=True)
class Rules:
    """The options of a table by which its files are due.

    Attributes:
        policy: those of levels.
        packing: those of joined files; None if the table has a primary key.
        clustering: those of clustered rows; None if rows are not clustered.
        writers_count: whether writers count commits for full compactions, because they compact, too.
    """

    policy: MergeTreeOptions
    packing: PackingOptions | None = None
    clustering: ClusteringOptions | None = None
    writers_count: bool = False


def minor_waits(
    figures: pa.Table, selected: pa.Table, wanted: Filter, rules: Rules, now: datetime
) -> tuple[str, ...]:
    """What files wait for before a minor compaction takes them, and which are left out.

    Args:
        figures: figures of all buckets of the table.
        selected: those of the buckets that count as due.
        wanted: the filter that selected them.
        rules: the options of the table.
        now: an aware time in the table's time zone.
    """
    quiet = flagged(selected, is_null(selected["trigger"]) & is_null(selected["problem"]))
    if rules.clustering is not None:
        found = _of_history(quiet, rules.clustering)
    elif rules.packing is not None:
        found = _of_small_files(quiet, rules.packing)
    else:
        found = _of_levels(quiet, rules.policy, now)
    counted = [_COUNTED_BY_WRITERS] if rules.writers_count else []
    return (*_left_out(figures, selected, wanted), *found, *counted)


def nearest_runs(most: int, policy: MergeTreeOptions) -> str:
    """How near the bucket with most sorted runs is to the trigger."""
    return f"at most {count_of(most, 'sorted run')} in a bucket, due above {policy.run_trigger}"


def nearest_files(most: int, packing: PackingOptions) -> str:
    """How near the bucket with most small files is to the trigger."""
    if not most:
        return "there are no small files"
    small = count_of(most, "small file")
    return f"at most {small} in a partition or bucket, joined from {packing.min_files} on"


def _left_out(figures: pa.Table, selected: pa.Table, wanted: Filter) -> Iterator[str]:
    """What the partitions of the policy leave out; buckets that are held are reported as blocked."""
    if not wanted.selection.partitions or len(selected) == len(figures):
        return
    is_selected = flags(pc.is_in(whole(figures["path"]), value_set=whole(selected["path"])))
    others = flagged(figures, ~is_selected & ~is_one_of(figures["path"], wanted.selection.held))
    if not len(selected):
        yield "none of the policy's partitions has files"
    due = flagged(others, ~is_null(others["trigger"]))
    if len(due):
        places = pc.count_distinct(due["partition_path"]).as_py()
        yield (
            f"a trigger fires in {count_of(places, 'partition')} outside the policy's partitions, such as "
            f"{due['partition_path'][0].as_py()}"
        )


def _of_small_files(quiet: pa.Table, packing: PackingOptions) -> Iterator[str]:
    small = integers(quiet["small_files"])
    most = int(small.max(initial=0))
    least = max(2, packing.min_files)
    if packing.is_ordered:
        if most > 1:
            yield (
                f"the rows of a bucket keep their order, so only {least} or more files side by side are "
                "joined, whatever their age"
            )
        return
    waiting = flagged(quiet, ~is_null(quiet["next_trigger"]))
    if len(waiting):
        age = seconds_text(packing.leftover_millis // 1000)
        yield (
            f"fewer are joined when none has come to their partition for {age}: "
            f"{count_of(len(waiting), 'partition')}, the first at {_first(waiting['next_trigger'])}"
        )
    elif most == 1:
        yield "a small file alone stays as it is"
    deleted = int(integers(quiet["deleted_rows"]).sum())
    if packing.delete_ratio is not None and deleted:
        yield (
            f"{count_of(deleted, 'deleted row')} in files with at most {100 * packing.delete_ratio:g} % of "
            "them; a full compaction drops them"
        )


def _of_history(quiet: pa.Table, clustering: ClusteringOptions) -> Iterator[str]:
    waiting = flagged(quiet, ~is_null(quiet["next_trigger"]))
    if clustering.history is None or not len(waiting):
        return
    age = seconds_text(clustering.history.idle_millis // 1000)
    yield (
        f"{count_of(len(waiting), 'partition')} with files below the top level: sorted fully when none has "
        f"come for {age}, the first at {_first(waiting['next_trigger'])}"
    )


def _of_levels(quiet: pa.Table, policy: MergeTreeOptions, now: datetime) -> Iterator[str]:
    level0 = integers(quiet["level0_files"])
    most = int(level0.max(initial=0))
    if policy.force_level0 and policy.level0_trigger > 1 and most:
        text = (
            f"at most {count_of(most, 'level-0 file')} in a bucket, compacted from {policy.level0_trigger} on"
        )
        ages = level0_fires(quiet, policy, now)
        if policy.level0_millis is not None and ages.null_count < len(ages):
            age = seconds_text(policy.level0_millis // 1000)
            text += f", or when the oldest is {age} old, the first at {_first(ages)}"
        yield text
    ends = integers(interval_fires(quiet, policy, now))
    ahead = ends > epoch_millis(now)
    if ahead.any():
        yield (
            f"compaction.optimization-interval ends in {count_of(int(ahead.sum()), 'bucket')}, the first at "
            f"{_first(nullable(ends, ahead))}"
        )
    left = int(np.count_nonzero((level0 == 0) & (integers(quiet["sorted_runs"]) > 1)))
    if policy.writers_compact and left:
        yield (
            f"{count_of(left, 'bucket')} without files in level 0, left to the table's writers because "
            "write-only is not true"
        )


def _first(millis: pa.Array | pa.ChunkedArray) -> str:
    """The earliest of some times (milliseconds since the epoch)."""
    return moment_text(moment_of(pc.min(millis).as_py()))
