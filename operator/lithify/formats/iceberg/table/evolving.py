"""The next version of table metadata: one more snapshot on a branch. Pure.

Used for catalogs that hold pointers; servers do the same by `updates`. Everything else is carried, also what
this release does not know, such as statistics, encryption keys and fields of later releases.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lithify.formats.iceberg.properties import digits_in, is_true
from lithify.formats.iceberg.table.metadata import MAIN, TableMetadata

PREVIOUS_VERSIONS = "write.metadata.previous-versions-max"
DELETES_PREVIOUS = "write.metadata.delete-after-commit.enabled"
_DEFAULT_PREVIOUS = 100
_METADATA = ".metadata.json"
"""What names of metadata files have, compressed ones too; nothing else is deleted, whatever a log names."""


@dataclass(frozen=True, slots=True)
class NextVersion:
    """The next version of a table's metadata.

    Attributes:
        text: the metadata file.
        forgotten: earlier metadata files that it no longer lists, and that may be deleted.
    """

    text: str
    forgotten: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableChanges:
    """What else changes with a snapshot.

    Attributes:
        properties: properties that are set.
        summary: further fields of the snapshot's summary.
        statistics: the entry of its statistics file; None for none.
    """

    properties: Mapping[str, str] = field(default_factory=dict)
    summary: Mapping[str, str] = field(default_factory=dict)
    statistics: Mapping[str, Any] | None = None


NO_CHANGES = TableChanges()


def with_snapshot(
    base: TableMetadata, snapshot: Mapping[str, Any], branch: str, changes: TableChanges = NO_CHANGES
) -> NextVersion:
    """The metadata with a new snapshot as the head of a branch.

    Args:
        base: the metadata that the snapshot was built on.
        snapshot: the snapshot as JSON.
        branch: the branch, which exists or is main.
        changes: what else changes.
    """
    log, forgotten = metadata_log(base)
    millis, refs = snapshot["timestamp-ms"], dict(base.json.get("refs") or {})
    refs[branch] = {**(refs.get(branch) or {"type": "branch"}), "snapshot-id": snapshot["snapshot-id"]}
    following = {
        **base.json,
        "last-updated-ms": millis,
        "snapshots": [*(base.json.get("snapshots") or ()), snapshot],
        "refs": refs,
        "metadata-log": log,
    }
    if base.format_version > 1:
        following["last-sequence-number"] = snapshot["sequence-number"]
    if "added-rows" in snapshot:
        following["next-row-id"] = base.next_row_id + snapshot["added-rows"]
    if branch == MAIN:
        entry = {"timestamp-ms": millis, "snapshot-id": snapshot["snapshot-id"]}
        following["current-snapshot-id"] = snapshot["snapshot-id"]
        following["snapshot-log"] = [*(base.json.get("snapshot-log") or ()), entry]
    if changes.properties:
        following["properties"] = {**(base.json.get("properties") or {}), **changes.properties}
    if changes.statistics is not None:
        following["statistics"] = [*(base.json.get("statistics") or ()), changes.statistics]
    return NextVersion(json.dumps(following, separators=(",", ":")), forgotten)


def updates(
    snapshot: Mapping[str, Any], branch: str, base: TableMetadata, changes: TableChanges = NO_CHANGES
) -> list[Mapping[str, Any]]:
    """The same as updates for a REST catalog's server."""
    kept = dict((base.json.get("refs") or {}).get(branch, {}).items())
    reference = {**kept, "type": "branch", "snapshot-id": snapshot["snapshot-id"]}
    found: list[Mapping[str, Any]] = [
        {"action": "add-snapshot", "snapshot": snapshot},
        {"action": "set-snapshot-ref", "ref-name": branch, **reference},
    ]
    if changes.properties:
        found.append({"action": "set-properties", "updates": dict(changes.properties)})
    if changes.statistics is not None:
        number = snapshot["snapshot-id"]
        found.append({"action": "set-statistics", "snapshot-id": number, "statistics": changes.statistics})
    return found


def requirements(base: TableMetadata, branch: str) -> list[Mapping[str, Any]]:
    """What must hold for these updates: the same table and definition, and its branch where it was.

    A server also refuses a sequence number that is not the next one, so a commit to another branch in
    between is noticed.
    """
    head = base.head(branch)
    return [
        {"type": "assert-table-uuid", "uuid": base.uuid},
        {"type": "assert-current-schema-id", "current-schema-id": base.schema_id},
        {"type": "assert-default-spec-id", "default-spec-id": base.spec_id},
        {
            "type": "assert-ref-snapshot-id",
            "ref": branch,
            "snapshot-id": None if head is None else head.id,
        },
    ]


def metadata_log(base: TableMetadata) -> tuple[list[Any], tuple[str, ...]]:
    """The log with the base's file, and those of the files that fall off its end that may be deleted."""
    log: Sequence[Any] = base.json.get("metadata-log") or ()
    if base.file:
        log = [*log, {"timestamp-ms": base.last_updated, "metadata-file": base.file}]
    most = max(1, digits_in(base.properties, PREVIOUS_VERSIONS, _DEFAULT_PREVIOUS))
    dropped = [str(entry["metadata-file"]) for entry in log[:-most]]
    dropped = [path for path in dropped if _METADATA in path.rpartition("/")[2]]
    return list(log[-most:]), tuple(dropped) if is_true(base.properties, DELETES_PREVIOUS) else ()
