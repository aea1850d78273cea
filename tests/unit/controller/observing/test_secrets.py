"""Credentials are kept out of messages, whatever they are called."""

from __future__ import annotations

import pytest

from lithify.controller.observing.secrets import without_secrets
from lithify.controller.observing.wire import MOST_TEXT
from lithify.errors import CatalogUnavailable, LithifyError, NotAllowed, UnsupportedTable
from lithify.formats.protocol.address import TableAddress
from lithify.redaction import REDACTED
from support.cases import case

HARMLESS = {
    "metastore": "rest",
    "warehouse": "s3://stones/w",
    "s3.region": "eu-west-1",
    "cache.enabled": "true",
}
KEY = "open-sesame-77"


def target(identifier: str = "db.t") -> TableAddress:
    return TableAddress("s3://stones/w", identifier, {**HARMLESS, "token": KEY})


@pytest.mark.parametrize(
    "error",
    [
        case(NotAllowed("http://c", f"who is {KEY}?"), id="field"),
        case(UnsupportedTable("db.t", (KEY, "no")), id="fields in a tuple"),
        case(CatalogUnavailable("http://c", f"cannot log in with {KEY}"), id="path and problem"),
    ],
)
def test_errors_lose_secrets_and_keep_their_class(error: NotAllowed) -> None:
    cleaned = without_secrets(error, target())
    assert type(cleaned) is type(error)
    assert KEY not in f"{cleaned} {cleaned.__dict__} {cleaned.args}"
    assert REDACTED in str(cleaned)


@pytest.mark.parametrize("guess", [KEY, "open-sesame-78"])
def test_a_table_named_like_a_credential_is_named_like_any_other(guess: str) -> None:
    name = f"db.{guess}"
    cleaned = without_secrets(NotAllowed(name, f"{KEY} is refused"), target(name))
    assert str(cleaned).startswith(f"{name}: {REDACTED} is refused")


def test_texts_are_bounded() -> None:
    cleaned = without_secrets(LithifyError("x" * (1 << 20)), target())
    assert len(str(cleaned)) == MOST_TEXT
