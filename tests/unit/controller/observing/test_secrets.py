"""Credentials are kept out of messages, whatever they are called."""

from __future__ import annotations

import pytest

from lithify.controller.observing.secrets import hidden, secrets_in, without_secrets
from lithify.errors import CatalogUnavailable, NotAllowed, UnsupportedTable
from support.cases import case

HARMLESS = {
    "metastore": "rest",
    "warehouse": "s3://stones/w",
    "s3.region": "eu-west-1",
    "cache.enabled": "true",
}


@pytest.mark.parametrize(
    "options",
    [
        case({"s3.secret-key": "hush"}, id="secret key"),
        case({"s3.access-key": "hush"}, id="access key"),
        case({"fs.oss.accessKeySecret": "hush"}, id="in camels"),
        case({"token": "hush"}, id="token"),
        case({"jdbc.password": "hush"}, id="password"),
        case({"dlf.access-key-id": "hush"}, id="key with an id"),
        case({"fs.azure.sas": "hush"}, id="shared access signature"),
        case({"uri": "jdbc:mysql://db/x?user=me&password=hush&ssl=true"}, id="in the query of a URI"),
        case({"uri": "http://me:hush@db/x"}, id="in the authority of a URI"),
    ],
)
def test_values_that_are_secret(options: dict[str, str]) -> None:
    assert secrets_in({**HARMLESS, **options}) == ("hush",)


def test_nothing_is_secret_about_the_rest() -> None:
    assert secrets_in({**HARMLESS, "uri": "http://catalog:8080/v1", "token.provider": "x"}) == ()


def test_a_secret_within_another_is_hidden_with_it() -> None:
    secrets = secrets_in({"token": "open sesame", "password": "open"})
    assert hidden("open sesame, open door, closed", secrets) == "***, *** door, closed"


@pytest.mark.parametrize(
    "error",
    [
        case(NotAllowed("http://c", "who is hush?"), id="field"),
        case(UnsupportedTable("db.t", ("hush", "no")), id="fields in a tuple"),
        case(CatalogUnavailable("http://c", "cannot log in with hush"), id="path and problem"),
    ],
)
def test_errors_lose_secrets_and_keep_their_class(error: NotAllowed) -> None:
    cleaned = without_secrets(error, ("hush",))
    assert type(cleaned) is type(error)
    assert "hush" not in f"{cleaned} {cleaned.__dict__} {cleaned.args}"
    assert "***" in str(cleaned)
