"""S3 settings of a table: by the options of its Catalog, else by what the catalog's server sends for it.

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
from lithify.io.owned_entries import Latest, owner_of
from lithify.io.s3.settings import S3Keys, read_keys

REMOTE_SIGNING = "s3.remote-signing-enabled"
_NAMES = {
    "s3.access-key-id": "s3.access-key",
    "s3.secret-access-key": "s3.secret-key",
    "client.region": "s3.region",
}
_EXPIRY = "s3.session-token-expires-at-ms"
_TAKEN = frozenset(
    {*_NAMES, "s3.session-token", "s3.endpoint", "s3.region", "s3.path-style-access", REMOTE_SIGNING, _EXPIRY}
)
_RENEWED_BEFORE = timedelta(minutes=5)
"""Time before their end at which credentials are renewed, unless they live shorter than twice that."""
_UNKNOWN_LIFETIME = timedelta(minutes=10)
"""Lifetime of credentials without a stated end: no service issues shorter ones by default."""
_MOST_KEPT = 1024

Opener = Callable[[Mapping[str, str], TableName, str], Mapping[str, str]]


def s3_options(options: Mapping[str, str]) -> dict[str, str]:
    """Options under the names that `io.s3.settings` reads."""
    translated = {_NAMES[name]: value for name, value in options.items() if name in _NAMES}
    return {**translated, **{name: value for name, value in options.items() if name not in _NAMES}}


def taken_from_server(config: Mapping[str, str]) -> dict[str, str]:
    """Those of a server's options for a table that concern its files; all others are dropped."""
    return {name: value for name, value in config.items() if name in _TAKEN}


def has_keys(options: Mapping[str, str]) -> bool:
    """Whether options have credentials for S3."""
    return read_keys(s3_options(options)) is not None


def is_remotely_signed(config: Mapping[str, str]) -> bool:
    """Whether a server wants to sign each request itself."""
    return is_true(config, REMOTE_SIGNING)


@dataclass(frozen=True, slots=True)
class _Kept:
    """Credentials, and when they are renewed."""

    keys: S3Keys
    renewed: datetime


def _utc_now() -> datetime:
    return datetime.now(UTC)


_kept: Latest[_Kept] = Latest(_MOST_KEPT)
_locks: Latest[Lock] = Latest(_MOST_KEPT)
_lock = Lock()


@dataclass(frozen=True, slots=True)
class VendedKeys:
    """Credentials for the files of one table, renewed before they end; a `KeySource` of `io.s3.files`.

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

    def keys(self) -> S3Keys:
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
        return S3Keys(kept.keys.access_key, kept.keys.secret_key, kept.keys.token, kept.renewed)

    def begin_with(self, config: Mapping[str, str]) -> None:
        """Keeps the credentials that the server sent with the table, which saves a request."""
        if has_keys(config):
            _keep(self._owner(), _kept_of(config, self.now()))

    def _fetched(self) -> _Kept:
        config = self.open(self.options, self.name, self.location)
        if not has_keys(config):
            raise CatalogUnavailable(
                str(self.options.get("uri")), f"it sends no credentials for the files of {self.name} any more"
            )
        return _kept_of(config, self.now())

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


def _kept_of(config: Mapping[str, str], now: datetime) -> _Kept:
    keys = read_keys(s3_options(config))
    assert keys is not None  # noqa: S101  # callers have checked
    text = config.get(_EXPIRY, "")
    if not text.isdecimal() or len(text) > 15:
        return _Kept(keys, now + _UNKNOWN_LIFETIME)
    end = datetime.fromtimestamp(int(text) / 1000, UTC)
    return _Kept(keys, end - min(_RENEWED_BEFORE, max(end - now, timedelta()) / 2))
