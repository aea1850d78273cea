"""Google Cloud Storage settings in a catalog's options, under the names of Iceberg and of Hadoop's connector.

Read by adapters from a catalog's options and its tokens. Without credentials in the options, those of the
environment are used: GOOGLE_APPLICATION_CREDENTIALS, or the metadata server, which on GKE gives the identity
of a pod's service account.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import ClassVar

from lithify.errors import InvalidOption
from lithify.io.access_policy import UNBOUNDED, AccessPolicy
from lithify.io.locations import ObjectPath, Store
from lithify.io.objects.settings import (
    PATIENCE_SECONDS,
    BearerToken,
    Dialect,
    first,
    read_boolean,
    read_endpoint,
    read_millis,
    read_patience,
)
from lithify.settings import catalog_option

PATIENCE = "lithify.gcs.patience-seconds"
"""The option for how long failed requests are retried."""
ACCOUNT_KEY = "gcs.service-account-key"
"""The option with the JSON of a service account's key. Hadoop and Iceberg's Java read it from a file."""
TOKEN = "gcs.oauth2.token"  # noqa: S105  # the name of an option
ENDPOINT = "gcs.service.host"
NO_AUTH = "gcs.no-auth"

_TOKENS = (TOKEN, "gcs.access-token")
_EXPIRES = "gcs.oauth2.token-expires-at"
_EXPIRES_ISO = "gcs.access-token.expiration"
_PREFIXES = ("fs.gs.", "gs.")
_EMAIL, _KEY, _KEY_ID = (
    f"auth.service.account.{name}" for name in ("email", "private.key", "private.key.id")
)
_IGNORED = (
    *("gcs.project-id", "gcs.client-lib-token", "gcs.delete.batch-size"),
    *("gcs.channel.read.chunk-size-bytes", "gcs.channel.write.chunk-size-bytes"),
    *(f"{prefix}{name}" for prefix in _PREFIXES for name in ("project.id", "auth.service.account.enable")),
)
"""Known to Java; they change nothing here: objects need no project, and streams have sizes of their own."""

OPTION_NAMES = frozenset(
    {
        *(*_TOKENS, _EXPIRES, _EXPIRES_ISO, ACCOUNT_KEY, ENDPOINT, NO_AUTH, *_IGNORED),
        *(f"{prefix}{name}" for prefix in _PREFIXES for name in (_EMAIL, _KEY, _KEY_ID)),
    }
)
"""The options that are read here, except PATIENCE."""
DIALECT = Dialect(
    name=Store.GCS,
    missing=frozenset({"NoSuchKey"}),
    no_bucket=frozenset({"NoSuchBucket"}),
    rejected=frozenset({"AuthenticationRequired", "ExpiredToken", "InvalidSecurity"}),
    passing=frozenset({"SlowDown"}),
    endpoint=ENDPOINT,
    credentials=f"{ACCOUNT_KEY} or {TOKEN}",
    form="gs://bucket/key",
    condition="x-goog-if-generation-match",
)

_PUBLIC_ENDPOINT = "https://storage.googleapis.com"


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    """The key of a service account, which signs tokens of its own."""

    email: str
    private_key: str = field(repr=False)
    key_id: str = ""

    def as_json(self) -> str:
        """The key as a key file has it, without anything else that a file could say."""
        fields = {"client_email": self.email, "private_key": self.private_key, "private_key_id": self.key_id}
        return json.dumps(fields)


GcsKeys = BearerToken | ServiceAccount
NO_KEYS = BearerToken("none")
"""What is sent to servers that ask for no credentials."""


@dataclass(frozen=True, slots=True)
class GcsSettings:
    """How to reach Google Cloud Storage.

    Attributes:
        endpoint: URL of the server, None for the public one.
        keys: None for the environment's credentials.
        patience: seconds for which failed requests are retried.
        reach: where the environment's credentials may be used.
    """

    endpoint: str | None = None
    keys: GcsKeys | None = None
    patience: float = PATIENCE_SECONDS
    reach: AccessPolicy = UNBOUNDED

    store: ClassVar[Store] = Store.GCS
    dialect: ClassVar[Dialect] = DIALECT

    @property
    def base_url(self) -> str:
        """The URL that requests go to, whatever the environment says."""
        return self.endpoint or _PUBLIC_ENDPOINT

    @property
    def has_keys(self) -> bool:
        """Whether there are credentials at all."""
        return self.keys is not None

    def keys_of(self, root: ObjectPath) -> GcsKeys | None:
        """The credentials: the same for all buckets."""
        del root
        return self.keys

    def endpoint_of(self, root: ObjectPath) -> str | None:
        """The URL that the options name, None for the public one."""
        del root
        return self.endpoint


def read_settings(options: Mapping[str, str], reach: AccessPolicy = UNBOUNDED) -> GcsSettings:
    """Parses a catalog's options; `reach` says where the environment's credentials may be used.

    Raises:
        InvalidOption: an option is invalid, or options contradict each other.
    """
    endpoint = read_endpoint(ENDPOINT, first(options, (ENDPOINT,)))
    return GcsSettings(
        None if endpoint == _PUBLIC_ENDPOINT else endpoint,
        read_keys(options),
        read_patience(options, PATIENCE),
        reach,
    )


def read_keys(options: Mapping[str, str]) -> GcsKeys | None:
    """The credentials in a catalog's options or in a token; None if there are none.

    Raises:
        InvalidOption: they are incomplete.
    """
    token = first(options, _TOKENS)
    if token is not None:
        return BearerToken(token, read_millis(options.get(_EXPIRES)) or _moment(options.get(_EXPIRES_ISO)))
    if options.get(ACCOUNT_KEY):
        return _account_of(options[ACCOUNT_KEY])
    email, key = _hadoop(options, _EMAIL), _hadoop(options, _KEY)
    if (email is None) != (key is None):
        missing = _EMAIL if email is None else _KEY
        raise InvalidOption(catalog_option(f"fs.gs.{missing}"), "it is missing, but its other half is there")
    if email is not None and key is not None:
        return ServiceAccount(email, key.replace("\\n", "\n"), _hadoop(options, _KEY_ID) or "")
    return NO_KEYS if read_boolean(NO_AUTH, first(options, (NO_AUTH,))) else None


def _hadoop(options: Mapping[str, str], name: str) -> str | None:
    return first(options, (f"{prefix}{name}" for prefix in _PREFIXES))


def _account_of(text: str) -> ServiceAccount:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    fields = found if isinstance(found, dict) else {}
    email, key, key_id = (fields.get(name) for name in ("client_email", "private_key", "private_key_id"))
    if not isinstance(email, str) or not isinstance(key, str):
        problem = "it is not the JSON of a service account's key, with client_email and private_key"
        raise InvalidOption(catalog_option(ACCOUNT_KEY), problem)
    return ServiceAccount(email, key, key_id if isinstance(key_id, str) else "")


def _moment(text: str | None) -> datetime | None:
    try:
        found = None if text is None else datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidOption(catalog_option(_EXPIRES_ISO), "it is no date and time of ISO 8601") from error
    return found if found is None or found.tzinfo else found.replace(tzinfo=UTC)
