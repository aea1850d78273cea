"""Partitions of rows by the table's current spec.

Called by tasks whose files are of other specs. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.directions import changes
from lithify.columns.order import Part, parts_of_column
from lithify.errors import UnsupportedTable
from lithify.formats.iceberg.data_files.schema import Schema
from lithify.formats.iceberg.manifests.partition_types import with_one_nan
from lithify.formats.iceberg.model import Partition, PartitionValue
from lithify.formats.iceberg.rewriting.destinations import Destination
from lithify.formats.iceberg.rewriting.transforms import transformed
from lithify.formats.iceberg.table.partition_paths import PartitionField, PartitionSpec


@dataclass(frozen=True, slots=True)
class Partitioner:
    """Divides rows by partition; a `RowDivider`.

    Attributes:
        spec: the spec.
        schema: the schema of the rows.
    """

    spec: PartitionSpec
    schema: Schema

    def columns(self, rows: pa.RecordBatch) -> list[pa.Array]:
        """The values of the spec's fields."""
        return [
            transformed(each.transform, column_of(rows, self.schema, each.source))
            for each in self.spec.fields
        ]

    def parts(self, rows: pa.RecordBatch) -> list[Part]:
        """Comparable parts of the rows' partitions."""
        return [part for column in self.columns(rows) for part in _parts(column)]

    def split(self, rows: pa.RecordBatch) -> Iterator[tuple[Destination, pa.RecordBatch]]:
        """Rows in the order of their partitions, divided where the partition changes."""
        columns = self.columns(rows)
        pairs = [*zip(columns, map(self._is_uuid, self.spec.fields), strict=True)]
        starts = changes([part for each in columns for part in _parts(each)])
        for start, stop in zip(starts, [*starts[1:], rows.num_rows], strict=True):
            values = tuple(_value(column[start], is_uuid=is_uuid) for column, is_uuid in pairs)
            yield Destination(Partition(self.spec.id, values)), rows.slice(start, stop - start)

    def _is_uuid(self, field: PartitionField) -> bool:
        source = self.schema.find(field.source)
        return field.transform == "identity" and source is not None and source.type.root == "UUID"


def column_of(rows: pa.RecordBatch, schema: Schema, number: int) -> pa.Array:
    """A column of rows, or a field of a struct in one, by its field id.

    Raises:
        UnsupportedTable: the schema has no such field.
    """
    path = schema.path_of(number)
    if path is None or path[0] not in rows.schema.names:
        raise UnsupportedTable("a table", (f"field {number}, which the current schema does not have",))
    values = rows.column(path[0])
    return pc.struct_field(values, list(path[1:])) if len(path) > 1 else values


def _parts(column: pa.Array) -> list[Part]:
    """The parts of a column by which partitions are told apart: both zeros are different, all NaN equal."""
    if pa.types.is_floating(column.type):
        column = with_one_nan(column).cast(pa.float64()).view(pa.int64())
    return parts_of_column(column, nullable=True)


def _value(scalar: pa.Scalar, *, is_uuid: bool) -> PartitionValue:
    """A value as manifests have it, and as `value_of` of `partition_types` reads it."""
    kind = scalar.type
    is_nanos = pa.types.is_timestamp(kind) and kind.unit == "ns"
    value: PartitionValue
    try:
        value = (scalar.cast(pa.int64()) if is_nanos else scalar).as_py()
    except (OverflowError, ValueError):  # years that Python does not have
        value = scalar.cast(pa.int64() if kind.bit_width > 32 else pa.int32()).as_py()
    return UUID(bytes=value) if is_uuid and isinstance(value, bytes) else value
