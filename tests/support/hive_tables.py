"""Hive-compatible tables for the tests: Arctic's stores, and the table of Hive that its catalog would make.

Rows are read as Hive reads them by Spark, with Hive's own classes for Parquet.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from hive_metastore.ttypes import (
    FieldSchema,
    NoSuchObjectException,
    SerDeInfo,
    StorageDescriptor,
    Table,
)

from infrastructure.arctic.client import Arctic
from infrastructure.arctic.model import KeyedTable
from infrastructure.hive.metastore import HiveMetastore
from infrastructure.iceberg.catalogs import fresh_name
from lithify.formats.protocol.address import TableAddress

ROOT = "base.hive.location-root"
AT_ONCE = {
    "self-optimizing.minor.trigger.interval": "1",
    "self-optimizing.major.trigger.interval": "1",
    "compact.major.small.file.size.bytes": "1",
}
"""Everything is due, and nothing is small: other tables would keep their base files."""

_PARQUET = "org.apache.hadoop.hive.ql.io.parquet"
_TYPES = {"long": "bigint", "decimal(10, 2)": "decimal(10,2)"}
_READ_SECONDS = 240
_READ = """
import json, sys
from pyspark.sql import SparkSession
uri, name, warehouse = sys.argv[1:]
settings = {
    "spark.ui.enabled": "false",
    "spark.sql.warehouse.dir": warehouse,
    "spark.hadoop.hive.metastore.uris": uri,
    "spark.sql.hive.convertMetastoreParquet": "false",
}
session = SparkSession.builder.master("local[1]").config(map=settings).enableHiveSupport().getOrCreate()
print(json.dumps([[*row] for row in session.table(name).collect()], default=str))
"""


@dataclass(frozen=True, slots=True)
class HiveTables:
    """Tables of one database of a metastore.

    Attributes:
        metastore: the metastore.
        database: the database, which exists.
    """

    metastore: HiveMetastore
    database: str

    @classmethod
    def fresh(cls, metastore: HiveMetastore) -> Self:
        """Those of a new database."""
        database = fresh_name("db")
        metastore.catalog().create_namespace(database)
        return cls(metastore, database)

    def make(
        self,
        arctic: Arctic,
        table: KeyedTable,
        properties: Mapping[str, str] | None = None,
        parameters: Mapping[str, str] | None = None,
    ) -> KeyedTable:
        """Makes the stores of a table with properties, and the table of Hive over them with parameters."""
        arctic.create(table, {ROOT: root_of(table), **(properties or {})})
        keys = {"arctic.table.primary-keys": ",".join(table.key)}
        self.register(table, {**keys, "arctic.table.root-location": _in_hive(table), **(parameters or {})})
        return table

    def register(self, table: KeyedTable, parameters: Mapping[str, str]) -> None:
        """Makes the table of Hive over the stores of a table, by the name of its folder."""
        fields = {name: FieldSchema(name, _TYPES.get(kind, kind)) for name, kind in table.columns.items()}
        partition = [fields.pop(name) for name in table.partition]
        made = Table(
            tableName=table.location.name,
            dbName=self.database,
            owner="arctic",
            sd=StorageDescriptor(
                cols=[*fields.values()],
                location=root_of(table),
                inputFormat=f"{_PARQUET}.MapredParquetInputFormat",
                outputFormat=f"{_PARQUET}.MapredParquetOutputFormat",
                serdeInfo=SerDeInfo(serializationLib=f"{_PARQUET}.serde.ParquetHiveSerDe", parameters={}),
                numBuckets=-1,
                bucketCols=[],
                sortCols=[],
                parameters={},
            ),
            partitionKeys=partition,
            parameters={"EXTERNAL": "TRUE", "arctic.enabled": "true", **parameters},
            tableType="EXTERNAL_TABLE",
        )
        with self.metastore.client() as client:
            client.create_table(made)

    def address_of(self, table: KeyedTable, options: Mapping[str, str]) -> TableAddress:
        """The address by which we compact it."""
        catalog = {"metastore": "hive", "uri": self.metastore.uri}
        name = f"{self.database}.{table.location.name}"
        return TableAddress(self.metastore.warehouse, name, catalog, options, format="mixed-iceberg")

    def found(self, table: KeyedTable, values: Sequence[str] = ()) -> Any:
        """What the metastore has of a table, or of a partition; None if there is no such partition."""
        with self.metastore.client() as client:
            if not values:
                return client.get_table(self.database, table.location.name)
            try:
                return client.get_partition(self.database, table.location.name, [*values])
            except NoSuchObjectException:
                return None

    def move(self, table: KeyedTable, location: str) -> None:
        """Has Hive read a table without partitions in another folder, as if nobody had moved it since."""
        found = self.found(table)
        found.sd.location = location
        with self.metastore.client() as client:
            client.alter_table(self.database, table.location.name, found)

    def folder(self, table: KeyedTable, values: Sequence[str] = ()) -> Path:
        """The folder that Hive reads."""
        return Path(self.found(table, values).sd.location.removeprefix("file:"))

    def read(self, table: KeyedTable) -> list[list[Any]]:
        """The rows, by Hive's own reader of Parquet, in the order of the table's columns."""
        name = f"{self.database}.{table.location.name}"
        args = [self.metastore.uri, name, self.metastore.warehouse]
        done = subprocess.run(
            [sys.executable, "-c", _READ, *args],
            capture_output=True,
            text=True,
            check=False,
            timeout=_READ_SECONDS,
        )
        assert done.returncode == 0, done.stderr
        return list(json.loads(done.stdout.splitlines()[-1]))


def root_of(table: KeyedTable) -> str:
    """The folder of the files that Hive reads."""
    return f"{_in_hive(table)}/hive"


def _in_hive(table: KeyedTable) -> str:
    """A table's folder as Hive names it."""
    return table.url if table.store else f"file:{table.location}"
