"""The row that stands for a lock, in a database of its own; tests/java has Java's writers beside it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from lithify.errors import CatalogLocked, CatalogUnavailable
from lithify.formats.paimon.catalog import jdbc_lock
from lithify.formats.paimon.catalog.jdbc_lock import JdbcLock
from lithify.formats.paimon.catalog.locks import LockSettings


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "catalog #1.db", isolation_level=None)) as connection:
        connection.execute("CREATE TABLE other (id INTEGER)")
        connection.executemany("INSERT INTO other VALUES (?)", [(1,), (2,)])
        yield connection


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between tries, which take no time."""
    pauses: list[float] = []
    monkeypatch.setattr(jdbc_lock, "sleep", pauses.append)
    monkeypatch.setattr(jdbc_lock, "monotonic", lambda: sum(pauses))
    monkeypatch.setattr(jdbc_lock, "_BUSY_SECONDS", 0.0)
    return pauses


def lock(tmp_path: Path, timeout_millis: int = 60_000) -> JdbcLock:
    file = str(tmp_path / "catalog #1.db")
    return JdbcLock(LockSettings(f"jdbc:sqlite:{file}", file, "jdbc.db.t", timeout_millis, 8_000, 255))


def rows(database: sqlite3.Connection) -> int:
    return int(database.execute("SELECT count(*) FROM paimon_distributed_locks").fetchone()[0])


def test_row_is_there_while_the_lock_is_held(database: sqlite3.Connection, tmp_path: Path) -> None:
    with lock(tmp_path).held() as had_to_wait:
        assert (rows(database), had_to_wait) == (1, False)
    assert rows(database) == 0


def test_row_goes_when_the_commit_fails_and_its_error_is_not_hidden(
    database: sqlite3.Connection, tmp_path: Path
) -> None:
    with pytest.raises(KeyError), lock(tmp_path).held():
        raise KeyError
    assert rows(database) == 0


def test_pauses_are_twice_as_long_each_time_until_the_timeout(
    database: sqlite3.Connection, tmp_path: Path, no_pause: list[float]
) -> None:
    with lock(tmp_path).held(), pytest.raises(CatalogLocked), lock(tmp_path).held():
        pass
    assert no_pause[:8] == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 8.0]
    assert sum(no_pause[:-1]) <= 60 < sum(no_pause)


def test_row_of_another_writer_stays_and_the_commit_is_in_doubt(
    database: sqlite3.Connection, tmp_path: Path
) -> None:
    def take_over() -> None:
        database.execute("DELETE FROM paimon_distributed_locks")
        database.execute("INSERT INTO paimon_distributed_locks (lock_id) VALUES ('jdbc.db.t')")

    with pytest.raises(CatalogUnavailable), lock(tmp_path).held():
        take_over()
    assert rows(database) == 1


@pytest.mark.parametrize(("age", "waits"), [(50, True), (62, False)], ids=["young", "too old"])
def test_row_that_is_too_old_is_replaced(
    database: sqlite3.Connection, tmp_path: Path, age: int, waits: bool
) -> None:
    with lock(tmp_path).held():
        pass  # makes the table
    database.execute(
        "INSERT INTO paimon_distributed_locks VALUES ('jdbc.db.t', datetime('now', ?), 60)",
        (f"-{age} seconds",),
    )
    try:
        with lock(tmp_path).held() as had_to_wait:
            assert not had_to_wait
    except CatalogLocked:
        assert waits
    assert rows(database) == int(waits)


def test_file_that_others_read_all_the_time_is_not_locked_and_the_row_stays(
    database: sqlite3.Connection, tmp_path: Path
) -> None:
    """As Java's catalog does, which leaves a read open: in the default journal mode nobody can write then."""
    held = lock(tmp_path).held()
    held.__enter__()
    reading = database.execute("SELECT * FROM other")
    reading.fetchone()

    held.__exit__(None, None, None)  # it was ours until the end
    with pytest.raises(CatalogLocked), lock(tmp_path).held():
        pass

    reading.close()
    assert rows(database) == 1


def test_database_that_is_gone_is_not_made_again(tmp_path: Path) -> None:
    with pytest.raises(CatalogUnavailable), lock(tmp_path).held():
        pass
    assert list(tmp_path.iterdir()) == []
