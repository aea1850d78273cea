"""What a commit changes: files of groups, and the snapshot that they were planned on. Without libraries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lithify.formats.iceberg.model import DataFile, NewDataFile, NewDeleteFile
from lithify.formats.protocol.model import GroupId

if TYPE_CHECKING:
    from pyroaring import BitMap64


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
        covered: paths of data files that stay and need the equality deletes of the planned snapshot no more:
            `deletes` have their positions, or there are none.
        freed: paths of data files that stay, and need the position deletes of the planned snapshot about
            several data files no more: `deletes` have their positions, or there are none.
        late: positions of rows in outputs that others have deleted since the plan, by the paths of the
            outputs; found out in each try. Of files of `kept` with a new vector all deleted rows, if others
            have deleted some: a file has one vector only.
    """

    group: GroupId
    inputs: tuple[DataFile, ...]
    outputs: tuple[NewDataFile, ...]
    kept: tuple[DataFile, ...] = ()
    deletes: tuple[NewDeleteFile, ...] = ()
    covered: tuple[str, ...] = ()
    freed: tuple[str, ...] = ()
    late: Mapping[str, BitMap64] = field(default_factory=dict)
