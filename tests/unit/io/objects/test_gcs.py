"""How a catalog's options say to reach Google Cloud Storage."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from lithify.errors import InvalidOption
from lithify.io.objects.gcs import NO_KEYS, GcsSettings, ServiceAccount, read_settings
from lithify.io.objects.settings import BearerToken
from support.cases import case

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
KEY_FILE = {"type": "service_account", "client_email": "a@b", "private_key": "pem", "private_key_id": "7"}


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        case({}, GcsSettings(), id="everything from the environment"),
        case({"gcs.oauth2.token": "t"}, GcsSettings(keys=BearerToken("t")), id="a token by Iceberg's name"),
        case(
            {"gcs.oauth2.token": "t", "gcs.oauth2.token-expires-at": "1767225600000"},
            GcsSettings(keys=BearerToken("t", MOMENT)),
            id="a token that ends",
        ),
        case(
            {"gcs.access-token": "t", "gcs.access-token.expiration": "2026-01-01T00:00:00"},
            GcsSettings(keys=BearerToken("t", MOMENT)),
            id="a token by pypaimon's name",
        ),
        case(
            {"gcs.service-account-key": json.dumps(KEY_FILE)},
            GcsSettings(keys=ServiceAccount("a@b", "pem", "7")),
            id="a key file",
        ),
        case(
            {
                "fs.gs.auth.service.account.email": "a@b",
                "gs.auth.service.account.private.key": "a\\nb",
                "fs.gs.auth.service.account.private.key.id": "7",
            },
            GcsSettings(keys=ServiceAccount("a@b", "a\nb", "7")),
            id="a key by Hadoop's names",
        ),
        case({"gcs.no-auth": "true"}, GcsSettings(keys=NO_KEYS), id="none at all"),
        case(
            {"gcs.service.host": "http://127.0.0.1:4443/"},
            GcsSettings(endpoint="http://127.0.0.1:4443"),
            id="another server",
        ),
        case({"gcs.service.host": "https://storage.googleapis.com"}, GcsSettings(), id="the public server"),
        case({"lithify.gcs.patience-seconds": "2"}, GcsSettings(patience=2.0), id="patience"),
    ],
)
def test_options_become_settings(options: Mapping[str, str], wanted: GcsSettings) -> None:
    assert read_settings(options) == wanted


@pytest.mark.parametrize(
    ("options", "option"),
    [
        case(
            {"gcs.service-account-key": "/etc/key.json"}, "gcs.service-account-key", id="a path of a key file"
        ),
        case({"gcs.service-account-key": "{}"}, "gcs.service-account-key", id="a key file without a key"),
        case(
            {"fs.gs.auth.service.account.email": "a@b"},
            "fs.gs.auth.service.account.private.key",
            id="half of a key",
        ),
        case({"gcs.service.host": "ftp://there"}, "gcs.service.host", id="no address"),
        case({"gcs.no-auth": "maybe"}, "gcs.no-auth", id="neither true nor false"),
        case(
            {"gcs.access-token": "t", "gcs.access-token.expiration": "soon"},
            "gcs.access-token.expiration",
            id="no moment",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(options: Mapping[str, str], option: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        read_settings(options)
    assert caught.value.option == option


def test_what_a_key_file_says_of_addresses_is_dropped() -> None:
    """The client would send its tokens there, or none."""
    file = {**KEY_FILE, "gcs_base_url": "https://evil.example", "disable_oauth": True, "token_uri": "x"}
    keys = read_settings({"gcs.service-account-key": json.dumps(file)}).keys
    assert isinstance(keys, ServiceAccount)
    assert json.loads(keys.as_json()).keys() == {"client_email", "private_key", "private_key_id"}


def test_what_is_secret_is_not_shown_and_is_shipped() -> None:
    for keys in (BearerToken("hidden"), ServiceAccount("a@b", "hidden")):
        settings = GcsSettings(keys=keys)
        assert "hidden" not in repr(settings)
        assert pickle.loads(pickle.dumps(settings)) == settings
