"""Reaches catalogs through pypaimon, and turns whatever they answer into our errors.

Called by `catalog`, which loads tables, `catalog_server`, which reads and commits their snapshots, and
`observation`, which lists them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

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
    CatalogException,
    DatabaseNoPermissionException,
    DatabaseNotExistException,
    TableNoPermissionException,
    TableNotExistException,
)
from pypaimon.catalog.filesystem_catalog import FileSystemCatalog
from pypaimon.catalog.rest.rest_token_file_io import RESTTokenFileIO
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
    StorageError,
    UnsupportedTable,
)
from lithify.tables.paimon.identity import home, is_main
from lithify.tables.paimon.s3.answers import NO_BUCKET
from lithify.tables.paimon.s3.file_io import S3FileIO
from lithify.tables.paimon.s3.settings import is_s3, read_settings
from lithify.tables.paimon.schema_files import read_table_schema
from lithify.tables.paimon.small_files import bounded_local
from lithify.tables.paimon.storage import Storage, reporting

_FORBIDDEN = (
    NotAuthorizedException,
    ForbiddenException,
    TableNoPermissionException,
    DatabaseNoPermissionException,
)
_REFUSED = (BadRequestException, NoSuchResourceException, NotImplementedException)
_SYSTEM_DATABASES = frozenset({Catalog.SYSTEM_DATABASE_NAME})
_SECRETS = re.compile(r"\?.*|(?<=//)[^/@]*@")
_NAME = re.compile(r"(?P<database>[^.$/]+)\.(?P<table>[^.$/]+)(?:\$branch_(?P<branch>[^$/]+))?")
_SQLITE = re.compile(r"jdbc:sqlite:(?!file:|:memory:)(?P<file>.+)")


def load_table(warehouse: str, name: str, catalog_options: Mapping[str, str]) -> FileStoreTable:
    """Loads a table by its name, `database.table`, or a branch of one, `database.table$branch_name`.

    Raises:
        InvalidOption: the name or the catalog's settings make no sense.
        NotFound: the warehouse, database or table does not exist.
        UnsupportedTable: it is something else that catalogs call tables.
        CorruptTable: its schema cannot be read.
        NotAllowed, StorageError, CatalogUnavailable: see `answering`.
    """
    identifier = parse_name(name)
    with _connected(warehouse, catalog_options) as catalog:
        try:
            table = catalog.get_table(identifier)
        except (ValueError, RuntimeError, TypeError, LookupError, AttributeError) as error:
            where = _shown(catalog_options.get("uri", warehouse))
            raise CorruptTable(f"{where}: {name}", f"cannot be loaded ({error})") from error
    if not isinstance(table, FileStoreTable):
        raise UnsupportedTable(name, (f"it is a {type(table).__name__}, which has no levels",))
    _reach_files(table, catalog_options)
    return table if is_main(table) else _with_own_schema(table)


def _with_own_schema(branch: FileStoreTable) -> FileStoreTable:
    """A branch with the schema that it has: not all catalogs give it another one than its table."""
    name, folder = branch.identifier.get_full_name(), home(branch)
    schema = read_table_schema(Storage(branch.file_io), folder)
    if schema is None:
        raise NotFound("branch", name, f"{folder} has no schema")
    return FileStoreTable(
        branch.file_io, branch.identifier, branch.table_path, schema, branch.catalog_environment
    )


def _reach_files(table: FileStoreTable, catalog_options: Mapping[str, str]) -> None:
    """Has a table on S3 reach its files our way."""
    reaches = table.file_io = bounded_local(table.file_io)
    if not is_s3(table.table_path) or isinstance(reaches, S3FileIO):
        return
    if isinstance(reaches, RESTTokenFileIO):
        with answering(str(catalog_options.get("uri"))):
            token = reaches.valid_token()
        table.file_io = S3FileIO(read_settings({**catalog_options, **token.token}), reaches)
    else:
        table.file_io = S3FileIO(read_settings(catalog_options))


def list_tables(warehouse: str, catalog_options: Mapping[str, str]) -> tuple[str, ...]:
    """All tables of a catalog, of whatever kind, as `database.table`; not those of its system databases.

    Raises:
        InvalidOption: the catalog's settings make no sense.
        NotFound: the warehouse does not exist.
        NotAllowed, StorageError, CatalogUnavailable: see `answering`.
    """
    found: list[Identifier] = []
    with _connected(warehouse, catalog_options) as catalog:
        for database in catalog.list_databases():
            if database not in _SYSTEM_DATABASES:
                with suppress(DatabaseNotExistException):  # dropped meanwhile
                    found += (Identifier.create(database, table) for table in catalog.list_tables(database))
        if isinstance(catalog, FileSystemCatalog):
            found = _with_schema(catalog, found)
    return tuple(sorted(f"{each.get_database_name()}.{each.get_table_name()}" for each in found))


def _with_schema(catalog: FileSystemCatalog, found: Sequence[Identifier]) -> list[Identifier]:
    """Those that are tables: to a catalog of files any folder is one."""
    storage = Storage(catalog.file_io)
    have_schema = storage.exist([f"{catalog.get_table_path(each)}/schema/schema-0" for each in found])
    return [each for each, has_schema in zip(found, have_schema, strict=True) if has_schema]


@contextmanager
def _connected(warehouse: str, catalog_options: Mapping[str, str]) -> Iterator[Catalog]:
    """A catalog, whose answers are turned into our errors."""
    options = {"warehouse": warehouse, **catalog_options}
    metastore, uri = options.get("metastore"), options.get("uri", warehouse)
    if metastore != "rest":
        _check_warehouse(warehouse, options)
    if metastore == "jdbc":
        _check_sqlite(uri)
    with reporting(warehouse), answering(uri), _database_answering(uri, metastore):
        yield _connect(warehouse, uri, options)


@contextmanager
def answering(uri: str) -> Iterator[None]:
    """Turns what the catalog at a URI says into our errors.

    Raises:
        NotAllowed: it does not accept the credentials, or they may not do this.
        NotFound: it does not have the database or table.
        StorageError: it refuses the request.
        CatalogUnavailable: it does not answer, or fails; what was asked may have been done all the same.
    """
    catalog = _shown(uri)
    try:
        yield
    except DatabaseNotExistException as error:
        raise NotFound("database", error.database, f"{catalog} does not have it") from error
    except TableNotExistException as error:
        kind = "branch" if error.identifier.get_branch_name() else "table"
        raise NotFound(kind, error.identifier.get_full_name(), f"{catalog} does not have it") from error
    except (*_FORBIDDEN, RESTException) as error:
        raise _translated(error, catalog) from error
    except RuntimeError as error:
        # pypaimon wraps what a commit fails with; nothing else has a REST error as its cause
        if not isinstance(error.__cause__, RESTException):
            raise
        raise _translated(error.__cause__, catalog) from error


def _shown(uri: str) -> str:
    """A URI as messages may show it: without what may be a secret."""
    return _SECRETS.sub("", uri)


def _translated(error: Exception, catalog: str) -> LithifyError:
    if isinstance(error, _FORBIDDEN):
        return NotAllowed(catalog, str(error))
    if isinstance(error, _REFUSED):
        return StorageError(catalog, f"the catalog refuses the request ({error})")
    return CatalogUnavailable(catalog, f"the catalog gives no answer ({_root(error)})")


def _root(error: BaseException) -> BaseException:
    """What it all began with: HTTP libraries wrap it several times."""
    deeper = error.__cause__ or error.__context__
    return error if deeper is None else _root(deeper)


class _CatalogOfFiles(FileSystemCatalog):  # type: ignore[misc]  # pypaimon is untyped
    """pypaimon's catalog of files, without its own way to S3, and with bounds on what it reads."""

    def __init__(self, warehouse: str, options: Mapping[str, str], file_io: FileIO) -> None:
        self.warehouse = warehouse
        self.catalog_options = Options(dict(options))
        self.catalog_context = CatalogContext.create_from_options(self.catalog_options)
        self.file_io = file_io

    def get_table_schema(self, identifier: Identifier) -> TableSchema:
        """The newest schema of a table or of a branch of one."""
        branch = identifier.get_branch_name_or_default()
        folder = BranchManager.branch_path(self.get_table_path(identifier), branch)
        found = read_table_schema(Storage(self.file_io), folder)
        if found is None:
            raise TableNotExistException(identifier)
        return found


