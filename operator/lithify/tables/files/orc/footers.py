"""The footers of ORC files: rows, stripes, columns (by `columns`), the writer's time zone.

Used by the reader beside this module; PyArrow reads the same footers but does not expose their content.
Follows the ORC v1 specification (orc.apache.org/specification/ORCv1).
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import cramjam
import pyarrow as pa

from lithify.errors import CorruptTable
from lithify.tables.files.orc.columns import ColumnFooter, columns_of
from lithify.tables.files.orc.protobuf import Message, messages, number, parse, text
from lithify.tables.files.reading import reading
from lithify.tables.io.storage import Storage

_KEPT = 128
_TAIL = 64 << 10
"""Bytes read first from the end of a file; enough for most footers."""

_NONE, _ZLIB, _SNAPPY, _LZ4, _ZSTD = 0, 1, 2, 4, 5
_CHUNK_HEADER = 3


@dataclass(frozen=True, slots=True)
class OrcFooter:
    """The parts of a footer that are needed to read the file.

    Attributes:
        rows: number of rows.
        stripes: data bytes and rows of each stripe.
        block_size: bytes that are compressed together.
        columns: its columns by name; those that the footer does not describe are left out.
        time_zone: the writer's time zone, empty if not recorded.
    """

    rows: int
    stripes: tuple[tuple[int, int], ...]
    block_size: int
    columns: Mapping[str, ColumnFooter]
    time_zone: str


class OrcFooters:
    """The footers of data files, by path; caches as many as one task plausibly needs."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.of = lru_cache(_KEPT)(self._read)

    def _read(self, path: str) -> OrcFooter:
        """Reads the footer of a file.

        Raises:
            MissingFile: the file does not exist.
            CorruptTable: it is not ORC, is truncated, or uses a compression that this release cannot read.
        """
        with reading(path, "ORC"), self._storage.open(path) as source:
            tail = _tail(source, _TAIL)
            postscript = parse(tail[-1 - tail[-1] : -1])
            if text(postscript, 8000) != "ORC":
                raise CorruptTable(path, "it cannot be read as ORC (its end is missing)")
            codec = number(postscript, 2)
            if codec not in (_NONE, _ZLIB, _SNAPPY, _LZ4, _ZSTD):
                raise CorruptTable(path, "its compression is one that this release cannot read")
            length, ending = number(postscript, 1), tail[-1] + 1
            if length + ending > len(tail):
                tail = _tail(source, length + ending)
            block_size = number(postscript, 3)
            footer = parse(_decompressed(tail[-ending - length : -ending], codec, block_size))
            stripe = _first_stripe(source, footer, codec, block_size)
            return _footer(footer, block_size, stripe)


def _footer(footer: Message, block_size: int, stripe: Message) -> OrcFooter:
    dictionaries = [number(encoding, 2) for encoding in messages(stripe, 2)]
    return OrcFooter(
        rows=number(footer, 6),
        stripes=tuple((number(stripe, 3), number(stripe, 5)) for stripe in messages(footer, 3)),
        block_size=block_size,
        columns=columns_of(footer, dictionaries),
        time_zone=text(stripe, 3),
    )


def _first_stripe(source: pa.NativeFile, footer: Message, codec: int, block_size: int) -> Message:
    """The footer of the first stripe, which represents all: one writer has written them."""
    stripe = next(iter(messages(footer, 3)), None)
    if stripe is None:
        return {}
    source.seek(number(stripe, 1) + number(stripe, 2) + number(stripe, 3))
    return parse(_decompressed(source.read(number(stripe, 4)), codec, block_size))


def _tail(source: pa.NativeFile, length: int) -> bytes:
    size = source.size()
    source.seek(max(0, size - length))
    tail: bytes = source.read(min(size, length))
    if len(tail) <= 1 or len(tail) < min(size, length) or tail[-1] >= len(tail):
        raise EOFError("its end is missing")
    return tail


def _decompressed(data: bytes, codec: int, block_size: int) -> bytes:
    """Decompresses chunks; a header of three bytes has the length, its lowest bit says "uncompressed"."""
    if codec == _NONE:
        return data
    parts, position = [], 0
    while position < len(data):
        header = int.from_bytes(data[position : position + _CHUNK_HEADER], "little")
        position += _CHUNK_HEADER
        chunk = data[position : position + (header >> 1)]
        position += header >> 1
        parts.append(chunk if header & 1 else _chunk(chunk, codec, block_size))
    return b"".join(parts)


def _chunk(chunk: bytes, codec: int, block_size: int) -> bytes:
    if codec == _ZLIB:
        return zlib.decompress(chunk, -zlib.MAX_WBITS)
    if codec == _SNAPPY:
        return bytes(cramjam.snappy.decompress_raw(chunk))
    if codec == _LZ4:
        block = bytearray(block_size)
        return bytes(block[: cramjam.lz4.decompress_block_into(chunk, block, output_len=block_size)])
    return bytes(cramjam.zstd.decompress(chunk))
