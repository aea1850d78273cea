"""Opens tables: catalog, metadata, access to files, and whether this release can compact them.

Called by the adapter, a run's driver and observers.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from lithify.errors import NotFound
from lithify.formats.iceberg.catalog.connecting import AnyCatalog, open_catalog
from lithify.formats.iceberg.catalog.credentials import has_keys, is_remotely_signed
from lithify.formats.iceberg.catalog.model import Pointer
from lithify.formats.iceberg.catalog.names import TableName, parse_name
from lithify.formats.iceberg.support.reasons import HIVE_ROOT, LoadedTable, refusals
from lithify.formats.iceberg.table.files import metadata_storage, table_storage
from lithify.formats.iceberg.table.metadata import MAIN, TableMetadata, parse_metadata
from lithify.formats.iceberg.table.metadata_files import read_metadata
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.formats.protocol.address import TableAddress

STORE = "mixed-format.table-store"
KEYED = ("mixed-format.change.identifier", "mixed-format.primary-key-fields")
ARCTIC = "table.create-timestamp"
BASE, CHANGE = "base", "change"
"""Properties of Arctic's and Amoro's tables, and the names of the stores of keyed ones."""


def open_iceberg_table(
    address: TableAddress, *, is_store: bool = False, more_folders: tuple[str, ...] = ()
) -> IcebergTable:
    """Opens a table or a branch; `IcebergTable.check_supported` then tells whether it can be compacted.

    Args:
        address: where it is.
        is_store: whether it is opened as a store of a keyed table; as a table of its own, stores are refused.
        more_folders: further properties that name folders of its files.

    Raises:
        InvalidOption: the name or the catalog's settings are invalid.
        NotFound: the warehouse, table or branch does not exist.
        OutOfReach: the process may not connect there, or not use its own rights there.
        NotAllowed: the catalog refuses the credentials.
        CorruptTable: its metadata is invalid.
        StorageError: the file system refuses, or the catalog does not answer.
    """
    name = parse_name(address.name)
    catalog = open_catalog(address.warehouse, address.catalog_options, address.reach)
    pointer = catalog.load(name)
    read = partial(_metadata_of, address)
    metadata = read(pointer)
    if name.branch != MAIN and (name.branch not in metadata.refs or not metadata.refs[name.branch].is_branch):
        raise NotFound("branch", str(name), "the table has no such branch")
    is_signed = is_remotely_signed(pointer.config) and not has_keys(address.catalog_options)
    loaded = LoadedTable(
        metadata.json,
        address.overrides,
        name.branch,
        is_remotely_signed=is_signed,
        is_keyed_store=not is_store and _is_keyed_store(catalog, name, metadata),
        is_read_by_hive=not is_store and HIVE_ROOT in metadata.properties,
    )
    return IcebergTable(
        address=name,
        catalog=catalog,
        storage=table_storage(address, name, pointer, metadata, more_folders),
        read=read,
        pointer=pointer,
        metadata=metadata,
        refusals=tuple(refusals(loaded)),
        overrides=address.overrides,
        more_folders=more_folders,
    )


def _is_keyed_store(catalog: AnyCatalog, name: TableName, metadata: TableMetadata) -> bool:
    """Whether a table is a store of a keyed table, by its properties or by the store that stands beside it.

    Before Amoro 0.5.1 nothing in a store tells it but where it is: in the folder of its table.
    """
    properties = metadata.properties
    if any(each in properties for each in KEYED) or properties.get(STORE) == CHANGE:
        return True
    if ARCTIC not in properties or name.table not in (BASE, CHANGE):
        return False
    other = CHANGE if name.table == BASE else BASE
    try:
        catalog.load(replace(name, table=other, branch=MAIN))
    except NotFound:
        return False
    return True


def _metadata_of(address: TableAddress, pointer: Pointer) -> TableMetadata:
    """The metadata of a pointer: as a server sent it, else from its file."""
    if pointer.metadata is not None:
        return parse_metadata(pointer.metadata, pointer.location)
    return read_metadata(metadata_storage(address, pointer), pointer.location)
