"""Takes the lock of Java's JDBC catalogs (`JdbcCatalogLock`): a row of a table in the catalog's database.

Used by `snapshots` around a commit. The row's key is the name of the lock, so one writer can insert it. Its
database says when it is too old: then the next writer deletes it and inserts its own. Java deletes the row at
the end whoever inserted it; this module deletes only its own, and says so if it was gone.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

from lithify.errors import CatalogLocked, CatalogUnavailable
from lithify.formats.paimon.catalog.locks import LockSettings
from lithify.io.databases import database_failure

_FIRST_SLEEP_MILLIS = 50
"""Java's; each pause is twice as long as the one before."""
_BUSY_SECONDS = 3.0
"""How long SQLite waits for its own lock of the file before it says that the file is busy."""

_CREATE = (
    "CREATE TABLE IF NOT EXISTS paimon_distributed_locks (lock_id VARCHAR({length}) NOT NULL, "
    "acquired_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL, "
    "expire_time_seconds BIGINT DEFAULT 0 NOT NULL, PRIMARY KEY (lock_id))"
)
_DELETE_EXPIRED = (
    "DELETE FROM paimon_distributed_locks WHERE lock_id = ? "
    "AND strftime('%s', 'now') - strftime('%s', acquired_at) > expire_time_seconds"
)
_INSERT = (
    "INSERT INTO paimon_distributed_locks (lock_id, acquired_at, expire_time_seconds) "
    "VALUES (?, strftime('%Y-%m-%d %H:%M:%S', 'now') || ?, ?)"
)
_OWN = "FROM paimon_distributed_locks WHERE lock_id = ? AND substr(acquired_at, 20) = ?"
_BUSY = ("SQLITE_BUSY", "SQLITE_LOCKED")


class JdbcLock:
    """The lock of one table or branch."""

    def __init__(self, settings: LockSettings) -> None:
        self._settings = settings

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Holds the lock; the value says whether another writer had it first.

        Raises:
            CatalogLocked: others had it all the time.
            CatalogUnavailable: its database does not answer; or at the end, others may have had it as well.
        """
        with closing(self._connect()) as database:
            mark = _new_mark()
            had_to_wait = self._acquire(database, mark)
            is_kept = False
            try:
                yield had_to_wait
            finally:
                is_kept = self._release(database, mark)
        if not is_kept:
            problem = f"the lock {self._settings.name} was not kept until the end of the commit"
            raise CatalogUnavailable(self._settings.uri, problem)

    def _connect(self) -> sqlite3.Connection:
        """Connects to the file, which must exist; every statement is a transaction of its own."""
        where = f"{Path(self._settings.file).absolute().as_uri()}?mode=rw"
        try:
            return sqlite3.connect(where, timeout=_BUSY_SECONDS, isolation_level=None, uri=True)
        except sqlite3.Error as error:
            raise database_failure(self._settings.uri, error) from None

    def _acquire(self, database: sqlite3.Connection, mark: str) -> bool:
        """Tries until the row is ours, as Java does; returns whether one try was not enough."""
        if self._try(database, mark):
            return False
        started, pause = monotonic(), _FIRST_SLEEP_MILLIS
        while (waited := monotonic() - started) * 1000 <= self._settings.timeout_millis:
            pause = min(2 * pause, self._settings.max_sleep_millis)
            sleep(pause / 1000)
            if self._try(database, mark):
                return True
        raise CatalogLocked(self._settings.uri, self._settings.name, waited)

    def _try(self, database: sqlite3.Connection, mark: str) -> bool:
        """Removes a row that is too old and inserts ours; False if another writer has one."""
        settings = self._settings
        try:
            database.execute(_CREATE.format(length=settings.longest_name))
            database.execute(_DELETE_EXPIRED, (settings.name,))
            database.execute(_INSERT, (settings.name, mark, settings.timeout_millis // 1000))
        except sqlite3.IntegrityError:
            return False
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorname", None) in _BUSY:
                return False
            raise database_failure(settings.uri, error) from None
        return True

    def _release(self, database: sqlite3.Connection, mark: str) -> bool:
        """Deletes our row; False if it was gone, or if that cannot be found out.

        If others read the file for long, nobody can change it: then the row stays until it is too old.
        """
        own = (self._settings.name, mark)
        try:
            return database.execute(f"DELETE {_OWN}", own).rowcount == 1
        except sqlite3.Error:
            with suppress(sqlite3.Error):
                return database.execute(f"SELECT 1 {_OWN}", own).fetchone() is not None
        return False


def _new_mark() -> str:
    """The fraction of the second in our row: Java's rows have none, and no other row has the same.

    Less than half, so that nobody rounds the second up.
    """
    return f".{secrets.randbelow(5 * 10**11):012d}"
