"""Observations for tests that care about a few of their fields."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lithify.tables.model import SnapshotId
from lithify.tables.observation import KeptSnapshots, Observation

_PLAIN = Observation(
    table_uuid="table-1",
    snapshot=SnapshotId("1"),
    snapshot_time=None,
    schema_id=0,
    refusals=(),
    write_only=True,
    partitions=1,
    buckets=1,
    files=1,
    bytes=100,
    small_files=0,
    level0_files=0,
    sorted_runs=1,
    sorted_runs_bucket="bucket-0",
    delete_percent=0,
    findings=(),
    full_bytes=0,
    snapshots=KeptSnapshots(count=1, oldest=None, expired_bytes=0, writers_expire=True),
)


def observation(**fields: Any) -> Observation:
    """A table with nothing to do, but for the given fields."""
    return replace(_PLAIN, **fields)
