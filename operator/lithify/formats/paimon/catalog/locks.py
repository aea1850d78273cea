"""The lock that Java takes around a commit: whether a catalog has one, and whether we can take it. Pure.

Called by `opening`, whose tables know their lock, and by `support`, which refuses locks that cannot be taken.
`jdbc_lock` takes it. It knows no table: whether files are on an object store is passed in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

from pypaimon.common.time_utils import parse_duration

from lithify.io.catalog_options import FOLDER
from lithify.io.jdbc_uri import read_jdbc_uri

ENABLED, TYPE = "lock.enabled", "lock.type"
ACQUIRE_TIMEOUT, MAX_SLEEP, KEY_LENGTH = (
    "lock-acquire-timeout",
    "lock-check-max-sleep",
    "lock-key-max-length",
)
CATALOG_KEY = "catalog-key"

_JDBC = "jdbc"
"""The metastore whose lock this release takes, Java's name of that lock, and the default `catalog-key`."""
_TIMEOUT, _MAX_SLEEP, _KEY_LENGTH = "8 min", "8 s", "255"


class CatalogLock(Protocol):
    """A lock that every committer to a table takes."""

    def held(self) -> AbstractContextManager[bool]:
        """Holds the lock; the value says whether another writer had it first.

        Raises:
            CatalogLocked: others had it all the time.
            CatalogUnavailable: its database does not answer; or at the end, others may have had it as well.
        """
        ...


class NoLock:
    """For tables whose committers take none."""

    def held(self) -> AbstractContextManager[bool]:
        """Does nothing."""
        return nullcontext(False)


@dataclass(frozen=True, slots=True)
class LockSettings:
    """The lock of one table or branch in the SQLite database of a JDBC catalog.

    Attributes:
        uri: the database, for messages.
        file: its file.
        name: the name of the lock.
        timeout_millis: how long it is waited for, and after which others may take it from its holder.
        max_sleep_millis: the longest time between two tries.
        longest_name: the length of names in a new table of locks.
    """

    uri: str
    file: str
    name: str
    timeout_millis: int
    max_sleep_millis: int
    longest_name: int


def needs_lock(options: Mapping[str, str], *, on_objects: bool) -> bool:
    """Whether Java's committers take a lock: as the option says, else on object stores if there is one."""
    enabled = options.get(ENABLED)
    if enabled is not None:
        return enabled.strip().lower() != "false"
    return on_objects and (options.get("metastore") == _JDBC or TYPE in options)


def lock_refusals(options: Mapping[str, str], *, on_objects: bool) -> Iterator[str]:
    """Why the lock that Java's committers take cannot be taken; none if it can, or if there is none."""
    if not needs_lock(options, on_objects=on_objects):
        return
    metastore, kind = options.get("metastore", FOLDER), options.get(TYPE, _JDBC).strip()
    remedy = f"commit through a REST catalog, or set {ENABLED} = false here and on every writer"
    if metastore != _JDBC:
        yield (
            f"catalog option {ENABLED}: this release takes the lock of JDBC catalogs only, not Hive's or "
            f"that of another metastore ({metastore}); it would commit while others hold the lock; {remedy}"
        )
    elif kind != _JDBC:
        yield f"catalog option {TYPE} = {kind}: a JDBC catalog has only its own lock, jdbc; {remedy}"
    elif (database := read_jdbc_uri(options["uri"]).kind) != "sqlite":
        yield (
            f"catalog option {ENABLED}: this release takes the lock of JDBC catalogs in SQLite only, not in "
            f"{database}; it would commit while others hold the lock; {remedy}"
        )


def lock_settings(table: str, options: Mapping[str, str], *, on_objects: bool) -> LockSettings | None:
    """The lock of a table, `database.table` or `database.table$branch_name`; None without one to take."""
    if not needs_lock(options, on_objects=on_objects) or any(lock_refusals(options, on_objects=on_objects)):
        return None
    return LockSettings(
        uri=options["uri"],
        file=read_jdbc_uri(options["uri"]).file,
        name=f"{options.get(CATALOG_KEY, _JDBC)}.{table}",
        timeout_millis=int(parse_duration(options.get(ACQUIRE_TIMEOUT, _TIMEOUT))),
        max_sleep_millis=int(parse_duration(options.get(MAX_SLEEP, _MAX_SLEEP))),
        longest_name=int(options.get(KEY_LENGTH, _KEY_LENGTH)),
    )
