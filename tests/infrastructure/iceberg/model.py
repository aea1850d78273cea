"""What Spark's operations take and return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypedDict


class WhatSnapshot(TypedDict, total=False):
    """Of what is planned: a snapshot or a branch instead of the current one, and a condition in SQL."""

    snapshot_id: int
    branch: str
    where: str


@dataclass(frozen=True, slots=True)
class Timed:
    """How long an operation took; processor time is that of the whole JVM."""

    result: Any
    nanos: int
    cpu_nanos: int


@dataclass(frozen=True, slots=True)
class TableState:
    """A table's current metadata: its file, as it is there."""

    location: str
    snapshot_id: int | None
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentFile:
    """What manifests say of a data file or a delete file; partition values in Iceberg's JSON form."""

    content: str
    path: str
    format: str
    spec_id: int
    partition: Mapping[str, Any]
    record_count: int
    size: int
    data_sequence_number: int | None
    file_sequence_number: int | None
    sort_order_id: int | None
    split_offsets: Sequence[int] | None
    first_row_id: int | None = None
    equality_ids: Sequence[int] | None = None
    referenced_data_file: str | None = None
    content_offset: int | None = None
    content_size: int | None = None


@dataclass(frozen=True, slots=True)
class ScanTask:
    """A data file, and the delete files that apply to it."""

    file: ContentFile
    deletes: tuple[ContentFile, ...]

    @classmethod
    def of(cls, task: Mapping[str, Any]) -> Self:
        """From its JSON."""
        return cls(ContentFile(**task["file"]), tuple(ContentFile(**each) for each in task["deletes"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedGroup:
    """Files that Java would rewrite together."""

    index: int
    partition: Mapping[str, Any]
    files: Sequence[str]
    bytes: int
    output_spec_id: int
    expected_output_files: int
    input_split_size: int
    max_output_file_size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteResult:
    """What Java's rewrite says that it did."""

    groups: int
    rewritten_files: int
    added_files: int
    rewritten_bytes: int
    failed_files: int
    removed_delete_files: int


@dataclass(frozen=True, slots=True)
class PlannedExpiry:
    """What Java's expiry of snapshots would do: the files that it would delete, and the metadata after it."""

    deleted: Sequence[str]
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Committed:
    """A snapshot, and the files that were written for it, which know no sequence numbers."""

    snapshot_id: int
    data: tuple[ContentFile, ...]
    deletes: tuple[ContentFile, ...]

    @classmethod
    def of(cls, made: Mapping[str, Any]) -> Self:
        """From its JSON."""
        return cls(
            made["snapshot_id"],
            tuple(ContentFile(**each) for each in made["data"]),
            tuple(ContentFile(**each) for each in made["deletes"]),
        )


@dataclass(frozen=True, slots=True)
class EqualityDeletes:
    """Rows that are deleted by the values of some columns.

    Attributes:
        columns: their names.
        rows: a query of these columns, and of those that partitions come from.
        spec_id: of the partition spec; deletes of an unpartitioned one are global.
        format: of the files.
    """

    columns: Sequence[str]
    rows: str
    spec_id: int | None = None
    format: str | None = None

    def args(self) -> dict[str, Any]:
        """As an operation takes them."""
        args = {"columns": list(self.columns), "rows": self.rows}
        return args | {n: v for n, v in (("spec_id", self.spec_id), ("format", self.format)) if v is not None}


@dataclass(frozen=True, slots=True)
class PositionDeletes:
    """Rows of a data file that are deleted by their positions."""

    file: str
    positions: Sequence[int]

    def args(self) -> dict[str, Any]:
        """As an operation takes them."""
        return {"file": self.file, "positions": list(self.positions)}
