"""Tables of Iceberg for tests: made and changed by pyiceberg, in a catalog on SQLite and in folders."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

from lithify.formats.protocol.address import TableAddress

CATALOG = "lab"
SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string())])
NAME = "sales.eu.orders"
_FIELDS = Schema(NestedField(1, "id", LongType()), NestedField(2, "name", StringType()))
_BY_NAME = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "name"))


def rows(*numbers: int) -> pa.Table:
    """Rows with these ids."""
    return pa.table({"id": [*numbers], "name": [f"row {each}" for each in numbers]}, schema=SCHEMA)


@dataclass(frozen=True, slots=True)
class Lakehouse:
    """A catalog on SQLite and its warehouse, in a folder."""

    folder: Path

    @property
    def database(self) -> Path:
        """The catalog's file."""
        return self.folder / "catalog.db"

    @property
    def warehouse(self) -> str:
        """The folder of all tables."""
        return str(self.folder / "warehouse")

    @property
    def options(self) -> dict[str, str]:
        """How Lithify opens the catalog."""
        return {"metastore": "jdbc", "uri": f"jdbc:sqlite:{self.database}", "catalog-name": CATALOG}

    def catalog(self) -> SqlCatalog:
        """The catalog as pyiceberg opens it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return SqlCatalog(CATALOG, uri=f"sqlite:///{self.database}", warehouse=f"file://{self.warehouse}")

    def named_files(self, ids: Callable[[int], Sequence[int]], **changes: Any) -> tuple[Table, list[str]]:
        """A table with the partitions `a` and `b`, by name, of three small files each; and their paths.

        Args:
            ids: the ids of the rows of a file by its number in its partition.
            changes: arguments of pyiceberg's `create_table`.
        """
        made = self.table(schema=_FIELDS, partition_spec=_BY_NAME, **changes)
        folder = Path(made.location().removeprefix("file://")) / "data"
        folder.mkdir(parents=True)
        paths = []
        for name in ("a", "b"):
            for number in range(3):
                path, chosen = folder / f"{name}-{number}.parquet", [*ids(number)]
                pq.write_table(pa.table([chosen, [name] * len(chosen)], schema=SCHEMA), path)
                paths.append(f"file://{path}")
        made.add_files(paths)
        return made, paths

    def table(self, name: str = NAME, **changes: Any) -> Table:
        """Creates an empty table, and its namespaces."""
        catalog = self.catalog()
        levels = name.split(".")[:-1]
        for depth in range(len(levels)):
            catalog.create_namespace_if_not_exists(tuple(levels[: depth + 1]))
        return catalog.create_table(name, **{"schema": SCHEMA, **changes})

    def address(self, name: str = NAME, **changes: Any) -> TableAddress:
        """How Lithify opens a table of it."""
        given = {"catalog_options": self.options, "format": "iceberg", **changes}
        return TableAddress(self.warehouse, name, **given)


def metadata_of(table: Table) -> dict[str, Any]:
    """The metadata of a table as it is stored."""
    text = Path(table.metadata_location.removeprefix("file://")).read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def as_folder_table(table: Table, warehouse: Path, name: str = NAME) -> Path:
    """Copies the metadata of a table into a folder of its own, as Java's HadoopCatalog lays tables out."""
    metadata = warehouse.joinpath(*name.split("."), "metadata")
    metadata.mkdir(parents=True)
    (metadata / "v1.metadata.json").write_text(json.dumps(metadata_of(table)), "utf-8")
    (metadata / "version-hint.text").write_text("1", "utf-8")
    return metadata


def with_fields(table: Table, changes: Mapping[str, Any]) -> None:
    """Replaces fields of the newest metadata, as a writer of another release may have written them."""
    path = Path(table.metadata_location.removeprefix("file://"))
    path.write_text(json.dumps({**metadata_of(table), **changes}), "utf-8")
