"""The catalog options that are taken, and the forms of their values."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.errors import InvalidOption
from lithify.formats.paimon.access.catalog_options import (
    CATALOG_OPTIONS,
    check_catalog_options,
)
from lithify.io.jdbc_uri import JdbcUri, read_jdbc_uri
from lithify.io.objects.stores import OPTION_NAMES
from lithify.redaction import NOTHING_KNOWN, is_telling
from lithify.resources.catalog import is_credential
from support.cases import case

REST = {"metastore": "rest", "uri": "https://catalog.example.org", "token.provider": "bear", "token": "t"}
JDBC = {"metastore": "jdbc", "uri": "jdbc:postgresql://db.example.org/paimon"}


@pytest.mark.parametrize(
    "options",
    [
        case({}, id="none"),
        case({"s3.access-key": "a", "fs.s3a.secret.key": "b", "s3.region": "eu-west-1"}, id="S3"),
        case({"lock.enabled": "false", "lithify.s3.patience-seconds": "3"}, id="locks and patience"),
        case({"dfs.ha.namenodes.lake": "a,b", "hadoop.dfs.namenode.rpc-address.lake.a": "a:1"}, id="HDFS"),
        case({"case-sensitive": "true", "cache-enabled": "false"}, id="without effect"),
        case({**REST, "prefix": "quarry", "data-token.enabled": "true", "header.X-Tenant": "a"}, id="REST"),
        case({**REST, "uri": "http://[fd00::1]:8080/paimon/v2/"}, id="an address and a path"),
        case({**JDBC, "jdbc.user": "u", "jdbc.password": "p", "catalog-key": "k"}, id="JDBC"),
    ],
)
def test_supported_options_are_taken(options: Mapping[str, str]) -> None:
    check_catalog_options("s3://lake/w", options)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        case({"metastore": "hive", "uri": "thrift://h:1"}, "metastore", id="another metastore"),
        case({"warehouse": "/elsewhere"}, "warehouse", id="a second warehouse"),
        case({"uri": "https://x.example"}, "uri", id="a URI without use"),
        case({"metastore": "rest"}, "uri", id="no URI"),
        case({name: REST[name] for name in REST if name != "token"}, "token", id="no token"),
        case({**REST, "token": " "}, "token", id="an empty token"),
        case({"token": "t"}, "token", id="an option of another metastore"),
        case({"s3.endpont": "x"}, "s3.endpont", id="a slip"),
        case({**JDBC, "jdbc.ssl_ca": "/etc/passwd"}, "jdbc.ssl_ca", id="an argument of a driver"),
        case({**JDBC, "jdbc.service": "x"}, "jdbc.service", id="a service file"),
        case({**REST, "data-token.enabled": "maybe"}, "data-token.enabled", id="neither true nor false"),
        case({**REST, "header.Transfer-Encoding": "x"}, "header.Transfer-Encoding", id="a header of ours"),
        case({**REST, "prefix": "a/../b"}, "prefix", id="a prefix of several names"),
        case({**REST, "uri": "https://x.example:99999"}, "uri", id="no port"),
        case({**REST, "uri": "https://x.example?"}, "uri", id="an empty query"),
        case({**REST, "uri": "https://x.example/%2e%2e/"}, "uri", id="an escape"),
        case({**REST, "uri": "catalog.example.org"}, "uri", id="no scheme"),
        case({**REST, "token": "a\nb"}, "token", id="a line break"),
    ],
)
def test_refused_by_name(options: Mapping[str, str], name: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        check_catalog_options("s3://lake/w", options)
    assert caught.value.option == name


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_uri_gets_past_its_host(before: str, after: str) -> None:
    """Whatever is put around a host, either it is refused or the host is still the one that is asked."""
    uri = f"https://{before}@catalog.example.org{after}"
    with pytest.raises(InvalidOption):
        check_catalog_options("w", {**REST, "uri": uri})


def test_a_server_sets_what_it_says_of_itself() -> None:
    taken = {"prefix": "quarry", "data-token.enabled": "true"}
    sent = {**taken, "uri": "http://evil.example", "token": "x", "fuse.root": "/"}
    assert CATALOG_OPTIONS.sent(sent) == taken
    assert CATALOG_OPTIONS.sent(None) == {}


def test_an_empty_prefix_of_a_server_is_refused() -> None:
    with pytest.raises(InvalidOption):
        CATALOG_OPTIONS.sent({"prefix": ""})


@pytest.mark.parametrize(
    ("uri", "wanted"),
    [
        case("jdbc:sqlite:/var/lib/c.db", JdbcUri("sqlite", file="/var/lib/c.db"), id="a file"),
        case("jdbc:mysql://db:3307/x", JdbcUri("mysql", host="db", port=3307), id="MySQL"),
        case(
            "jdbc:postgresql://[fd00::1]/x", JdbcUri("postgresql", host="fd00::1", port=5432), id="PostgreSQL"
        ),
    ],
)
def test_jdbc_uris_are_taken_apart(uri: str, wanted: JdbcUri) -> None:
    assert read_jdbc_uri(uri) == wanted


@pytest.mark.parametrize(
    "uri",
    [
        *("jdbc:sqlite:file:/x?mode=rwc", "jdbc:sqlite::memory:", "jdbc:sqlite:?cache=shared"),
        "jdbc:sqlite:/x?mode=rwc",
        *("jdbc:sqlite:/x%00", "jdbc:sqlite://host/share", "jdbc:sqlite:/x\0y", "jdbc:oracle:thin:@db"),
        *("jdbc:mysql://db/x?allowLoadLocalInfile=true", "jdbc:mysql://u:p@db/x", "jdbc:mysql:///x"),
        *("jdbc:mysql://db:0/x", "jdbc:mysql://db/x/y", "jdbc:mysql://db", "jdbc:mysql://a,b/x"),
        *("jdbc:postgresql://db/x?service=y", "jdbc:postgresql://%2Fvar/x", "jdbc:postgresql://db/x y=z"),
        *("jdbc:postgresql://db/postgresql://other", "mysql://db/x", "jdbc:mysql://db/x\n"),
    ],
)
def test_jdbc_uris_of_other_forms(uri: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        read_jdbc_uri(uri)
    assert uri not in str(caught.value)


PLAIN = (
    *(
        "endpoint",
        "region",
        "access",
        "style-access",
        "seconds",
        "host",
        "no-auth",
        "project-id",
        "project.id",
    ),
    *(
        "client-lib-token",
        "size",
        "size-bytes",
        "enable",
        "email",
        "expires-at",
        "expiration",
        "name",
        "type",
    ),
    *("client-id", "client.id", "tenant-id", "expires-at-ms", "sld.enabled", "impl", "staging-dir"),
    *("replication", "hostname", "authentication", "defaultFS", "nameservices", ".user"),
    *("keytab", "principal", "principal.pattern", "ticket-cache", "protection"),
)
CREDENTIALS = {name for name in OPTION_NAMES if not name.endswith(PLAIN)}
"""What of object stores is left without addresses and names: keys and tokens."""


def test_which_options_are_credentials_follows_from_the_options_that_there_are() -> None:
    known = {name for options in CATALOG_OPTIONS.known.values() for name in options}
    assert {name for name in known if is_credential(name)} == {*CREDENTIALS, "token", "jdbc.password"}
    for header in ("X-Tenant", "Private-Token", "Cookie", "X-Auth"):
        assert is_credential(f"header.{header}")
        assert is_telling(f"header.{header}")
        assert "abcd" not in NOTHING_KNOWN.redact(f"refused: header.{header}=abcd")
