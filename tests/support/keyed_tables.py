"""Keyed tables of today's layout that pyiceberg makes, where Arctic's classes cannot write: on object stores.

Rows are written by PyArrow under names as Arctic gives them, change files with the offsets of their rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog import Catalog
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table
from pyiceberg.typedef import Record

KEY = "id"
ROWS = pa.schema([(KEY, pa.int64()), ("v", pa.string())])
_OFFSET = pa.field("_file_offset", pa.int64(), metadata={"PARQUET:field_id": "2147482645"})
_ROOT = 1
_NODES = "base.file-index.hash-bucket"

Row = tuple[int, str]


@dataclass(frozen=True, slots=True)
class KeyedStores:
    """Both stores of a table without partitions.

    Attributes:
        catalog: as pyiceberg opens it.
        name: of the base store.
    """

    catalog: Catalog
    name: str

    @property
    def base(self) -> Table:
        """The base store."""
        return self.catalog.load_table(self.name)

    @property
    def change(self) -> Table:
        """The change store."""
        return self.catalog.load_table(f"{self.name}_change_")

    def create(self) -> KeyedStores:
        """Makes both stores."""
        common = {"format-version": "2", "mixed-format.primary-key-fields": KEY, _NODES: "1"}
        change = f"{self.name}_change_"
        of_base = {"mixed-format.table-store": "base", "mixed-format.change.identifier": change}
        self.catalog.create_table(self.name, ROWS, properties={**common, **of_base})
        self.catalog.create_table(change, ROWS, properties={**common, "mixed-format.table-store": "change"})
        return self

    def write_base(self, transaction: int, rows: Sequence[Row]) -> None:
        """Appends rows to base."""
        _append(self.base, f"{_ROOT}-B-{transaction}-0-0-a-0.parquet", rows)

    def insert(self, transaction: int, rows: Sequence[Row]) -> None:
        """Appends inserted rows to the change store."""
        _append(self.change, f"{_ROOT}-I-{transaction}-0-0-a-0.parquet", rows, has_offsets=True)

    def delete(self, transaction: int, rows: Sequence[Row]) -> None:
        """Appends deleted rows to the change store."""
        _append(self.change, f"{_ROOT}-ED-{transaction}-0-0-a-0.parquet", rows, has_offsets=True)

    def merged(self) -> list[Row]:
        """The rows of base, by key, as any reader of Iceberg has them."""
        found = self.base.scan().to_arrow().sort_by(KEY)
        return [*zip(found[KEY].to_pylist(), found["v"].to_pylist(), strict=True)]


def _append(store: Table, name: str, rows: Sequence[Row], *, has_offsets: bool = False) -> None:
    keys, values = zip(*rows, strict=True)
    written = pa.table([pa.array(keys), pa.array(values)], schema=schema_to_pyarrow(store.schema()))
    if has_offsets:
        written = written.append_column(_OFFSET, pa.array(range(1, len(rows) + 1)))
    path = f"{store.location()}/data/{name}"
    with store.io.new_output(path).create() as out:
        pq.write_table(written, out)
    with store.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        append.append_data_file(
            DataFile.from_args(
                content=DataFileContent.DATA,
                file_path=path,
                file_format=FileFormat.PARQUET,
                partition=Record(),
                record_count=len(rows),
                file_size_in_bytes=len(store.io.new_input(path)),
                spec_id=store.spec().spec_id,
            )
        )