def _connect(warehouse: str, uri: str, options: Mapping[str, str]) -> Catalog:
    metastore = options.get("metastore", "filesystem")
    if is_s3(warehouse) and metastore == "filesystem":
        return _CatalogOfFiles(warehouse, options, S3FileIO(read_settings(options)))
    try:
        catalog = CatalogFactory.create(options)
        if type(catalog) is FileSystemCatalog:
            return _CatalogOfFiles(warehouse, options, bounded_local(catalog.file_io))
    except (ValueError, ImportError) as error:
        problem = f"no catalog can be opened with these settings ({error})"
        raise InvalidOption("--catalog-option", problem) from error
    except NoSuchResourceException as error:
        hint = f"{_shown(uri)} does not have it, or is not the address of a Paimon REST catalog"
        raise NotFound("warehouse", warehouse, hint) from error
    if is_s3(warehouse) and metastore == "jdbc":
        catalog.file_io = S3FileIO(read_settings(options))
    return catalog


@contextmanager
def _database_answering(uri: str, metastore: str | None) -> Iterator[None]:
    """The drivers of a JDBC catalog's databases have errors of their own, each another family."""
    try:
        yield
    except (LithifyError, CatalogException, RESTException, OSError):
        raise
    except Exception as error:
        if metastore != "jdbc":
            raise
        raise CatalogUnavailable(_shown(uri), f"the database gives no answer ({error})") from error


