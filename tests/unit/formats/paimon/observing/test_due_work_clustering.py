"""What is said of buckets of clustered tables is what planning says of each, and for how long that holds."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from zoneinfo import ZoneInfo

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from lithify.errors import CorruptTable
from lithify.formats.paimon.append.clustering.inspecting import inspector
from lithify.formats.paimon.model import Bucket
from lithify.formats.paimon.observing.due_work_clustering import ClusteringJudge
from lithify.formats.paimon.planning.clustering.plan import HISTORY, ClusteredUnit, plan_bucket
from lithify.formats.paimon.planning.clustering.policy import ClusteringOptions, HistoryOptions
from lithify.formats.paimon.planning.merge_tree.policy import MergeTreeOptions
from lithify.formats.paimon.planning.universal.policy import UniversalOptions
from lithify.formats.protocol.strategy import Strategy
from support.clustered import COLUMNS, leveled, random_files, random_options
from support.live_files import live_files, path_of
from support.merge_trees import HOUR_MILLIS, MIDNIGHT, repeatable

ZONE = ZoneInfo("Asia/Kolkata")
OTHER = 1
"""The id of a schema with other clustering columns."""


def has_same_columns(schema_id: int) -> bool:
    return schema_id != OTHER


def judge(options: ClusteringOptions, now: datetime) -> ClusteringJudge:
    policy = MergeTreeOptions(small_file_size=options.universal.small_file_size)
    return ClusteringJudge(policy, now, pa.Array.to_pylist, path_of, "db.t", options, has_same_columns)


@repeatable
@given(st.integers(0, 1 << 32))
def test_figures_are_those_of_planning_each_bucket(seed: int) -> None:
    rng = Random(seed)
    options = random_options(rng)
    now = MIDNIGHT.astimezone(ZONE)
    buckets = [
        Bucket(
            path_of(f"dt={number}".encode(), 0),
            tuple(random_files(rng, options, rng.choice([(0,), (0, OTHER)]))),
            0,
        )
        for number in range(rng.randint(1, 6))
    ]

    figures = judge(options, now).figures(live_files(buckets)).to_pylist()

    assert [row["path"] for row in figures] == [each.id.path for each in buckets]
    for row, bucket in zip(figures, buckets, strict=True):
        minor, full = (
            plan_bucket(bucket, options, strategy, now, has_same_columns)
            for strategy in (Strategy.MINOR, Strategy.FULL)
        )
        assert row["trigger"] == (minor.trigger if isinstance(minor, ClusteredUnit) else None)
        assert row["full_bytes"] == (full.read_bytes if isinstance(full, ClusteredUnit) else None)
        inspection = inspector(options, has_same_columns, now)(bucket)
        assert (inspection.due, inspection.small_files) == (row["trigger"], row["small_files"])
        levels = inspection.blocks["mergeTree"]
        assert levels.figures == {"sorted_runs": row["sorted_runs"]}
        assert sum(level["bytes"] for level in levels.parts) == row["bytes"]
        until = row["valid_until"]
        assert until == row["next_trigger"]
        if until is not None:
            just = datetime.fromtimestamp(until / 1000, ZONE)
            before = plan_bucket(
                bucket, options, Strategy.MINOR, just - timedelta(milliseconds=1), has_same_columns
            )
            after = plan_bucket(bucket, options, Strategy.MINOR, just, has_same_columns)
            assert isinstance(after, ClusteredUnit)
            assert after.trigger == HISTORY != getattr(before, "trigger", None)


def test_a_schema_that_cannot_be_read_blocks_the_bucket_that_needs_it() -> None:
    def gone(schema_id: int) -> bool:
        if schema_id == OTHER:
            raise CorruptTable("schema/schema-1", "it is gone")
        return True

    options = ClusteringOptions(COLUMNS, UniversalOptions(num_levels=4))
    buckets = [
        Bucket(path_of(b"dt=1", 0), (leveled("a", 3, schema_id=OTHER),), 0),
        Bucket(path_of(b"dt=2", 0), (leveled("a", 0, schema_id=OTHER), leveled("b", 3)), 0),
    ]
    judging = replace(judge(options, MIDNIGHT), has_same_columns=gone)
    first, second = judging.figures(live_files(buckets)).to_pylist()
    assert (first["problem"], first["is_corrupt"]) == ("schema-1: it is gone", True)
    assert (second["problem"], second["full_bytes"] > 0) == (None, True)


def test_history_is_due_by_the_wall_clock_of_the_writers() -> None:
    """Creation times are local times of the writers; the table says in which zone."""
    options = ClusteringOptions(
        COLUMNS, UniversalOptions(num_levels=4), history=HistoryOptions(HOUR_MILLIS, 5)
    )
    now = MIDNIGHT.astimezone(ZONE)
    wall = now.replace(tzinfo=MIDNIGHT.tzinfo)
    age = int((MIDNIGHT - wall).total_seconds() * 1000)
    bucket = Bucket(path_of(b"", 0), (leveled("a", 0, created=age),), 0)
    (row,) = judge(options, now).figures(live_files([bucket])).to_pylist()
    assert row["trigger"] is None
    assert row["next_trigger"] == int(MIDNIGHT.timestamp() * 1000) + HOUR_MILLIS + 1
