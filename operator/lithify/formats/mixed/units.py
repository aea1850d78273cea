"""The work of a run at a keyed table: a unit for each partition, with a part for each task.

Made by `planning`, used by tasks, the step and the commit. All parts of a partition are committed together,
because the line says of a whole partition which changes its base has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from lithify.errors import CorruptTable
from lithify.formats.iceberg.compaction.plan import IcebergUnit, PlanOfGroups
from lithify.formats.iceberg.compaction.row_accounts import check_deletes
from lithify.formats.iceberg.model import Content, DataFile, DeleteFile, NewDataFile, NewDeleteFile
from lithify.formats.iceberg.table.snapshots import EMPTY, Snapshot
from lithify.formats.mixed.details import CHANGES
from lithify.formats.mixed.optimized_line import NOTHING_MERGED
from lithify.formats.protocol.details import Detail, Details


@dataclass(frozen=True, slots=True)
class KeyedFile:
    """A file of a keyed table.

    Attributes:
        file: the file; base files have the position deletes that apply to them.
        node: id of the node that has all of its rows.
        transaction: id of the transaction that wrote it.
        disputed: position delete files that some readers apply to it and others do not.
    """

    file: DataFile
    node: int
    transaction: int
    disputed: tuple[DeleteFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Subtree:
    """The files of one task: those in a node and below it.

    Attributes:
        root: id of the node.
        base: base files that are rewritten.
        inserts: files of inserted rows that base has not yet.
        deletes: files of deleted rows that base has not yet.
        kept: base files that stay, of which these may delete rows.
    """

    root: int
    base: tuple[KeyedFile, ...]
    inserts: tuple[KeyedFile, ...]
    deletes: tuple[KeyedFile, ...]
    kept: tuple[KeyedFile, ...] = ()

    @property
    def rows(self) -> tuple[KeyedFile, ...]:
        """The files whose rows are written, unless they are deleted."""
        return (*self.base, *self.inserts)

    @property
    def is_worth_it(self) -> bool:
        """Whether there is anything to merge: changes, deletes, or several files."""
        base = self.base
        return bool(self.inserts or self.deletes or len(base) > 1 or any(each.file.deletes for each in base))

    @property
    def transaction(self) -> int:
        """The transaction of new files: the highest one of their rows, as Amoro's executor has it."""
        return max((each.transaction for each in self.rows), default=0)

    @property
    def last_delete(self) -> int:
        """The highest transaction of its deletes, that of new position deletes; -1 for none."""
        return max((each.transaction for each in self.deletes), default=-1)


@dataclass(frozen=True, slots=True)
class MixedUnit(IcebergUnit):
    """The work in one partition; `files` are the base files that are rewritten.

    Attributes:
        subtrees: its parts, a task for each.
        folder: the folder of the partition, by which the line names it.
        line: the line of the partition when it was planned, `NOTHING_MERGED` if it had none.
        to_sequence: the highest sequence number of the changes that are merged, `NOTHING_MERGED` without any.
        change: the change store's snapshot that was planned on.
        hive: the new folder from which Hive reads the partition after the commit; empty in other tables.
    """

    subtrees: tuple[Subtree, ...] = ()
    folder: str = ""
    line: int = NOTHING_MERGED
    to_sequence: int = NOTHING_MERGED
    change: Snapshot = EMPTY
    hive: str = ""

    @property
    def last_delete(self) -> int:
        """The highest transaction of the deletes that are merged; -1 for none."""
        return max((part.last_delete for part in self.subtrees), default=-1)

    @property
    def last_row(self) -> int:
        """The highest transaction of new base files; -1 for none."""
        return max((part.transaction for part in self.subtrees if part.rows), default=-1)

    @property
    def changes(self) -> Iterator[KeyedFile]:
        """The change files that are merged."""
        for subtree in self.subtrees:
            yield from subtree.inserts
            yield from subtree.deletes

    @property
    def read_bytes(self) -> int:
        """Bytes of base and change files."""
        return sum(file.size for file in self.files) + sum(each.file.size for each in self.changes)

    @property
    def rewritten_files(self) -> int:
        """Number of base and change files."""
        return len(self.files) + sum(1 for _ in self.changes)

    @property
    def rewrites(self) -> tuple[tuple[str, ...], ...]:
        """Locations of the files of each task."""
        return tuple(tuple(each.file.path for each in (*part.rows, *part.deletes)) for part in self.subtrees)

    @property
    def kept(self) -> tuple[DataFile, ...]:
        """The base files that stay, of which its changes may delete rows."""
        return tuple(each.file for part in self.subtrees for each in part.kept)

    @property
    def details(self) -> Details:
        """The number of change files."""
        return (Detail(CHANGES, sum(1 for _ in self.changes)),)

    @property
    def inputs(self) -> tuple[DataFile, ...]:
        """The files of which rows are written, unless they are deleted."""
        return tuple(each.file for part in self.subtrees for each in part.rows)

    def check_rows(self, outputs: Sequence[NewDataFile], deletes: Sequence[NewDeleteFile]) -> None:
        """Checks that new files have no more rows than are there, and all where nothing is deleted.

        New delete files must be about files that stay; see `check_deletes`.

        Raises:
            CorruptTable: there are too many rows, or too few.
        """
        before, after = sum(file.rows for file in self.inputs), sum(file.rows for file in outputs)
        positions = sum(each.rows for each in self.deletes if each.content is Content.POSITION_DELETES)
        may_delete = any(part.deletes for part in self.subtrees)
        least = 0 if may_delete else before - positions
        if not least <= after <= before:
            problem = f"it has {before} rows, of which at least {least} stay, but {after} were written"
            raise CorruptTable(self.group.path, problem)
        check_deletes(self.kept, deletes)


MixedPlan: TypeAlias = PlanOfGroups[MixedUnit]
