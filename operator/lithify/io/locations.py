"""Parses the paths of files and folders, with or without a scheme. Pure.

The only parser of such paths: `access_policy` decides with it what may be accessed, and `objects.files` and
`storage_paths` access files with it. Two parsers that differ in one character would grant one place and
access another.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum


class Store(StrEnum):
    """A kind of store that is reached over the network, by the name that messages give it."""

    S3 = "S3"
    GCS = "Google Cloud Storage"
    AZURE = "Azure storage"
    OSS = "Alibaba Cloud OSS"
    HDFS = "HDFS"


STORES = f"{', '.join(Store)}"
"""All of them, for messages."""
_STORES = {
    **dict.fromkeys(("s3", "s3a", "s3n"), Store.S3),
    "gs": Store.GCS,
    **dict.fromkeys(("abfs", "abfss", "wasb", "wasbs"), Store.AZURE),
    "oss": Store.OSS,
    "hdfs": Store.HDFS,
}
"""URL schemes; those of one store are treated as equal, as in Paimon."""
_SCHEMES = {Store.S3: "s3", Store.GCS: "gs", Store.OSS: "oss", Store.HDFS: "hdfs"}
"""The scheme by which messages name paths; Azure's have accounts, too."""

_LOCATION = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):)?(?://(?P<host>[^/]*))?(?P<path>.*)", re.DOTALL
)
_FILE = re.compile(r"file:(//[^/]*)?(?=/)")
_BUCKET = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?")
"""The bucket becomes a part of a host name."""
_OSS_BUCKET = re.compile(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]")
"""OSS has no dots in names: `bucket.region.oss-dls.aliyuncs.com` is OSS-HDFS, another service."""
_CLUSTER = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?(:[0-9]{1,5})?")
"""A name node with its port, or a name service whose name nodes the options tell. No addresses of IPv6."""
AZURE_CLOUDS = ("core.windows.net", "core.usgovcloudapi.net", "core.chinacloudapi.cn")
_CONTAINER = re.compile(
    r"(?P<container>[$a-z0-9][a-z0-9-]{0,62})@(?P<account>[A-Za-z0-9]{3,24})\.(?i:dfs|blob)\."
    rf"(?P<cloud>(?i:{'|'.join(map(re.escape, AZURE_CLOUDS))}))"
)
"""The account becomes a part of a host name, to which the process may send its own credentials."""


_FORMS = {Store.OSS: _OSS_BUCKET, Store.HDFS: _CLUSTER}
"""Buckets that have other forms."""


@dataclass(frozen=True, slots=True)
class Location:
    """The parts of a path as Paimon's Path class divides it: a query or fragment is a part of the path.

    Attributes:
        scheme: in lower case, empty if there is none.
        host: the host or bucket, empty if there is none.
        path: everything after that.
    """

    scheme: str
    host: str
    path: str


@dataclass(frozen=True, slots=True)
class ObjectPath:
    """A path on a store.

    Attributes:
        store: the kind of store.
        bucket: the bucket; on Azure the container, on HDFS the name node with its port, or the name service.
        segments: the segments of the key in it.
        account: on Azure the account and its cloud, such as `lake.core.windows.net`; else empty.
    """

    store: Store
    bucket: str
    segments: tuple[str, ...] = ()
    account: str = ""

    @property
    def key(self) -> str:
        """The key, without a leading slash; empty for the bucket itself."""
        return "/".join(self.segments)

    @property
    def root(self) -> ObjectPath:
        """The bucket itself."""
        return replace(self, segments=())

    @property
    def place(self) -> tuple[str, ...]:
        """What tells places apart, however they are spelled."""
        has_port = self.store is not Store.HDFS or ":" in self.bucket
        return (self.store, self.account, self.bucket if has_port else f"{self.bucket}:8020", *self.segments)

    def __str__(self) -> str:
        if self.store is Store.AZURE:
            name, _, cloud = self.account.partition(".")
            return f"abfss://{self.bucket}@{name}.dfs.{cloud}/{self.key}"
        return f"{_SCHEMES[self.store]}://{self.bucket}/{self.key}"


def parse_location(text: str) -> Location:
    """Divides any text into its parts; never fails."""
    found = _LOCATION.fullmatch(text)
    if found is None:
        return Location("", "", text)
    return Location((found["scheme"] or "").lower(), found["host"] or "", found["path"])


def store_of(path: str) -> Store | None:
    """The kind of store on which a path is meant to be, whether its bucket is valid or not."""
    return _STORES.get(parse_location(path).scheme)


def object_path(path: str) -> ObjectPath | None:
    """The parts of a path on a store; None if it names no bucket, or has dots as segments."""
    found = parse_location(path)
    store = _STORES.get(found.scheme)
    if store is None or has_dots(found.path):
        return None
    segments = tuple(part for part in found.path.split("/") if part)
    if store is Store.AZURE:
        named = _CONTAINER.fullmatch(found.host)
        account = f"{named['account']}.{named['cloud']}".lower() if named else ""
        return ObjectPath(store, named["container"], segments, account) if named else None
    form = _FORMS.get(store, _BUCKET)
    bucket = found.host.lower() if store is Store.HDFS else found.host
    return ObjectPath(store, bucket, segments) if form.fullmatch(bucket) else None


def local_path(path: str) -> str | None:
    """The path of a local file or folder without its scheme, None for anything else."""
    plain = _FILE.sub("", path, count=1) if path.startswith("file:") else path
    return plain if plain.startswith("/") else None


def has_dots(path: str) -> bool:
    """Whether a segment of a path is `.` or `..`."""
    return any(part in (".", "..") for part in path.split("/"))
