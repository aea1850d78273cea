"""Unions of serialized Theta sketches, byte for byte as Java's DataSketches 4.2 writes them.

Called by `unions`. A sketch keeps the smallest hashes below its *theta*. A union keeps the 4,096 smallest of
both below both thetas; if there were more, the next hash becomes its theta.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

_NOMINAL = 4096
_SMALLEST = 16
"""Java takes anything shorter for an empty sketch."""
_VERSION, _COMPRESSED, _FAMILY = 3, 4, 3
_EMPTY_FLAG, _COMPACT, _ORDERED, _SINGLE, _READ_ONLY = 4, 8, 16, 32, 2
_SINGLE_MASK, _SINGLE_BITS = 0x1F, _COMPACT | _ORDERED | _READ_ONLY
_SEED: Final = (0x93CC).to_bytes(2, "little")
"""The hash of the default seed; hashes of other seeds cannot be compared."""
_ONE = (1 << 63) - 1
"""A theta of 1.0, which excludes no hash."""

_MOST_BITS = 63
_AT_ONCE = 1 << 13
"""A multiple of eight: each part begins at a byte."""

_Hashes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Sketch:
    """A sketch.

    Attributes:
        hashes: its hashes; some may be zero, or not below theta.
        theta: its theta, times 2**63.
        is_empty: whether nothing was ever added to it.
    """

    hashes: _Hashes
    theta: int
    is_empty: bool


def union(accumulator: bytes, value: bytes) -> bytes:
    """The union of two sketches.

    Raises:
        ValueError: one of them is no sketch, or has hashes of another seed.
    """
    first, second = _read(accumulator), _read(value)
    theta = min(first.theta, second.theta)
    hashes = np.concatenate((first.hashes, second.hashes))
    hashes = np.unique(hashes[(hashes > 0) & (hashes < theta)])
    if len(hashes) > _NOMINAL:
        theta = int(hashes[_NOMINAL])
        hashes = hashes[:_NOMINAL]
    return _written(hashes, theta, is_empty=first.is_empty and second.is_empty)


def _read(data: bytes) -> _Sketch:
    if len(data) < _SMALLEST:
        return _Sketch(np.empty(0, np.int64), _ONE, is_empty=True)
    longs, version, family, _, table, flags = data[0] & 0x3F, *data[1:6]
    if version == _COMPRESSED:
        return _decompressed(data)
    if version != _VERSION or not 1 <= family <= _FAMILY or not 1 <= longs <= 3:
        raise ValueError(f"its version {version}, family {family} or preamble is unknown")
    if longs == 1:
        single = flags & _SINGLE or (family == _FAMILY and flags & _SINGLE_MASK == _SINGLE_BITS)
        hashes = _longs(data, 1, 1 if single else 0)
        if (hashes <= 0).any():
            raise ValueError("its only hash is not positive")
        return _Sketch(hashes, _ONE, is_empty=not single)
    _check_seed(data)
    count = int.from_bytes(data[8:12], "little")
    theta = _ONE if longs == 2 else int(_longs(data, 2, 1)[0])
    if flags & _ORDERED:
        hashes = _longs(data, longs, count)
        if (hashes[:1] <= 0).any() or (hashes[1:] <= hashes[:-1]).any():
            raise ValueError("its hashes are in no order")
    else:
        hashes = _longs(data, longs, count if flags & _COMPACT else 1 << min(table, 32))
    return _Sketch(hashes, theta, is_empty=longs == 2 and count == 0)


def _decompressed(data: bytes) -> _Sketch:
    """A sketch whose hashes are differences of a few bits each, first bit highest.

    Numpy reads it: DataSketches in C++ believes the number of hashes, and ends the process over some.
    """
    _check_seed(data)
    longs, bits, width = data[0] & 0x3F, data[3], data[4]
    if not 1 <= longs <= 2 or not 1 <= bits <= _MOST_BITS or not 1 <= width <= 8 or data[5] & _EMPTY_FLAG:
        raise ValueError("its hashes have no bits, or it is said to be empty")
    theta = _ONE if longs == 1 else int(_longs(data, 1, 1)[0])
    start = 8 * longs + width
    count = int.from_bytes(data[8 * longs : start], "little")
    if count * bits > 8 * (len(data) - start):
        raise ValueError(f"it has {len(data)} bytes, and says that there are {count} hashes")
    hashes = np.cumsum(_unpacked(data[start:], count, bits), dtype=np.uint64)
    if not 0 < theta <= _ONE or (hashes[1:] <= hashes[:-1]).any() or (hashes > _ONE).any():
        raise ValueError("its theta or a hash is too large, or its hashes are in no order")
    return _Sketch(hashes.astype(np.int64), theta, is_empty=False)


def _unpacked(data: bytes, count: int, bits: int) -> npt.NDArray[np.uint64]:
    """Numbers of this many bits each; a few thousand at a time: each takes 64 bytes while unpacked."""
    numbers = np.empty(count, np.uint64)
    for first in range(0, count, _AT_ONCE):
        last = min(count, first + _AT_ONCE)
        part = np.frombuffer(data, np.uint8)[first * bits // 8 : (last * bits + 7) // 8]
        wide = np.zeros((last - first, 64), np.uint8)
        wide[:, -bits:] = np.unpackbits(part, count=(last - first) * bits).reshape(-1, bits)
        numbers[first:last] = np.packbits(wide).view(">u8")
    return numbers


def _check_seed(data: bytes) -> None:
    if data[6:8] != _SEED:
        raise ValueError("its hashes are not of the seed that Paimon uses")


def _longs(data: bytes, start: int, count: int) -> _Hashes:
    if (start + count) * 8 > len(data):
        raise ValueError(f"it has {len(data)} bytes, and says that there are {count} hashes")
    return np.frombuffer(data, "<i8", count, start * 8)


def _written(hashes: _Hashes, theta: int, *, is_empty: bool) -> bytes:
    """A sketch in Java's compact and ordered form."""
    flags = _READ_ONLY | _COMPACT | _ORDERED
    exact, count = theta == _ONE, len(hashes)
    if exact and (is_empty or not count):
        return bytes((1, _VERSION, _FAMILY, 0, 0, flags | _EMPTY_FLAG, 0, 0))
    if exact and count == 1:
        return bytes((1, _VERSION, _FAMILY, 0, 0, flags | _SINGLE)) + _SEED + hashes.tobytes()
    start = bytes((2 if exact else 3, _VERSION, _FAMILY, 0, 0, flags)) + _SEED
    start += count.to_bytes(4, "little") + np.float32(1).tobytes()
    return start + (b"" if exact else theta.to_bytes(8, "little")) + hashes.tobytes()
