"""What the footers of ORC files tell: rows, sizes and statistics of columns, the writer's time zone.

Used by the reader beside this module; PyArrow reads the same footers but does not hand out what is in them.
Follows the ORC v1 specification (orc.apache.org/specification/ORCv1).
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import lru_cache

import cramjam
import pyarrow as pa

from lithify.errors import CorruptTable
from lithify.tables.paimon.formats.orc.protobuf import Message, messages, number, parse, signed, text
from lithify.tables.paimon.formats.reading import reading
from lithify.tables.paimon.storage import Storage

_KEPT = 128
_TAIL = 64 << 10
"""Bytes read from the end of a file at first, which hold most footers whole."""

_MAX_POSTSCRIPT = 255
_NONE, _ZLIB, _SNAPPY, _LZ4, _ZSTD = 0, 1, 2, 4, 5
_CHUNK_HEADER = 3
_STRUCT = 12


@dataclass(frozen=True, slots=True)
class ColumnFooter:
    """What a footer says of a column of a file, with all that a nested one is made of.

    Attributes:
        rows: values that are not null.
        values: those of all parts together.
        parts: how many columns it is stored as.
        has_null: whether there are nulls.
        text_bytes: bytes of all texts or binaries, 0 for other types.
        stored_bytes: bytes on disk, where the writer tells, else 0.
        integers: smallest and largest whole number.
        millis: smallest and largest timestamp in milliseconds, without regard to time zones.
        dictionary: entries of its dictionary in the first stripe.
    """

    rows: int
    values: int
    parts: int
    has_null: bool
    text_bytes: int
    stored_bytes: int
    integers: tuple[int, int] | None
    millis: tuple[int, int] | None
    dictionary: int = 0


@dataclass(frozen=True, slots=True)
class OrcFooter:
    """What is to be known of a file before it is read.

    Attributes:
        rows: its rows.
        stripes: its stripes: bytes of data and rows of each.
        block_size: bytes that are compressed together.
        columns: its columns by name.
        time_zone: where its writer was, empty if it does not say.
    """

    rows: int
    stripes: tuple[tuple[int, int], ...]
    block_size: int
    columns: dict[str, ColumnFooter]
    time_zone: str


class OrcFooters:
    """The footers of data files, by path; as many are kept as are plausible for one task."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.of = lru_cache(_KEPT)(self._read)

    def _read(self, path: str) -> OrcFooter:
        """The footer of a file.

        Raises:
            MissingFile: the file does not exist.
            CorruptTable: it is not ORC, cut off, or compressed in a way that this release cannot read.
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
    (root, *_) = messages(footer, 4)
    if number(root, 1) != _STRUCT:
        raise EOFError("its root is no struct")
    names = [name.decode() for name in root.get(3, []) if isinstance(name, bytes)]
    numbers = _packed(root)
    statistics = messages(footer, 7)
    stripes = messages(footer, 3)
    dictionaries = [number(encoding, 2) for encoding in messages(stripe, 2)]
    ends = [*numbers[1:], len(statistics)]
    return OrcFooter(
        rows=number(footer, 6),
        stripes=tuple((number(stripe, 3), number(stripe, 5)) for stripe in stripes),
        block_size=block_size,
        columns={
            name: _column(statistics[start:end], dictionaries[start:end])
            for name, start, end in zip(names, numbers, ends, strict=True)
            if start < len(statistics)
        },
        time_zone=text(stripe, 3),
    )


def _packed(root: Message) -> list[int]:
    """The numbers of the columns, which are written packed or one by one."""
    columns: list[int] = []
    for value in root.get(2, []):
        columns += [value] if isinstance(value, int) else _varints(value)
    return columns


def _varints(data: bytes) -> list[int]:
    numbers, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(value)
            value = shift = 0
    return numbers


def _column(statistics: list[Message], dictionaries: list[int]) -> ColumnFooter:
    """A column from the statistics of its parts, of which the first is the column itself."""
    whole = statistics[0]
    integers, stamps = (_first(whole, field) for field in (2, 9))
    low, high = signed(integers, 1), signed(integers, 2)
    return ColumnFooter(
        rows=number(whole, 1),
        values=sum(number(part, 1) for part in statistics),
        parts=len(statistics),
        has_null=bool(number(whole, 10)),
        text_bytes=sum(_text_bytes(part) for part in statistics),
        stored_bytes=sum(number(part, 11) for part in statistics),
        integers=None if low is None or high is None else (low, high),
        millis=_millis(stamps),
        dictionary=sum(dictionaries),
    )


def _text_bytes(statistics: Message) -> int:
    texts, binaries = (_first(statistics, field) for field in (4, 8))
    return max(signed(texts, 3) or 0, signed(binaries, 1) or 0)


def _first(message: Message, field: int) -> Message:
    return next(iter(messages(message, field)), {})


def _millis(statistics: Message) -> tuple[int, int] | None:
    lows, highs = ([signed(statistics, field) for field in fields] for fields in ((1, 3), (2, 4)))
    known = ([value for value in values if value is not None] for values in (lows, highs))
    low, high = known
    return (min(low), max(high)) if low and high else None


def _first_stripe(source: pa.NativeFile, footer: Message, codec: int, block_size: int) -> Message:
    """The footer of the first stripe, which stands for all: one writer has written them."""
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
    """Chunks, each with three bytes of header: its length, and in the lowest bit whether it is as it was."""
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
