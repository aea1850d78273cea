"""AWS Glue: a parameter of a table has the place of its newest metadata; versions of tables are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from botocore.exceptions import BotoCoreError, ClientError
from pyiceberg.catalog.glue import GlueCatalog

from lithify.errors import (
    CatalogUnavailable,
    NotAllowed,
    NotFound,
    OutOfReach,
    StorageError,
)
from lithify.formats.iceberg.catalog.metastores import (
    MetastoreTables,
    database_of,
    moved,
    pointer_in,
)
from lithify.formats.iceberg.catalog.model import Pointer
from lithify.formats.iceberg.catalog.names import TableName
from lithify.io.access_policy import AccessPolicy
from lithify.io.guard import admit
from lithify.settings import OWN_IDENTITY

_SERVICE = "Glue"
_TAKEN_OVER = (
    *("Name", "Description", "Owner", "LastAccessTime", "LastAnalyzedTime", "Retention", "StorageDescriptor"),
    *("PartitionKeys", "ViewOriginalText", "ViewExpandedText", "TableType", "Parameters", "TargetTable"),
)
"""What a description of a table has in common with an update of one."""
_REFUSED = frozenset({"AccessDeniedException", "UnrecognizedClientException", "InvalidSignatureException"})
_UNABLE = ("Internal", "ServiceUnavailable", "Throttling", "RequestLimit")
"""How codes begin that tell of a failure or of too many requests; those of timeouts end with the word."""
_RETRIES = 2
"""Of a request by the client (a number: botocore fails on texts); runs and the operator retry as well."""
_OUTRUN = "ConcurrentModificationException"
_MISSING = "EntityNotFoundException"
_KEY = "glue.access-key-id"


class GlueTables(MetastoreTables):
    """The tables of a Glue catalog; implements `PointerCatalog`.

    Args:
        options: checked options of the catalog.
        reach: whether the process's own identity may be used.

    Raises:
        OutOfReach: there are no credentials among the options, and the process may not use its own.
    """

    _client: GlueCatalog

    def __init__(self, options: Mapping[str, str], reach: AccessPolicy) -> None:
        has_keys = _KEY in options
        if not has_keys and (
            reach.prefixes is not None or ("glue.endpoint" in options and not reach.with_endpoint)
        ):
            problem = (
                f"the Catalog brings no {_KEY}, and the operator does not ask Glue with rights of its own ("
            )
            raise OutOfReach("Glue", problem, OWN_IDENTITY, " is for files only)")
        client: dict[str, Any] = {**options, "glue.max-retries": _RETRIES}
        self._client = GlueCatalog("lithify", **client)
        self._uri = str(self._client.glue.meta.endpoint_url)
        parts = urlsplit(self._uri)
        admit(parts.hostname or "", parts.port or 443)

    def load(self, name: TableName) -> Pointer:
        """The place of the newest metadata; the version is Glue's own description of the table."""
        with self._answering(name):
            database = database_of(name, _SERVICE)
            found = self._client.glue.get_table(DatabaseName=database, Name=name.table)["Table"]
        return pointer_in(found.get("Parameters", {}), name, _SERVICE, found)

    def swap(
        self, name: TableName, base: Pointer, location: str, text: str, is_wanted: Callable[[], bool]
    ) -> bool:
        """Replaces the parameter, if the table still has the version that was loaded."""
        del text
        found: Mapping[str, Any] = base.version
        table = {key: found[key] for key in _TAKEN_OVER if key in found}
        table["Parameters"] = moved(table["Parameters"], base, location)
        if not is_wanted():
            return False
        try:
            with self._answering(name):
                self._client.glue.update_table(
                    DatabaseName=database_of(name, _SERVICE),
                    TableInput=table,
                    VersionId=found["VersionId"],
                    SkipArchive=True,
                )
        except _Outrun:
            return False
        return True

    @contextmanager
    def _answering(self, name: TableName | None = None) -> Iterator[None]:
        try:
            yield
        except ClientError as error:
            raise self._translated(str(error.response["Error"].get("Code")), name) from None
        except BotoCoreError as error:
            raise CatalogUnavailable(self._uri, f"Glue gives no answer ({type(error).__name__})") from None

    def _translated(self, code: str, name: TableName | None) -> Exception:
        if code == _OUTRUN:
            return _Outrun()
        if code in _REFUSED:
            return NotAllowed(self._uri, f"Glue refuses the request ({code})")
        if code == _MISSING and name is not None:
            return NotFound("table", str(name), f"{self._uri} does not have it")
        if code.startswith(_UNABLE) or code.endswith("TimeoutException"):
            return CatalogUnavailable(self._uri, f"Glue fails ({code})")
        return StorageError(self._uri, f"Glue refuses the request ({code})")


class _Outrun(Exception):
    """Another writer has replaced the table's version."""
