"""S3 settings in a catalog's options, under pypaimon's names.

Read by adapters from a catalog's options and its tokens. Without credentials in the options, those of the
environment are used: variables, a projected token (AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE), the
container's or the machine's metadata service.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from ipaddress import ip_address
from typing import ClassVar
from urllib.parse import urlsplit

from lithify.errors import InvalidOption
from lithify.io.access_policy import UNBOUNDED, AccessPolicy
from lithify.io.locations import ObjectPath, Store
from lithify.io.objects.settings import (
    PATIENCE_SECONDS,
    Dialect,
    first,
    read_boolean,
    read_endpoint,
    read_millis,
    read_patience,
)
from lithify.settings import catalog_option

PATIENCE = "lithify.s3.patience-seconds"
"""The option for how long failed requests are retried."""

_PREFIXES = ("s3.", "s3a.", "fs.s3.", "fs.s3a.")
_ACCESS_KEY = ("accessKeyId", "access-key", "access.key")
_SECRET_KEY = ("accessKeySecret", "secret-key", "secret.key")
_TOKEN = ("securityToken", "session-token", "session.token", "security-token", "security.token")
_PATH_STYLE = ("path-style-access", "path.style.access")
_EXPIRES = "s3.session-token-expires-at-ms"
"""Sent by the servers of Iceberg's REST catalogs; no option of a Catalog."""
_PLAIN_HOST = re.compile(r"[^.]+")
_REGION = re.compile(r"[A-Za-z0-9-]{1,64}")
"""The region becomes a part of a host name."""
OPTION_NAMES = frozenset(
    prefix + name
    for prefix in _PREFIXES
    for name in ("endpoint", "region", *_ACCESS_KEY, *_SECRET_KEY, *_TOKEN, *_PATH_STYLE)
)
"""The options that are read here, except PATIENCE."""
DIALECT = Dialect(
    name=Store.S3,
    missing=frozenset({"NoSuchKey"}),
    no_bucket=frozenset({"NoSuchBucket"}),
    rejected=frozenset({"InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken"}),
    passing=frozenset({"RequestTimeout", "RequestTimeTooSkewed", "SlowDown", "ThrottlingException"}),
    endpoint="s3.endpoint",
    credentials="s3.access-key and s3.secret-key",
    form="s3://bucket/key",
    condition="If-None-Match",
    deletes_in_bulk=True,
)


@dataclass(frozen=True, slots=True)
class S3Keys:
    """Signing keys; `expires` is when they must be requested again, None for never."""

    access_key: str
    secret_key: str = field(repr=False)
    token: str | None = field(default=None, repr=False)
    expires: datetime | None = None


@dataclass(frozen=True, slots=True)
class S3Settings:
    """How to reach S3.

    Attributes:
        endpoint: URL of the server, None for the region's.
        region: signing region, None for the environment's.
        path_style: whether the bucket is in the path instead of the host name.
        keys: None for the environment's credentials.
        patience: seconds for which failed requests are retried.
        reach: where the environment's credentials may be used.
    """

    endpoint: str | None = None
    region: str | None = None
    path_style: bool = False
    keys: S3Keys | None = None
    patience: float = PATIENCE_SECONDS
    reach: AccessPolicy = UNBOUNDED

    store: ClassVar[Store] = Store.S3
    dialect: ClassVar[Dialect] = DIALECT

    @property
    def has_keys(self) -> bool:
        """Whether there are credentials at all."""
        return self.keys is not None

    def keys_of(self, root: ObjectPath) -> S3Keys | None:
        """The keys: the same for all buckets."""
        del root
        return self.keys

    def endpoint_of(self, root: ObjectPath) -> str | None:
        """The URL of a bucket's endpoint, None for the region's."""
        if self.endpoint is None or self.path_style:
            return self.endpoint
        parts = urlsplit(self.endpoint)
        return parts._replace(netloc=f"{root.bucket}.{parts.netloc}").geturl()


def read_settings(options: Mapping[str, str], reach: AccessPolicy = UNBOUNDED) -> S3Settings:
    """Parses a catalog's options; `reach` says where the environment's credentials may be used.

    Raises:
        InvalidOption: an option is invalid, or options contradict each other.
    """
    endpoint = read_endpoint("s3.endpoint", _first(options, ("endpoint",)))
    return S3Settings(
        endpoint=endpoint,
        region=read_region("s3.region", _first(options, ("region",))),
        path_style=read_boolean("s3.path.style.access", _first(options, _PATH_STYLE))
        or has_no_subdomains(endpoint),
        keys=read_keys(options),
        patience=read_patience(options, PATIENCE),
        reach=reach,
    )


def _first(options: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return first(options, (prefix + name for name in names for prefix in _PREFIXES))


def read_keys(options: Mapping[str, str]) -> S3Keys | None:
    """The credentials in a catalog's options or in a token; None if there are none.

    Raises:
        InvalidOption: only one half of them is set.
    """
    access, secret = _first(options, _ACCESS_KEY), _first(options, _SECRET_KEY)
    if (access is None) != (secret is None):
        present, missing = ("secret", "access") if access is None else ("access", "secret")
        problem = f"it is missing, but there is an s3.{present}-key"
        raise InvalidOption(catalog_option(f"s3.{missing}-key"), problem)
    if access is None or secret is None:
        return None
    return S3Keys(access, secret, _first(options, _TOKEN), read_millis(options.get(_EXPIRES)))


def read_region(name: str, text: str | None) -> str | None:
    """The name of a region.

    Raises:
        InvalidOption: it is none.
    """
    if text is not None and not _REGION.fullmatch(text):
        problem = "it is no name of a region: letters, digits and hyphens"
        raise InvalidOption(catalog_option(name), problem)
    return text


def has_no_subdomains(endpoint: str | None) -> bool:
    """Whether a bucket name cannot precede the host: it is an address, or a single label."""
    host = urlsplit(endpoint).hostname if endpoint else None
    if host is None:
        return False
    try:
        ip_address(host)
    except ValueError:
        return _PLAIN_HOST.fullmatch(host) is not None
    return True
