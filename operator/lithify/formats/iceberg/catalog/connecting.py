"""Opens the catalog of an address: checks its options, then makes the one client that they ask for.

Called by `table.opening`, by observers, and on executors by `VendedKeys`. Clients of metastores that are not
asked for are not imported: Glue's takes a second.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from lithify.errors import InvalidOption, NotFound, OutOfReach
from lithify.formats.iceberg.catalog.credentials import has_keys, store_options
from lithify.formats.iceberg.catalog.folders import FolderTables
from lithify.formats.iceberg.catalog.model import PointerCatalog, ServerCatalog
from lithify.formats.iceberg.catalog.names import TableName
from lithify.formats.iceberg.catalog.options import (
    CATALOG_OPTIONS,
    GLUE,
    HIVE,
    REST,
    check_catalog_options,
)
from lithify.io.access_policy import UNBOUNDED, AccessPolicy
from lithify.io.catalog_options import FOLDER
from lithify.io.local_storage import local_storage
from lithify.io.locations import STORES, local_path, object_path, store_of
from lithify.io.object_storage import object_storage
from lithify.io.objects.files import KeySource
from lithify.io.objects.stores import settings_for
from lithify.io.storage import Storage
from lithify.settings import WAREHOUSE, catalog_option

if TYPE_CHECKING:
    from lithify.formats.iceberg.catalog.hive import HiveTables
    from lithify.formats.iceberg.catalog.rest_client import RestClient

AnyCatalog: TypeAlias = PointerCatalog | ServerCatalog
_MOST_LEVELS = 16
_CATALOG_NAME = "catalog-name"


def open_catalog(warehouse: str, options: Mapping[str, str], reach: AccessPolicy = UNBOUNDED) -> AnyCatalog:
    """Opens a catalog; a server is asked for its options, others for nothing.

    Raises:
        InvalidOption: the catalog's settings are invalid.
        OutOfReach: the process may not connect there, or not use its own rights there.
        NotFound: the warehouse does not exist.
        NotAllowed: the catalog refuses the credentials.
        CatalogUnavailable: it gives no answer.
    """
    check_catalog_options(warehouse, options)
    metastore = CATALOG_OPTIONS.metastore_of(options)
    if metastore == FOLDER:
        return _folders(warehouse, options, reach)
    if metastore == REST:
        from lithify.formats.iceberg.catalog.rest import RestTables  # see the module's text

        return RestTables(_rest_client(warehouse, options))
    if metastore == HIVE:
        return open_hive(warehouse, options)
    if metastore == GLUE:
        from lithify.formats.iceberg.catalog.glue import GlueTables

        return GlueTables({k: v for k, v in options.items() if k.startswith("glue.")}, reach)
    return _database(options, reach)


def open_hive(warehouse: str, options: Mapping[str, str]) -> HiveTables:
    """Opens a catalog whose metastore is Hive's; raises as `open_catalog`."""
    check_catalog_options(warehouse, options)
    from lithify.formats.iceberg.catalog.hive import HiveTables  # see the module's text

    return HiveTables(options["uri"], {k: v for k, v in options.items() if k.startswith("hive.")})


def _database(options: Mapping[str, str], reach: AccessPolicy) -> PointerCatalog:
    from lithify.formats.iceberg.catalog.sql import SqlTables, sql_engine

    name = options.get(_CATALOG_NAME)
    if not name:
        problem = "the metastore jdbc needs it: the name of the catalog by which writers open it"
        raise InvalidOption(catalog_option(_CATALOG_NAME), problem)
    uri = options["uri"]
    engine = sql_engine(uri, options.get("jdbc.user"), options.get("jdbc.password"), reach)
    return SqlTables(engine, name, uri)


def _rest_client(warehouse: str, options: Mapping[str, str]) -> RestClient:
    from lithify.formats.iceberg.catalog.rest_client import RestClient

    named = {
        name: value for name, value in options.items() if name in _FOR_REST or name.startswith("header.")
    }
    return RestClient({**named, "warehouse": warehouse}, asks_for_keys=not has_keys(options))


def _folders(warehouse: str, options: Mapping[str, str], reach: AccessPolicy) -> FolderTables:
    if object_path(warehouse) is None and local_path(warehouse) is None:
        problem = (
            f"{warehouse} is neither a local path nor on {STORES}: elsewhere a table in a folder cannot be "
            "committed to atomically"
        )
        raise InvalidOption(WAREHOUSE, problem)
    storage = storage_for((warehouse,), options, reach)
    if local_path(warehouse) is not None and not storage.exists(warehouse):
        raise NotFound("warehouse", warehouse, "the directory does not exist")
    return FolderTables(warehouse, storage)


def storage_for(
    roots: tuple[str, ...], options: Mapping[str, str], reach: AccessPolicy, source: KeySource | None = None
) -> Storage:
    """Access to some folders on one store, by the options of a Catalog.

    Raises:
        OutOfReach: the process may not use its own rights there, or no such store is read.
        InvalidOption: the options contradict each other.
    """
    stores = set(map(store_of, roots))
    if len(stores) == 1 and None not in stores:
        return object_storage(settings_for(roots[0], store_options(options), reach), source, roots)
    for root in roots:
        if local_path(root) is None:
            raise OutOfReach(
                root, f"files of Iceberg tables are read on {STORES} and local file systems, all on one"
            )
        reach.check(root)
    return local_storage(roots)


def list_tables(catalog: AnyCatalog, parent: tuple[str, ...] = ()) -> Iterator[str]:
    """All tables of a catalog, as `namespace.table` with dots between levels.

    Names with dots of their own are left out: no address can name them.
    """
    if len(parent) < _MOST_LEVELS:
        for namespace in catalog.namespaces(parent):
            yield from (
                ".".join(each) for each in catalog.tables(namespace) if not any("." in p for p in each)
            )
            yield from list_tables(catalog, namespace)


def vended_options(options: Mapping[str, str], name: TableName, location: str) -> Mapping[str, str]:
    """What a REST catalog's server sends now for the files of a table; called on executors, too."""
    from lithify.formats.iceberg.catalog.rest import RestTables

    given = {key: value for key, value in options.items() if key != "warehouse"}
    return RestTables(_rest_client(options["warehouse"], given)).credentials(name, location)


_FOR_REST = frozenset(
    {
        "uri",
        "credential",
        "token",
        "scope",
        "audience",
        "resource",
        "oauth2-server-uri",
        "prefix",
        "rest-page-size",
    }
)
