"""Vended credentials: renewed before they end, kept per Catalog."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from lithify.errors import CatalogUnavailable
from lithify.formats.iceberg.catalog.connecting import vended_options
from lithify.formats.iceberg.catalog.credentials import (
    VendedKeys,
    place_of_store,
    store_options,
    taken_from_server,
)
from lithify.formats.iceberg.catalog.names import TableName
from lithify.io.objects.s3 import S3Keys, read_settings

START = datetime(2026, 11, 25, tzinfo=UTC)
TABLE = TableName(("db",), "t")


@dataclass(slots=True)
class Server:
    """Issues credentials that live for a while."""

    lifetime: timedelta | None = timedelta(hours=1)
    now: datetime = START
    issued: int = 0
    gives: bool = True
    names: Iterator[str] = field(default_factory=lambda: iter([]))

    def __call__(self, options: Mapping[str, str], name: TableName, location: str) -> Mapping[str, str]:
        if not self.gives:
            return {}
        self.issued += 1
        keys = {"s3.access-key-id": f"key-{self.issued}", "s3.secret-access-key": "secret"}
        if self.lifetime is None:
            return keys
        end = (self.now + self.lifetime).timestamp() * 1000
        return {**keys, "s3.session-token-expires-at-ms": str(int(end))}

    def clock(self) -> datetime:
        return self.now


def keys_of(server: Server, catalog: str = "") -> VendedKeys:
    options = {"uri": "https://catalog.example", "token": uuid4().hex}
    return VendedKeys(options, catalog, TABLE, "s3://bucket/t", server, server.clock)


def test_credentials_are_asked_for_once_while_they_are_valid() -> None:
    server = Server()
    keys = keys_of(server)
    assert {keys.keys().access_key for _ in range(5)} == {"key-1"}


def test_a_run_of_three_lifetimes_always_has_valid_credentials() -> None:
    server, used = Server(), []
    keys = keys_of(server)
    for minute in range(180):
        server.now = START + timedelta(minutes=minute)
        given = keys.keys()
        used.append(given.access_key)
        assert given.expires is not None
        assert given.expires > server.now
    assert len(set(used)) == server.issued == 4


@pytest.mark.parametrize("lifetime", [timedelta(minutes=2), None])
def test_credentials_with_a_short_or_unknown_life_are_renewed_too(lifetime: timedelta | None) -> None:
    server = Server(lifetime)
    keys = keys_of(server)
    keys.keys()
    server.now += timedelta(minutes=11)
    assert keys.keys().access_key == "key-2"


def test_credentials_that_came_with_the_table_save_a_request() -> None:
    server = Server()
    keys = keys_of(server)
    keys.begin_with({"s3.access-key-id": "first", "s3.secret-access-key": "secret"})
    assert (keys.keys().access_key, server.issued) == ("first", 0)


def test_catalogs_do_not_share_credentials() -> None:
    server = Server()
    one = VendedKeys({"token": "same"}, "team-a/lake", TABLE, "s3://b/t", server, server.clock)
    other = VendedKeys({"token": "same"}, "team-b/lake", TABLE, "s3://b/t", server, server.clock)
    assert one.keys().access_key != other.keys().access_key


def test_a_server_that_stops_giving_credentials_is_named() -> None:
    server = Server(gives=False)
    with pytest.raises(CatalogUnavailable):
        keys_of(server).keys()


def test_executors_get_the_source_with_their_task_and_nobody_shows_it() -> None:
    source = VendedKeys({"token": "sesame"}, "", TABLE, "s3://b/t", vended_options)
    assert pickle.loads(pickle.dumps(source)) == source
    assert "sesame" not in repr(source)


def test_names_of_icebergs_clients_are_understood() -> None:
    options = {
        "s3.access-key-id": "AK",
        "s3.secret-access-key": "SK",
        "client.region": "eu-west-1",
        "s3.endpoint": "http://127.0.0.1:9000",
        "s3.path-style-access": "true",
    }
    settings = read_settings(store_options(options))
    assert settings.keys is not None
    assert (settings.keys.access_key, settings.keys.secret_key) == ("AK", "SK")
    assert (settings.region, settings.endpoint, settings.path_style) == (
        "eu-west-1",
        "http://127.0.0.1:9000",
        True,
    )


def test_keys_of_oss_that_a_server_vends_are_used() -> None:
    config = taken_from_server(
        {
            "client.access-key-id": "AK",
            "client.access-key-secret": "SK",
            "client.security-token": "ST",
            "oss.endpoint": "https://oss-cn-hangzhou.aliyuncs.com",
            "client.factory-impl": "evil.Factory",
        }
    )
    keys = VendedKeys({"token": uuid4().hex}, "", TABLE, "oss://lake/t", Server(), lambda: START)
    keys.begin_with(config)
    found = keys.keys()
    assert isinstance(found, S3Keys)
    assert (found.access_key, found.secret_key, found.token) == ("AK", "SK", "ST")
    assert place_of_store(config) == {"oss.endpoint": "https://oss-cn-hangzhou.aliyuncs.com"}
    assert "client.factory-impl" not in config


def test_a_servers_other_options_for_a_table_are_dropped() -> None:
    sent = {"s3.endpoint": "https://s3", "py-io-impl": "os.system", "token": "x", "client.region": "r"}
    assert taken_from_server(sent) == {"s3.endpoint": "https://s3", "client.region": "r"}


@pytest.mark.parametrize(
    ("location", "sent", "expiry"),
    [
        ("gs://bucket/t", {"gcs.oauth2.token": "vended"}, "gcs.oauth2.token-expires-at"),
        (
            "abfss://c@lake.dfs.core.windows.net/t",
            {"adls.sas-token.lake.dfs.core.windows.net": "vended"},
            "adls.sas-token-expires-at-ms.lake.dfs.core.windows.net",
        ),
    ],
    ids=["Google Cloud Storage", "Azure"],
)
def test_credentials_for_other_stores_are_renewed_before_their_end(
    location: str, sent: Mapping[str, str], expiry: str
) -> None:
    end = START + timedelta(hours=1)
    config = taken_from_server({**sent, expiry: str(int(end.timestamp() * 1000)), "token": "x"})
    keys = VendedKeys({"token": uuid4().hex}, "", TABLE, location, Server(), lambda: START)
    keys.begin_with(config)
    assert (keys.keys().token, keys.keys().expires) == ("vended", end - timedelta(minutes=5))
