"""Checks of file names that come from metadata or a listing, before they become part of a path. Pure.

People may be allowed to write to a table's folder and nowhere else, so a name that is not a plain file name
is refused.
"""

from __future__ import annotations

import re

MOST_BYTES = 255
"""Bytes of a name: local file systems accept no longer ones."""
FORBIDDEN = r"/\\\x00-\x1f\x7f-\x9f"
"""Characters that names must not have, as a character class for Python's and Rust's regular expressions."""

_NAME = re.compile(rf"[^{FORBIDDEN}\ud800-\udfff]+")
_SHOWN = 80


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
