"""Connects to catalogs through pypaimon, and turns their errors into ours.

Called by `opening`, which loads tables, `committing_server`, which reads and commits their snapshots, and
`observer`, which lists them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from pypaimon import CatalogFactory
from pypaimon.api.rest_exception import (
    BadRequestException,
    ForbiddenException,
    NoSuchResourceException,
    NotAuthorizedException,
    NotImplementedException,
    RESTException,
)
from pypaimon.branch.branch_manager import BranchManager
from pypaimon.catalog.catalog import Catalog
from pypaimon.catalog.catalog_context import CatalogContext
from pypaimon.catalog.catalog_exception import (
    DatabaseNoPermissionException,
    DatabaseNotExistException,
    TableNoPermissionException,
    TableNotExistException,
)
from pypaimon.catalog.filesystem_catalog import FileSystemCatalog
from pypaimon.catalog.rest.rest_catalog import RESTCatalog
from pypaimon.common.file_io import FileIO
from pypaimon.common.identifier import DEFAULT_MAIN_BRANCH, Identifier
from pypaimon.common.options import Options
from pypaimon.schema.table_schema import TableSchema
from pypaimon.table.file_store_table import FileStoreTable

from lithify.errors import (
    CatalogUnavailable,
    CorruptTable,
    InvalidOption,
    LithifyError,
    NotAllowed,
    NotFound,
    OutOfReach,
    StorageError,
    UnsupportedTable,
)
from lithify.formats.paimon.access import rest_client as _bounded  # noqa: F401  # servers are asked through it
from lithify.formats.paimon.access.catalog_options import check_catalog_options
from lithify.formats.paimon.access.data_tokens import DataTokens
from lithify.formats.paimon.access.file_access import bounded_local, storage_of
from lithify.formats.paimon.access.identity import home, is_main
from lithify.formats.paimon.access.object_file_io import ObjectFileIO, TokenKeys
from lithify.formats.paimon.catalog.jdbc import (
    JdbcCatalogOfObjects,
    database_answering,
    driver_settings,
)
from lithify.formats.paimon.catalog.schema_files import read_table_schema
from lithify.io.access_policy import UNBOUNDED, AccessPolicy
from lithify.io.databases import check_database
from lithify.io.file_names import is_file_name, shown
from lithify.io.locations import STORES, local_path, parse_location, store_of
from lithify.io.objects.answers import NO_BUCKET
from lithify.io.objects.stores import settings_for
from lithify.io.storage import reporting
from lithify.settings import CATALOG_SETTINGS, TABLE, WAREHOUSE

_FORBIDDEN = (
    NotAuthorizedException,
    ForbiddenException,
    TableNoPermissionException,
    DatabaseNoPermissionException,
)
_REFUSED = (BadRequestException, NoSuchResourceException, NotImplementedException)
_SYSTEM_DATABASES = frozenset({Catalog.SYSTEM_DATABASE_NAME})
_NAME = re.compile(r"(?P<database>[^.$/]+)\.(?P<table>[^.$/]+)(?:\$branch_(?P<branch>[^$/]+))?")


def load_table(
    warehouse: str,
    name: str,
    catalog_options: Mapping[str, str],
    reach: AccessPolicy = UNBOUNDED,
    owner: str = "",
) -> FileStoreTable:
    """Loads a table by its name, `database.table`, or a branch of one, `database.table$branch_name`.

    Tokens that its catalog's server issues are kept for `owner`, the Catalog resource, only.

    Raises:
        InvalidOption: the name or the catalog's settings are invalid.
        OutOfReach: the process may not connect there, or not use its own rights there.
        NotFound: the warehouse, database or table does not exist.
        UnsupportedTable: it is another kind of object that catalogs list as tables.
        CorruptTable: its schema cannot be read.
        NotAllowed, StorageError, CatalogUnavailable: see `answering`.
    """
    identifier = parse_name(name)
    with _connected(warehouse, catalog_options, reach, owner) as catalog:
        try:
            table = catalog.get_table(identifier)
        except (ValueError, RuntimeError, TypeError, LookupError, AttributeError) as error:
            where = catalog_options.get("uri", warehouse)
            # The server's response is not repeated: it may come from a service other than a catalog.
            said = type(error).__name__ if isinstance(catalog, RESTCatalog) else error
            raise CorruptTable(f"{where}: {name}", f"cannot be loaded ({said})") from error
    if not isinstance(table, FileStoreTable):
        raise UnsupportedTable(name, (f"it is a {type(table).__name__}, which has no levels",))
    _reach_files(table, catalog_options, reach)
    return table if is_main(table) else _with_own_schema(table)


def _with_own_schema(branch: FileStoreTable) -> FileStoreTable:
    """A branch with its own schema: some catalogs return the main table's schema instead."""
    name, folder = branch.identifier.get_full_name(), home(branch)
    schema = read_table_schema(storage_of(branch.file_io), folder)
    if schema is None:
        raise NotFound("branch", name, f"{folder} has no schema")
    return FileStoreTable(
        branch.file_io, branch.identifier, branch.table_path, schema, branch.catalog_environment
    )


