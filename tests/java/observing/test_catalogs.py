"""Tables of catalogs with a server, and of a database: what a look costs them, and what they list."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pypaimon import CatalogFactory

from lithify.clock import SystemClock
from lithify.errors import NotAllowed, NotFound
from lithify.formats.paimon.observing.observer import open_observer
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.observation import Observation
from lithify.formats.protocol.observing import ObservationRequest, TableObserver
from support.rest_server import WAREHOUSE, Reply, RestServer
from support.small_tables import SmallTable


class CountingServer(RestServer):
    """Remembers what it was asked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.asked: list[str] = []

    def answer(self, method: str, url: str, authorization: str | None, body: str) -> Reply:
        self.asked.append(f"{method} {urlsplit(url).path.rpartition('/')[2]}")
        return super().answer(method, url, authorization, body)


@pytest.fixture
def table(tmp_path: Path) -> SmallTable:
    table = SmallTable(tmp_path / "warehouse").create()
    table.append()
    return table


@pytest.fixture
def server(table: SmallTable) -> Iterator[CountingServer]:
    with CountingServer(table.warehouse) as started:
        yield started


@pytest.fixture
def watch(tmp_path: Path) -> TableObserver:
    return open_observer(tmp_path / "kept", 1 << 20, SystemClock(UTC))


def look_at(server: CountingServer, seen: Observation | None = None, **options: str) -> ObservationRequest:
    look = ObservationRequest(TableAddress(WAREHOUSE, "db.t", {**server.options, **options}), "uid")
    return look if seen is None else replace(look, known_uuid=seen.table_uuid, known_snapshot=seen.snapshot)


def found_by(watch: TableObserver, look: ObservationRequest) -> Observation:
    found = watch.observe(look)
    assert found is not None
    return found


class TestServers:
    def test_unchanged_is_one_request(self, server: CountingServer, watch: TableObserver) -> None:
        seen = found_by(watch, look_at(server))
        server.asked.clear()
        assert watch.observe(look_at(server, seen)) is None
        assert server.asked == ["GET snapshot"]

    def test_change_is_the_same_as_everything(
        self, table: SmallTable, server: CountingServer, watch: TableObserver
    ) -> None:
        seen = found_by(watch, look_at(server))
        table.append("a")
        table.append("b")
        found = found_by(watch, look_at(server, seen))
        assert found == found_by(watch, replace(look_at(server), is_full=True))
        assert (found.snapshot, found.files, found.table_uuid) == ("3", 8, "id-of-t")

    @pytest.mark.parametrize("commits", [0, 1, 2])
    def test_rolled_back_is_seen_at_once(
        self, commits: int, table: SmallTable, server: CountingServer, watch: TableObserver
    ) -> None:
        """Also if the number of the newest snapshot is the one that was seen."""
        table.append()
        seen = found_by(watch, look_at(server))
        table.roll_back_to(1)
        for _ in range(commits):
            table.append("a")
        found = found_by(watch, look_at(server, seen))
        assert (found.snapshot, found.files) == (str(1 + commits), 4 + 2 * commits)

    def test_dropped_is_seen_at_once(
        self, table: SmallTable, server: CountingServer, watch: TableObserver
    ) -> None:
        seen = found_by(watch, look_at(server))
        table.drop()
        with pytest.raises(NotFound):
            watch.observe(look_at(server, seen))

    def test_a_table_without_snapshots_is_seen_and_does_not_change(
        self, table: SmallTable, server: CountingServer, watch: TableObserver
    ) -> None:
        table.drop()
        table.create()
        seen = found_by(watch, look_at(server))
        assert seen.snapshot is None
        assert watch.observe(look_at(server, seen)) is None

    def test_other_credentials_are_used_at_once(self, server: CountingServer, watch: TableObserver) -> None:
        seen = found_by(watch, look_at(server))
        with pytest.raises(NotAllowed):
            watch.observe(look_at(server, seen, token="wrong"))
        assert watch.observe(look_at(server, seen)) is None

    def test_tables_of_all_databases_but_sys_are_listed(
        self, table: SmallTable, server: CountingServer, watch: TableObserver
    ) -> None:
        for folder in ("other.db/t2", "other.db/t3", "sys.db/t4", "empty.db"):
            (table.warehouse / folder).mkdir(parents=True)
        address = TableAddress(WAREHOUSE, "any.table", server.options)
        assert watch.list_tables(address) == ("db.t", "other.t2", "other.t3")


def test_lists_of_a_database(table: SmallTable, watch: TableObserver, tmp_path: Path) -> None:
    options = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path / 'catalog.db'}"}
    with CatalogFactory.create({"warehouse": str(table.warehouse), **options}) as catalog:
        catalog.create_database("db", ignore_if_exists=False)
    connection = sqlite3.connect(tmp_path / "catalog.db")
    with connection:
        connection.execute("INSERT INTO paimon_tables VALUES ('jdbc', 'db', 't')")
    connection.close()
    address = TableAddress(str(table.warehouse), "db.t", options)
    assert watch.list_tables(address) == ("db.t",)
    found = found_by(watch, ObservationRequest(address, "uid"))
    assert (found.snapshot, found.files) == ("1", 4)
    seen = ObservationRequest(address, "uid", found.table_uuid, found.snapshot)
    assert watch.observe(seen) is None
