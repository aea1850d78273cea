"""Recognises the names of Paimon's files that attempts of ours have written. Pure."""

from __future__ import annotations

import re

from lithify.engine.attempts.names import HEX, PREFIX, PREFIX_LENGTH
from lithify.files.names import FORMATS

INDEX_FOLDER = "index"
"""Directory of index files in the table's folder."""

_UUID = rf"{PREFIX}{HEX}{{12}}"
_DATA_FILE = re.compile(rf".*?(?P<uuid>{_UUID})-[0-9]+(?:\.[a-z0-9_]+)?\.(?:{'|'.join(FORMATS)})(?:\.index)?")
_MANIFEST = re.compile(rf"(?:index-manifest|manifest(?:-list)?)-(?P<uuid>{_UUID})-[0-9]+")
_INDEX_FILE = re.compile(rf"index-(?P<uuid>{_UUID})-[0-9]+")


def is_data_file_of(prefix: str, name: str) -> bool:
    """Whether a data file, or the file with its indexes, has the form of names that tasks of an attempt use.

    The part before the UUID is a table option, which may have changed since the attempt.
    """
    return _has_prefix(_DATA_FILE.fullmatch(name), prefix)


def is_manifest_of(prefix: str, name: str) -> bool:
    """Whether a manifest, index manifest or manifest list has a name that commits of an attempt use."""
    return _has_prefix(_MANIFEST.fullmatch(name), prefix)


def is_index_file_of(prefix: str, name: str) -> bool:
    """Whether an index file has a name that an attempt uses."""
    return _has_prefix(_INDEX_FILE.fullmatch(name), prefix)


def index_file_name(writer: str, number: int) -> str:
    """The name of a new index file."""
    return f"index-{writer}-{number}"


def _has_prefix(match: re.Match[str] | None, prefix: str) -> bool:
    return match is not None and len(prefix) >= PREFIX_LENGTH and match["uuid"].startswith(prefix)
