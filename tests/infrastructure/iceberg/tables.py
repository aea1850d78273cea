"""Messy tables that Spark makes, each by a few lines of SQL: what compaction finds in the field.

Most tables have the columns `id BIGINT, day DATE, kind STRING, amount DECIMAL(10, 2)`; ids count from 0 and
are unique, `kind` is null in every seventh row. Commits are small, so files are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
from pyiceberg.table import Table

from infrastructure.iceberg.catalogs import CatalogAddress
from infrastructure.iceberg.model import EqualityDeletes
from infrastructure.iceberg.spark import SparkIceberg

COLUMNS = "id BIGINT, day DATE, kind STRING, amount DECIMAL(10, 2)"
PARTITIONS = {
    "none": "",
    "identity": "PARTITIONED BY (kind)",
    "bucket": "PARTITIONED BY (bucket(4, id))",
    "truncate": "PARTITIONED BY (truncate(1, kind))",
    "days": "PARTITIONED BY (days(day))",
}
"""Clauses of CREATE TABLE."""
LINEAGE = ("_row_id", "_last_updated_sequence_number")
_MERGE_ON_READ = {f"write.{what}.mode": "merge-on-read" for what in ("delete", "update", "merge")}


def rows(first: int, count: int) -> str:
    """A query of rows with ids from a first one on."""
    return (
        "SELECT id, date_add(DATE '2024-02-27', CAST(id % 5 AS INT)) AS day, "
        "IF(id % 7 = 0, NULL, concat(char(97 + id % 3), '-', id % 2)) AS kind, "
        f"CAST(id * 1.25 AS DECIMAL(10, 2)) AS amount FROM range({first}, {first + count}, 1, 1)"
    )


@dataclass(frozen=True, slots=True)
class SparkTable:
    """A table in a catalog that Spark knows.

    Attributes:
        spark: it.
        catalog: where the table is.
        identifier: its name in the catalog, with dots.
        properties: properties with which it is made.
    """

    spark: SparkIceberg
    catalog: CatalogAddress
    identifier: str
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def format(self) -> str | None:
        """The format of its data files, None for the default."""
        return self.properties.get("write.format.default")

    @property
    def name(self) -> str:
        """What SQL calls it."""
        return f"{self.catalog.name}.{self.identifier}"

    def create(
        self,
        version: int = 2,
        partitions: str = "none",
        properties: Mapping[str, str] | None = None,
        columns: str = COLUMNS,
    ) -> SparkTable:
        """Makes the table, and its namespace where that is missing; deletes are merged on read."""
        options = {
            "format-version": str(version),
            **_MERGE_ON_READ,
            **self.properties,
            **(properties or {}),
        }
        listed = ", ".join(f"'{name}' = '{value}'" for name, value in options.items())
        self.spark.run(
            f"CREATE NAMESPACE IF NOT EXISTS {self.name.rpartition('.')[0]}",
            f"CREATE TABLE {self.name} ({columns}) USING iceberg {PARTITIONS[partitions]} "
            f"TBLPROPERTIES ({listed})",
        )
        return self

    def append(self, first: int, count: int, branch: str | None = None) -> SparkTable:
        """One commit with rows of these ids."""
        self.run(f"INSERT INTO {self._at(branch)} {rows(first, count)}")
        return self

    def append_many(self, commits: int, count: int, first: int = 0) -> SparkTable:
        """Many commits of few rows."""
        for number in range(commits):
            self.append(first + number * count, count)
        return self

    def delete(self, where: str, branch: str | None = None) -> None:
        """Merge-on-read: position deletes up to version 2, vectors from 3 on."""
        self.run(f"DELETE FROM {self._at(branch)} WHERE {where}")

    def update(self, where: str) -> None:
        """Merge-on-read, too: deletes, and the rows again."""
        self.run(f"UPDATE {self.name} SET amount = amount + 1000 WHERE {where}")

    def upsert(self, first: int, count: int) -> None:
        """As Flink does in upsert mode: keys are deleted by equality, rows added in the same commit."""
        again = rows(first, count).replace("* 1.25", "* 2.5")
        deletes = EqualityDeletes(["id"], again, format=self.format)
        self.spark.row_delta(self.name, append=again, equality=[deletes])

    def alter(self, clause: str) -> None:
        """A change of schema, partition spec, properties, branches or tags."""
        self.run(f"ALTER TABLE {self.name} {clause}")

    def upgrade(self, version: int) -> None:
        """To a format version."""
        self.alter(f"SET TBLPROPERTIES ('format-version' = '{version}')")

    def procedure(self, name: str, arguments: str = "") -> pa.Table:
        """Calls a procedure on the table, and returns what it says."""
        more = f", {arguments}" if arguments else ""
        return self.spark.sql(f"CALL {self.catalog.name}.system.{name}(table => '{self.identifier}'{more})")

    def expire_snapshots(self, keep: int = 1) -> None:
        """Expires all snapshots but some."""
        self.procedure("expire_snapshots", f"older_than => TIMESTAMP '2999-01-01', retain_last => {keep}")

    def rollback(self, snapshot_id: int) -> None:
        """To an ancestor of the current snapshot."""
        self.procedure("rollback_to_snapshot", f"snapshot_id => {snapshot_id}")

    def run(self, *statements: str) -> None:
        """Commands, one after the other."""
        self.spark.run(*statements)

    def read(self, *columns: str, at: str = "", order: str = "id") -> pa.Table:
        """All rows in order; `at` is a clause such as `VERSION AS OF 'branch'`."""
        return self.spark.sql(f"SELECT {', '.join(columns) or '*'} FROM {self.name} {at} ORDER BY {order}")

    def metadata_table(self, name: str) -> pa.Table:
        """Such as `files`, `snapshots`, `entries`."""
        return self.spark.sql(f"SELECT * FROM {self.name}.{name}")

    def load(self) -> Table:
        """The table through pyiceberg."""
        return self.catalog.open().load_table(self.identifier)

    @property
    def metadata_location(self) -> str:
        """Of its current metadata."""
        return self.spark.state(self.name).location

    @property
    def snapshot_id(self) -> int:
        """Of its current snapshot."""
        found = self.spark.state(self.name).snapshot_id
        assert found is not None, f"{self.name} has no snapshot"
        return found

    def _at(self, branch: str | None) -> str:
        return self.name if branch is None else f"{self.name}.branch_{branch}"


def with_deletes(table: SparkTable, version: int, partitions: str = "none", commits: int = 4) -> SparkTable:
    """Some commits of 160 rows in all; then deletes and updates by position, or by vectors."""
    table.create(version, partitions).append_many(commits, 160 // commits)
    table.delete("id % 10 = 3")
    table.update("id % 40 = 5")
    return table


def with_equality_deletes(table: SparkTable, version: int = 2, partitions: str = "none") -> SparkTable:
    """Commits as Flink makes them: keys come again, and rows are deleted by a nullable column, too."""
    table.create(version, partitions).append_many(4, 20)
    if partitions in ("none", "bucket"):  # upserts delete within the partition of the key
        table.upsert(10, 20)
    table.append(80, 20)
    gone = "SELECT CAST(NULL AS STRING) AS kind, DATE '2024-02-28' AS day"
    deletes = EqualityDeletes(["kind", "day"], gone, spec_id=0, format=table.format)
    if partitions == "none":  # deletes of an unpartitioned spec are global
        table.spark.row_delta(table.name, equality=[deletes])
    return table


def with_evolved_schema(table: SparkTable, version: int = 3) -> SparkTable:
    """Columns added, renamed, promoted and dropped between commits; in version 3, one with a default."""
    table.create(version, columns="id BIGINT, n INT, old STRING, gone STRING")
    table.run(f"INSERT INTO {table.name} SELECT id, CAST(id AS INT), 'old', 'x' FROM range(0, 20, 1, 1)")
    table.alter("RENAME COLUMN old TO new")
    table.alter("ALTER COLUMN n TYPE BIGINT")
    table.alter("DROP COLUMN gone")
    table.alter("ADD COLUMN place STRUCT<x: INT, y: INT>")
    if version >= 3:
        table.spark.add_column(table.name, "level", "STRING", "low", write_default="high")
    given = "named_struct('x', 1, 'y', CAST(id AS INT))"
    fields = f"SELECT id, id + 5000000000, 'new', {given}{', NULL' if version >= 3 else ''}"
    table.run(f"INSERT INTO {table.name} {fields} FROM range(20, 40, 1, 1)")
    return table


def with_evolved_partitions(table: SparkTable, version: int = 2) -> SparkTable:
    """Files of three specs, two of them older than the current one."""
    table.create(version).append_many(2, 20)
    table.alter("ADD PARTITION FIELD days(day)")
    table.append_many(2, 20, first=40)
    table.alter("REPLACE PARTITION FIELD day_day WITH bucket(2, id)")
    return table.append_many(2, 20, first=80)


def with_branches(table: SparkTable, version: int = 2) -> SparkTable:
    """A tag on the first commit, and a branch `side` with rows and deletes of its own."""
    table.create(version).append(0, 20)
    table.alter("CREATE TAG first")
    table.append(20, 20)
    table.alter("CREATE BRANCH side")
    table.append(100, 20, branch="side")
    table.delete("id < 10", branch="side")
    table.append(40, 20)
    return table
