"""Optimized lines of tables in the tests: names of partitions, and metadata of base stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lithify.formats.iceberg.table.metadata import TableMetadata, parse_metadata
from lithify.formats.iceberg.table.partition_paths import PartitionField, PartitionSpec
from lithify.formats.mixed.partition_keys import PartitionKeys

LOCATION = "file:///t/base"


def keys_of(*types: str, transform: str = "identity") -> PartitionKeys:
    """The names of partitions by fields `p0`, `p1` and so on with these types."""
    fields = (PartitionField(number, f"p{number}", transform) for number in range(len(types)))
    return PartitionKeys(PartitionSpec(0, tuple(fields)), types, LOCATION)


def base_of(
    summaries: Sequence[Mapping[str, str]],
    statistics: Sequence[Mapping[str, Any]] = (),
    properties: Mapping[str, str] | None = None,
) -> TableMetadata:
    """Metadata of a base store whose snapshots 1, 2 and so on have these summaries, one after the other."""
    snapshots = [
        {
            "snapshot-id": number,
            "parent-snapshot-id": number - 1 or None,
            "sequence-number": number,
            "timestamp-ms": number,
            "manifest-list": f"{LOCATION}/metadata/{number}.avro",
            "summary": {"operation": "overwrite", **summary},
        }
        for number, summary in enumerate(summaries, 1)
    ]
    found = {
        "format-version": 2,
        "location": LOCATION,
        "last-updated-ms": 0,
        "schemas": [{"schema-id": 0, "fields": []}],
        "current-schema-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "properties": properties or {},
        "snapshots": snapshots,
        "current-snapshot-id": len(snapshots) or -1,
        "statistics": [*statistics],
    }
    return parse_metadata(found, f"{LOCATION}/metadata/v1.metadata.json")