def _reach_files(table: FileStoreTable, catalog_options: Mapping[str, str], reach: AccessPolicy) -> None:
    """Makes a table on an object store use our access to it."""
    _check_location(str(table.table_path), reach)
    reaches = table.file_io = bounded_local(table.file_io)
    path = str(table.table_path)
    if store_of(path) is None or isinstance(reaches, ObjectFileIO):
        return
    tokens = reaches if isinstance(reaches, DataTokens) else None
    with answering(str(catalog_options.get("uri"))):
        table.file_io = _objects(path, catalog_options, reach, tokens)


def _objects(
    path: str, options: Mapping[str, str], reach: AccessPolicy, tokens: DataTokens | None = None
) -> ObjectFileIO:
    """Access to an object store by a catalog's options or tokens; no other code reads the settings."""
    given = options if tokens is None else {**options, **tokens.valid_token().token}
    source = None if tokens is None else TokenKeys(path, tokens)
    return ObjectFileIO(settings_for(path, given, reach), source)


def _check_location(path: str, reach: AccessPolicy) -> None:
    """Refuses files that only the process's own rights can access; objects are checked on access.

    Raises:
        OutOfReach: the process may not use its own rights there, or it is unknown whether it would.
    """
    if local_path(path) is not None:
        reach.check(path)
    elif store_of(path) is None and reach.prefixes is not None:
        raise OutOfReach(
            path, f"the operator reads tables on {STORES} and on file systems of its own, no others"
        )


def check_catalog(
    warehouse: str, catalog_options: Mapping[str, str], reach: AccessPolicy = UNBOUNDED
) -> None:
    """Sends a catalog a cheap request; raises like `list_tables` if it fails."""
    with _connected(warehouse, catalog_options, reach) as catalog:
        catalog.list_databases()


def list_tables(
    warehouse: str, catalog_options: Mapping[str, str], reach: AccessPolicy = UNBOUNDED
) -> tuple[str, ...]:
    """All tables of a catalog, of any kind, as `database.table`; without its system databases.

    Raises:
        InvalidOption: the catalog's settings are invalid.
        OutOfReach: the process may not connect there, or not use its own rights there.
        NotFound: the warehouse does not exist.
        NotAllowed, StorageError, CatalogUnavailable: see `answering`.
    """
    found: list[Identifier] = []
    with _connected(warehouse, catalog_options, reach) as catalog:
        for database in catalog.list_databases():
            if database not in _SYSTEM_DATABASES:
                with suppress(DatabaseNotExistException):  # dropped concurrently
                    found += (Identifier.create(database, table) for table in catalog.list_tables(database))
        if isinstance(catalog, FileSystemCatalog):
            found = _with_schema(catalog, found)
    return tuple(sorted(f"{each.get_database_name()}.{each.get_table_name()}" for each in found))


