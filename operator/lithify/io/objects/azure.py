"""Settings of Azure's storage accounts in a catalog's options, under the names of Iceberg and of Hadoop.

Read by adapters from a catalog's options and its tokens. A path names its account; options may be for one
account, or for all. Without credentials for an account, those of the environment are used: workload identity
(AZURE_CLIENT_ID, AZURE_TENANT_ID and AZURE_FEDERATED_TOKEN_FILE), or the machine's managed identity.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar
from urllib.parse import urlsplit

from lithify.errors import InvalidOption
from lithify.io.access_policy import UNBOUNDED, AccessPolicy
from lithify.io.locations import ObjectPath, Store
from lithify.io.objects.settings import (
    PATIENCE_SECONDS,
    BearerToken,
    Dialect,
    first,
    read_endpoint,
    read_millis,
    read_patience,
)
from lithify.settings import catalog_option

PATIENCE = "lithify.azure.patience-seconds"
"""The option for how long failed requests are retried."""
TOKEN = "adls.token"  # noqa: S105  # the name of an option
SAS_TOKEN = "adls.sas-token"  # noqa: S105
SAS_EXPIRES = "adls.sas-token-expires-at-ms"
ENDPOINT = "adls.connection-string"
"""In Iceberg's Java the URL of an account, in spite of its name; always for one account."""

_SHARED_NAME, _SHARED_KEY = ("adls.auth.shared-key.account.name", "adls.auth.shared-key.account.key")
_NAMES = (_SHARED_NAME, "adls.account-name")
_KEYS = (_SHARED_KEY, "adls.account-key")
_PREFIXES = ("fs.azure.", "azure.", "fs.wasb.")
_HADOOP = ("account.key", "sas.fixed.token", "account.auth.type", "account.oauth.provider.type")
_CLIENT_ID, _CLIENT_SECRET, _CLIENT_ENDPOINT = (
    f"account.oauth2.client.{name}" for name in ("id", "secret", "endpoint")
)
_CLIENT = ("adls.client-id", "adls.client-secret", "adls.tenant-id")
_PROVIDERS = ("ClientCredsTokenProvider", "WorkloadIdentityTokenProvider", "MsiTokenProvider")
_AUTH_TYPES = ("SharedKey", "SAS", "OAuth")
_IGNORED = ("adls.read.block-size-bytes", "adls.write.block-size-bytes")
_CREDENTIALS = (
    *(SAS_TOKEN, TOKEN, *_KEYS, _CLIENT[1]),
    *(
        f"{prefix}{name}"
        for prefix in _PREFIXES
        for name in ("account.key", "sas.fixed.token", _CLIENT_SECRET)
    ),
)
"""The options with credentials, for one account or for all."""

OPTION_NAMES = frozenset(
    {
        *(SAS_TOKEN, SAS_EXPIRES, TOKEN, *_NAMES, *_KEYS, *_CLIENT, *_IGNORED),
        *(
            f"{prefix}{name}"
            for prefix in _PREFIXES
            for name in (*_HADOOP, _CLIENT_ID, _CLIENT_SECRET, _CLIENT_ENDPOINT)
        ),
    }
)
"""The options that are read here, except PATIENCE and those for one account."""
FAMILIES = (
    *(f"{name}." for name in (SAS_TOKEN, SAS_EXPIRES, ENDPOINT)),
    *(
        f"{prefix}{name}."
        for prefix in _PREFIXES
        for name in (*_HADOOP, _CLIENT_ID, _CLIENT_SECRET, _CLIENT_ENDPOINT)
    ),
)
"""What the names of options for one account begin with; the account's host follows."""
DIALECT = Dialect(
    name=Store.AZURE,
    missing=frozenset({"BlobNotFound"}),
    no_bucket=frozenset({"ContainerNotFound", "FilesystemNotFound"}),
    rejected=frozenset({"AuthenticationFailed", "InvalidAuthenticationInfo"}),
    passing=frozenset({"ServerBusy", "OperationTimedOut", "InternalError"}),
    endpoint=f"{ENDPOINT}.<account>",
    credentials=f"{_SHARED_NAME} and {_SHARED_KEY}, or {SAS_TOKEN}.<account>",
    form="abfss://container@account.dfs.core.windows.net/key",
    condition="If-None-Match",
    reads_ends=False,
)

_TENANT = re.compile(r"[A-Za-z0-9.-]{1,128}")
_AUTHORITIES = {
    "core.windows.net": "login.microsoftonline.com",
    "core.usgovcloudapi.net": "login.microsoftonline.us",
    "core.chinacloudapi.cn": "login.chinacloudapi.cn",
}
"""The token service of each cloud; a client's secret is sent nowhere else."""


@dataclass(frozen=True, slots=True)
class AccountKey:
    """A shared key of a storage account."""

    key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class SasToken:
    """A shared access signature; `expires` is when it must be requested again, None for never."""

    token: str = field(repr=False)
    expires: datetime | None = None


@dataclass(frozen=True, slots=True)
class ClientSecret:
    """A service principal with its secret."""

    tenant: str
    client: str
    secret: str = field(repr=False)


AzureKeys = AccountKey | SasToken | BearerToken | ClientSecret


