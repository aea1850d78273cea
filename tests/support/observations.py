"""Observations for tests that care about a few of their fields."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.observation import KeptSnapshots, MergeTreeObservation, Observation

_LEVELS = MergeTreeObservation(
    buckets=1,
    level0_files=0,
    max_level0_files=0,
    max_level0_bucket=None,
    sorted_runs=1,
    sorted_runs_bucket="bucket-0",
)
_PLAIN = Observation(
    table_uuid="table-1",
    snapshot=SnapshotId("1"),
    snapshot_time=None,
    schema_id=0,
    refusals=(),
    write_only=True,
    partitions=1,
    files=1,
    bytes=100,
    small_files=0,
    delete_percent=0,
    findings=(),
    full_bytes=0,
    snapshots=KeptSnapshots(count=1, oldest=None, expired_bytes=0, writers_expire=True),
    merge_tree=_LEVELS,
)


def observation(**fields: Any) -> Observation:
    """A merge tree with nothing to do, but for the given fields."""
    return replace(_PLAIN, **fields)


def levels_of(seen: Observation) -> MergeTreeObservation:
    """The figures of a merge tree."""
    assert seen.merge_tree is not None
    return seen.merge_tree


def with_levels(seen: Observation, **fields: Any) -> Observation:
    """The same with other figures of its merge tree."""
    return replace(seen, merge_tree=replace(levels_of(seen), **fields))
