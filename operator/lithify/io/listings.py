"""Recursive listings of folders as columns, in batches of bounded size.

Called by `storage`; maintenance searches a table's folder with them. A batch is an Arrow table of `LISTED`,
so that millions of files are never Python objects at the same time. Only regular files are listed: symbolic
links are neither followed nor returned.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG

import pyarrow as pa

LISTED = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("modified_millis", pa.int64(), nullable=False),
    ]
)
"""A file: its path relative to the listed folder, its bytes, and when it was last written."""

_BATCH = 1 << 14
_NANOS = 1_000_000


def local_listings(folder: Path) -> Iterator[pa.Table]:
    """Lists the regular files below a local directory; nothing if it does not exist.

    Names that are no valid text are left out: no table format writes them.
    """
    paths: list[str] = []
    numbers: list[tuple[int, int]] = []
    for path, size, modified in _regular_files(str(folder)):
        paths.append(path)
        numbers.append((size, modified))
        if len(paths) == _BATCH:
            yield _batch(paths, numbers)
            paths, numbers = [], []
    if paths:
        yield _batch(paths, numbers)


def listing_of(paths: Iterable[str], sizes: Iterable[int], modified_millis: pa.Array) -> pa.Table:
    """A batch of a listing."""
    columns = [pa.array(paths, pa.string()), pa.array(sizes, pa.int64()), modified_millis.cast(pa.int64())]
    return pa.table(columns, schema=LISTED)


def _batch(paths: list[str], numbers: list[tuple[int, int]]) -> pa.Table:
    kept = [at for at, path in enumerate(paths) if path.isascii() or _is_text(path)]
    modified = pa.array([numbers[at][1] for at in kept], pa.int64())
    return listing_of((paths[at] for at in kept), (numbers[at][0] for at in kept), modified)


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _regular_files(top: str) -> Iterator[tuple[str, int, int]]:
    """Relative path, size and time of each file; directories that disappear meanwhile are empty."""
    folders = [""]
    while folders:
        folder = folders.pop()
        with suppress(FileNotFoundError), os.scandir(f"{top}/{folder}") as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(f"{folder}{entry.name}/")
                    continue
                with suppress(FileNotFoundError):
                    found = entry.stat(follow_symlinks=False)
                    if S_ISREG(found.st_mode):
                        yield f"{folder}{entry.name}", found.st_size, found.st_mtime_ns // _NANOS
