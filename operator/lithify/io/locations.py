"""Parses the paths of files and folders, with or without a scheme. Pure.

The only parser of such paths: `reach` decides with it what may be accessed, and `s3.files` and
`storage_paths` access files with it. Two parsers that differ in one character would grant one place and
access another.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

S3_SCHEMES = frozenset({"s3", "s3a", "s3n"})
"""URL schemes of S3; treated as equal, as in Paimon."""

_LOCATION = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):)?(?://(?P<host>[^/]*))?(?P<path>.*)", re.DOTALL
)
_FILE = re.compile(r"file:(//[^/]*)?(?=/)")
_BUCKET = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?")
"""The bucket becomes a part of a host name."""


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
class S3Path:
    """A path on S3: the bucket, and the segments of the key in it."""

    bucket: str
    segments: tuple[str, ...]

    @property
    def key(self) -> str:
        """The key, without a leading slash; empty for the bucket itself."""
        return "/".join(self.segments)


def parse_location(text: str) -> Location:
    """Divides any text into its parts; never fails."""
    found = _LOCATION.fullmatch(text)
    if found is None:
        return Location("", "", text)
    return Location((found["scheme"] or "").lower(), found["host"] or "", found["path"])


def is_s3(path: str) -> bool:
    """Whether a path is meant to be on S3, whether its bucket is valid or not."""
    return parse_location(path).scheme in S3_SCHEMES


def s3_path(path: str) -> S3Path | None:
    """The bucket and key of a path on S3; None if it names no bucket, or if its key has dots as segments."""
    found = parse_location(path)
    if found.scheme not in S3_SCHEMES or not _BUCKET.fullmatch(found.host) or has_dots(found.path):
        return None
    return S3Path(found.host, tuple(part for part in found.path.split("/") if part))


def local_path(path: str) -> str | None:
    """The path of a local file or folder without its scheme, None for anything else."""
    plain = _FILE.sub("", path, count=1) if path.startswith("file:") else path
    return plain if plain.startswith("/") else None


def has_dots(path: str) -> bool:
    """Whether a segment of a path is `.` or `..`."""
    return any(part in (".", "..") for part in path.split("/"))
