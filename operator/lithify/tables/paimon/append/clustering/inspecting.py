"""Inspects buckets whose rows are clustered from metadata alone: levels, small files, triggers.

Called by `compacting` for `lithify inspect`. Writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import groupby

from lithify.planning.clustering.plan import (
    ClusteredUnit,
    SameColumns,
    build_runs,
    plan_bucket,
    verdicts,
)
from lithify.planning.clustering.policy import ClusteringOptions
from lithify.planning.universal.levels import Levels
from lithify.planning.work import Strategy
from lithify.tables.inspection import GroupInspection, LevelSummary, MergeTreeShape
from lithify.tables.model import Bucket


def inspector(
    options: ClusteringOptions, has_same_columns: SameColumns, now: datetime
) -> Callable[[Bucket], GroupInspection]:
    """Returns a function that inspects one bucket."""

    def inspect(bucket: Bucket) -> GroupInspection:
        planned = plan_bucket(bucket, options, Strategy.MINOR, now, has_same_columns)
        levels = build_runs(bucket.files, options)
        return GroupInspection(
            group=bucket.id.path,
            files=len(bucket.files),
            bytes=bucket.size,
            rows=sum(file.rows for file in bucket.files),
            small_files=sum(file.size < options.universal.small_file_size for file in bucket.files),
            delete_ratio=0.0,
            triggers=tuple(verdicts(bucket, options, now)),
            due=planned.trigger if isinstance(planned, ClusteredUnit) else None,
            merge_tree=MergeTreeShape(levels=tuple(_summaries(levels)), sorted_runs=len(levels.runs)),
        )

    return inspect


def _summaries(levels: Levels) -> Iterator[LevelSummary]:
    for level, runs in groupby(levels.runs, lambda run: run.level):
        of_level = list(runs)
        files = [file for run in of_level for file in run.files]
        yield LevelSummary(
            level=level,
            runs=len(of_level),
            files=len(files),
            bytes=sum(file.size for file in files),
            rows=sum(file.rows for file in files),
        )
