"""Inspects buckets whose rows are clustered from metadata alone: levels, small files, triggers.

Called by `compacting` for `lithify inspect`. Writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from itertools import groupby

from lithify.formats.paimon.append.inspecting import inspection_of
from lithify.formats.paimon.declarations import MERGE_TREE
from lithify.formats.paimon.model import Bucket
from lithify.formats.paimon.planning.clustering.plan import (
    SameColumns,
    build_runs,
    plan_bucket,
    verdicts,
)
from lithify.formats.paimon.planning.clustering.policy import ClusteringOptions
from lithify.formats.paimon.planning.universal.levels import Levels
from lithify.formats.protocol.inspection import GroupBlock, GroupInspection
from lithify.formats.protocol.strategy import Strategy


def inspector(
    options: ClusteringOptions, has_same_columns: SameColumns, now: datetime
) -> Callable[[Bucket], GroupInspection]:
    """Returns a function that inspects one bucket."""

    def inspect(bucket: Bucket) -> GroupInspection:
        planned = plan_bucket(bucket, options, Strategy.MINOR, now, has_same_columns)
        levels = build_runs(bucket.files, options)
        of_levels = GroupBlock({"sorted_runs": len(levels.runs)}, tuple(_summaries(levels)))
        blocks = {MERGE_TREE.name: of_levels}
        triggers = verdicts(bucket, options, now)
        return inspection_of(bucket, options.universal.small_file_size, triggers, planned, blocks)

    return inspect


def _summaries(levels: Levels) -> Iterator[Mapping[str, int]]:
    for level, runs in groupby(levels.runs, lambda run: run.level):
        of_level = list(runs)
        files = [file for run in of_level for file in run.files]
        yield {
            "level": level,
            "runs": len(of_level),
            "files": len(files),
            "bytes": sum(file.size for file in files),
            "rows": sum(file.rows for file in files),
        }
