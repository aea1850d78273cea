"""The summary of a snapshot: Iceberg's figures, and who committed it. Pure.

Names and meaning are those of Iceberg's own writers: a figure of zero is left out, and totals follow from the
summary of the snapshot before. A total whose predecessor is unknown stays unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from lithify import __version__
from lithify.formats.iceberg.properties import digits_in


@dataclass(frozen=True, slots=True)
class FileCounts:
    """Figures of files that a snapshot adds or removes.

    Attributes:
        data_files: number of data files.
        records: rows in them.
        size: bytes of data and delete files; of a vector its blob.
        position_files: number of position delete files that are no vectors.
        vectors: number of deletion vectors.
        positions: deleted positions in both.
        equality_files: number of equality delete files.
        equality_rows: rows in them.
    """

    data_files: int = 0
    records: int = 0
    size: int = 0
    position_files: int = 0
    vectors: int = 0
    positions: int = 0
    equality_files: int = 0
    equality_rows: int = 0

    @property
    def delete_files(self) -> int:
        """Number of delete files of all kinds."""
        return self.position_files + self.vectors + self.equality_files

    def __add__(self, other: FileCounts) -> FileCounts:
        return FileCounts(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


_TOTALS = (
    ("total-data-files", "data_files"),
    ("total-delete-files", "delete_files"),
    ("total-records", "records"),
    ("total-files-size", "size"),
    ("total-position-deletes", "positions"),
    ("total-equality-deletes", "equality_rows"),
)
_CHANGES = (
    ("added-data-files", "deleted-data-files", "data_files"),
    ("added-delete-files", "removed-delete-files", "delete_files"),
    ("added-records", "deleted-records", "records"),
    ("added-files-size", "removed-files-size", "size"),
    ("added-position-delete-files", "removed-position-delete-files", "position_files"),
    ("added-dvs", "removed-dvs", "vectors"),
    ("added-position-deletes", "removed-position-deletes", "positions"),
    ("added-equality-delete-files", "removed-equality-delete-files", "equality_files"),
    ("added-equality-deletes", "removed-equality-deletes", "equality_rows"),
)


def summary_of(
    added: FileCounts,
    removed: FileCounts,
    before: Mapping[str, str],
    changed_partitions: int,
    notes: Mapping[str, str],
    operation: str,
) -> dict[str, str]:
    """The summary of a snapshot.

    Args:
        added: what it adds.
        removed: what it removes.
        before: the summary of the snapshot that it replaces.
        changed_partitions: number of partitions with added or removed files.
        notes: fields of our own.
        operation: what the snapshot says of the table's rows.
    """
    figures = {
        name: str(value)
        for more, less, attribute in _CHANGES
        for name, value in ((more, getattr(added, attribute)), (less, getattr(removed, attribute)))
        if value
    }
    totals = {
        name: str(total)
        for name, attribute in _TOTALS
        if (total := _total(before, name, getattr(added, attribute) - getattr(removed, attribute)))
        is not None
    }
    engine = {"engine-name": "lithify", "engine-version": __version__}
    partitions = {"changed-partition-count": str(changed_partitions)}
    return {"operation": operation, **figures, **partitions, **totals, **engine, **notes}


def _total(before: Mapping[str, str], name: str, change: int) -> int | None:
    """A new total; None if the former one is unknown or wrong."""
    former = digits_in(before, name, -1)
    return former + change if former >= 0 and former + change >= 0 else None
