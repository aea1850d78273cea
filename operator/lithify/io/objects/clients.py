"""Connects to object stores through obstore: one client for a bucket, with its credentials and its limits.

Called by `bucket`. All that the process sends to a store goes through such a client. In a guarded process it
goes through `gate`, if the options name the store's address.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, assert_never
from urllib.parse import urlsplit

from obstore.exceptions import BaseError
from obstore.store import AzureStore, GCSStore, S3Store

from lithify.errors import NotAllowed
from lithify.io.guard import is_guarded
from lithify.io.locations import ObjectPath
from lithify.io.objects.azure import AccountKey, AzureSettings, ClientSecret, SasToken
from lithify.io.objects.gate import gate
from lithify.io.objects.gcs import GcsSettings, ServiceAccount
from lithify.io.objects.s3 import S3Keys, S3Settings
from lithify.io.objects.settings import BearerToken
from lithify.io.objects.stores import ExpiringKeys, Keys, ObjectSettings

if TYPE_CHECKING:
    from obstore.store import BackoffConfig

CONNECT_SECONDS = 5
LONGEST_BACKOFF = 5
_BACKOFF: BackoffConfig = {
    "init_backoff": timedelta(milliseconds=100),
    "max_backoff": timedelta(seconds=LONGEST_BACKOFF),
    "base": 2,
}

AnyStore = S3Store | GCSStore | AzureStore
KeyReader = Callable[[], ExpiringKeys]
"""Returns the current credentials of a source that renews them."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long and how often a request is tried.

    Attributes:
        retries: how often it is repeated.
        silence: seconds to wait for an answer or its next chunk.
        longest: seconds for one try.
        in_bulk: whether its requests delete many objects.
        creates: whether its requests create objects.
    """

    retries: int
    silence: float
    longest: float
    in_bulk: bool = False
    creates: bool = False


def client_of(
    root: ObjectPath, settings: ObjectSettings, renewed: KeyReader | None, limits: Limits
) -> AnyStore:
    """A client for one bucket.

    Args:
        root: the bucket.
        settings: how to reach it.
        renewed: returns credentials that expire; None to use those of the settings, or the environment's.
        limits: limits of its requests.

    Raises:
        NotAllowed: its credentials have no form that could be accepted.
        OutOfReach: the process may not connect to its address.
    """
    common: dict[str, Any] = {
        "client_options": _connection(root, settings, limits),
        "retry_config": {
            "max_retries": limits.retries,
            "retry_timeout": timedelta(seconds=settings.patience),
            "backoff": _BACKOFF,
        },
    }
    try:
        return _connected(root, settings, renewed, common, in_bulk=limits.in_bulk)
    except (BaseError, ValueError):  # their messages quote what they could not read
        problem = f"the credentials for {settings.store} have no form that it accepts"
        raise NotAllowed(str(root), problem) from None


def _connected(
    root: ObjectPath,
    settings: ObjectSettings,
    renewed: KeyReader | None,
    common: Mapping[str, Any],
    *,
    in_bulk: bool,
) -> AnyStore:
    fixed = settings.keys_of(root)
    arguments: dict[str, Any] = {**common, "credential_provider": _provider(renewed, fixed)}
    match settings:
        case S3Settings():
            return S3Store(root.bucket, config=_s3_config(root, settings, in_bulk=in_bulk), **arguments)
        case GcsSettings():
            return GCSStore(root.bucket, config=_gcs_config(settings, fixed), **arguments)
        case AzureSettings():
            return AzureStore(root.bucket, config=_azure_config(root, settings, fixed), **arguments)
        case _:
            assert_never(settings)


def _s3_config(root: ObjectPath, settings: S3Settings, *, in_bulk: bool) -> Any:
    endpoint = settings.endpoint_of(root)
    return {
        "virtual_hosted_style_request": not settings.path_style,
        # Otherwise the deletion of one object would be a bulk request, too, which not every store knows.
        "disable_bulk_delete": not in_bulk,
        **({} if endpoint is None else {"endpoint": endpoint}),
        **({} if settings.region is None else {"region": settings.region}),
    }


def _gcs_config(settings: GcsSettings, keys: Keys | None) -> Any:
    signing = {"service_account_key": keys.as_json()} if isinstance(keys, ServiceAccount) else {}
    return {"base_url": settings.base_url, **signing}


def _azure_config(root: ObjectPath, settings: AzureSettings, keys: Keys | None) -> Any:
    config = {"account_name": root.account.partition(".")[0], "endpoint": settings.base_url(root)}
    if not isinstance(keys, ClientSecret):
        return config
    return {
        **config,
        "credential_type": "client_secret",
        "tenant_id": keys.tenant,
        "client_id": keys.client,
        "client_secret": keys.secret,
        "authority_host": f"https://{settings.authority(root)}",
    }


def _provider(renewed: KeyReader | None, fixed: Keys | None) -> Callable[[], Any] | None:
    """Returns credentials as obstore takes them; None for the environment's."""
    if renewed is not None:
        return lambda: _credential(renewed())
    if fixed is None or isinstance(fixed, ServiceAccount | ClientSecret):
        return None  # these sign or ask for tokens themselves
    return lambda: _credential(fixed)


def _credential(keys: S3Keys | BearerToken | SasToken | AccountKey) -> dict[str, Any]:
    match keys:
        case AccountKey():
            return {"access_key": keys.key, "expires_at": None}
        case BearerToken():
            return {"token": keys.token, "expires_at": keys.expires}
        case SasToken():
            return {"sas_token": keys.token, "expires_at": keys.expires}
        case S3Keys():
            named = {"access_key_id": keys.access_key, "secret_access_key": keys.secret_key}
            return {**named, "token": keys.token, "expires_at": keys.expires}
        case _:
            assert_never(keys)


def _connection(root: ObjectPath, settings: ObjectSettings, limits: Limits) -> dict[str, Any]:
    client: dict[str, Any] = {
        "connect_timeout": timedelta(seconds=CONNECT_SECONDS),
        "read_timeout": timedelta(seconds=limits.silence),
        "timeout": timedelta(seconds=limits.longest),
    }
    if limits.creates and settings.dialect.is_own_condition:
        client["default_headers"] = {settings.dialect.condition: "true"}  # the client signs it, too
    endpoint = settings.endpoint_of(root)
    if endpoint is not None and endpoint.startswith("http://"):
        client["allow_http"] = True
    if endpoint is not None and is_guarded():
        client["proxy_url"] = gate().open(*_host_and_port(endpoint))
        if isinstance(settings, AzureSettings):
            gate().open(settings.authority(root), 443)  # a client's secret is exchanged there
    return client


def gate_failure(root: ObjectPath, settings: ObjectSettings) -> Callable[[], str | None]:
    """Returns why the gate could not connect to the store, if requests go through the gate."""
    endpoint = settings.endpoint_of(root)
    if endpoint is None or not is_guarded():
        return lambda: None
    return partial(gate().failure, *_host_and_port(endpoint))


def _host_and_port(endpoint: str) -> tuple[str, int]:
    parts = urlsplit(endpoint)
    return str(parts.hostname), parts.port or (443 if parts.scheme == "https" else 80)
