"""Which files of some folders any process opens, as the kernel says (inotify): of threads and C++, too."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

_IN_OPEN = 0x20
_IN_ISDIR = 0x40000000
_HEADER = struct.Struct("iIII")
_LARGEST = 1 << 20


@contextmanager
def opened_files(folders: Iterable[Path]) -> Iterator[set[str]]:
    """Yields a set; at the end it has the names of the files directly below the folders that were opened."""
    libc = ctypes.CDLL(None, use_errno=True)
    events = libc.inotify_init1(os.O_NONBLOCK)
    assert events >= 0, os.strerror(ctypes.get_errno())
    found: set[str] = set()
    try:
        for folder in folders:
            number = libc.inotify_add_watch(events, os.fsencode(folder), _IN_OPEN)
            assert number >= 0, os.strerror(ctypes.get_errno())
        yield found
        found |= set(_read(events))
    finally:
        os.close(events)


def _read(events: int) -> Iterator[str]:
    while True:
        try:
            data = os.read(events, _LARGEST)
        except BlockingIOError:
            return
        while data:
            _, mask, _, length = _HEADER.unpack_from(data)
            name = data[_HEADER.size : _HEADER.size + length].rstrip(b"\0").decode()
            if name and not mask & _IN_ISDIR:
                yield name
            data = data[_HEADER.size + length :]
