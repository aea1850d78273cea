"""Which columns of a table have file indexes, and of which kinds.

Made by `options.index_options`, read by `support`, `building` and the writer of data files.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

import pyarrow as pa

from lithify.files.types import ColumnType

LN2: Final = math.log(2)
_BYTE = 8


class IndexKind(StrEnum):
    """Kinds of file indexes, by their names in options and files."""

    BLOOM_FILTER = "bloom-filter"
    BITMAP = "bitmap"
    BIT_SLICES = "bsi"
    RANGE_BITMAP = "range-bitmap"


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """Options of one index, of whatever kind. Sizes in bytes.

    Attributes:
        items: number of values for which a bloom filter is made.
        false_positives: its share of false positives for that number.
        version: version of a bitmap index, 1 or 2.
        block_size: upper bound of the blocks in the dictionary of a bitmap index of version 2.
        chunk_size: upper bound of the chunks in the dictionary of a range bitmap; None for the type's own.
    """

    items: int = 1_000_000
    false_positives: float = 0.1
    version: int = 2
    block_size: int = 16 << 10
    chunk_size: int | None = None

    @property
    def bits(self) -> int:
        """Number of bits of a bloom filter."""
        bits = int(-self.items * math.log(self.false_positives) / (LN2 * LN2))
        return bits + _BYTE - bits % _BYTE


@dataclass(frozen=True, slots=True)
class IndexedColumn:
    """A column, or the values of one key of a MAP column, with an index.

    Attributes:
        column: name of the column.
        kind: kind of the index.
        settings: its options.
        key: the key; None if the column itself is indexed.
    """

    column: str
    kind: IndexKind
    settings: IndexSettings
    key: str | None = None

    @property
    def name(self) -> str:
        """The name in options and in the index: `column` or `column[key]`."""
        return self.column if self.key is None else f"{self.column}[{self.key}]"


@dataclass(frozen=True, slots=True)
class FileIndexOptions:
    """The file indexes of a table.

    Attributes:
        indexed: what is indexed; empty if nothing is.
        most_embedded: most bytes of a data file's indexes that are embedded in its manifest entry; larger
            ones are in a file beside it.
    """

    indexed: tuple[IndexedColumn, ...] = ()
    most_embedded: int = 500

    @property
    def columns(self) -> frozenset[str]:
        """Names of the columns that are read to make the indexes."""
        return frozenset(each.column for each in self.indexed)


NO_INDEXES = FileIndexOptions()

SUFFIX = ".index"
"""What follows the name of a data file in the name of the file with its indexes."""


def indexed_type(column: ColumnType, indexed: IndexedColumn) -> ColumnType:
    """The type of the values of an index: of a column, or of a MAP's values."""
    return column if indexed.key is None else column.fields[1].type


class Unindexable(ValueError):
    """Java Paimon cannot index a value, so that it could not write the file."""


class ColumnIndex(Protocol):
    """The index of one column of one file, while rows are added."""

    def add(self, values: pa.Array) -> None:
        """Adds the values of further rows.

        Raises:
            Unindexable: Java Paimon cannot index one of them.
        """
        ...

    def finish(self) -> bytes:
        """The index of all rows.

        Raises:
            Unindexable: Java Paimon cannot index one of the values.
        """
        ...
