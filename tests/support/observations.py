"""Observations for tests that care about a few of their fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.observation import KeptSnapshots, Observation
from lithify.resources.modelling import read
from lithify.resources.table import ObservationSummary

_LEVELS: dict[str, int | str | None] = {
    "buckets": 1,
    "dueBuckets": 0,
    "level0Files": 0,
    "maxLevel0Files": 0,
    "maxLevel0Bucket": None,
    "sortedRuns": 1,
    "sortedRunsBucket": "bucket-0",
    "sizeAmplificationPercent": None,
}
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
    groups=1,
    deleted_rows=0,
    blocks={"mergeTree": _LEVELS},
)


def observation(**fields: Any) -> Observation:
    """A merge tree with nothing to do, but for the given fields."""
    return replace(_PLAIN, **fields)


def levels_of(seen: Observation) -> Mapping[str, Any]:
    """The figures of a merge tree, by their names in status."""
    return seen.blocks["mergeTree"]


def with_levels(seen: Observation, **fields: Any) -> Observation:
    """The same with other figures of its merge tree."""
    return replace(seen, blocks={"mergeTree": {**levels_of(seen), **fields}})


def summary_with(**fields: Any) -> ObservationSummary:
    """Figures in status, from fields as in YAML."""
    return read(ObservationSummary, fields)
