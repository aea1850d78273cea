"""Inspects buckets of a primary-key table from metadata alone: levels, runs, small files, deletes, triggers.

Called by `compacting` for `lithify inspect` and the demo. Counts and sums come from `bucket_statistics`, as
in observations; `DataFile` objects are made only to evaluate triggers. Writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa

from lithify.formats.paimon.buckets.postponed import is_postponed, postponed_verdict
from lithify.formats.paimon.buckets.statistics import bucket_statistics, level_statistics
from lithify.formats.paimon.declarations import MERGE_TREE
from lithify.formats.paimon.model import PLACE, Bucket
from lithify.formats.paimon.planning.merge_tree.levels import build_levels
from lithify.formats.paimon.planning.merge_tree.plan import Unit, plan_bucket
from lithify.formats.paimon.planning.merge_tree.policy import MergeTreeOptions
from lithify.formats.paimon.planning.universal.picks import explain
from lithify.formats.protocol.inspection import GroupBlock, GroupInspection
from lithify.formats.protocol.strategy import Strategy

Place = tuple[bytes, int]


def inspector(
    files: pa.Table, policy: MergeTreeOptions, now: datetime
) -> Callable[[Bucket], GroupInspection]:
    """Returns a function that inspects one bucket; `files` has the live files of all buckets.

    The function raises CorruptTable if files of a level overlap.
    """
    figures = _by_place(bucket_statistics(files, policy.small_file_size))
    levels = _by_place(level_statistics(files))

    def inspect(bucket: Bucket) -> GroupInspection:
        place = (bucket.id.partition, bucket.id.bucket)
        (of_bucket,) = figures[place]
        if is_postponed(bucket.id.bucket):
            verdict = postponed_verdict(of_bucket["files"], of_bucket["bytes"])
            return GroupInspection(
                group=bucket.id.path, **_counts(of_bucket), triggers=(verdict,), due=verdict.trigger
            )
        return _inspection(bucket, of_bucket, levels[place], policy, now)

    return inspect


def _by_place(figures: pa.Table) -> Mapping[Place, Sequence[Mapping[str, Any]]]:
    """The rows of each bucket."""
    found: dict[Place, list[Mapping[str, Any]]] = {}
    for row in figures.to_pylist():
        partition, number = (row.pop(name) for name in PLACE)
        found.setdefault((partition, number), []).append(row)
    return found


def _inspection(
    bucket: Bucket,
    figures: Mapping[str, Any],
    levels: Sequence[Mapping[str, Any]],
    policy: MergeTreeOptions,
    now: datetime,
) -> GroupInspection:
    verdicts = explain(build_levels(bucket.files, policy.num_levels), policy, now)
    planned = plan_bucket(bucket, policy, Strategy.MINOR, now)
    return GroupInspection(
        group=bucket.id.path,
        **_counts(figures),
        triggers=tuple(verdicts),
        due=planned.trigger if isinstance(planned, Unit) else None,
        blocks={MERGE_TREE.name: GroupBlock({"sorted_runs": figures["sorted_runs"]}, tuple(levels))},
    )


def _counts(figures: Mapping[str, Any]) -> dict[str, Any]:
    """The figures that every kind of bucket has."""
    deletes = figures["delete_rows"]
    return {
        **{name: figures[name] for name in ("files", "bytes", "rows", "small_files")},
        "delete_ratio": None if deletes is None else deletes / max(1, figures["rows"]),
    }
