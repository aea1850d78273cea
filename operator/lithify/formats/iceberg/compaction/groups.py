"""Groups of files that are rewritten and committed together, and how they are named. Pure.

A group is some files of one partition, not the whole partition: others may change one of its files without
the work on the others being lost. Its name has a part that follows from its files, so the same files are the
same group in every plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lithify.formats.iceberg.model import DataFile, DeleteFile
from lithify.formats.protocol.model import fingerprint_of
from lithify.formats.protocol.partition import PartitionValues


@dataclass(frozen=True, slots=True)
class IcebergGroup:
    """A group of files.

    Attributes:
        place: the folder of its partition, or one of the names of `table.partition_paths`.
        fingerprint: identifies its data files and their deletes.
        partition: its partition; None for files of older specs, and where only the path is known.
    """

    place: str
    fingerprint: str
    partition: PartitionValues | None = field(default=None, compare=False)

    @property
    def path(self) -> str:
        """The group as people see it."""
        return f"{self.place}/{self.fingerprint}"

    @property
    def division(self) -> str:
        """What tells the groups of a partition apart: their files."""
        return self.fingerprint

    def is_held(self, held: Mapping[str, str]) -> bool:
        """Whether it could not be compacted before, by fingerprints of such groups by path."""
        return held.get(self.path) == self.fingerprint

    def __str__(self) -> str:
        return self.path


def group_of(files: Sequence[DataFile], place: str, partition: PartitionValues | None) -> IcebergGroup:
    """The group of some files."""
    return IcebergGroup(place, fingerprint_of(_identities(files)), partition)


def parse_group(path: str) -> IcebergGroup:
    """The group of a path, as a summary has it."""
    place, _, fingerprint = path.rpartition("/")
    return IcebergGroup(place, fingerprint)


def _identities(files: Sequence[DataFile]) -> Iterator[tuple[str, int]]:
    for file in files:
        yield file.path, 0
        yield from (_delete_identity(delete) for delete in file.deletes)


def _delete_identity(delete: DeleteFile) -> tuple[str, int]:
    return delete.path, 1 + (delete.offset or 0)
