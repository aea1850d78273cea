"""Entries of files on disk, in parts of whole groups.

Called by `groups` for tables with more entries than should be in memory at a time. Writes one unnamed
temporary file, which disappears with its process.
"""

from __future__ import annotations

import os
import zlib
from collections import defaultdict
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lithify.columns.column_groups import (
    ColumnGroups,
    Numbers,
    integers,
    listed,
    taken,
    whole,
)

_MIXING = np.uint64(0x9E37_79B9_7F4A_7C15)
"""An odd multiplier that spreads values over all upper bits."""
_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")


class Spill:
    """Entries in parts of whole groups.

    Args:
        folder: folder for the file; None for memory.
        group: the columns that identify a group: bytes, texts or integers.
        parts: number of parts, of about the same size.
    """

    def __init__(self, folder: Path | None, group: Sequence[str], parts: int) -> None:
        self._file: IO[bytes] = BytesIO() if folder is None else TemporaryFile(dir=folder)  # noqa: SIM115
        self._group = group
        self._parts = parts
        self._pieces: dict[int, list[tuple[int, int]]] = defaultdict(list)

    def close(self) -> None:
        """Frees the space."""
        self._file.close()

    def add(self, entries: pa.Table) -> None:
        """Adds entries to their parts.

        Raises:
            OSError: there is no space.
        """
        numbers = _hashes(entries.select(self._group)) % self._parts
        ordered = taken(entries, np.argsort(numbers, kind="stable"))
        ends = np.cumsum(np.bincount(numbers, minlength=self._parts))
        for number in np.flatnonzero(np.diff(ends, prepend=0)).tolist():
            first = int(ends[number - 1]) if number else 0
            start = self._file.seek(0, os.SEEK_END)
            with pa.ipc.new_stream(self._file, entries.schema, options=_OPTIONS) as stream:
                stream.write_table(ordered.slice(first, int(ends[number]) - first))
            self._pieces[number].append((start, self._file.tell() - start))

    def part(self, number: int) -> list[pa.Table]:
        """The entries of a part, in the order in which they were added."""
        return [self._read(start, size) for start, size in self._pieces[number]]

    def _read(self, start: int, size: int) -> pa.Table:
        self._file.seek(start)
        return pa.ipc.open_stream(self._file.read(size)).read_all()


def _hashes(groups: pa.Table) -> Numbers:
    """A hash of each row."""
    mixed = np.zeros(len(groups), dtype=np.uint64)
    for name in groups.column_names:
        mixed = (mixed ^ _hashes_of(groups.select([name]))) * _MIXING
    return (mixed >> np.uint64(32)).astype(np.int64)


def _hashes_of(column: pa.Table) -> npt.NDArray[Any]:
    """A hash of each value of the only column."""
    if pa.types.is_integer(column.schema.types[0]):
        return integers(column[0]).astype(np.uint64)
    values = ColumnGroups(column, column.column_names)
    distinct = listed(whole(taken(column, values.firsts)[0]).cast(pa.binary()))
    return np.array([zlib.crc32(value) for value in distinct], dtype=np.uint64)[values.numbers]
