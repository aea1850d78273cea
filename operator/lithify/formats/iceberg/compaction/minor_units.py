"""Minor units: deletes of a partition are written again as positions, and its data files stay.

Made by `minor_planning`; tasks, step and commit treat them like other units.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from lithify.formats.iceberg.compaction.plan import IcebergUnit
from lithify.formats.iceberg.model import Content, DataFile, DeleteFile, DeleteKey

_OPEN_COST = 4 << 20
"""Bytes that take as long as to open a file, as Iceberg's `read.split.open-file-cost` has it."""


@dataclass(frozen=True, slots=True)
class MinorUnit(IcebergUnit):
    """The minor work in one partition; `files` is empty.

    Attributes:
        kept: the data files of which rows may be deleted by the equality deletes, as far as statistics
            tell, or that have many position delete files, or to which those of `moved` apply.
        covered: paths of all data files to which the equality deletes apply: those of `kept`, and those of
            which statistics say that they have none of the keys.
        equality: the equality deletes.
        moved: paths of the delete files of which positions are written again, whatever is new: those about
            several data files, and Puffin files.
        freed: paths of the data files to which those about several data files apply.
        dangling: deletes that are dropped, as no data file needs them.
        columns: number of the table's columns.
    """

    kept: tuple[DataFile, ...] = ()
    covered: tuple[str, ...] = ()
    equality: tuple[DeleteFile, ...] = ()
    moved: frozenset[str] = frozenset()
    freed: tuple[str, ...] = ()
    dangling: tuple[DeleteFile, ...] = ()
    columns: int = 1

    @property
    def only_drops(self) -> bool:
        """Whether no data file has to be looked at: its deletes dangle, or statistics rule them out."""
        return not self.kept

    @property
    def turns_equality(self) -> bool:
        """Whether it turns equality deletes into positions, rather than only join position deletes."""
        applied = (delete for file in self.kept for delete in file.deletes)
        return any(each.content is Content.EQUALITY_DELETES for each in (*self.equality, *applied))

    @property
    def read_bytes(self) -> int:
        """Bytes of the deletes that are read, and of columns of keys, estimated."""
        applied = {delete for file in self.kept for delete in file.deletes}
        return sum(each.own_size for each in applied) + sum(map(self._key_bytes, self.kept))

    def weight_of(self, file: DataFile) -> int:
        """What a data file takes of a task: bytes that are read for it alone, and the cost of a new file."""
        return _OPEN_COST + self._key_bytes(file) + sum(each.own_size for each in file.own_positions)

    def _key_bytes(self, file: DataFile) -> int:
        """Bytes of the columns of a data file that its equality deletes compare, if all are equally large."""
        compared = {number for each in file.deletes for number in each.equality_ids}
        return file.size * min(len(compared), self.columns) // self.columns

    @property
    def rewritten_files(self) -> int:
        """Number of the delete files that are written again."""
        return len(self.deletes)

    @property
    def rewrites(self) -> tuple[tuple[str, ...], ...]:
        """Locations of these delete files."""
        return (tuple(sorted({each.path for each in self.deletes})),)

    @property
    def deletes(self) -> frozenset[DeleteFile]:
        """The equality deletes, all that apply to its data files, and what is dropped."""
        applied = (delete for file in self.kept for delete in file.deletes)
        return frozenset((*self.equality, *applied, *self.dangling))

    def removed_deletes(self, removed: Collection[DeleteKey]) -> Iterator[DeleteFile]:
        """Those of its deletes that its commit has removed."""
        return (delete for delete in self.deletes if (delete.path, delete.offset) in removed)
