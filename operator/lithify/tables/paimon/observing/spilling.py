"""The entries of manifests on disk, divided so that those of one bucket come back together.

Called by `live` for tables whose entries are more than should be in memory at a time. Writes one temporary
file, which has no name and so goes with its process.
"""

from __future__ import annotations

import os
from collections import defaultdict
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import polars as pl

from lithify.tables.paimon.observing.bucket_statistics import PLACE


class Spill:
    """Entries divided by bucket.

    Args:
        folder: where there is space; None for memory.
        parts: into how many parts, all about the same size.
    """

    def __init__(self, folder: Path | None, parts: int) -> None:
        self._file: IO[bytes] = BytesIO() if folder is None else TemporaryFile(dir=folder)  # noqa: SIM115
        self._parts = parts
        self._pieces: dict[int, list[tuple[int, int]]] = defaultdict(list)

    def close(self) -> None:
        """Gives the space back."""
        self._file.close()

    def add(self, entries: pl.DataFrame) -> None:
        """Divides some entries.

        Raises:
            OSError: there is no space.
        """
        part = pl.struct(PLACE).hash() % self._parts
        for (number,), piece in entries.with_columns(part=part).partition_by("part", as_dict=True).items():
            start = self._file.seek(0, os.SEEK_END)
            piece.drop("part").write_ipc(self._file, compression="lz4")
            self._pieces[int(number)].append((start, self._file.tell() - start))

    def part(self, number: int) -> list[pl.DataFrame]:
        """The entries of a part, in the order in which they were added."""
        return [self._read(start, size) for start, size in self._pieces[number]]

    def _read(self, start: int, size: int) -> pl.DataFrame:
        self._file.seek(start)
        return pl.read_ipc(BytesIO(self._file.read(size)))
