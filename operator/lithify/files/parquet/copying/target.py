"""What copying and joining know of a task: how it reads files, and which files it writes.

Adapters pass both to `file_parts` and `joined_files`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from lithify.files.model import InputFile
from lithify.files.options import FileOptions
from lithify.files.parquet.copying.source import RowGroupSource
from lithify.files.registry import Readers
from lithify.files.types import ColumnType
from lithify.io.storage import Storage


class Reading(Protocol):
    """How a task reads its files."""

    storage: Storage
    readers: Readers

    def are_all_stored(self, file: InputFile) -> bool:
        """Whether the file has every column of the rows, with a type whose values need no cast."""

    def row_group(
        self, file: InputFile, number: int, only: Collection[str], piece_bytes: int
    ) -> Iterator[pa.Table]:
        """Reads the named columns of one row group, in pieces; of files that need no cast."""


@dataclass(frozen=True, slots=True)
class CopyTarget:
    """The files that a task writes.

    Attributes:
        types: types of the columns of the table, by name.
        options: how files are written.
        indexed: names of the columns that are read for indexes of files.
        like: a file as the task's writer makes it.
        smallest: bytes from which a row group is copied whatever its neighbours are; None for the usual.
        reads_floats: whether columns of floats are read when row groups are copied, because statistics in
            footers leave out NaN.
    """

    types: Mapping[str, ColumnType]
    options: FileOptions
    indexed: frozenset[str]
    like: RowGroupSource
    smallest: int | None = None
    reads_floats: bool = True
