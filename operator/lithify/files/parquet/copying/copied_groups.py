"""Row groups of Parquet files that are copied into new data files as they are, and which may be.

Called by tasks of adapters, which decide what to copy; their writers copy it. A row group may be
copied if the output's writer would store its rows in the same way, and if the footer and the columns that are
read with it tell what manifests have to say of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa

from lithify.errors import CorruptTable, UnsupportedTable
from lithify.files.model import InputFile
from lithify.files.parquet.copying.bounds import has_exact_statistics
from lithify.files.parquet.copying.footers import CODEC, FILTER, RowGroup
from lithify.files.parquet.copying.source import RowGroupSource
from lithify.files.parquet.structs import Malformed, integer_of
from lithify.files.reading import reading
from lithify.files.types import ColumnType
from lithify.io.storage import Storage

_WRITERS = ("parquet-mr ", "parquet-cpp-arrow ", "lithify ")
"""Java's writers and our own, whose statistics of floats and dictionaries Java can use."""


@dataclass(frozen=True, slots=True)
class CopiedGroup:
    """A row group to be copied into a new file; an `EncodedRows` of `engine.rewrite.rolling`.

    Attributes:
        source: the file that has it.
        number: its number in the file.
        facts: its rows in pieces, with the columns that the file's summary and indexes read; others are null
            or missing.
        indexed: names of the columns that were read for file indexes.
    """

    source: RowGroupSource
    number: int
    facts: Iterable[pa.Table]
    indexed: frozenset[str] = frozenset()

    @property
    def bytes(self) -> int:
        """Encoded bytes."""
        return self.source.footer.row_groups[self.number].bytes


def may_copy(types: Iterable[ColumnType]) -> bool:
    """Whether row groups with columns of these types can be copied at all.

    Not if statistics lack what manifests need (nanoseconds), nor if VARIANTs may change their shredding.
    """
    return not any(map(_is_special, types))


def _is_special(kind: ColumnType) -> bool:
    return kind.is_nanos or kind.root == "VARIANT" or any(_is_special(part.type) for part in kind.fields)


def is_copyable(file: InputFile) -> bool:
    """Whether all rows of a file stay as they are; those that a deletion vector has must be left out."""
    return file.is_copyable and file.vector is None


def open_source(storage: Storage, file: InputFile) -> RowGroupSource | None:
    """The footer of a Parquet file, to copy from with `RowGroupSource.over`.

    None if it cannot be read in this way: then the file has to be decoded, which may work, or tells why not.
    """
    try:
        with reading(file.path, "Parquet"), storage.open(file.path, file.size) as stream:
            source = RowGroupSource(stream, file.path)
            return source if source.obstacle is None else None
    except (CorruptTable, UnsupportedTable):
        return None


def is_alike(source: RowGroupSource, like: RowGroupSource) -> bool:
    """Whether a file has the columns and layout of `like`, a file of the output's writer."""
    with suppress(CorruptTable):  # decoding may work, or tells what is wrong
        is_known = source.footer.created_by.startswith(_WRITERS) and source.obstacle is None
        return is_known and source.fingerprint == like.fingerprint
    return False


def fits(source: RowGroupSource, number: int, like: RowGroupSource) -> bool:
    """Whether a row group is as the output's writer would make it, and its statistics are exact."""
    with suppress(CorruptTable, Malformed):  # decoding may work, or tells what is wrong
        group = source.footer.row_groups[number]
        return _same_codec(group, like) and has_exact_statistics(source.footer, number)
    return False


def _same_codec(group: RowGroup, like: RowGroupSource) -> bool:
    """Whether every column has the codec, and a filter exactly if the output's writer makes one."""
    wanted = like.footer.row_groups[0].chunks
    return all(
        integer_of(chunk.metadata, CODEC) == integer_of(other.metadata, CODEC)
        and (chunk.filter is None) == (FILTER[0] not in other.metadata)
        for chunk, other in zip(group.chunks, wanted, strict=True)
    )
