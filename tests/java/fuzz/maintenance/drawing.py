"""Names with UUIDs, files that have only names, and their times: for the histories of both formats."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from uuid import UUID


def uuid_of(random: Random) -> UUID:
    """A UUID as writers draw them, the same for the same seed."""
    return UUID(int=random.getrandbits(128), version=4)


def put(path: Path, content: bytes = b"") -> None:
    """Writes a file, and the folders above it."""
    try:
        path.write_bytes(content)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def set_time(path: Path, millis: int) -> None:
    """Sets when a file was written."""
    os.utime(path, (millis / 1000, millis / 1000))


def files_below(folder: Path) -> set[str]:
    """The paths of all files below a folder, relative to it."""
    top = len(str(folder)) + 1
    return {f"{above}/{name}"[top:] for above, _, names in os.walk(folder) for name in names}


def is_younger(path: Path, millis: int) -> bool:
    """Whether a file was written within a day before a time, or later."""
    return path.stat().st_mtime * 1000 > millis - 86_400_000