def _with_schema(catalog: FileSystemCatalog, found: Sequence[Identifier]) -> list[Identifier]:
    """Keeps the names that are tables: a filesystem catalog lists every folder."""
    storage = storage_of(catalog.file_io)
    have_schema = storage.exist([f"{catalog.get_table_path(each)}/schema/schema-0" for each in found])
    return [each for each, has_schema in zip(found, have_schema, strict=True) if has_schema]


@contextmanager
def _connected(
    warehouse: str, catalog_options: Mapping[str, str], reach: AccessPolicy, owner: str = ""
) -> Iterator[Catalog]:
    """Connects to a catalog whose errors are turned into ours."""
    check_catalog_options(warehouse, catalog_options)
    options: dict[str, Any] = {**catalog_options, "warehouse": warehouse}
    metastore, uri = options.get("metastore", "filesystem"), options.get("uri", warehouse)
    if metastore != "rest":
        _check_warehouse(warehouse, options, reach)
    with ExitStack() as around:
        if metastore == "jdbc":
            options |= driver_settings(check_database(uri, reach))
            around.enter_context(database_answering(uri))
        around.enter_context(reporting(warehouse))
        around.enter_context(answering(uri))
        yield _connect(warehouse, uri, options, reach, owner)


@contextmanager
def answering(uri: str) -> Iterator[None]:
    """Turns errors of the catalog at a URI into ours.

    Raises:
        NotAllowed: it rejects the credentials, or they lack permission.
        NotFound: it does not have the database or table.
        StorageError: it refuses the request.
        CatalogUnavailable: it does not answer, or fails; the request may have been carried out.
    """
    try:
        yield
    except DatabaseNotExistException as error:
        raise NotFound("database", error.database, f"{uri} does not have it") from error
    except TableNotExistException as error:
        kind = "branch" if error.identifier.get_branch_name() else "table"
        raise NotFound(kind, error.identifier.get_full_name(), f"{uri} does not have it") from error
    except (*_FORBIDDEN, RESTException) as error:
        raise _translated(error, uri) from error
    except RuntimeError as error:
        # pypaimon wraps errors of a commit; no other error has a REST error as its cause
        if not isinstance(error.__cause__, RESTException):
            raise
        raise _translated(error.__cause__, uri) from error


def _translated(error: Exception, catalog: str) -> LithifyError:
    if isinstance(error, _FORBIDDEN):
        return NotAllowed(catalog, str(error))
    if isinstance(error, _REFUSED):
        return StorageError(catalog, f"the catalog refuses the request ({error})")
    return CatalogUnavailable(catalog, f"the catalog gives no answer ({error})")


class _CatalogOfFiles(FileSystemCatalog):  # type: ignore[misc]  # pypaimon is untyped
    """pypaimon's filesystem catalog without its own access to stores, and with bounds on what it reads."""

    def __init__(self, warehouse: str, options: Mapping[str, str], file_io: FileIO) -> None:
        self.warehouse = warehouse
        self.catalog_options = Options(dict(options))
        self.catalog_context = CatalogContext.create_from_options(self.catalog_options)
        self.file_io = file_io

    def get_table_schema(self, identifier: Identifier) -> TableSchema:
        """The newest schema of a table or of a branch of one."""
        branch = identifier.get_branch_name_or_default()
        folder = BranchManager.branch_path(self.get_table_path(identifier), branch)
        found = read_table_schema(storage_of(self.file_io), folder)
        if found is None:
            raise TableNotExistException(identifier)
        return found


class _RestCatalog(RESTCatalog):  # type: ignore[misc]
    """pypaimon's REST catalog without its own file access: the server says where files are."""

    def __init__(self, options: Mapping[str, str], reach: AccessPolicy, owner: str) -> None:
        self._given, self._reach, self._owner = options, reach, owner
        super().__init__(CatalogContext.create_from_options(Options(dict(options))))

    def file_io_from_options(self, table_path: str) -> FileIO:
        """File access by the catalog's options."""
        _check_location(table_path, self._reach)
        if store_of(table_path) is not None:
            return _objects(table_path, self._given, self._reach)
        return FileIO.get(table_path, self.context.options)

    def file_io_for_data(self, table_path: str, identifier: Identifier) -> FileIO:
        """File access by the server's tokens, if it issues any."""
        _check_location(table_path, self._reach)
        if self.data_token_enabled:
            return DataTokens(identifier, table_path, self.context.options, self._owner)
        return self.file_io_from_options(table_path)


