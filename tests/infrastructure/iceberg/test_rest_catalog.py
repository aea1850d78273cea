"""The REST catalog's server, what it lacks, and the proxy that stands before it and fails."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
import requests
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import (
    CommitFailedException,
    CommitStateUnknownException,
    NamespaceAlreadyExistsError,
    ServerError,
)
from pyiceberg.table import Table
from pyiceberg.types import StringType
from requests.exceptions import ConnectionError as ConnectionFailed

from infrastructure.iceberg import catalogs, proxy
from infrastructure.iceberg.proxy import Held, RestProxy
from infrastructure.iceberg.rest_server import RestCatalogServer

SCHEMA = pa.schema([("id", pa.int64())])
SCHEMA_TYPE = StringType()


@pytest.fixture
def through(rest_proxy: RestProxy, rest_catalog_server: RestCatalogServer) -> Catalog:
    """The catalog through the proxy; clients do not try again on their own."""
    return rest_catalog_server.address(through=rest_proxy.url).open()


@pytest.fixture
def table(through: Catalog) -> Table:
    """A table with a first property."""
    namespace = catalogs.fresh_name("db")
    through.create_namespace(namespace)
    return through.create_table(f"{namespace}.t", SCHEMA, properties={"commit.retry.num-retries": "0"})


def change(table: Table, value: str) -> None:
    with table.transaction() as transaction:
        transaction.set_properties(value=value)


def stored(table: Table, server: RestCatalogServer) -> str | None:
    """What the server has, asked past the proxy."""
    return server.address().open().load_table(table.name()).properties.get("value")


class TestServer:
    def test_tables_outlive_a_killed_server(self, tmp_path: Any) -> None:
        with RestCatalogServer(tmp_path) as server:
            server.address().open().create_namespace("db")
            server.kill()
            server.start()
            assert server.address().open().list_namespaces() == [("db",)]
            with pytest.raises(NamespaceAlreadyExistsError):
                server.address().open().create_namespace("db")

    def test_commit_on_an_old_base_is_a_conflict(
        self, table: Table, rest_catalog_server: RestCatalogServer
    ) -> None:
        late = rest_catalog_server.address().open().load_table(table.name())
        with table.update_schema() as update:
            update.add_column("a", SCHEMA_TYPE)
        with pytest.raises(CommitFailedException), late.update_schema() as update:
            update.add_column("b", SCHEMA_TYPE)

    def test_tokens_are_given_to_all_and_asked_of_none(self, rest_catalog_server: RestCatalogServer) -> None:
        asked = {"grant_type": "client_credentials", "client_id": "any", "client_secret": "thing"}
        token = requests.post(f"{rest_catalog_server.url}/v1/oauth/tokens", data=asked, timeout=10)
        assert token.status_code == 200
        assert token.json()["access_token"]
        wrong = {"Authorization": "Bearer wrong"}
        answer = requests.get(f"{rest_catalog_server.url}/v1/namespaces", headers=wrong, timeout=10)
        assert answer.status_code == 200

    def test_vended_credentials_are_those_of_the_server(self, tmp_path: Any) -> None:
        keys = {"s3.access-key-id": "key", "s3.secret-access-key": "secret"}
        with RestCatalogServer(tmp_path, properties={**keys, "include-credentials": "true"}) as server:
            catalog = server.address().open()
            catalog.create_namespace("db")
            catalog.create_table("db.t", SCHEMA)
            given = requests.get(f"{server.url}/v1/namespaces/db/tables/t", timeout=10).json()
            assert keys.items() <= given["config"].items()


class TestProxy:
    def test_passes_on_what_it_is_not_told_to_change(
        self, table: Table, rest_proxy: RestProxy, rest_catalog_server: RestCatalogServer
    ) -> None:
        change(table, "new")
        assert stored(table, rest_catalog_server) == "new"
        assert [asked.method for asked in rest_proxy.asked if asked.is_commit] == ["POST"]

    @pytest.mark.parametrize(
        ("step", "raised", "is_stored"),
        [
            pytest.param(proxy.fail(409), CommitFailedException, False, id="409, which is true"),
            pytest.param(proxy.fail_after(409), CommitFailedException, True, id="409 after the commit"),
            pytest.param(proxy.fail(500), CommitStateUnknownException, False, id="500, which is true"),
            pytest.param(proxy.fail_after(500), CommitStateUnknownException, True, id="500 after the commit"),
            pytest.param(proxy.fail(400), Exception, False, id="400"),
            pytest.param(proxy.lose_request, ConnectionFailed, False, id="lost request"),
            pytest.param(proxy.lose_answer, ConnectionFailed, True, id="lost answer"),
        ],
    )
    def test_commit_fails_as_the_proxy_says(
        self,
        table: Table,
        rest_proxy: RestProxy,
        rest_catalog_server: RestCatalogServer,
        step: proxy.Step,
        raised: type[Exception],
        is_stored: bool,
    ) -> None:
        rest_proxy.steps.append(step)
        with pytest.raises(raised):
            change(table, "new")
        assert stored(table, rest_catalog_server) == ("new" if is_stored else None)

    def test_second_arrival_of_a_commit_is_a_conflict(
        self, table: Table, rest_proxy: RestProxy, rest_catalog_server: RestCatalogServer
    ) -> None:
        rest_proxy.steps.append(proxy.send_twice)
        with pytest.raises(CommitFailedException), table.update_schema() as update:
            update.add_column("a", SCHEMA_TYPE)
        assert "a" in rest_catalog_server.address().open().load_table(table.name()).schema().column_names

    def test_held_request_arrives_late(
        self, table: Table, rest_proxy: RestProxy, rest_catalog_server: RestCatalogServer
    ) -> None:
        held = Held()
        rest_proxy.steps.append(held.before)
        thread = _started(lambda: change(table, "late"))
        assert held.arrived.wait(20)
        assert stored(table, rest_catalog_server) is None
        held.release()
        thread.join(20)
        assert stored(table, rest_catalog_server) == "late"

    def test_held_answer_is_of_a_commit_that_happened(
        self, table: Table, rest_proxy: RestProxy, rest_catalog_server: RestCatalogServer
    ) -> None:
        held = Held()
        rest_proxy.steps.append(held.after)
        thread = _started(lambda: change(table, "there"))
        assert held.arrived.wait(20)
        assert stored(table, rest_catalog_server) == "there"
        held.release()
        thread.join(20)
        assert not thread.is_alive()

    def test_unanswered_request_ends_with_the_clients_patience(
        self, table: Table, rest_proxy: RestProxy
    ) -> None:
        rest_proxy.steps.append(proxy.never_answer)
        url = f"{rest_proxy.url}/v1/namespaces/{table.name()[0]}/tables/t"
        with pytest.raises(requests.exceptions.ReadTimeout):
            requests.post(url, json={}, timeout=0.2)

    def test_other_requests_can_be_chosen(self, rest_catalog_server: RestCatalogServer) -> None:
        with RestProxy(
            rest_catalog_server.url, lambda asked: asked.path.startswith("/v1/namespaces")
        ) as chosen:
            chosen.steps.append(proxy.fail(500))
            catalog = rest_catalog_server.address(through=chosen.url).open()
            with pytest.raises(ServerError):
                catalog.list_namespaces()
            assert isinstance(catalog.list_namespaces(), list)


def _started(what: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=what, daemon=True)
    thread.start()
    return thread
