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
from urllib.parse import urlsplit

from lithify.errors import InvalidOption
from lithify.io.access_policy import UNBOUNDED, AccessPolicy
from lithify.settings import catalog_option

PATIENCE = "lithify.s3.patience-seconds"
"""The option for how long failed requests are retried."""

_PREFIXES = ("s3.", "s3a.", "fs.s3.", "fs.s3a.")
_ACCESS_KEY = ("accessKeyId", "access-key", "access.key")
_SECRET_KEY = ("accessKeySecret", "secret-key", "secret.key")
_TOKEN = ("securityToken", "session-token", "session.token", "security-token", "security.token")
_PATH_STYLE = ("path-style-access", "path.style.access")
_PATIENCE_SECONDS = 40.0
_PLAIN_HOST = re.compile(r"[^.]+")
_REGION = re.compile(r"[A-Za-z0-9-]{1,64}")
"""The region becomes a part of a host name."""
_ENDPOINT = re.compile(
    r"https?://(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?)(:[0-9]{1,5})?"
    r"(/[A-Za-z0-9_~-][A-Za-z0-9_~.-]*)*"
)

OPTION_NAMES = frozenset(
    prefix + name
    for prefix in _PREFIXES
    for name in ("endpoint", "region", *_ACCESS_KEY, *_SECRET_KEY, *_TOKEN, *_PATH_STYLE)
)
"""The options that are read here, except PATIENCE."""


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
    patience: float = _PATIENCE_SECONDS
    reach: AccessPolicy = UNBOUNDED

    def endpoint_of(self, bucket: str) -> str | None:
        """The URL of a bucket's endpoint, None for the region's."""
        if self.endpoint is None or self.path_style:
            return self.endpoint
        parts = urlsplit(self.endpoint)
        return parts._replace(netloc=f"{bucket}.{parts.netloc}").geturl()


def read_settings(options: Mapping[str, str], reach: AccessPolicy = UNBOUNDED) -> S3Settings:
    """Parses a catalog's options; `reach` says where the environment's credentials may be used.

    Raises:
        InvalidOption: an option is invalid, or options contradict each other.
    """
    endpoint = _endpoint(_first(options, ("endpoint",)))
    return S3Settings(
        endpoint=endpoint,
        region=_region(_first(options, ("region",))),
        path_style=_boolean(options, _PATH_STYLE) or _has_no_subdomains(endpoint),
        keys=read_keys(options),
        patience=_patience(options),
        reach=reach,
    )


def _first(options: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    keys = (prefix + name for name in names for prefix in _PREFIXES)
    return next((str(options[key]).strip() for key in keys if options.get(key)), None)


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
    return None if access is None or secret is None else S3Keys(access, secret, _first(options, _TOKEN))


def _endpoint(text: str | None) -> str | None:
    if text is None:
        return None
    url = text.rstrip("/") if "://" in text else f"https://{text.rstrip('/')}"
    if not _ENDPOINT.fullmatch(url) or not _has_port(url):
        raise InvalidOption(catalog_option("s3.endpoint"), "it is not of the form https://host:port")
    return url


def _has_port(url: str) -> bool:
    """Whether the port, if there is one, is a valid port number."""
    try:
        return urlsplit(url).port != 0
    except ValueError:
        return False


def _region(text: str | None) -> str | None:
    if text is not None and not _REGION.fullmatch(text):
        problem = "it is no name of a region: letters, digits and hyphens"
        raise InvalidOption(catalog_option("s3.region"), problem)
    return text


def _has_no_subdomains(endpoint: str | None) -> bool:
    """Whether a bucket name cannot precede the host: it is an address, or a single label."""
    host = urlsplit(endpoint).hostname if endpoint else None
    if host is None:
        return False
    try:
        ip_address(host)
    except ValueError:
        return _PLAIN_HOST.fullmatch(host) is not None
    return True


def _boolean(options: Mapping[str, str], names: tuple[str, ...]) -> bool:
    text = (_first(options, names) or "false").lower()
    if text not in ("true", "false"):
        raise InvalidOption(catalog_option("s3.path.style.access"), f"'{text}' is neither true nor false")
    return text == "true"


def _patience(options: Mapping[str, str]) -> float:
    text = options.get(PATIENCE)
    if text is None:
        return _PATIENCE_SECONDS
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 600:
        raise InvalidOption(catalog_option(PATIENCE), f"'{text}' is not a number of seconds from 0 to 600")
    return seconds
