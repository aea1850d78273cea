"""Settings of a table's object store: by the options of its Catalog, else by what the catalog's server sends.

Called by `files`. Credentials that a server vends expire; drivers and executors ask it for new ones
(`VendedKeys`) before they do. Credentials are kept per Catalog with all of its options, never logged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from threading import Lock

from lithify.errors import CatalogUnavailable
from lithify.formats.iceberg.catalog.names import TableName
from lithify.formats.iceberg.properties import is_true
from lithify.io.objects import azure, oss
from lithify.io.objects.stores import ExpiringKeys, has_any_keys, keys_for, renewed_at
from lithify.io.owned_entries import Latest, owner_of

REMOTE_SIGNING = "s3.remote-signing-enabled"
_NAMES = {
    "s3.access-key-id": "s3.access-key",
    "s3.secret-access-key": "s3.secret-key",
    "client.region": "s3.region",
}
_TAKEN = frozenset(
    {
        *(*_NAMES, "s3.session-token", "s3.session-token-expires-at-ms"),
        *("s3.endpoint", "s3.region", "s3.path-style-access", REMOTE_SIGNING),
        *("gcs.oauth2.token", "gcs.oauth2.token-expires-at", "gcs.service.host", "gcs.no-auth"),
        *("adls.sas-token", oss.ICEBERG_ENDPOINT, *oss.ICEBERG_KEYS),
    }
)
_TAKEN_FAMILIES = tuple(f"{name}." for name in (azure.SAS_TOKEN, azure.SAS_EXPIRES, azure.ENDPOINT))
_RENEWED_BEFORE = timedelta(minutes=5)
"""Time before their end at which credentials are renewed, unless they live shorter than twice that."""
_UNKNOWN_LIFETIME = timedelta(minutes=10)
"""Lifetime of credentials without a stated end: no service issues shorter ones by default."""
_MOST_KEPT = 1024

Opener = Callable[[Mapping[str, str], TableName, str], Mapping[str, str]]


def store_options(options: Mapping[str, str]) -> dict[str, str]:
    """Options under the names that `io.objects` reads."""
    translated = {_NAMES[name]: value for name, value in options.items() if name in _NAMES}
    return {**translated, **{name: value for name, value in options.items() if name not in _NAMES}}


def taken_from_server(config: Mapping[str, str]) -> dict[str, str]:
    """Those of a server's options for a table that concern its files; all others are dropped."""
    return {
        name: value for name, value in config.items() if name in _TAKEN or name.startswith(_TAKEN_FAMILIES)
    }


def place_of_store(config: Mapping[str, str]) -> dict[str, str]:
    """What a server says of a store: where it is."""
    of_s3 = ("s3.endpoint", "s3.region", "client.region", "s3.path-style-access")
    wanted = (*of_s3, "gcs.service.host", oss.ICEBERG_ENDPOINT)
    return {
        name: value
        for name, value in config.items()
        if name in wanted or name.startswith(f"{azure.ENDPOINT}.")
    }


def has_keys(options: Mapping[str, str]) -> bool:
    """Whether options have credentials for an object store."""
    return has_any_keys(store_options(options))


def is_remotely_signed(config: Mapping[str, str]) -> bool:
    """Whether a server wants to sign each request itself."""
    return is_true(config, REMOTE_SIGNING)


@dataclass(frozen=True, slots=True)
class _Kept:
    """Credentials, and when they are renewed."""

    keys: ExpiringKeys
    renewed: datetime


def _utc_now() -> datetime:
    return datetime.now(UTC)


_kept: Latest[_Kept] = Latest(_MOST_KEPT)
_locks: Latest[Lock] = Latest(_MOST_KEPT)
_lock = Lock()


@dataclass(frozen=True, slots=True)
class VendedKeys:
    """Credentials for the files of one table, renewed before they end; a `KeySource` of `io.objects.files`.

    Picklable: executors get it with their task, and ask the catalog's server themselves.

    Attributes:
        options: the options of the catalog, its own credentials included.
        catalog: the Catalog resource as `namespace/name`, empty outside the operator.
        name: the table.
        location: its folder.
        open: asks the catalog's server; a function of a module, so that it can be pickled.
        now: the clock.
    """

    options: Mapping[str, str] = field(repr=False)
    catalog: str
    name: TableName
    location: str
    open: Opener
    now: Callable[[], datetime] = _utc_now

    def keys(self) -> ExpiringKeys:
        """Valid credentials and when they must be asked for again.

        Raises:
            CatalogUnavailable: the server gives none, or no answer.
        """
        owner = self._owner()
        with _lock_of(owner):  # one server that does not answer holds up its own tables only
            kept = _kept.get(owner)
            if kept is None or self.now() >= kept.renewed:
                kept = self._fetched()
                _keep(owner, kept)
        return renewed_at(kept.keys, kept.renewed)

    def begin_with(self, config: Mapping[str, str]) -> None:
        """Keeps the credentials that the server sent with the table, which saves a request."""
        kept = self._kept_of(config)
        if kept is not None:
            _keep(self._owner(), kept)

    def _fetched(self) -> _Kept:
        kept = self._kept_of(self.open(self.options, self.name, self.location))
        if kept is None:
            raise CatalogUnavailable(
                str(self.options.get("uri")), f"it sends no credentials for the files of {self.name} any more"
            )
        return kept

    def _kept_of(self, config: Mapping[str, str]) -> _Kept | None:
        """The credentials for the table's store among what a server sends; None if there are none."""
        keys, now = keys_for(self.location, store_options(config)), self.now()
        if not isinstance(keys, ExpiringKeys):
            return None
        if keys.expires is None:
            return _Kept(keys, now + _UNKNOWN_LIFETIME)
        left = max(keys.expires - now, timedelta())
        return _Kept(keys, keys.expires - min(_RENEWED_BEFORE, left / 2))

    def _owner(self) -> str:
        return owner_of(self.catalog, [str(self.name), self.location], self.options)


def _keep(owner: str, kept: _Kept) -> None:
    with _lock:
        _kept[owner] = kept


def _lock_of(owner: str) -> Lock:
    """The lock of an owner: several threads ask once."""
    with _lock:
        lock = _locks[owner] = _locks.get(owner) or Lock()
        return lock
