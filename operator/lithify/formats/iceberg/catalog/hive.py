"""Hive metastores: a parameter of a table has the place of its newest metadata, replaced under a lock.

Metastores of 2.3.10 and from 4.0 on compare the parameter themselves, too (`expected_parameter_key`); others
ignore that and rely on the lock, which they forget when they hear nothing of its holder for some minutes. So
what may be slow is asked first, and the lock is renewed right before the parameter is replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from hive_metastore.ttypes import (
    CheckLockRequest,
    EnvironmentContext,
    LockState,
    NoSuchLockException,
    NoSuchObjectException,
    UnlockRequest,
)
from pyiceberg.catalog.hive import HiveCatalog
from pyiceberg.exceptions import CommitFailedException, WaitingForLockException
from thrift.Thrift import TException

from lithify.errors import CatalogUnavailable, NotFound
from lithify.formats.iceberg.catalog.metastores import (
    LOCATION,
    MetastoreTables,
    database_of,
    moved,
    pointer_in,
)
from lithify.formats.iceberg.catalog.model import Pointer
from lithify.formats.iceberg.catalog.names import TableName
from lithify.io.guard import admit, is_guarded
from lithify.io.network_words import NO_SUCH_HOST, words_of

_SERVICE = "Hive"


class HiveTables(MetastoreTables):
    """The tables of a Hive metastore; implements `PointerCatalog`.

    Args:
        uri: its address, `thrift://host:port`.
        options: checked options of the catalog.

    Raises:
        OutOfReach: the process may not connect there.
        CatalogUnavailable: there is no such server.
    """

    _client: HiveCatalog

    def __init__(self, uri: str, options: dict[str, str]) -> None:
        self._uri = uri
        parts = urlsplit(uri)
        if is_guarded() and not admit(parts.hostname or "", parts.port or 0):
            raise CatalogUnavailable(uri, f"the metastore gives no answer ({NO_SUCH_HOST})")
        self._client = HiveCatalog("lithify", **{**options, "uri": uri})

    @contextmanager
    def connected(self) -> Iterator[Any]:
        """The metastore's Thrift client, also for what Hive alone has.

        Raises:
            CatalogUnavailable: it gives no answer, or refuses.
        """
        with self._answering(), self._client._client as metastore:  # noqa: SLF001  # its only way in
            yield metastore

    def load(self, name: TableName) -> Pointer:
        """The place of the newest metadata."""
        return pointer_in(self.table(name).parameters or {}, name, _SERVICE)

    def table(self, name: TableName) -> Any:
        """What Hive has of a table, of any format.

        Raises:
            NotFound: there is none.
            CatalogUnavailable: see `connected`.
        """
        with self.connected() as metastore:
            return self._table(metastore, name)

    def swap(
        self, name: TableName, base: Pointer, location: str, text: str, is_wanted: Callable[[], bool]
    ) -> bool:
        """Replaces the parameter under the metastore's lock."""
        del text
        database = database_of(name, _SERVICE)
        with self.connected() as metastore:
            # Some metastores compare the names of locks with their case; tables have small letters.
            request = self._client._create_lock_request(database.lower(), name.table.lower())  # noqa: SLF001
            lock = metastore.lock(request)
            try:
                if lock.state != LockState.ACQUIRED:
                    self._client._wait_for_lock(database, name.table, lock.lockid, metastore)  # noqa: SLF001
                if not is_wanted():
                    return False
                found = self._table(metastore, name)
                if found.parameters.get(LOCATION) != base.location:
                    return False
                found.parameters = moved(found.parameters, base, location)
                if not _renewed(metastore, lock.lockid):
                    return False
                metastore.alter_table_with_environment_context(
                    database, name.table, found, _compared_with(base)
                )
            except (WaitingForLockException, CommitFailedException, NoSuchLockException):
                return False
            finally:
                with suppress(NoSuchLockException):
                    metastore.unlock(UnlockRequest(lockid=lock.lockid))
        return True

    def _table(self, metastore: Any, name: TableName) -> Any:
        try:
            return metastore.get_table(database_of(name, _SERVICE), name.table)
        except NoSuchObjectException:
            raise NotFound("table", str(name), f"{self._uri} does not have it") from None

    @contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except (TException, OSError) as error:
            said = words_of(error) or type(error).__name__
            raise CatalogUnavailable(self._uri, f"the metastore gives no answer ({said})") from None


def _renewed(metastore: Any, lock: int) -> bool:
    """Whether a lock is still held; if so, its time begins again.

    Raises:
        NoSuchLockException: the metastore has forgotten it.
    """
    return bool(metastore.check_lock(CheckLockRequest(lockid=lock)).state == LockState.ACQUIRED)


def _compared_with(base: Pointer) -> EnvironmentContext:
    expected = {"expected_parameter_key": LOCATION, "expected_parameter_value": base.location}
    return EnvironmentContext(properties={"DO_NOT_UPDATE_STATS": "true", **expected})
