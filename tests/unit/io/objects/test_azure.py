"""How a catalog's options say to reach Azure's storage accounts."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from lithify.errors import InvalidOption
from lithify.io.locations import ObjectPath, object_path
from lithify.io.objects.azure import (
    AccountKey,
    AzureKeys,
    ClientSecret,
    SasToken,
    has_keys,
    read_settings,
)
from lithify.io.objects.settings import BearerToken
from support.cases import case

HOST = "lake.dfs.core.windows.net"
PROVIDERS = "org.apache.hadoop.fs.azurebfs.oauth2"
LOGIN = "https://login.microsoftonline.com/tenant-1/oauth2/token"
SHARED = {"adls.auth.shared-key.account.name": "lake", "adls.auth.shared-key.account.key": "a2V5"}


def root(path: str = f"abfss://c@{HOST}") -> ObjectPath:
    found = object_path(path)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        case({}, None, id="those of the environment"),
        case(SHARED, AccountKey("a2V5"), id="a shared key by Iceberg's names"),
        case({"adls.account-name": "lake", "adls.account-key": "a2V5"}, AccountKey("a2V5"), id="pyiceberg's"),
        case({"fs.azure.account.key": "a2V5"}, AccountKey("a2V5"), id="Hadoop's, for all accounts"),
        case({f"azure.account.key.{HOST}": "a2V5"}, AccountKey("a2V5"), id="Hadoop's, for one account"),
        case(
            {"fs.azure.account.key.lake.blob.core.windows.net": "a2V5"},
            AccountKey("a2V5"),
            id="its blob host",
        ),
        case({f"adls.sas-token.{HOST}": "?sig=x"}, SasToken("sig=x"), id="a signature for one account"),
        case(
            {f"adls.sas-token.{HOST}": "sig=x", f"adls.sas-token-expires-at-ms.{HOST}": "1767225600000"},
            SasToken("sig=x", datetime(2026, 1, 1, tzinfo=UTC)),
            id="a signature that ends",
        ),
        case({"adls.sas-token.lake": "sig=x"}, SasToken("sig=x"), id="a signature by the account's name"),
        case({f"fs.azure.sas.fixed.token.{HOST}": "sig=x"}, SasToken("sig=x"), id="Hadoop's signature"),
        case({"adls.token": "t"}, BearerToken("t"), id="a token"),
        case(
            {"adls.tenant-id": "tenant-1", "adls.client-id": "me", "adls.client-secret": "s"},
            ClientSecret("tenant-1", "me", "s"),
            id="a client's secret",
        ),
        case(
            {
                "fs.azure.account.auth.type": "OAuth",
                "fs.azure.account.oauth.provider.type": f"{PROVIDERS}.ClientCredsTokenProvider",
                f"fs.azure.account.oauth2.client.id.{HOST}": "me",
                f"fs.azure.account.oauth2.client.secret.{HOST}": "s",
                f"fs.azure.account.oauth2.client.endpoint.{HOST}": LOGIN,
            },
            ClientSecret("tenant-1", "me", "s"),
            id="Hadoop's client",
        ),
        case(
            {**SHARED, f"adls.sas-token.{HOST}": "sig=x"}, SasToken("sig=x"), id="the signature comes first"
        ),
    ],
)
def test_credentials_of_an_account(options: Mapping[str, str], wanted: AzureKeys | None) -> None:
    assert read_settings(options).keys_of(root()) == wanted
    assert has_keys(options) is (wanted is not None)


@pytest.mark.parametrize(
    "options",
    [
        case(SHARED, id="a shared key"),
        case({f"adls.sas-token.{HOST}": "sig=x"}, id="a signature"),
        case({f"fs.azure.account.key.{HOST}": "a2V5"}, id="Hadoop's key"),
    ],
)
def test_credentials_of_one_account_are_not_sent_to_another(options: Mapping[str, str]) -> None:
    assert read_settings(options).keys_of(root("abfss://c@other.dfs.core.windows.net")) is None


@pytest.mark.parametrize(
    ("options", "path", "wanted"),
    [
        case({}, f"abfss://c@{HOST}", "https://lake.blob.core.windows.net", id="its own"),
        case(
            {},
            "wasb://c@lake.blob.core.usgovcloudapi.net",
            "https://lake.blob.core.usgovcloudapi.net",
            id="cloud",
        ),
        case(
            {f"adls.connection-string.{HOST}": "http://127.0.0.1:10000/lake"},
            f"abfss://c@{HOST}",
            "http://127.0.0.1:10000/lake",
            id="one that is named",
        ),
        case(
            {f"adls.connection-string.{HOST}": "http://127.0.0.1:10000/lake"},
            "abfss://c@other.dfs.core.windows.net",
            "https://other.blob.core.windows.net",
            id="one that is named for another account",
        ),
    ],
)
def test_address_of_an_account(options: Mapping[str, str], path: str, wanted: str) -> None:
    assert read_settings(options).base_url(root(path)) == wanted


@pytest.mark.parametrize(
    ("options", "option"),
    [
        case({"adls.account-name": "lake"}, "adls.auth.shared-key.account.key", id="half of a shared key"),
        case(
            {**SHARED, "adls.auth.shared-key.account.key": "?"},
            "adls.auth.shared-key.account.key",
            id="no key",
        ),
        case({"adls.client-secret": "s", "adls.client-id": "me"}, "adls.tenant-id", id="no tenant"),
        case({"fs.azure.account.auth.type": "Custom"}, "fs.azure.account.auth.type", id="classes of Java"),
        case(
            {f"fs.azure.account.oauth.provider.type.{HOST}": "com.example.Mine"},
            f"fs.azure.account.oauth.provider.type.{HOST}",
            id="a provider of one's own",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(options: Mapping[str, str], option: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        read_settings(options).keys_of(root())
    assert caught.value.option == option


def test_what_is_secret_is_not_shown_and_is_shipped() -> None:
    settings = read_settings({f"adls.sas-token.{HOST}": "hidden"})
    assert "hidden" not in f"{settings!r}{settings.keys_of(root())!r}"
    assert pickle.loads(pickle.dumps(settings)) == settings
