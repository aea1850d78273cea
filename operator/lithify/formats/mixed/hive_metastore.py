"""A Hive-compatible table as a Hive metastore has it: where readers of Hive find its partitions.

Used by `stores`, which find the table by it, and by whatever moves partitions to new folders. The base store
of such a table is a folder; its metastore has a table of Hive over the same data files. Knows no table of
Iceberg.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from hive_metastore.ttypes import EnvironmentContext, NoSuchObjectException, Partition

from lithify.errors import NotFound
from lithify.formats.iceberg.catalog.connecting import open_hive
from lithify.formats.iceberg.catalog.hive import HiveTables
from lithify.formats.iceberg.catalog.names import TableName, parse_name
from lithify.formats.mixed.hive_locations import FLAG, ROOT_LOCATION
from lithify.formats.protocol.address import TableAddress

_KEYS = "arctic.table.primary-keys"
_PARQUET = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat"
_NO_STATISTICS = EnvironmentContext(properties={"DO_NOT_UPDATE_STATS": "true"})
"""The metastore would list the folder and count what it finds; the commit knows."""
_AT_ONCE = 500

Values = tuple[str, ...]
"""The values of a partition, in the order of its columns; empty for tables without partitions."""


@dataclass(frozen=True, slots=True)
class HiveTable:
    """A table of Hive over the data files of a base store.

    Attributes:
        tables: the metastore's tables.
        name: its name there.
        root: the folder that has both stores; empty if nobody names it.
        key: the columns of its primary key; empty for keyless tables.
        partition_columns: the columns of its partitions, in their order.
        is_parquet: whether Hive reads its files as Parquet.
    """

    tables: HiveTables = field(repr=False)
    name: TableName
    root: str
    key: tuple[str, ...]
    partition_columns: tuple[str, ...]
    is_parquet: bool

    def location(self, values: Values) -> str | None:
        """Where Hive reads a partition; None if it has no such partition.

        Raises:
            CatalogUnavailable: the metastore gives no answer.
        """
        with self.tables.connected() as metastore:
            try:
                return str(self._found(metastore, values).sd.location)
            except NoSuchObjectException:
                return None

    def locations(self, wanted: Sequence[Values]) -> Iterator[tuple[Values, str]]:
        """Where Hive reads some partitions; others than it has are left out.

        Raises:
            CatalogUnavailable: the metastore gives no answer.
        """
        if not self.partition_columns:
            yield from ((values, self.location(values) or "") for values in wanted)
            return
        with self.tables.connected() as metastore:
            names = {_values_of(name): name for name in metastore.get_partition_names(*self._parts, -1)}
            known = [names[values] for values in wanted if values in names]
            for start in range(0, len(known), _AT_ONCE):
                chosen = known[start : start + _AT_ONCE]
                for each in metastore.get_partitions_by_names(*self._parts, chosen):
                    yield tuple(each.values), each.sd.location

    def move(self, values: Values, location: str, parameters: Mapping[str, str]) -> None:
        """Has Hive read a partition in another folder; makes the partition if there is none.

        Args:
            values: the partition.
            location: the folder.
            parameters: what the metastore says of it; others stay.

        Raises:
            CatalogUnavailable: the metastore gives no answer, or refuses.
        """
        with self.tables.connected() as metastore:
            try:
                found = self._found(metastore, values)
            except NoSuchObjectException:
                metastore.add_partition(self._new(metastore, values, location, parameters))
                return
            found.sd.location = location
            found.parameters = {**(found.parameters or {}), **parameters}
            if values:
                metastore.alter_partition_with_environment_context(*self._parts, found, _NO_STATISTICS)
            else:
                metastore.alter_table_with_environment_context(*self._parts, found, _NO_STATISTICS)

    @property
    def _parts(self) -> tuple[str, str]:
        return self.name.namespace[0], self.name.table

    def _found(self, metastore: Any, values: Values) -> Any:
        return (
            metastore.get_partition(*self._parts, list(values))
            if values
            else metastore.get_table(*self._parts)
        )

    def _new(self, metastore: Any, values: Values, location: str, parameters: Mapping[str, str]) -> Partition:
        descriptor = metastore.get_table(*self._parts).sd
        descriptor.location = location
        database, table = self._parts
        return Partition(
            values=list(values),
            dbName=database,
            tableName=table,
            sd=descriptor,
            parameters=dict(parameters),
        )


def find_hive_table(address: TableAddress) -> HiveTable | None:
    """The Hive-compatible table of an address in a Hive metastore; None if that has none of this name.

    Raises:
        LithifyError: the metastore cannot be asked; see `open_catalog`.
    """
    tables = open_hive(address.warehouse, address.catalog_options)
    name = parse_name(address.name)
    try:
        found = tables.table(name)
    except NotFound:
        return None
    return _hive_table(tables, name, found, address) if is_marked(found.parameters) else None


def is_marked(parameters: Mapping[str, str] | None) -> bool:
    """Whether the parameters of a table of Hive say that it is a Hive-compatible one."""
    return (parameters or {}).get(FLAG, "").lower() == "true"


def hive_tables_in(address: TableAddress) -> Iterator[str]:
    """The names of all Hive-compatible tables of a Hive metastore; raises as `find_hive_table`."""
    tables = open_hive(address.warehouse, address.catalog_options)
    for (database,) in tables.namespaces(()):
        with tables.connected() as metastore:
            names = metastore.get_all_tables(database)
            for start in range(0, len(names), _AT_ONCE):
                found = metastore.get_table_objects_by_name(database, names[start : start + _AT_ONCE])
                yield from (f"{database}.{each.tableName}" for each in found if is_marked(each.parameters))


def _hive_table(tables: HiveTables, name: TableName, found: Any, address: TableAddress) -> HiveTable:
    parameters = found.parameters
    return HiveTable(
        tables=tables,
        name=name,
        root=(address.overrides.get(ROOT_LOCATION) or parameters.get(ROOT_LOCATION) or "").rstrip("/"),
        key=tuple(column.strip() for column in parameters.get(_KEYS, "").split(",") if column.strip()),
        partition_columns=tuple(column.name for column in found.partitionKeys or ()),
        is_parquet=found.sd.inputFormat == _PARQUET,
    )


def _values_of(name: str) -> Values:
    """The values of a partition from its name in Hive, `a=1/b=x%2Fy`."""
    return tuple(unquote(part.partition("=")[2]) for part in name.split("/"))