def _check_warehouse(warehouse: str, options: Mapping[str, str]) -> None:
    if is_s3(warehouse):
        _check_prefix(warehouse, S3FileIO(read_settings(options)))
        return
    try:
        with reporting(warehouse):
            exists = FileIO.get(warehouse, Options(dict(options))).exists(warehouse)
    except (ValueError, ImportError) as error:
        raise InvalidOption("--warehouse", f"{warehouse} cannot be opened ({error})") from error
    if not exists:
        raise NotFound("warehouse", warehouse, "the directory does not exist")


def _check_prefix(warehouse: str, s3: S3FileIO) -> None:
    """An empty bucket is a warehouse without tables; a folder that nothing is in does not exist."""
    bucket, prefix = s3.bucket(warehouse)
    try:
        is_there = bucket.has_any(prefix) or not prefix
    except StorageError as error:
        if error.problem != NO_BUCKET:
            raise
        raise NotFound("warehouse", warehouse, error.problem) from error
    if not is_there:
        raise NotFound("warehouse", warehouse, "nothing is in the bucket below it")


def _check_sqlite(uri: str) -> None:
    """SQLite would make a database that does not exist, and users would look for their table in vain."""
    match = _SQLITE.fullmatch(uri)
    if match is not None and not Path(match["file"]).exists():
        raise NotFound("SQLite database", match["file"], "the file does not exist")


def parse_name(name: str) -> Identifier:
    """The table or branch that a name means.

    Raises:
        InvalidOption: it is not of the form that it must have.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        problem = f"'{name}' is not of the form database.table or database.table$branch_name"
        raise InvalidOption("--table", problem)
    branch = match["branch"]
    if branch is not None and branch.lower() == DEFAULT_MAIN_BRANCH:
        raise InvalidOption("--table", f"'{name}' is the table itself: leave out the name of the main branch")
    return Identifier.create(match["database"], match["table"], branch=branch)
