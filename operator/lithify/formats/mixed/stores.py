"""A keyed table: its base and its change store, each a table of Iceberg. Opens both.

Called by the adapter, a run's driver and observers. Knows the two layouts: since Amoro 0.5.1 both stores are
tables of one catalog, and properties say which is which (`MixedTables`); before, they are the folders `base`
and `change` of a table, and its primary key is stored nowhere. Hive-compatible tables are such folders, which
a Hive metastore names, with the key; only those may lack it, and then a change store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lithify.errors import MissingFile, NotFound, UnsupportedTable
from lithify.formats.iceberg.catalog.options import CATALOG_OPTIONS, HIVE
from lithify.formats.iceberg.data_files.schema import Schema, parse_schema
from lithify.formats.iceberg.table.files import files_options, joint_storage
from lithify.formats.iceberg.table.metadata import MAIN, TableMetadata
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.iceberg.table.partition_paths import spec_of
from lithify.formats.iceberg.table.partition_specs import partition_fields
from lithify.formats.iceberg.table.snapshots import EMPTY, Snapshot
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.formats.mixed.hive_locations import ROOT, ROOT_LOCATION, hive_folder, named_for_hive
from lithify.formats.mixed.hive_support import hive_refusals
from lithify.formats.mixed.key_hashes import refused_keys
from lithify.formats.mixed.line_files import LineFile
from lithify.formats.mixed.optimized_line import OptimizedLine
from lithify.formats.mixed.partition_keys import PartitionKeys
from lithify.formats.mixed.stored_line import read_line
from lithify.formats.mixed.trigger_options import MajorOptions, major_options
from lithify.formats.protocol.address import TableAddress
from lithify.io.catalog_options import FOLDER
from lithify.io.storage import Storage

if TYPE_CHECKING:
    from lithify.formats.mixed.hive_metastore import HiveTable

PRIMARY_KEY = "mixed-format.primary-key-fields"
"""The property that names the columns of the key; an option of the LakeTable where tables lack it."""
_STORE = "mixed-format.table-store"
_CHANGE = "mixed-format.change.identifier"
_CHANGE_SUFFIX = "_change_"
_VERSION = 2
_MOST_LINE = 256 << 20
"""Bytes of a file with the line: some hundred for each partition."""


@dataclass(slots=True)
class LastLine:
    """The line that was read last, and the metadata that have it: a try of a commit asks for it twice."""

    metadata: TableMetadata | None = None
    line: OptimizedLine = field(default_factory=OptimizedLine)


@dataclass(frozen=True, slots=True)
class MixedTable:
    """A keyed table.

    Attributes:
        name: its name for people.
        base: the store of merged rows, which is compacted.
        change: the store of changes, which is only read; None for keyless tables.
        storage: access to the files of both.
        key: names of the columns of the primary key, in its order; empty if nobody names them.
        in_folders: whether its stores are folders of its own, as up to Amoro 0.5.0.
        hive: the table of Hive over the same files; None if there is none.
        last: the line that was read last.
    """

    name: str
    base: IcebergTable
    change: IcebergTable | None
    storage: Storage
    key: tuple[str, ...]
    in_folders: bool
    hive: HiveTable | None = None
    last: LastLine = field(default_factory=LastLine, repr=False, compare=False)

    @property
    def uuid(self) -> str:
        """Distinguishes the table from others of its name."""
        return self.base.uuid

    @property
    def stores(self) -> tuple[IcebergTable, ...]:
        """Its stores, base first."""
        return (self.base,) if self.change is None else (self.base, self.change)

    @property
    def change_head(self) -> Snapshot:
        """The newest snapshot of the change store as it was last loaded; `EMPTY` if there is none."""
        return (None if self.change is None else self.change.head()) or EMPTY

    @property
    def change_metadata(self) -> TableMetadata:
        """The metadata of the change store; without one that of base, whose definition it would share."""
        return self.stores[-1].metadata

    @property
    def properties(self) -> Mapping[str, str]:
        """The properties of the base store as this run sees them."""
        return self.base.properties

    @property
    def schema(self) -> Schema:
        """The current schema, with the columns of earlier ones."""
        metadata = self.base.metadata
        current = metadata.schemas[metadata.schema_id]
        return parse_schema(current, [each for each in metadata.schemas.values() if each is not current])

    @property
    def key_ids(self) -> tuple[int, ...]:
        """Field ids of the columns of the key, in its order.

        Raises:
            UnsupportedTable: the schema has no such column.
        """
        ids = {column.name: column.id for column in self.schema.columns}
        return tuple(ids[name] for name in self.key)

    @property
    def options(self) -> MajorOptions:
        """From which figures on its partitions are due.

        Raises:
            InvalidOption: a value of the run or the table is none.
        """
        properties, has_key = self.base.metadata.properties, self.change is not None
        options = major_options(self.base.overrides, properties, has_key=has_key)
        return replace(options, hive_folder=hive_folder(properties)) if self.hive is not None else options

    @property
    def refusals(self) -> tuple[str, ...]:
        """Why this release cannot compact it; empty if it can."""
        of_stores = [refusal for store in self.stores for refusal in store.refusals]
        return tuple(dict.fromkeys((*of_stores, *self._refusals())))

    @property
    def keys(self) -> PartitionKeys:
        """The names of its partitions in the line."""
        metadata = self.base.metadata
        types = tuple(kind for _, _, kind in partition_fields(metadata, metadata.spec_id))
        return PartitionKeys(spec_of(metadata, metadata.spec_id), types, metadata.location)

    def read_line(self, metadata: TableMetadata) -> OptimizedLine:
        """The line in some metadata of its base store; read once for metadata that are asked for again.

        Raises:
            MissingFile: its file is gone; the snapshot may have expired concurrently.
            CorruptTable, UnsupportedTable, StorageError: it cannot be read.
        """

        def read(file: LineFile) -> bytes:
            try:
                return self.storage.read_bytes(file.path, _MOST_LINE)
            except FileNotFoundError as error:
                raise MissingFile(file.path) from error

        if self.last.metadata is not metadata:
            self.last.line = read_line(metadata, self.base.branch, self.keys, read)
            self.last.metadata = metadata
        return self.last.line

    def refresh(self) -> MixedTable:
        """Loads the newest metadata of both; the change store first, so that base is never older than it."""
        for store in reversed(self.stores):
            store.refresh()
        return self

    def check_supported(self) -> None:
        """Checks that this release can compact it.

        Raises:
            UnsupportedTable: it cannot.
        """
        if self.refusals:
            raise UnsupportedTable(self.name, self.refusals)

    def _refusals(self) -> Iterator[str]:
        for store, what in zip(self.stores, ("base", "change"), strict=False):
            if store.metadata.format_version != _VERSION:
                yield f"format-version = {store.metadata.format_version} of its {what} store: it has to be 2"
        if self.base.branch != MAIN:
            yield f"branch {self.base.branch}: changes are merged into the main branch only"
        if len(self.base.metadata.specs) > 1:
            yield "it had another partition spec before: the rows of a key would be in several partitions"
        if self.hive is not None:
            yield from hive_refusals(self.hive, self.base.metadata, self.schema)
        elif name := named_for_hive(self.base.metadata.properties):
            yield f"{name}: readers of Hive read its files; open it by a Catalog of the metastore Hive"
        if self.change is not None:
            yield from self._key()

    def _key(self) -> Iterator[str]:
        if not self.key:
            yield f"its primary key is stored nowhere: name its columns by the table option {PRIMARY_KEY}"
        known = {column.name for column in self.schema.columns}
        missing = [name for name in self.key if name not in known]
        if missing:
            yield f"{PRIMARY_KEY} = {','.join(self.key)}: there is no column {missing[0]}"
        yield from refused_keys([column for column in self.schema.columns if column.name in self.key])


def open_mixed_table(address: TableAddress) -> MixedTable:
    """Opens a table; `MixedTable.check_supported` then tells whether it can be compacted.

    Raises:
        UnsupportedTable: it is no keyed table.
        LithifyError: a store cannot be opened; see `open_iceberg_table`.
    """
    hive = _hive_table(address)
    if hive is not None:
        return _of_hive(address, hive)
    in_folders = _is_in_folders(address)
    base = open_iceberg_table(_of(address, f"{address.name}.base") if in_folders else address, is_store=True)
    name = f"{address.name}.change" if in_folders else _change_of(base)
    change = open_iceberg_table(_of(address, name), is_store=True)
    storage = joint_storage(address, (base.metadata, change.metadata), (base.pointer, change.pointer))
    named = address.overrides.get(PRIMARY_KEY) or base.metadata.properties.get(PRIMARY_KEY) or ""
    key = tuple(name.strip() for name in named.split(",") if name.strip())
    return MixedTable(address.name, base, change, storage, key, in_folders)


def _of_hive(address: TableAddress, hive: HiveTable) -> MixedTable:
    """A Hive-compatible table, whose stores are folders; keyless ones have no change store."""
    if not hive.root:
        problem = (
            f"its metastore does not name the folder of its stores: do so by the table option {ROOT_LOCATION}"
        )
        raise UnsupportedTable(address.name, (problem,))
    warehouse, _, folder = hive.root.rpartition("/")
    options = files_options(address.catalog_options)
    stores = [
        open_iceberg_table(
            replace(_of(address, f"{folder}.{store}"), warehouse=warehouse, catalog_options=options),
            is_store=True,
            more_folders=(ROOT,),
        )
        for store in (("base", "change") if hive.key else ("base",))
    ]
    known = [each.metadata for each in stores], [each.pointer for each in stores]
    storage = joint_storage(address, *known, (ROOT,))
    return MixedTable(
        name=address.name,
        base=stores[0],
        change=stores[1] if hive.key else None,
        storage=storage,
        key=hive.key,
        in_folders=True,
        hive=hive,
    )


def _hive_table(address: TableAddress) -> HiveTable | None:
    if CATALOG_OPTIONS.metastore_of(address.catalog_options) != HIVE:
        return None
    from lithify.formats.mixed.hive_metastore import find_hive_table  # its client takes long to import

    return find_hive_table(address)


def tables_among(names: Iterable[str]) -> Iterator[str]:
    """The keyed tables among the tables of a catalog, told by names alone: a store of changes stands beside.

    A name `t_change_` is the change store of `t`; `t.base` and `t.change` are the stores of `t` in folders.
    """
    known = set(names)
    yield from (name for name in known if f"{name}{_CHANGE_SUFFIX}" in known)
    yield from (
        name.removesuffix(".base")
        for name in known
        if name.endswith(".base") and f"{name.removesuffix('base')}change" in known
    )


def _is_in_folders(address: TableAddress) -> bool:
    """Whether a catalog of folders has the stores of a table below its folder."""
    if address.catalog_options.get("metastore", FOLDER) != FOLDER:
        return False
    try:
        open_iceberg_table(address, is_store=True)
    except NotFound:
        return True
    return False


def _change_of(base: IcebergTable) -> str:
    """The name of the change store of a table, which its base names."""
    properties = base.metadata.properties
    store, change = properties.get(_STORE), properties.get(_CHANGE)
    if store != "base" or not change:
        problem = f"it is no base store of a keyed table ({_STORE} = {store}, {_CHANGE} = {change})"
        raise UnsupportedTable(base.name, (problem,))
    return change


def _of(address: TableAddress, name: str) -> TableAddress:
    return replace(address, name=name, uuid=None)
