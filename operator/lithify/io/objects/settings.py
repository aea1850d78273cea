"""What the settings of every object store have in common, and how they are read from options. Pure.

Used by `s3`, `gcs`, `azure` and `oss`, which have the settings of one kind of store each; `stores` chooses
among them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import urlsplit

from lithify.errors import InvalidOption
from lithify.settings import catalog_option

PATIENCE_SECONDS = 40.0

_ENDPOINT = re.compile(
    r"https?://(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?)(:[0-9]{1,5})?"
    r"(/[A-Za-z0-9_~-][A-Za-z0-9_~.-]*)*"
)


@dataclass(frozen=True, slots=True)
class BearerToken:
    """A token that is sent with each request; `expires` is when a new one is needed, None for never."""

    token: str = field(repr=False)
    expires: datetime | None = None


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a kind of store is spoken to, and what its answers mean.

    Attributes:
        name: what messages call it.
        missing: error codes for an object that does not exist.
        no_bucket: error codes for a bucket that does not exist.
        rejected: error codes for credentials that are not accepted, whatever the status.
        passing: error codes for failures that pass, whatever the status.
        endpoint: the option that names another address of the store.
        credentials: the options with credentials, for messages.
        form: how its paths are written.
        condition: the header by which an object is created only if there is none.
        is_own_condition: whether it is a header of the store's own, sent with the value `true`.
        has_identity: whether the environment can have credentials for it.
        reads_ends: whether the last bytes of an object can be asked for without knowing its size.
        deletes_in_bulk: whether one request can delete many objects.
    """

    name: str
    missing: frozenset[str]
    no_bucket: frozenset[str]
    rejected: frozenset[str]
    passing: frozenset[str]
    endpoint: str
    credentials: str
    form: str
    condition: str
    is_own_condition: bool = False
    has_identity: bool = True
    reads_ends: bool = True
    deletes_in_bulk: bool = False


def first(options: Mapping[str, str], names: Iterable[str]) -> str | None:
    """The first of some options that has a value."""
    return next((str(options[name]).strip() for name in names if options.get(name)), None)


def read_endpoint(name: str, text: str | None) -> str | None:
    """The URL of a server.

    Raises:
        InvalidOption: it is none, or has a user, a query or dots in its path.
    """
    if text is None:
        return None
    url = text.rstrip("/") if "://" in text else f"https://{text.rstrip('/')}"
    if not _ENDPOINT.fullmatch(url) or not _has_port(url):
        raise InvalidOption(catalog_option(name), "it is not of the form https://host:port")
    return url


def _has_port(url: str) -> bool:
    """Whether the port, if there is one, is a valid port number."""
    try:
        return urlsplit(url).port != 0
    except ValueError:
        return False


def read_boolean(name: str, text: str | None) -> bool:
    """The value of an option; false if there is none.

    Raises:
        InvalidOption: it is neither true nor false.
    """
    word = (text or "false").lower()
    if word not in ("true", "false"):
        raise InvalidOption(catalog_option(name), f"'{word}' is neither true nor false")
    return word == "true"


def read_patience(options: Mapping[str, str], name: str) -> float:
    """For how many seconds failed requests are retried.

    Raises:
        InvalidOption: it is no number of seconds, or too large.
    """
    text = options.get(name)
    if text is None:
        return PATIENCE_SECONDS
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 600:
        raise InvalidOption(catalog_option(name), f"'{text}' is not a number of seconds from 0 to 600")
    return seconds


def read_millis(text: str | None) -> datetime | None:
    """A moment in milliseconds since the epoch; None if there is none, or it is no such number."""
    if text is None or not text.isdecimal() or len(text) > 15:
        return None
    return datetime.fromtimestamp(int(text) / 1000, UTC)
