"""Validates file names in metadata, and recognises the names of our own files.

Called by all code that reads a name from a file or a listing: people may be allowed to write to a table's
folder and nowhere else, so a name that is not a plain file name is refused before it becomes part of a path.
Pure.
"""

from __future__ import annotations

import re

from lithify.files.names import FORMATS
from lithify.formats.protocol.model import RUN_ID
from lithify.io.local_files import TEMPORARY

MOST_BYTES = 255
"""Bytes of a name: local file systems accept no longer ones."""
FORBIDDEN = r"/\\\x00-\x1f\x7f-\x9f"
"""Characters that names must not have, as a character class for Python's and Rust's regular expressions."""
PREFIX_LENGTH = 24
"""Length of an attempt's prefix: the first four groups of a version-4 UUID with dashes; 12 digits follow."""

INDEX_FOLDER = "index"
"""Directory of index files in the table's folder."""

_NAME = re.compile(rf"[^{FORBIDDEN}\ud800-\udfff]+")
_SHOWN = 80
_HEX = "[0-9a-f]"
PREFIX = rf"{_HEX}{{8}}-{_HEX}{{4}}-4{_HEX}{{3}}-[89ab]{_HEX}{{3}}-"
"""Pattern of a prefix."""
_PREFIX = re.compile(PREFIX)
_UUID = rf"{PREFIX}{_HEX}{{12}}"
_ANY_UUID = rf"{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}"
_DATA_FILE = re.compile(rf".*?(?P<uuid>{_UUID})-[0-9]+(?:\.[a-z0-9_]+)?\.(?:{'|'.join(FORMATS)})(?:\.index)?")
_MANIFEST = re.compile(rf"(?:index-manifest|manifest(?:-list)?)-(?P<uuid>{_UUID})-[0-9]+")
_INDEX_FILE = re.compile(rf"index-(?P<uuid>{_UUID})-[0-9]+")
_STEM = re.escape(TEMPORARY)
_TEMPORARY = re.compile(rf"{_STEM}(?:alive-{RUN_ID}-[0-9]{{1,9}}|probe-{_ANY_UUID}|.+\.{_ANY_UUID})")


def is_file_name(name: object) -> bool:
    """Whether a text is a file name: one part of a path, without characters that have a special meaning."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name in (".", ".."):
        return False
    return len(name.encode()) <= MOST_BYTES


def check_file_name(name: object) -> None:
    """Checks that a file name in metadata is valid.

    Raises:
        ValueError: it is not.
    """
    if not is_file_name(name):
        raise ValueError(f"{shown(name)} is no name of a file")


def is_plain_path(path: str) -> bool:
    """Whether every part of a path is a valid file name; empty parts are ignored."""
    return all(is_file_name(part) for part in path.split("/") if part)


def shown(text: object) -> str:
    """An untrusted text, made safe for a message."""
    return f"{str(text)[:_SHOWN]!r}" if isinstance(text, str) else f"a {type(text).__name__}"


def is_prefix(text: str) -> bool:
    """Whether a text has the form of an attempt's prefix."""
    return _PREFIX.fullmatch(text) is not None


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


def is_temporary(name: str) -> bool:
    """Whether it is the name of a temporary file that a crash may leave behind."""
    return is_file_name(name) and _TEMPORARY.fullmatch(name) is not None


def _has_prefix(match: re.Match[str] | None, prefix: str) -> bool:
    return match is not None and len(prefix) >= PREFIX_LENGTH and match["uuid"].startswith(prefix)
