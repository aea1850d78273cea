"""Metadata without some snapshots: what leaves with them, and how servers are asked for the same."""

from __future__ import annotations

import json
from typing import Any

from lithify.formats.iceberg.maintenance.next_metadata import (
    removal_requirements,
    removal_updates,
    version_without,
)
from lithify.formats.iceberg.maintenance.retention import Removal
from lithify.formats.iceberg.table.metadata import TableMetadata, parse_metadata


def metadata(**changes: Any) -> TableMetadata:
    """A table with three commits on main, a tag on the first, and statistics of each."""
    numbers = (1, 2, 3)
    found: dict[str, Any] = {
        "format-version": 2,
        "table-uuid": "uuid",
        "location": "s3://lake/t",
        "last-sequence-number": 3,
        "last-updated-ms": 300,
        "schemas": [{"schema-id": 0, "fields": []}],
        "current-schema-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "default-spec-id": 0,
        "current-snapshot-id": 3,
        "snapshots": [
            {
                "snapshot-id": each,
                "timestamp-ms": each * 100,
                "manifest-list": f"l{each}",
                "sequence-number": each,
            }
            for each in numbers
        ],
        "snapshot-log": [{"snapshot-id": each, "timestamp-ms": each * 100} for each in numbers],
        "refs": {
            "main": {"snapshot-id": 3, "type": "branch"},
            "first": {"snapshot-id": 1, "type": "tag", "max-ref-age-ms": 5, "note": "kept"},
        },
        "statistics": [{"snapshot-id": each, "statistics-path": f"s{each}"} for each in numbers],
        "partition-statistics": [{"snapshot-id": each, "statistics-path": f"p{each}"} for each in numbers],
        "of-a-later-release": [1],
        **changes,
    }
    return parse_metadata(found, "s3://lake/t/metadata/v3.json")


def following(base: TableMetadata, removal: Removal, millis: int = 400) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(version_without(base, removal, millis).text)
    return found


def ids(found: dict[str, Any], name: str) -> list[int]:
    return [each["snapshot-id"] for each in found[name]]


def test_snapshots_leave_with_their_statistics() -> None:
    found = following(metadata(), Removal(frozenset({2})))
    for name in ("snapshots", "statistics", "partition-statistics"):
        assert ids(found, name) == [1, 3]
    assert found["of-a-later-release"] == [1]
    assert (found["current-snapshot-id"], found["last-sequence-number"]) == (3, 3)


def test_log_begins_after_the_last_snapshot_that_is_gone() -> None:
    """With a gap it would say that another one was the head then."""
    base = metadata()
    assert ids(following(base, Removal(frozenset({2}))), "snapshot-log") == [3]
    assert ids(following(base, Removal(frozenset({1}))), "snapshot-log") == [2, 3]


def test_log_that_names_a_lost_snapshot_begins_after_it() -> None:
    base = metadata()
    log = [{"snapshot-id": each, "timestamp-ms": 1} for each in (1, 77, 2, 3)]
    assert ids(following(metadata(**{"snapshot-log": log}), Removal(frozenset({1}))), "snapshot-log") == [
        2,
        3,
    ]
    assert ids(following(base, Removal(references=frozenset({"first"}))), "snapshot-log") == [1, 2, 3]


def test_references_leave_and_others_stay_as_they_are() -> None:
    assert list(following(metadata(), Removal(references=frozenset({"first"})))["refs"]) == ["main"]
    kept = following(metadata(), Removal(frozenset({2})))["refs"]["first"]
    assert kept == {"snapshot-id": 1, "type": "tag", "max-ref-age-ms": 5, "note": "kept"}


def test_base_joins_the_log_of_metadata_and_time_never_goes_back() -> None:
    found = following(metadata(), Removal(frozenset({2})), millis=7)
    assert found["last-updated-ms"] == 300
    assert found["metadata-log"] == [{"timestamp-ms": 300, "metadata-file": "s3://lake/t/metadata/v3.json"}]


def test_servers_are_asked_for_the_same() -> None:
    updates = removal_updates(metadata(), Removal(frozenset({1, 2}), frozenset({"first"})))
    assert updates == [
        {"action": "remove-snapshot-ref", "ref-name": "first"},
        {"action": "remove-snapshots", "snapshot-ids": [1]},
        {"action": "remove-snapshots", "snapshot-ids": [2]},
        {"action": "remove-statistics", "snapshot-id": 1},
        {"action": "remove-statistics", "snapshot-id": 2},
        {"action": "remove-partition-statistics", "snapshot-id": 1},
        {"action": "remove-partition-statistics", "snapshot-id": 2},
    ]


def test_every_reference_must_be_where_it_was() -> None:
    assert removal_requirements(metadata()) == [
        {"type": "assert-table-uuid", "uuid": "uuid"},
        {"type": "assert-ref-snapshot-id", "ref": "first", "snapshot-id": 1},
        {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": 3},
    ]
    headless = metadata(**{"refs": {}, "current-snapshot-id": -1})
    assert removal_requirements(headless)[1:] == [
        {"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": None}
    ]
