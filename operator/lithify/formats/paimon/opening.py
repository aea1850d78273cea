"""Opens tables: catalog, schema, options, access to files.

Called by the command line, a run's driver and observers. Everything that can be checked before any work is
checked by `support`, and opened tables know the result: one error names every problem.
"""

from __future__ import annotations

from functools import partial

from pypaimon.table.file_store_table import FileStoreTable

from lithify.formats.paimon.access.file_access import storage_of
from lithify.formats.paimon.catalog.connecting import load_table
from lithify.formats.paimon.catalog.locks import lock_settings
from lithify.formats.paimon.catalog.schema_files import known_schema, read_schema, stored_options
from lithify.formats.paimon.options.location_options import LocationOptions
from lithify.formats.paimon.options.table_options import read_options
from lithify.formats.paimon.support.locations import place_refusal
from lithify.formats.paimon.support.overrides import check_overrides
from lithify.formats.paimon.support.reasons import LoadedTable, check_kind, refusals
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.address import TableAddress
from lithify.io.access_policy import AccessPolicy
from lithify.io.locations import local_path
from lithify.io.storage import Storage


def open_table(address: TableAddress) -> PaimonTable:
    """Opens a table; `PaimonTable.check_supported` then tells whether it can be compacted.

    Raises:
        NotFound: the warehouse, database or table does not exist.
        InvalidOption: an option or override cannot be used.
        OutOfReach: the process may not connect there, or not use its own rights there.
        NotAllowed: the catalog rejects the credentials.
        CorruptTable: its schema is invalid.
        UnsupportedTable: it is not a table of a kind that this release knows.
        StorageError: the file system refuses, or the catalog does not answer.
    """
    check_overrides(address.overrides)
    found = load_table(
        address.warehouse, address.name, address.catalog_options, address.reach, address.catalog
    )
    schema = known_schema(found, found.table_schema, address.overrides)
    table = found.copy_without_time_travel(dict(address.overrides))
    check_kind(address.name, table)
    options = read_options(schema.options, has_primary_key=bool(schema.primary_key))
    _check_locations(options.locations, address.reach)
    storage = _storage(table, options.locations)
    loaded = LoadedTable(table, schema, options, storage, address.catalog_options, address.time_zone)
    return PaimonTable(
        table=table,
        name=address.name,
        schema=schema,
        read_schema=partial(read_schema, table, address.overrides),
        options=options,
        storage=storage,
        refusals=tuple(refusals(loaded)),
        stored_options=stored_options(found.table_schema),
        lock=lock_settings(address.name, address.catalog_options, on_objects=storage.is_object_store),
    )


def _storage(table: FileStoreTable, options: LocationOptions) -> Storage:
    """Access limited to the table's folder and its external paths."""
    anything = storage_of(table.file_io)
    external = [path for path in options.listed if place_refusal(path, table.table_path, anything) is None]
    return storage_of(table.file_io, (table.table_path, *external))


def _check_locations(options: LocationOptions, reach: AccessPolicy) -> None:
    """Checks own rights for local files outside the table's folder, too; S3 files are checked on access."""
    for path in options.external:
        if local_path(path) is not None:
            reach.check(path)