def _connect(
    warehouse: str, uri: str, options: Mapping[str, Any], reach: AccessPolicy, owner: str
) -> Catalog:
    try:
        return _catalog_of(warehouse, options, reach, owner)
    except (ValueError, ImportError) as error:
        problem = f"no catalog can be opened with these settings ({error})"
        raise InvalidOption(CATALOG_SETTINGS, problem) from error
    except NoSuchResourceException as error:
        hint = f"{uri} does not have it, or is not the address of a Paimon REST catalog"
        raise NotFound("warehouse", warehouse, hint) from error


def _catalog_of(warehouse: str, options: Mapping[str, Any], reach: AccessPolicy, owner: str) -> Catalog:
    metastore = options.get("metastore", "filesystem")
    if metastore == "rest":
        return _RestCatalog(options, reach, owner)
    if store_of(warehouse) is not None:
        file_io = _objects(warehouse, options, reach)
        return (JdbcCatalogOfObjects if metastore == "jdbc" else _CatalogOfFiles)(warehouse, options, file_io)
    catalog = CatalogFactory.create(options)
    if type(catalog) is FileSystemCatalog:
        return _CatalogOfFiles(warehouse, options, bounded_local(catalog.file_io))
    return catalog


def _check_warehouse(warehouse: str, options: Mapping[str, str], reach: AccessPolicy) -> None:
    if store_of(warehouse) is not None:
        _check_prefix(warehouse, _objects(warehouse, options, reach))
        return
    _check_location(warehouse, reach)
    if local_path(warehouse) is None and parse_location(warehouse).scheme:
        raise InvalidOption(WAREHOUSE, f"{warehouse} is neither a local path nor on {STORES}")
    try:
        with reporting(warehouse):
            exists = FileIO.get(warehouse, Options(dict(options))).exists(warehouse)
    except (ValueError, ImportError) as error:
        raise InvalidOption(WAREHOUSE, f"{warehouse} cannot be opened ({error})") from error
    if not exists:
        raise NotFound("warehouse", warehouse, "the directory does not exist")


def _check_prefix(warehouse: str, objects: ObjectFileIO) -> None:
    """An empty bucket is a warehouse without tables; an empty folder does not exist."""
    try:
        bucket, prefix = objects.bucket(warehouse)
        is_there = bucket.has_any(prefix) or not prefix
    except CorruptTable as error:
        raise InvalidOption(WAREHOUSE, f"{warehouse}: {error.problem}") from error
    except StorageError as error:
        if error.problem != NO_BUCKET:
            raise
        raise NotFound("warehouse", warehouse, error.problem) from error
    if not is_there:
        raise NotFound("warehouse", warehouse, "nothing is in the bucket below it")


def parse_name(name: str) -> Identifier:
    """Parses the name of a table or branch.

    Raises:
        InvalidOption: the name does not have the required form.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        problem = f"'{name}' is not of the form database.table or database.table$branch_name"
        nested = "; Paimon has no nested namespaces" if name.partition("$")[0].count(".") > 1 else ""
        raise InvalidOption(TABLE, problem + nested)
    for part in match.groupdict().values():
        if part is not None and not is_file_name(part):
            raise InvalidOption(TABLE, f"{shown(name)} has characters that no folder has")
    branch = match["branch"]
    if branch is not None and branch.lower() == DEFAULT_MAIN_BRANCH:
        raise InvalidOption(TABLE, f"'{name}' is the table itself: leave out the name of the main branch")
    return Identifier.create(match["database"], match["table"], branch=branch)
