"""The next version of table metadata."""

from __future__ import annotations

import json
from typing import Any

from lithify.formats.iceberg.table.evolving import with_snapshot
from lithify.formats.iceberg.table.metadata import MAIN, parse_metadata

SNAPSHOT = {"snapshot-id": 2, "timestamp-ms": 9, "sequence-number": 2}


def metadata(log: list[str], **properties: str) -> Any:
    found = {
        "format-version": 2,
        "location": "/t",
        "last-updated-ms": 1,
        "schemas": [{"schema-id": 0, "fields": []}],
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "properties": properties,
        "metadata-log": [{"timestamp-ms": 1, "metadata-file": path} for path in log],
    }
    return parse_metadata(found, "/t/metadata/v9.metadata.json")


def test_only_metadata_files_are_forgotten() -> None:
    """Whoever may write a table's metadata may write anything into its log."""
    names = ["v1.metadata.json", "v2.gz.metadata.json", "v3.metadata.json.gz", "snap-1.avro", "x.parquet"]
    keeping = {
        "write.metadata.previous-versions-max": "1",
        "write.metadata.delete-after-commit.enabled": "true",
    }
    base = metadata([f"/t/metadata/{name}" for name in names], **keeping)

    following = with_snapshot(base, SNAPSHOT, MAIN)

    assert following.forgotten == tuple(f"/t/metadata/{name}" for name in names[:3])
    (left,) = json.loads(following.text)["metadata-log"]
    assert left["metadata-file"] == "/t/metadata/v9.metadata.json"