@dataclass(frozen=True, slots=True)
class AzureSettings:
    """How to reach Azure's storage accounts.

    Attributes:
        options: the options that concern accounts, read for each account when it is asked for.
        patience: seconds for which failed requests are retried.
        reach: where the environment's credentials may be used.
    """

    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    patience: float = PATIENCE_SECONDS
    reach: AccessPolicy = UNBOUNDED

    store: ClassVar[Store] = Store.AZURE
    dialect: ClassVar[Dialect] = DIALECT

    @property
    def has_keys(self) -> bool:
        """Whether there are credentials for some account."""
        return has_keys(self.options)

    def keys_of(self, root: ObjectPath) -> AzureKeys | None:
        """The credentials for an account; None for the environment's."""
        return _keys_of(self.options, root.account)

    def endpoint_of(self, root: ObjectPath) -> str | None:
        """The URL that the options name for an account, None for its own in its cloud."""
        names = [f"{ENDPOINT}.{host}" for host in _hosts(root.account)]
        found = next((name for name in names if self.options.get(name)), None)
        return None if found is None else read_endpoint(found, self.options[found])

    def base_url(self, root: ObjectPath) -> str:
        """The URL that requests go to, whatever the environment says."""
        name, _, cloud = root.account.partition(".")
        return self.endpoint_of(root) or f"https://{name}.blob.{cloud}"

    def authority(self, root: ObjectPath) -> str:
        """The host of the token service of an account's cloud."""
        return _AUTHORITIES[root.account.partition(".")[2]]


def is_option(name: str) -> bool:
    """Whether an option is read here."""
    return name in OPTION_NAMES or name.startswith(FAMILIES)


def read_settings(options: Mapping[str, str], reach: AccessPolicy = UNBOUNDED) -> AzureSettings:
    """Parses a catalog's options; `reach` says where the environment's credentials may be used.

    Raises:
        InvalidOption: an option is invalid, or options contradict each other.
    """
    given = {name: value for name, value in options.items() if is_option(name)}
    for name, value in given.items():
        _check(name, value)
    return AzureSettings(given, read_patience(options, PATIENCE), reach)


def has_keys(options: Mapping[str, str]) -> bool:
    """Whether there are credentials for some account."""
    return any(
        bool(value) and any(name == each or name.startswith(f"{each}.") for each in _CREDENTIALS)
        for name, value in options.items()
    )


def _check(name: str, value: str) -> None:
    """Refuses what this release would misunderstand."""
    plain = next((name.removeprefix(prefix) for prefix in _PREFIXES if name.startswith(prefix)), "")
    if plain.startswith("account.auth.type") and value.lower() not in map(str.lower, _AUTH_TYPES):
        problem = f"this release knows {', '.join(_AUTH_TYPES)} only, not '{value}'"
        raise InvalidOption(catalog_option(name), problem)
    if plain.startswith("account.oauth.provider.type") and value.rpartition(".")[2] not in _PROVIDERS:
        problem = f"this release knows {', '.join(_PROVIDERS)} only; others are classes of Java"
        raise InvalidOption(catalog_option(name), problem)


def _keys_of(options: Mapping[str, str], account: str) -> AzureKeys | None:
    sas = _own(options, SAS_TOKEN, account) or _hadoop(options, "sas.fixed.token", account)
    if sas is not None:
        return SasToken(sas.removeprefix("?"), read_millis(_own(options, SAS_EXPIRES, account)))
    key = _hadoop(options, "account.key", account) or _shared_key(options, account)
    if key is not None:
        return AccountKey(_checked_key(key))
    client = _client(options, account)
    if client is not None:
        return client
    token = first(options, (TOKEN,))
    return None if token is None else BearerToken(token)


def _shared_key(options: Mapping[str, str], account: str) -> str | None:
    """The shared key, if it is this account's: a key has one account."""
    name, key = first(options, _NAMES), first(options, _KEYS)
    if (name is None) != (key is None):
        missing = _SHARED_NAME if name is None else _SHARED_KEY
        raise InvalidOption(catalog_option(missing), "it is missing, but its other half is there")
    return key if name == account.partition(".")[0] else None


def _checked_key(key: str) -> str:
    try:
        b64decode(key, validate=True)
    except ValueError as error:
        problem = "it is no key of a storage account, which is in base64"
        raise InvalidOption(catalog_option(_SHARED_KEY), problem) from error
    return key


def _client(options: Mapping[str, str], account: str) -> ClientSecret | None:
    client = first(options, _CLIENT[:1]) or _hadoop(options, _CLIENT_ID, account)
    secret = first(options, _CLIENT[1:2]) or _hadoop(options, _CLIENT_SECRET, account)
    tenant = first(options, _CLIENT[2:]) or _tenant_in(_hadoop(options, _CLIENT_ENDPOINT, account))
    if secret is None:
        return None
    if client is None or not tenant or not _TENANT.fullmatch(tenant):
        problem = "with a client's secret the client's id and its tenant are needed"
        raise InvalidOption(catalog_option(_CLIENT[2]), problem)
    return ClientSecret(tenant, client, secret)


def _tenant_in(endpoint: str | None) -> str | None:
    """The tenant in `https://login.microsoftonline.com/<tenant>/oauth2/token`."""
    return next((part for part in urlsplit(endpoint or "").path.split("/") if part), None)


def _own(options: Mapping[str, str], name: str, account: str) -> str | None:
    """An option for one account; else the one for all."""
    return first(options, (*(f"{name}.{host}" for host in _hosts(account)), name))


def _hadoop(options: Mapping[str, str], name: str, account: str) -> str | None:
    return next(filter(None, (_own(options, f"{prefix}{name}", account) for prefix in _PREFIXES)), None)


def _hosts(account: str) -> Iterator[str]:
    """The names of an account's host, by which options name it."""
    name, _, cloud = account.partition(".")
    yield from (f"{name}.dfs.{cloud}", f"{name}.blob.{cloud}", name)
