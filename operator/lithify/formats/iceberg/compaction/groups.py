"""Groups of files that are rewritten and committed together, and how they are named. Pure.

A group is some files of one partition, not the whole partition: others may change one of its files without
the work on the others being lost. Its name has a part that follows from its files, so the same files are the
same group in every plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote_plus

from lithify.formats.iceberg.model import DataFile, DeleteFile, Partition
from lithify.formats.iceberg.rewriting.partitioning import PartitionField, PartitionSpec
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.protocol.model import fingerprint_of

WHOLE = "all"
"""The place of files in a table without partitions."""
OLDER_SPECS = "older-specs"
"""The place of files whose spec is not the current one."""


@dataclass(frozen=True, slots=True)
class IcebergGroup:
    """A group of files.

    Attributes:
        place: the folder of its partition, or one of the names of this module.
        fingerprint: identifies its data files and their deletes.
    """

    place: str
    fingerprint: str

    @property
    def path(self) -> str:
        """The group as people see it."""
        return f"{self.place}/{self.fingerprint}"

    def __str__(self) -> str:
        return self.path


def group_of(files: Sequence[DataFile], partition: Partition | None, spec: PartitionSpec) -> IcebergGroup:
    """The group of some files; `partition` is None for files of other specs than the current one."""
    return IcebergGroup(place_of(partition, spec), fingerprint_of(_identities(files)))


def parse_group(path: str) -> IcebergGroup:
    """The group of a path, as a summary has it."""
    place, _, fingerprint = path.rpartition("/")
    return IcebergGroup(place, fingerprint)


def place_of(partition: Partition | None, spec: PartitionSpec) -> str:
    """Where files are, for people."""
    if partition is None:
        return OLDER_SPECS
    return spec.folder(partition) or WHOLE


def values_of(partition: Partition, spec: PartitionSpec) -> Mapping[str, str]:
    """The values of a partition as texts, by the names of its fields."""
    pairs = (part.partition("=") for part in spec.folder(partition).split("/") if part)
    return {unquote_plus(name): unquote_plus(value) for name, _, value in pairs}


def spec_of(metadata: TableMetadata, spec_id: int) -> PartitionSpec:
    """A partition spec as tasks need it."""
    fields = metadata.specs[spec_id].get("fields") or ()
    return PartitionSpec(
        spec_id,
        tuple(PartitionField(each["source-id"], each["name"], each["transform"]) for each in fields),
    )


def _identities(files: Sequence[DataFile]) -> Iterator[tuple[str, int]]:
    for file in files:
        yield file.path, 0
        yield from (_delete_identity(delete) for delete in file.deletes)


def _delete_identity(delete: DeleteFile) -> tuple[str, int]:
    return delete.path, 1 + (delete.offset or 0)
