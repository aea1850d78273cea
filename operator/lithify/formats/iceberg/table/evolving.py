"""The next version of table metadata: one more snapshot on a branch. Pure.

Used for catalogs that hold pointers; servers do the same by `updates`. Everything else is carried, also what
this release does not know, such as statistics, encryption keys and fields of later releases.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
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
NO_RETENTION: Mapping[str, Any] = MappingProxyType({})


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
    following = {
        **base.json,
        "snapshots": [*(base.json.get("snapshots") or ()), snapshot],
        **with_head(base, branch, snapshot["snapshot-id"], snapshot["timestamp-ms"]),
        "metadata-log": log,
    }
    if base.format_version > 1:
        following["last-sequence-number"] = snapshot["sequence-number"]
    if "added-rows" in snapshot:
        following["next-row-id"] = base.next_row_id + snapshot["added-rows"]
    if changes.properties:
        following["properties"] = {**(base.json.get("properties") or {}), **changes.properties}
    if changes.statistics is not None:
        following["statistics"] = [*(base.json.get("statistics") or ()), changes.statistics]
    return NextVersion(json.dumps(following, separators=(",", ":")), forgotten)


def with_head(
    base: TableMetadata,
    branch: str,
    snapshot: int,
    millis: int,
    kept: Mapping[str, Any] = NO_RETENTION,
) -> dict[str, Any]:
    """The fields of the metadata that change with the head of a branch.

    As in Java (`TableMetadata.Builder.setRef`), the log of main says since when the snapshot counts.

    Args:
        base: the metadata before.
        branch: the branch.
        snapshot: its new head.
        millis: the present time.
        kept: what a new branch says of its retention; one that exists keeps what it says.
    """
    refs = dict(base.json.get("refs") or {})
    refs[branch] = {**(refs.get(branch) or {"type": "branch", **kept}), "snapshot-id": snapshot}
    fields: dict[str, Any] = {"last-updated-ms": millis, "refs": refs}
    if branch == MAIN:
        entry = {"timestamp-ms": millis, "snapshot-id": snapshot}
        fields["current-snapshot-id"] = snapshot
        fields["snapshot-log"] = [*(base.json.get("snapshot-log") or ()), entry]
    return fields


def set_head(
    base: TableMetadata, branch: str, snapshot: int, kept: Mapping[str, Any] = NO_RETENTION
) -> Mapping[str, Any]:
    """The same as an update for a REST catalog's server."""
    known = (base.json.get("refs") or {}).get(branch) or kept
    return {
        "action": "set-snapshot-ref",
        "ref-name": branch,
        **known,
        "type": "branch",
        "snapshot-id": snapshot,
    }


def updates(
    snapshot: Mapping[str, Any], branch: str, base: TableMetadata, changes: TableChanges = NO_CHANGES
) -> list[Mapping[str, Any]]:
    """The same as updates for a REST catalog's server."""
    found: list[Mapping[str, Any]] = [
        {"action": "add-snapshot", "snapshot": snapshot},
        set_head(base, branch, snapshot["snapshot-id"]),
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
