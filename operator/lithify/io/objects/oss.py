"""Alibaba Cloud OSS settings in a catalog's options, under the names of Paimon and of Iceberg.

Read by adapters from a catalog's options and its tokens. OSS speaks the protocol of S3, but for
`If-None-Match`: objects are created with a header of its own (docs/design/0093-oss.md). Credentials come from
options and tokens only, because the client knows no identity of that cloud.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import urlsplit

from lithify.errors import InvalidOption
from lithify.io.access_policy import UNBOUNDED, AccessPolicy
from lithify.io.locations import ObjectPath, Store
from lithify.io.objects.s3 import S3Keys, S3Settings, has_no_subdomains, read_region
from lithify.io.objects.settings import Dialect, first, read_boolean, read_endpoint, read_patience
from lithify.settings import catalog_option

PATIENCE = "lithify.oss.patience-seconds"
"""The option for how long failed requests are retried."""
ENDPOINT = "fs.oss.endpoint"
ICEBERG_ENDPOINT = "oss.endpoint"
REGION = "fs.oss.region"
PATH_STYLE = "fs.oss.sld.enabled"
ICEBERG_KEYS = ("client.access-key-id", "client.access-key-secret", "client.security-token")

_KEYS = ("fs.oss.accessKeyId", "fs.oss.accessKeySecret", "fs.oss.securityToken")
_IGNORED = ("fs.oss.impl", "oss.staging-dir")
"""Known to other clients: which of their classes connects, and where Java keeps parts of uploads."""

OPTION_NAMES = frozenset({ENDPOINT, ICEBERG_ENDPOINT, REGION, PATH_STYLE, *_KEYS, *ICEBERG_KEYS, *_IGNORED})
"""The options that are read here, except PATIENCE."""
DIALECT = Dialect(
    name=Store.OSS,
    missing=frozenset({"NoSuchKey"}),
    no_bucket=frozenset({"NoSuchBucket"}),
    rejected=frozenset(
        {
            *("InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken"),
            *("InvalidSecurityToken", "SecurityTokenExpired"),
        }
    ),
    passing=frozenset({"RequestTimeout", "RequestTimeTooSkewed", "SlowDown"}),
    endpoint=ENDPOINT,
    credentials=f"{_KEYS[0]} and {_KEYS[1]}",
    form="oss://bucket/key",
    condition="x-oss-forbid-overwrite",
    is_own_condition=True,
    has_identity=False,
    deletes_in_bulk=True,
)

_REGION_IN_HOST = re.compile(r"(?:s3\.)?oss-([a-z0-9-]+?)(?:-internal)?\.aliyuncs\.com")


@dataclass(frozen=True, slots=True)
class OssSettings(S3Settings):
    """How to reach OSS: as S3, but always at an endpoint of the options, and with their keys."""

    store: ClassVar[Store] = Store.OSS
    dialect: ClassVar[Dialect] = DIALECT

    def endpoint_of(self, root: ObjectPath) -> str:
        """The URL of a bucket's endpoint.

        Raises:
            InvalidOption: the options name none.
        """
        found = S3Settings.endpoint_of(self, root)
        if found is None:
            problem = "it is missing: each region has its own, such as https://oss-cn-hangzhou.aliyuncs.com"
            raise InvalidOption(catalog_option(ENDPOINT), problem)
        return found


def read_settings(options: Mapping[str, str], reach: AccessPolicy = UNBOUNDED) -> OssSettings:
    """Parses a catalog's options; `reach` says where the environment's credentials may be used.

    Raises:
        InvalidOption: an option is invalid, or options contradict each other.
    """
    endpoint = read_endpoint(ENDPOINT, first(options, (ENDPOINT, ICEBERG_ENDPOINT)))
    is_path_style = read_boolean(PATH_STYLE, first(options, (PATH_STYLE,)))
    return OssSettings(
        endpoint=endpoint,
        region=read_region(REGION, first(options, (REGION,))) or _region_of(endpoint),
        path_style=is_path_style or has_no_subdomains(endpoint),
        keys=read_keys(options),
        patience=read_patience(options, PATIENCE),
        reach=reach,
    )


def read_keys(options: Mapping[str, str]) -> S3Keys | None:
    """The credentials in a catalog's options or in a token; None if there are none.

    Raises:
        InvalidOption: only one half of them is set.
    """
    access, secret, token = (first(options, names) for names in zip(_KEYS, ICEBERG_KEYS, strict=True))
    if (access is None) != (secret is None):
        missing = _KEYS[0] if access is None else _KEYS[1]
        raise InvalidOption(catalog_option(missing), "it is missing, but its other half is there")
    return None if access is None or secret is None else S3Keys(access, secret, token)


def _region_of(endpoint: str | None) -> str:
    """The region in the host of an endpoint, else S3's default; never the environment's."""
    host = urlsplit(endpoint).hostname if endpoint else None
    found = _REGION_IN_HOST.fullmatch(host or "")
    return found[1] if found else "us-east-1"
