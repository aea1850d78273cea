"""Decompresses the footers of ORC files, within bounds. Pure.

Called by `footers`. Follows the ORC v1 specification (orc.apache.org/specification/ORCv1).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

import cramjam

NONE, ZLIB, SNAPPY, LZ4, ZSTD = 0, 1, 2, 4, 5
CODECS = frozenset({NONE, ZLIB, SNAPPY, LZ4, ZSTD})

MOST_FOOTER = 16 << 20
"""Bytes of a decompressed footer; one of 10,000 columns has less than 2 MiB."""

_MOST_BLOCK = 1 << 23
"""Bytes of a block: a chunk's header has 23 bits for its length."""

_MOST_CHUNKS = 1 << 16
_HEADER = 3


def decompressed(data: bytes, codec: int, block_size: int) -> bytes:
    """Decompresses a footer.

    Args:
        data: chunks; a header of three bytes has the length of each, its lowest bit says "uncompressed".
        codec: one of `CODECS`.
        block_size: maximum number of decompressed bytes of a chunk.

    Raises:
        EOFError: it is damaged, or larger than footers are.
    """
    if codec == NONE:
        return _bounded(data)
    if not 0 < block_size <= _MOST_BLOCK:
        raise EOFError(f"its blocks have {block_size} bytes")
    parts, position, size = [], 0, 0
    block = bytearray(block_size)
    while position < len(data):
        header = int.from_bytes(data[position : position + _HEADER], "little")
        position += _HEADER
        chunk = data[position : position + (header >> 1)]
        if len(chunk) < header >> 1 or not chunk:
            raise EOFError("a chunk of a footer is cut off")
        position += len(chunk)
        parts.append(chunk if header & 1 else _plain(chunk, codec, block))
        size += len(parts[-1])
        if size > MOST_FOOTER or len(parts[-1]) > block_size or len(parts) > _MOST_CHUNKS:
            raise EOFError("a footer is too large")
    return b"".join(parts)


def _bounded(data: bytes) -> bytes:
    if len(data) > MOST_FOOTER:
        raise EOFError("a footer is too large")
    return data


def _plain(chunk: bytes, codec: int, block: bytearray) -> bytes:
    try:
        return _DECOMPRESS[codec](chunk, block)
    except (zlib.error, cramjam.DecompressionError) as error:
        raise EOFError(f"a chunk of a footer cannot be decompressed ({error})") from error


def _inflated(chunk: bytes, block: bytearray) -> bytes:
    inflating = zlib.decompressobj(-zlib.MAX_WBITS)
    data = inflating.decompress(chunk, len(block))
    if not inflating.eof:
        raise EOFError("a chunk of a footer is cut off, or too large")
    return data


def _unsnapped(chunk: bytes, block: bytearray) -> bytes:
    if cramjam.snappy.decompress_raw_len(chunk) > len(block):
        raise EOFError("a chunk of a footer is too large")
    return bytes(block[: cramjam.snappy.decompress_raw_into(chunk, block)])


def _of_lz4(chunk: bytes, block: bytearray) -> bytes:
    return bytes(block[: cramjam.lz4.decompress_block_into(chunk, block, output_len=len(block))])


def _of_zstd(chunk: bytes, block: bytearray) -> bytes:
    return bytes(block[: cramjam.zstd.decompress_into(chunk, block)])


_DECOMPRESS: dict[int, Callable[[bytes, bytearray], bytes]] = {
    ZLIB: _inflated,
    SNAPPY: _unsnapped,
    LZ4: _of_lz4,
    ZSTD: _of_zstd,
}
