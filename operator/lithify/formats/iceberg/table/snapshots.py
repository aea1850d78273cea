"""Snapshots and references of a table, parsed from its metadata. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from lithify.formats.protocol.model import SnapshotId

Value = TypeVar("Value")

REPLACE, OVERWRITE, DELETE = "replace", "overwrite", "delete"
"""Operations of snapshots: other files with the same rows, other rows, fewer rows."""
RUN = "lithify.run"
ATTEMPT = "lithify.attempt"
BASE = "lithify.base"
TO_COME = "lithify.to-come"
GROUPS = "lithify.groups"
"""Fields of a summary by which runs find their own snapshots."""
UNFINISHED = "lithify.attempt-goes-on"
"""The attempt of the snapshot was to commit another one, so its other files may still be needed."""
CARRIED = "lithify.carried-deletes"
"""Number of rows that others deleted while they were rewritten, and that a snapshot deletes in new files."""
MINOR = "lithify.minor"
"""The snapshot turned equality deletes into positions: an `overwrite` that changes no row."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot.

    Attributes:
        id: its number, random and unique in the table.
        parent: the snapshot that it was committed on; None for the first one.
        sequence: its sequence number; 0 in version 1.
        millis: commit time, in milliseconds since 1970.
        manifest_list: the file that lists its manifests; None in old tables of version 1.
        summary: its operation, figures and notes of its writer.
    """

    id: int
    parent: int | None
    sequence: int
    millis: int
    manifest_list: str | None
    summary: Mapping[str, str]

    @property
    def snapshot_id(self) -> SnapshotId:
        """Its id as the engine and the operator know it."""
        return SnapshotId(str(self.id))


YIELD_TO_WRITERS = "lithify.yield-to-writers"
"""The table property, and option of a run, by which its snapshots give way to writers."""

_POLARIS = ("polaris.internal.conflict-resolution.by-operation-type.replace", "rollback")
_LAKEKEEPER = ("lakekeeper.rollbackable", "true")

ROLLBACKABLE = dict((_POLARIS, _LAKEKEEPER))
"""Fields of a summary that let Polaris and Lakekeeper remove a snapshot in favour of a writer's commit.

The server removes the marked `replace` snapshots at the end of a branch when a writer's commit demands the
snapshot before them, and puts the writer's snapshot in their place.
"""


def is_rollbackable(snapshot: Snapshot) -> bool:
    """Whether a catalog may remove a snapshot in favour of a commit that was built on an earlier one."""
    summary = snapshot.summary
    marks = (summary.get(name, "").lower() == value for name, value in (_POLARIS, _LAKEKEEPER))
    return summary.get("operation") == REPLACE and any(marks)


@dataclass(frozen=True, slots=True)
class Reference:
    """A branch or tag.

    Attributes:
        name: its name.
        snapshot: the snapshot that it names.
        is_branch: whether it is a branch.
        max_snapshot_age: milliseconds for which a branch keeps its snapshots; None for the table's own value.
        min_snapshots: number of snapshots that a branch keeps whatever their age; None likewise.
        max_age: milliseconds for which it stays itself; None likewise.
    """

    name: str
    snapshot: int
    is_branch: bool
    max_snapshot_age: int | None = None
    min_snapshots: int | None = None
    max_age: int | None = None


NO_SNAPSHOT = -1
"""Stands for the id of the snapshot of a branch that has none."""

EMPTY = Snapshot(NO_SNAPSHOT, None, 0, 0, None, {})
"""Stands for the snapshot of a branch that has none: it has no files."""


def is_whole(ancestry: Sequence[Snapshot]) -> bool:
    """Whether a history, newest first, is known back to its very first snapshot."""
    return not ancestry or ancestry[-1].parent in (None, NO_SNAPSHOT)


def parse_snapshot(found: Mapping[str, Any]) -> Snapshot:
    """Parses a snapshot of table metadata.

    Raises:
        KeyError, TypeError, ValueError: it has another form.
    """
    return Snapshot(
        id=int(found["snapshot-id"]),
        parent=optional_int(found, "parent-snapshot-id"),
        sequence=optional_int(found, "sequence-number") or 0,
        millis=int(found["timestamp-ms"]),
        manifest_list=optional_text(found, "manifest-list"),
        summary={str(key): str(value) for key, value in (found.get("summary") or {}).items()},
    )


def parse_reference(name: str, found: Mapping[str, Any]) -> Reference:
    """Parses a branch or tag of table metadata.

    Raises:
        KeyError, TypeError, ValueError: it has another form.
    """
    return Reference(
        name=name,
        snapshot=int(found["snapshot-id"]),
        is_branch=found.get("type") == "branch",
        max_snapshot_age=optional_int(found, "max-snapshot-age-ms"),
        min_snapshots=optional_int(found, "min-snapshots-to-keep"),
        max_age=optional_int(found, "max-ref-age-ms"),
    )


def optional_int(found: Mapping[str, Any], name: str) -> int | None:
    """A whole number in an object; None if it is missing or null.

    Raises:
        ValueError: it is something else.
    """
    return _optional(found, name, int, "whole number")


def optional_text(found: Mapping[str, Any], name: str) -> str | None:
    """A text in an object; None if it is missing or null; see `optional_int`."""
    return _optional(found, name, str, "text")


def _optional(found: Mapping[str, Any], name: str, kind: type[Value], what: str) -> Value | None:
    value = found.get(name)
    if value is not None and type(value) is not kind:
        raise ValueError(f"{name} is no {what}")
    return value
