"""Plans of Iceberg tables as runs see them: implements `TableView`, `WorkUnit` and `Plan` of the protocol."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from lithify.columns.column_groups import Numbers
from lithify.formats.iceberg.commit.changes import Start
from lithify.formats.iceberg.compaction.details import DELETES
from lithify.formats.iceberg.compaction.groups import IcebergGroup
from lithify.formats.iceberg.compaction.row_accounts import check_deletes, check_rows
from lithify.formats.iceberg.manifests.view import Statistics, View
from lithify.formats.iceberg.model import (
    DataFile,
    DeleteFile,
    DeleteKey,
    NewDataFile,
    NewDeleteFile,
    Partition,
)
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.row_orders import RowOrder
from lithify.formats.protocol.details import Detail, Details, totals_of
from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.results import Block


@dataclass(frozen=True, slots=True)
class PinnedView:
    """The selected files of a pinned snapshot.

    Attributes:
        metadata: the metadata that has the snapshot.
        start: the snapshot, and the state of the table.
        view: its live files; of data files only the selected ones.
        order: the order of the rows in new files.
        statistics: what the view has of columns.
        repeated: paths of data files that are listed more than once, in any partition.
        dangling: rows of the deletes that no data file of the snapshot needs, selected or not.
        is_rest: whether only the minor units of it are left to be planned.
    """

    metadata: TableMetadata
    start: Start
    view: View
    order: RowOrder
    statistics: Statistics
    repeated: frozenset[str]
    dangling: Numbers
    is_rest: bool = False

    @property
    def snapshot_id(self) -> SnapshotId:
        """Id of the pinned snapshot."""
        return SnapshotId(str(self.start.snapshot))


@dataclass(frozen=True, slots=True)
class IcebergUnit:
    """The work in one group.

    Attributes:
        group: the group.
        files: its data files with their deletes, in the order in which they are joined.
        partition: their partition; None if they are of older specs and are partitioned again.
        split_size: bytes of input for each file that is written.
        trigger: the trigger that fired.
        reason: the numbers behind it.
        start: the state of the table that was planned on.
    """

    group: IcebergGroup
    files: tuple[DataFile, ...]
    partition: Partition | None
    split_size: int
    trigger: str
    reason: str
    start: Start

    @property
    def read_bytes(self) -> int:
        """Bytes of the data files."""
        return sum(file.size for file in self.files)

    def weight_of(self, file: DataFile) -> int:
        """What one of its data files takes of a task, in bytes."""
        return file.size

    @property
    def rewritten_files(self) -> int:
        """Number of the data files."""
        return len(self.files)

    @property
    def rewrites(self) -> tuple[tuple[str, ...], ...]:
        """Locations of the data files: one rewrite."""
        return (tuple(file.path for file in self.files),)

    @property
    def inputs(self) -> tuple[DataFile, ...]:
        """The files of which rows are written, unless they are deleted."""
        return self.files

    @property
    def kept(self) -> tuple[DataFile, ...]:
        """The files that stay, of which rows are deleted by new delete files."""
        return ()

    @property
    def covered(self) -> tuple[str, ...]:
        """Paths of data files that stay and will need no equality delete of the planned snapshot."""
        return ()

    @property
    def freed(self) -> tuple[str, ...]:
        """Paths of data files that stay and will need no position delete about several files of it."""
        return ()

    @property
    def only_drops(self) -> bool:
        """Whether it has no tasks, because its commit only drops deletes."""
        return False

    @property
    def turns_equality(self) -> bool:
        """Whether it turns equality deletes of files that stay into positions."""
        return False

    @property
    def deletes(self) -> frozenset[DeleteFile]:
        """The deletes that apply to its data files."""
        return frozenset(delete for file in self.files for delete in file.deletes)

    def removed_deletes(self, removed: Collection[DeleteKey]) -> Iterator[DeleteFile]:
        """Those of its deletes that its commit has removed: all for its files alone; others may be needed."""
        del removed
        return (delete for delete in self.deletes if delete.referenced is not None)

    @property
    def details(self) -> Details:
        """The number of delete files that apply to the files of the unit."""
        return (Detail(DELETES, len(self.deletes)),)

    def check_rows(self, outputs: Sequence[NewDataFile], deletes: Sequence[NewDeleteFile]) -> None:
        """Checks the number of rows of new files, and what new delete files are about.

        Raises:
            CorruptTable: there are too many, or too few.
        """
        check_rows(self.files, outputs)
        check_deletes(self.kept, deletes)


UnitT = TypeVar("UnitT", bound=IcebergUnit, covariant=True)


@dataclass(frozen=True, slots=True)
class PlanOfGroups(Generic[UnitT]):
    """The work of a run at a table of Iceberg, or of a format that stands on its tables."""

    pinned: PinnedView
    units: tuple[UnitT, ...]
    resting: Mapping[str, int]
    held: tuple[IcebergGroup, ...]

    blocks: tuple[Block, ...] = ()
    deferred: int = 0
    remaining: PinnedView | None = None

    @property
    def conflicts(self) -> Mapping[IcebergGroup, str]:
        """None: a plan reads no data files, so it misses none."""
        return {}

    @property
    def totals(self) -> Mapping[str, int]:
        """The sums of the units' details."""
        return totals_of(unit.details for unit in self.units)

    @property
    def snapshot_id(self) -> SnapshotId:
        """Id of the snapshot that was planned on."""
        return self.pinned.snapshot_id


def plan_of(
    pinned: PinnedView,
    found: Sequence[UnitT],
    resting: Mapping[str, int],
    held: Mapping[str, str],
    blocks_of: Callable[[Sequence[UnitT]], Iterable[Block]],
) -> PlanOfGroups[UnitT]:
    """The plan of all units that are neither held nor blocked.

    Args:
        pinned: the state that was planned on.
        found: the work in it.
        resting: number of groups without work, by reason.
        held: fingerprints by path of groups that could not be compacted before.
        blocks_of: finds those of some units that cannot be compacted.
    """
    left_out = tuple(unit.group for unit in found if unit.group.is_held(held))
    tried = [unit for unit in found if unit.group not in left_out]
    blocks = tuple(blocks_of(tried))
    blocked = {block.group for block in blocks}
    chosen = tuple(unit for unit in tried if unit.group not in blocked)
    return PlanOfGroups(pinned, chosen, resting, left_out, blocks)


IcebergPlan: TypeAlias = PlanOfGroups[IcebergUnit]
