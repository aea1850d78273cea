"""Options of Iceberg's catalogs: which may be set, and what a server may set."""

from __future__ import annotations

import pytest

from lithify.errors import InvalidOption
from lithify.formats.iceberg.catalog.options import CATALOG_OPTIONS, check_catalog_options
from support.cases import case

REST = {"metastore": "rest", "uri": "https://catalog.example/api"}
SQL = {"metastore": "jdbc", "uri": "jdbc:postgresql://db.example:5432/catalog"}
HIVE = {"metastore": "hive", "uri": "thrift://hive.example:9083"}


@pytest.mark.parametrize(
    "options",
    [
        case({}, id="folders"),
        case({"s3.access-key-id": "a", "s3.secret-access-key": "b", "client.region": "eu-west-1"}, id="keys"),
        case({**REST, "credential": "id:secret", "scope": "PRINCIPAL_ROLE:ALL"}, id="rest with a credential"),
        case({**REST, "token": "t", "header.X-Tenant": "acme"}, id="rest with a token and a header"),
        case({**REST, "oauth2-server-uri": "https://login.example/token"}, id="rest with a token server"),
        case({**SQL, "jdbc.user": "u", "jdbc.password": "p", "catalog-name": "c"}, id="database"),
        case({"metastore": "jdbc", "uri": "jdbc:sqlite:/data/c.db", "catalog-name": "c"}, id="sqlite"),
        case(HIVE, id="hive"),
        case({"metastore": "glue", "glue.region": "eu-west-1", "glue.id": "1234"}, id="glue"),
    ],
)
def test_known_options_are_accepted(options: dict[str, str]) -> None:
    check_catalog_options("s3://warehouse", options)


@pytest.mark.parametrize(
    ("options", "option"),
    [
        case({"metastore": "nessie"}, "metastore", id="other metastore"),
        case({**REST, "py-io-impl": "os.system"}, "py-io-impl", id="class for files"),
        case({**REST, "py-catalog-impl": "os.system"}, "py-catalog-impl", id="class for the catalog"),
        case({**REST, "auth": "custom"}, "auth", id="class for credentials"),
        case({**REST, "rest.sigv4-enabled": "true"}, "rest.sigv4-enabled", id="own identity"),
        case({**REST, "ssl": "x"}, "ssl", id="files of this machine"),
        case({**REST, "header.Authorization": "x"}, "header.Authorization", id="own header"),
        case({**REST, "header.Proxy-Host": "x"}, "header.Proxy-Host", id="header for proxies"),
        case({**REST, "token": "a\nb"}, "token", id="control characters"),
        case({**REST, "oauth2-server-uri": "file:///etc/passwd"}, "oauth2-server-uri", id="no server"),
        case({"metastore": "rest"}, "uri", id="rest without uri"),
        case({"metastore": "rest", "uri": "https://u:p@host/"}, "uri", id="user in the uri"),
        case({"metastore": "rest", "uri": "https://host/a/../b"}, "uri", id="dots in the uri"),
        case({"uri": "https://host/"}, "uri", id="folders with uri"),
        case({"metastore": "jdbc", "uri": "jdbc:mysql://h/d"}, "uri", id="mysql"),
        case({"metastore": "hive", "uri": "http://h:1"}, "uri", id="hive without thrift"),
        case({"metastore": "glue", "glue.profile-name": "admin"}, "glue.profile-name", id="profile"),
        case({**SQL, "credential": "x"}, "credential", id="option of another metastore"),
        case({**REST, "warehouse": "x"}, "warehouse", id="field as an option"),
    ],
)
def test_other_options_are_refused_by_name(options: dict[str, str], option: str) -> None:
    with pytest.raises(InvalidOption) as refused:
        check_catalog_options("s3://warehouse", options)
    assert refused.value.option == option


def test_a_server_sets_only_where_things_are() -> None:
    sent = {
        "prefix": "acme",
        "namespace-separator": "%2E",
        "s3.endpoint": "https://s3.example",
        "uri": "https://thief.example",
        "oauth2-server-uri": "https://thief.example",
        "py-io-impl": "os.system",
        "header.X": "y",
        "token": "other",
    }
    assert CATALOG_OPTIONS.sent(sent).keys() == {"prefix", "namespace-separator", "s3.endpoint"}
    assert CATALOG_OPTIONS.sent(None) == {}


@pytest.mark.parametrize("sent", [{"prefix": "../admin"}, {"namespace-separator": "/"}, {"prefix": "a\nb"}])
def test_what_a_server_sets_is_checked(sent: dict[str, str]) -> None:
    with pytest.raises(InvalidOption):
        CATALOG_OPTIONS.sent(sent)
