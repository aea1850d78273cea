"""Small files of a table's metadata, read only up to a bound: nobody knows what lies in a table's folder.

Used by `storage`, `s3` and the adapters. What is larger than any such file can be is not read on; what is no
file at all (a pipe, a device) hangs nobody.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import BinaryIO

MOST_TEXT = 64 << 20
"""Bytes of any text; our own journals of large runs are the largest."""
MOST_JSON = 4 << 20
"""Bytes of a schema; that of a table of ten thousand columns comes to 2 MiB."""
MOST_SNAPSHOT = 1 << 20
"""Bytes of a snapshot or a tag; they mostly come to one KiB."""
MOST_MANIFEST = 128 << 20
"""Bytes of a manifest or a list of them; writers roll them at 8 MiB unless told otherwise."""
_CHUNK = 1 << 20
MOST_NAMES = 4_000_000
"""Files of a directory; a table that keeps a snapshot for each minute of seven years has as many."""


class TooLarge(ValueError):
    """A file is larger than it can be, or a directory has more files."""


def read_stream(stream: BinaryIO, most: int) -> bytes:
    """The rest of a stream.

    Raises:
        TooLarge: it has more than `most` bytes.
    """
    parts, size = [], 0
    while part := stream.read(_CHUNK):  # Python takes memory for as much as it is asked for
        size += len(part)
        check_size(size, most)
        parts.append(part)
    return b"".join(parts)


def check_local(path: Path, most: int) -> None:
    """Makes sure that a local file is one: whoever opens a pipe waits for the other end.

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
    """Makes sure that there are no more bytes than there may be.

    Raises:
        TooLarge: there are.
    """
    if size > most:
        raise TooLarge(f"it is larger than {most} bytes, which no such file is")


def check_count(names: Iterator[str]) -> Iterator[str]:
    """The same names.

    Raises:
        TooLarge: there are more than a directory of a table has.
    """
    for count, name in enumerate(names):
        if count >= MOST_NAMES:
            raise TooLarge(f"it has more than {MOST_NAMES} files")
        yield name
