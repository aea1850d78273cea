"""Small metadata files, read with an upper bound: a table's folder may contain anything.

Used by `storage`, `objects` and the adapters. Reading stops at a size that no such file reaches; pipes and
devices do not block the reader.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import BinaryIO

MOST_TEXT = 64 << 20
"""Bytes of any text file; our own journals of large runs are the largest."""
MOST_JSON = 4 << 20
"""Bytes of a schema; that of a table with ten thousand columns takes 2 MiB."""
MOST_SNAPSHOT = 1 << 20
"""Bytes of a snapshot or tag; typical ones take one KiB."""
MOST_MANIFEST = 128 << 20
"""Bytes of a manifest or manifest list; writers roll them at 8 MiB by default."""
_CHUNK = 1 << 20
MOST_NAMES = 4_000_000
"""Files in a directory; a table that keeps a snapshot for each minute of seven years has as many."""


class TooLarge(ValueError):
    """A file or directory is larger than its bound."""


def read_stream(stream: BinaryIO, most: int) -> bytes:
    """Reads the rest of a stream.

    Raises:
        TooLarge: it has more than `most` bytes.
    """
    parts, size = [], 0
    while part := stream.read(_CHUNK):  # Python allocates as much memory as requested
        size += len(part)
        check_size(size, most)
        parts.append(part)
    return b"".join(parts)


def check_local(path: Path, most: int) -> None:
    """Checks that a local path is a regular file: opening a pipe would block.

    Raises:
        FileNotFoundError: it does not exist.
        TooLarge: it is a pipe or a device, or has more than `most` bytes.
    """
    found = path.stat()
    if S_ISREG(found.st_mode):
        check_size(found.st_size, most)
    elif not S_ISDIR(found.st_mode):
        raise TooLarge("it is no regular file")


def check_size(size: int, most: int) -> None:
    """Checks a number of bytes against its bound.

    Raises:
        TooLarge: there are more.
    """
    if size > most:
        raise TooLarge(f"it is larger than {most} bytes, which no such file is")


def check_count(names: Iterator[str]) -> Iterator[str]:
    """Passes names on and checks their number.

    Raises:
        TooLarge: there are more than a directory of a table has.
    """
    for count, name in enumerate(names):
        if count >= MOST_NAMES:
            raise TooLarge(f"it has more than {MOST_NAMES} files")
        yield name
