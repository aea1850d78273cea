"""JDBC catalogs whose committers take a lock: options, held locks, and steps while one waits for the lock."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from signal import SIGKILL
from time import sleep

import pytest

from lithify.formats.paimon.catalog import jdbc_lock
from lithify.formats.paimon.catalog.jdbc_lock import JdbcLock
from lithify.formats.paimon.catalog.locks import LockSettings


def jdbc_catalog(database: Path, **options: str) -> dict[str, str]:
    """Options of a catalog in an SQLite file, which is created.

    In the journal mode WAL readers block no writers. Java's catalog never ends one of its reads, which in the
    default mode keeps all others from writing.
    """
    with closing(sqlite3.connect(database)) as made:
        made.execute("PRAGMA journal_mode = WAL")
    return {"metastore": "jdbc", "uri": f"jdbc:sqlite:{database}", **options}


def with_lock(catalog: Mapping[str, str], timeout: str = "8 min") -> dict[str, str]:
    """The options of a committer that takes the lock, and how long it waits; pauses are short."""
    waiting = {"lock-acquire-timeout": timeout, "lock-check-max-sleep": "100 ms"}
    return {**catalog, "lock.enabled": "true", **waiting}


def locks(catalog: Mapping[str, str]) -> list[tuple[str, int]]:
    """The names of all locks that are held, and the seconds after which others may take them."""
    file = catalog["uri"].removeprefix("jdbc:sqlite:")
    with closing(sqlite3.connect(file)) as database:
        return database.execute(
            "SELECT lock_id, expire_time_seconds FROM paimon_distributed_locks"
        ).fetchall()


def age_locks(catalog: Mapping[str, str], seconds: int) -> None:
    """Has all locks that are held look so much older."""
    with closing(sqlite3.connect(catalog["uri"].removeprefix("jdbc:sqlite:"))) as database, database:
        database.execute(
            "UPDATE paimon_distributed_locks SET acquired_at = datetime(acquired_at, ?)",
            (f"-{seconds} seconds",),
        )


def step_while_waiting(monkeypatch: pytest.MonkeyPatch, step: Callable[[], object]) -> list[float]:
    """Others take a step when we wait for the lock for the first time; returns all pauses."""
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 1:
            step()
        sleep(seconds)

    monkeypatch.setattr(jdbc_lock, "sleep", pause)
    return pauses


def die_with_the_lock(settings: LockSettings) -> None:
    """Takes the lock and is killed; for a process of its own."""
    with JdbcLock(settings).held():
        os.kill(os.getpid(), SIGKILL)
