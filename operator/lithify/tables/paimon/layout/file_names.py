"""Which names of files metadata may hold, and which names our own files have.

Called by everything that reads a name from a file or a listing: a table's folder may be written by people who
may not write anywhere else, so a name that is more than a name is refused before a path is made of it. Pure.
"""

from __future__ import annotations

import re

from lithify.tables.files.names import FORMATS
from lithify.tables.io.local_files import TEMPORARY
from lithify.tables.model import RUN_ID

MOST_BYTES = 255
"""Of a name: more no local file system takes."""
FORBIDDEN = r"/\\\x00-\x1f\x7f-\x9f"
"""Characters that no name has, as part of a class in Python's regular expressions and in Rust's."""
PREFIX_LENGTH = 24
"""Of an attempt: the first four groups of a version-4 UUID with their dashes, which 12 digits follow."""

_NAME = re.compile(rf"[^{FORBIDDEN}\ud800-\udfff]+")
_SHOWN = 80
_HEX = "[0-9a-f]"
PREFIX = rf"{_HEX}{{8}}-{_HEX}{{4}}-4{_HEX}{{3}}-[89ab]{_HEX}{{3}}-"
"""Pattern of a prefix."""
_PREFIX = re.compile(PREFIX)
_UUID = rf"{PREFIX}{_HEX}{{12}}"
_ANY_UUID = rf"{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}"
_DATA_FILE = re.compile(rf".*?(?P<uuid>{_UUID})-[0-9]+(?:\.[a-z0-9_]+)?\.(?:{'|'.join(FORMATS)})")
_MANIFEST = re.compile(rf"manifest-(?:list-)?(?P<uuid>{_UUID})-[0-9]+")
_STEM = re.escape(TEMPORARY)
_TEMPORARY = re.compile(rf"{_STEM}(?:alive-{RUN_ID}-[0-9]{{1,9}}|probe-{_ANY_UUID}|.+\.{_ANY_UUID})")


def is_file_name(name: object) -> bool:
    """Whether it is the name of a file: one part of a path, without characters that mean something else."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name in (".", ".."):
        return False
    return len(name.encode()) <= MOST_BYTES


def check_file_name(name: object) -> None:
    """Makes sure that what metadata calls a file can be the name of one.

    Raises:
        ValueError: it cannot.
    """
    if not is_file_name(name):
        raise ValueError(f"{shown(name)} is no name of a file")


def is_plain_path(path: str) -> bool:
    """Whether every part of a path is the name of a file or directory; empty parts mean nothing."""
    return all(is_file_name(part) for part in path.split("/") if part)


def shown(text: object) -> str:
    """A text that may hold anything, as part of a message."""
    return f"{str(text)[:_SHOWN]!r}" if isinstance(text, str) else f"a {type(text).__name__}"


def is_prefix(text: str) -> bool:
    """Whether the names of an attempt's files may hold this as its prefix."""
    return _PREFIX.fullmatch(text) is not None


def is_data_file_of(prefix: str, name: str) -> bool:
    """Whether a data file is named as tasks of an attempt name theirs.

    What comes before the UUID is an option of the table, which may have changed since the attempt.
    """
    return _has_prefix(_DATA_FILE.fullmatch(name), prefix)


def is_manifest_of(prefix: str, name: str) -> bool:
    """Whether a manifest or manifest list is named as commits of an attempt, or a try of it, name theirs."""
    return _has_prefix(_MANIFEST.fullmatch(name), prefix)


def is_temporary(name: str) -> bool:
    """Whether it is the name of a small file that a crash may leave behind."""
    return is_file_name(name) and _TEMPORARY.fullmatch(name) is not None


def _has_prefix(match: re.Match[str] | None, prefix: str) -> bool:
    return match is not None and len(prefix) >= PREFIX_LENGTH and match["uuid"].startswith(prefix)
