"""Avro's container files: a header with the schema and the codec, then blocks of rows.

Used by the reader and the writer beside this module, and by `metadata_files`.
Follows the specification of Avro 1.11 ("Object Container Files"); the codecs are those of Java's library.
Lengths in a file are bounded: a damaged one could otherwise request all memory.
"""

from __future__ import annotations

import bz2
import json
import lzma
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

import cramjam
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from isal import isal_zlib

MAGIC = b"Obj\x01"
_SYNC_BYTES = 16
_CHECKSUM_BYTES = 4
_MOST_BLOCK = 1 << 31
_MOST_HEADER = 4 << 20
"""Bytes of a header; the schema of a table with a thousand columns takes 100 kB."""
_LARGE_BLOCK = 64 << 20
_MOST_INFLATION = 64
"""Limit of decompressed bytes for each compressed one, in blocks of more than `_LARGE_BLOCK`."""
_MOST_ENTRIES = 1000
"""Entries of a header; writers have two or three."""
_MOST_LONG_BYTES = 10
_MOST_XZ_MEMORY = 128 << 20
"""Memory limit for decompressing xz, in bytes; its highest level takes 65 MiB."""
_LEAST_READ = 1 << 17
"""Initial estimate of a block's decompressed bytes; Java's blocks have 16 kB and one row."""

_DEFLATE_ERROR = cast(type[Exception], isal_zlib.error)
"""Its stubs declare the class as an instance."""

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Header:
    """A file's header: schema, codec, sync marker after every block, and offset of the first block.

    Attributes:
        schema: schema of the rows.
        codec: codec of the blocks.
        sync: marker after every block.
        start: offset of the first block.
        properties: all entries of the header.
    """

    schema: Schema
    codec: str
    sync: bytes
    start: int
    properties: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BlockHead:
    """A block: number of rows, offset of its data, and compressed size in bytes."""

    rows: int
    start: int
    size: int


def new_header(
    schema: Schema, codec: str, properties: Mapping[str, str] | None = None
) -> tuple[bytes, bytes]:
    """The bytes of a new file's header, and its sync marker.

    Args:
        schema: schema of the rows.
        codec: codec of the blocks.
        properties: further entries of the header.
    """
    sync = os.urandom(_SYNC_BYTES)
    texts = {"avro.schema": json.dumps(schema), "avro.codec": codec, **(properties or {})}
    metadata = {key.encode(): text.encode() for key, text in texts.items()}
    pairs = [as_long(len(key)) + key + as_long(len(value)) + value for key, value in metadata.items()]
    return MAGIC + as_long(len(pairs)) + b"".join(pairs) + as_long(0) + sync, sync


def block(rows: int, data: bytes, sync: bytes) -> bytes:
    """The bytes of a block with compressed rows."""
    return as_long(rows) + as_long(len(data)) + data + sync


def read_header(source: pa.NativeFile) -> Header:
    """Reads the header of a file.

    Raises:
        EOFError: it is truncated, or not an Avro file.
        UnicodeDecodeError, LookupError: schema or codec is missing or invalid.
    """
    stream = _Stream(source)
    if stream.take(len(MAGIC)) != MAGIC:
        raise EOFError("it does not begin like one")
    metadata: dict[bytes, bytes] = {}
    entries = 0
    while count := stream.long():
        if count < 0:
            count, _ = -count, stream.long()
        entries += count
        if entries > _MOST_ENTRIES:
            raise EOFError(f"its header has more than {_MOST_ENTRIES} entries")
        for _ in range(count):
            key = stream.take(stream.long())
            metadata[key] = stream.take(stream.long())
            if stream.position > _MOST_HEADER:
                raise EOFError(f"its header has more than {_MOST_HEADER} bytes")
    sync = stream.take(_SYNC_BYTES)
    codec = metadata.get(b"avro.codec", b"null").decode()
    properties = {key.decode(): value for key, value in metadata.items()}
    return Header(_parsed(metadata[b"avro.schema"]), codec, sync, stream.position, properties)


def _parsed(schema: bytes) -> Any:
    try:
        return json.loads(schema)
    except (ValueError, RecursionError) as error:  # RecursionError: nested too deep
        raise EOFError(f"its schema is no JSON: {error}") from error


def blocks(source: pa.NativeFile, header: Header) -> Iterator[BlockHead]:
    """Iterates over the blocks of a file; the caller may read or skip the bytes of each.

    Raises:
        EOFError: the file is truncated.
    """
    position, end = header.start, int(source.size())
    while position < end:
        source.seek(position)
        stream = _Stream(source, position)
        head = BlockHead(stream.long(), 0, stream.long())
        if head.rows < 0 or not 0 <= head.size < _MOST_BLOCK or stream.position + head.size > end:
            raise EOFError("a block in it is cut off")
        yield BlockHead(head.rows, stream.position, head.size)
        source.seek(stream.position + head.size)
        if _Stream(source).take(_SYNC_BYTES) != header.sync:
            raise EOFError("the marker behind a block is missing")
        position = stream.position + head.size + _SYNC_BYTES


def decompress(codec: str, data: bytes, most: int = _MOST_BLOCK) -> bytes:
    """Decompresses the rows of a block.

    Args:
        codec: codec of the file.
        data: the bytes of the block.
        most: upper bound of the decompressed bytes.

    Raises:
        EOFError: decompression fails or exceeds `most` bytes.
        LookupError: the codec is not known.
    """
    try:
        return _DECOMPRESS[codec](data, most)
    except (cramjam.DecompressionError, _DEFLATE_ERROR, lzma.LZMAError, OSError, ValueError) as error:
        raise EOFError(f"a block in it cannot be decompressed: {error}") from error


