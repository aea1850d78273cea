"""Values that the rooms of the Iceberg adapter exchange: files, deletes, partitions, new files.

Frozen and picklable: tasks travel to executors with them. Made from manifest columns for the few files that a
plan takes, never for all files of a table. Imports no library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from enum import IntEnum
from typing import Any, TypeAlias
from uuid import UUID

PartitionValue: TypeAlias = bool | int | float | str | bytes | Decimal | date | datetime | time | UUID | None
"""The value of one partition field, after its transform."""

DeleteKey: TypeAlias = tuple[str, int | None]
"""The path of a delete file, and the offset of a vector in it."""


class Content(IntEnum):
    """What a file of a manifest holds, by Iceberg's numbers."""

    DATA = 0
    POSITION_DELETES = 1
    EQUALITY_DELETES = 2


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """A partition of one spec. Partitions of different specs are different, whatever their values.

    Values are equal as Java compares them: 0.0 is another than -0.0, and NaN is the same as NaN. Readers take
    the values of columns from the partition, so files of both zeros must not be joined.

    Attributes:
        spec_id: id of the partition spec.
        values: one value per field of the spec, in its order; empty if the spec is unpartitioned.
    """

    spec_id: int
    values: tuple[PartitionValue, ...] = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Partition) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[object, ...]:
        return (self.spec_id, *(each.hex() if isinstance(each, float) else each for each in self.values))


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """A live delete file, or one vector of a Puffin file.

    Attributes:
        path: location of the file.
        size: bytes of the file.
        rows: number of deleted positions or of rows in an equality delete file.
        content: position deletes (also vectors) or equality deletes.
        format: `parquet`, `avro`, `orc` or `puffin`.
        sequence: its data sequence number.
        partition: its partition.
        equality_ids: field ids that equality deletes compare; empty for others.
        referenced: the one data file that it deletes from (field 143, or equal bounds of the path); None if
            it may delete from several.
        offset: first byte of a vector's blob; None for files that are no vectors.
        length: bytes of that blob.
        row: its row in the columns of the view that it comes from; -1 where there is none.
    """

    path: str
    size: int
    rows: int
    content: Content
    format: str
    sequence: int
    partition: Partition
    equality_ids: tuple[int, ...] = ()
    referenced: str | None = None
    offset: int | None = None
    length: int | None = None
    row: int = -1

    @property
    def is_vector(self) -> bool:
        """Whether it is a deletion vector."""
        return self.offset is not None

    @property
    def own_size(self) -> int:
        """Bytes of the file, or of a vector's blob."""
        return self.size if self.length is None else self.length


@dataclass(frozen=True, slots=True)
class DataFile:
    """A live data file with the deletes that apply to it.

    Attributes:
        path: location of the file.
        size: bytes.
        rows: number of rows, deleted ones included.
        format: `parquet`, `avro` or `orc`.
        sequence: its data sequence number.
        partition: its partition.
        first_row_id: `_row_id` of its first row; None in tables before version 3 and for files that are older
            than the upgrade.
        sort_order_id: id of the sort order in which its rows are; None or 0 for none.
        deletes: the deletes that apply to it by the rules of Iceberg's specification.
        row: its row in the columns of the view that it comes from; -1 where there is none.
        key_bounds: least and greatest value of columns that equality deletes compare, by field id, as
            integers or bytes; columns of few types have them, and none whose bounds are unknown.
    """

    path: str
    size: int
    rows: int
    format: str
    sequence: int
    partition: Partition
    first_row_id: int | None = None
    sort_order_id: int | None = None
    deletes: tuple[DeleteFile, ...] = ()
    row: int = -1
    key_bounds: Mapping[int, tuple[Any, Any]] = field(default_factory=dict, compare=False)

    @property
    def own_positions(self) -> tuple[DeleteFile, ...]:
        """The position delete files and vectors that are about this file alone."""
        return tuple(each for each in self.deletes if each.referenced == self.path)


@dataclass(frozen=True, slots=True)
class FileMetrics:
    """Figures of a new file's columns, by field id, as manifests have them.

    Attributes:
        column_sizes: bytes of a column in the file.
        value_counts: number of values, null and NaN included.
        null_counts: number of nulls.
        nan_counts: number of NaNs, for floating columns only.
        lower_bounds: lower bound of a column, in Iceberg's single-value serialization.
        upper_bounds: upper bound, likewise.
    """

    column_sizes: Mapping[int, int] = field(default_factory=dict)
    value_counts: Mapping[int, int] = field(default_factory=dict)
    null_counts: Mapping[int, int] = field(default_factory=dict)
    nan_counts: Mapping[int, int] = field(default_factory=dict)
    lower_bounds: Mapping[int, bytes] = field(default_factory=dict)
    upper_bounds: Mapping[int, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewDataFile:
    """A data file that a task has written.

    Attributes:
        path: location of the file.
        format: `parquet`, `avro` or `orc`.
        size: bytes.
        rows: number of rows.
        partition: its partition, of the table's current spec.
        metrics: figures of its columns.
        split_offsets: offsets of its row groups or stripes, ascending.
        sort_order_id: id of the sort order in which its rows are; None for none.
    """

    path: str
    format: str
    size: int
    rows: int
    partition: Partition
    metrics: FileMetrics
    split_offsets: tuple[int, ...] = ()
    sort_order_id: int | None = None


@dataclass(frozen=True, slots=True)
class NewDeleteFile:
    """A position delete file, or one vector of a Puffin file, that a task or a commit has written.

    Attributes:
        path: location of the file.
        format: `parquet`, `avro`, `orc` or `puffin`.
        size: bytes of the file.
        rows: number of deleted positions.
        partition: spec and partition of the data file that it deletes from.
        referenced: that data file.
        metrics: figures of its columns.
        replaced: the delete files of which it has all positions, so that nothing needs them any more.
        offset: first byte of a vector's blob; None for files that are no vectors.
        length: bytes of that blob.
    """

    path: str
    format: str
    size: int
    rows: int
    partition: Partition
    referenced: str | None
    metrics: FileMetrics = field(default_factory=FileMetrics)
    replaced: tuple[str, ...] = ()
    offset: int | None = None
    length: int | None = None

    @property
    def is_vector(self) -> bool:
        """Whether it is a deletion vector."""
        return self.offset is not None

    @property
    def own_size(self) -> int:
        """Bytes of the file, or of a vector's blob."""
        return self.size if self.length is None else self.length
