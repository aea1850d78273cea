"""What a task writes: schema, partition, folder and options of its files. Travels with the task."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from lithify.files.parquet.copying.source import RowGroupSource
from lithify.files.parquet.joining_writer import encoded
from lithify.files.types import ColumnType, Field
from lithify.formats.iceberg.data_files.schema import LINEAGE, Schema
from lithify.formats.iceberg.model import Partition
from lithify.formats.iceberg.rewriting.destinations import Destination
from lithify.formats.iceberg.rewriting.options import WriteOptions
from lithify.formats.iceberg.table.data_locations import DataLocations
from lithify.formats.iceberg.table.partition_paths import PartitionSpec


@dataclass(frozen=True, slots=True)
class WriteTarget:
    """The files that a task writes.

    Attributes:
        locations: where they go.
        schema: the current schema.
        spec: the current partition spec.
        options: how files are written.
        destination: where all rows go; None if they are divided.
        has_lineage: whether files have the lineage columns of version 3.
        sort_order_id: id of the sort order in which the rows come; None for none.
    """

    locations: DataLocations
    schema: Schema
    spec: PartitionSpec
    options: WriteOptions
    destination: Destination | None = None
    has_lineage: bool = False
    sort_order_id: int | None = None

    def at(self, destination: Destination) -> WriteTarget:
        """The same, with one destination for all rows."""
        return replace(self, destination=destination)

    @property
    def folder(self) -> str:
        """Location of the table's data, for messages."""
        return self.locations.folder

    @property
    def lineage(self) -> tuple[Field, ...]:
        """The lineage columns of the files."""
        return LINEAGE if self.has_lineage else ()

    @property
    def columns(self) -> tuple[Field, ...]:
        """The columns of the files, in their order."""
        return self.schema.stored(self.lineage)

    @property
    def types(self) -> dict[str, ColumnType]:
        """The types of the columns of the files."""
        return {column.name: column.type for column in self.columns}

    @property
    def file_schema(self) -> pa.Schema:
        """The Arrow schema of the files, with field ids."""
        return self.schema.file_schema(self.lineage)

    def like(self, *, with_lineage: bool) -> RowGroupSource:
        """An empty file with the columns and options of the new ones."""
        columns = self.schema.stored(self.lineage if with_lineage else ())
        schema = self.schema.file_schema(self.lineage if with_lineage else ())
        types = {column.name: column.type for column in columns}
        return encoded(schema.empty_table(), self.options.files, types)

    def path(self, partition: Partition, name: str) -> str:
        """The path of a file."""
        return self.locations.path(self.spec.folder(partition), name)
