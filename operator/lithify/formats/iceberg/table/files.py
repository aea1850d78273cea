"""Access to a table's files: by the keys of its Catalog, by vended ones, or by the process's identity."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from lithify.errors import OutOfReach
from lithify.formats.iceberg.catalog.connecting import storage_for, vended_options
from lithify.formats.iceberg.catalog.credentials import (
    VendedKeys,
    has_keys,
    place_of_store,
    taken_from_server,
)
from lithify.formats.iceberg.catalog.model import Pointer
from lithify.formats.iceberg.catalog.names import TableName
from lithify.formats.iceberg.catalog.options import CATALOG_OPTIONS, REST
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.protocol.address import TableAddress
from lithify.io.locations import store_of
from lithify.io.storage import Storage


def metadata_storage(address: TableAddress, pointer: Pointer) -> Storage:
    """Access to the folder of a metadata file, before the table's own folder is known."""
    folder = pointer.location.rpartition("/")[0]
    return storage_for((folder,), address.catalog_options, address.reach)


def table_storage(
    address: TableAddress,
    name: TableName,
    pointer: Pointer,
    metadata: TableMetadata,
    more: Collection[str] = (),
) -> Storage:
    """Access to the folders that a table writes to: its own, and those that its properties name.

    Args:
        address: where the table is.
        name: its name.
        pointer: its newest metadata.
        metadata: its content.
        more: further properties that name folders.

    Raises:
        OutOfReach: one of them may not be accessed, or they are on different stores.
    """
    roots = roots_of(metadata, more)
    options = address.catalog_options
    if CATALOG_OPTIONS.metastore_of(options) != REST:
        return storage_for(roots, options, address.reach)
    config = taken_from_server(pointer.config)
    if has_keys(options) or not has_keys(config) or store_of(metadata.location) is None:
        return storage_for(roots, {**place_of_store(config), **options}, address.reach)
    given = {**options, "warehouse": address.warehouse}
    source = VendedKeys(given, address.catalog, name, metadata.location, vended_options)
    source.begin_with(config)
    return storage_for(roots, {**place_of_store(config), **options}, address.reach, source)


def joint_storage(
    address: TableAddress,
    tables: Sequence[TableMetadata],
    pointers: Sequence[Pointer],
    more: Collection[str] = (),
) -> Storage:
    """Access to the folders of several tables of one catalog; `more` are properties that name further ones.

    Raises:
        OutOfReach: one of them may not be accessed, they are on different stores, or a server vends keys for
            each table alone.
    """
    options = address.catalog_options
    roots = tuple(dict.fromkeys(root for each in tables for root in roots_of(each, more)))
    configs = [taken_from_server(each.config) for each in pointers]
    if not has_keys(options) and any(map(has_keys, configs)):
        problem = "its catalog vends keys for each of its stores alone; give the Catalog keys for both"
        raise OutOfReach(roots[0], problem)
    known = {name: value for config in configs for name, value in place_of_store(config).items()}
    return storage_for(roots, {**known, **options}, address.reach)


def roots_of(metadata: TableMetadata, more: Collection[str] = ()) -> tuple[str, ...]:
    """The folders in which a table's files lie; `more` are properties that name further ones."""
    others = [metadata.properties[name].rstrip("/") for name in more if metadata.properties.get(name)]
    folders = (metadata.location, metadata.data_folder, metadata.metadata_folder, *others)
    own = f"{metadata.location}/"
    outside = (folder for folder in folders if folder != metadata.location and not folder.startswith(own))
    return (metadata.location, *dict.fromkeys(outside))


def files_options(options: Mapping[str, str]) -> dict[str, str]:
    """The options of a Catalog that are about files, with which tables in folders are opened."""
    return {name: value for name, value in options.items() if CATALOG_OPTIONS.is_about_files(name)}
