"""What a commit changes: files of groups, and the snapshot that they were planned on. Without libraries."""

from __future__ import annotations

from dataclasses import dataclass

from lithify.formats.iceberg.model import DataFile, NewDataFile, NewDeleteFile
from lithify.formats.protocol.model import GroupId


@dataclass(frozen=True, slots=True)
class Start:
    """The state of the table on which a run was planned; kept in the plan, because snapshots expire.

    Attributes:
        snapshot: id of the planned snapshot; `NO_SNAPSHOT` for an empty branch, if its format plans such.
        sequence: its sequence number, which new files get: deletes that are newer apply to them, too.
        schema_id: the schema of new files.
        spec_id: the partition spec of new files.
        format_version: the table's format version.
    """

    snapshot: int
    sequence: int
    schema_id: int
    spec_id: int
    format_version: int


@dataclass(frozen=True, slots=True)
class GroupChange:
    """A group's files before and after.

    Attributes:
        group: the group.
        inputs: the data files that are removed.
        outputs: the data files that are added; none if all rows are deleted.
        kept: data files that stay, of which rows are deleted.
        deletes: the delete files that are added, each of a file of `kept`.
    """

    group: GroupId
    inputs: tuple[DataFile, ...]
    outputs: tuple[NewDataFile, ...]
    kept: tuple[DataFile, ...] = ()
    deletes: tuple[NewDeleteFile, ...] = ()