def decompressed_limit(size: int) -> int:
    """Upper bound of a block's decompressed bytes, from its compressed size.

    Java begins a new block after 64 kB, so only a single row is ever as large.
    """
    return min(max(_LARGE_BLOCK, _MOST_INFLATION * size), _MOST_BLOCK)


def packed_blocks(
    data: npt.NDArray[np.uint8],
    lengths: npt.NDArray[np.int64],
    block_bytes: int,
    pack: Callable[[bytes], bytes],
    sync: bytes,
) -> Iterator[bytes]:
    """Blocks of encoded rows.

    Args:
        data: the bytes of all rows.
        lengths: the bytes of each row.
        block_bytes: upper bound of a block's bytes before compression, unless a single row is larger.
        pack: compresses a block.
        sync: the file's marker.
    """
    for first, last, begin, end in block_bounds(lengths, block_bytes):
        yield block(last - first, pack(data[begin:end].tobytes()), sync)


def block_bounds(lengths: npt.NDArray[np.int64], block_bytes: int) -> Iterator[tuple[int, int, int, int]]:
    """First row, end of the rows, first byte and end of the bytes of each block; see `packed_blocks`."""
    ends = np.cumsum(lengths)
    first = begin = 0
    while first < len(ends):
        last = max(first + 1, int(np.searchsorted(ends, begin + block_bytes)))
        last = min(last, len(ends))
        end = int(ends[last - 1])
        yield first, last, begin, end
        first, begin = last, end


def compress(codec: str, data: bytes, zstd_level: int, deflate_level: int | None = None) -> bytes:
    """The compressed bytes of a block.

    Args:
        codec: codec of the file.
        data: the rows.
        zstd_level: level for that codec.
        deflate_level: level for that codec; None for that of Java's library.
    """
    if codec == "zstandard":
        return bytes(cramjam.zstd.compress(data, level=zstd_level))
    if codec == "snappy":
        return bytes(cramjam.snappy.compress_raw(data)) + zlib.crc32(data).to_bytes(_CHECKSUM_BYTES, "big")
    if codec == "deflate" and deflate_level is not None:
        return bytes(cramjam.deflate.compress(data, level=deflate_level))  # several times as fast as zlib
    if codec == "deflate":
        packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
        return packer.compress(data) + packer.flush()
    return _COMPRESS[codec](data)


def as_array(rows: int, data: bytes) -> bytes:
    """The rows of a block encoded as one Avro array of records, which a single call decodes."""
    return (as_long(rows) + data + as_long(0)) if rows else as_long(0)


class _Stream:
    """Reads a file sequentially."""

    def __init__(self, source: pa.NativeFile, position: int = 0) -> None:
        self._source = source
        self.position = position

    def take(self, length: int) -> bytes:
        data: bytes = self._source.read(length) if 0 <= length <= _MOST_HEADER else b""
        if len(data) != length:
            raise EOFError("it is cut off")
        self.position += length
        return data

    def long(self) -> int:
        value = 0
        for place in range(_MOST_LONG_BYTES):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)
        raise EOFError("a number in it has no end")


def as_long(value: int) -> bytes:
    """Encodes a non-negative number as an Avro long."""
    number, parts = value << 1, bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(parts) + bytes([number])


class _Packed(Protocol):
    """Decompresses a stream of the standard library's codecs."""

    @property
    def eof(self) -> bool:
        """Whether the end of the stream was reached."""
        ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """Returns at most `max_length` decompressed bytes."""
        ...


def _as_is(data: bytes, most: int) -> bytes:
    _bounded(len(data), most)
    return data


def _unsnapped(data: bytes, most: int) -> bytes:
    packed = data[:-_CHECKSUM_BYTES]
    _bounded(cramjam.snappy.decompress_raw_len(packed), most)
    rows = bytes(cramjam.snappy.decompress_raw(packed))
    if zlib.crc32(rows) != int.from_bytes(data[-_CHECKSUM_BYTES:], "big"):
        raise ValueError("its checksum is another")
    return rows


def _unpacked(new: Callable[[], _Packed]) -> Callable[[bytes, int], bytes]:
    def unpacked(data: bytes, most: int) -> bytes:
        stream = new()
        rows = stream.decompress(data, most + 1)
        _bounded(len(rows), most)
        if not stream.eof:
            raise ValueError("its end is missing")
        return rows

    return unpacked


def _unzstd(data: bytes, most: int) -> bytes:
    """Uses Arrow's stream: other libraries trust the size stored in the data."""
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        parts, size = [stream.read(_LEAST_READ)], 0
        while parts[-1]:
            size += len(parts[-1])
            _bounded(size, most)
            parts.append(stream.read(_LEAST_READ))
        return b"".join(parts)


def _bounded(size: int, most: int) -> None:
    if size > most:
        raise ValueError(f"it comes to more than {most} bytes")


_DECOMPRESS: dict[str, Callable[[bytes, int], bytes]] = {
    "null": _as_is,
    # Takes half of the time of zlib's.
    "deflate": _unpacked(lambda: cast(_Packed, isal_zlib.decompressobj(-zlib.MAX_WBITS))),
    "snappy": _unsnapped,
    "zstandard": _unzstd,
    "bzip2": _unpacked(bz2.BZ2Decompressor),
    "xz": _unpacked(lambda: lzma.LZMADecompressor(memlimit=_MOST_XZ_MEMORY)),
}
_COMPRESS: dict[str, Callable[[bytes], bytes]] = {"null": bytes, "bzip2": bz2.compress, "xz": lzma.compress}
