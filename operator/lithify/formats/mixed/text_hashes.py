"""Hash codes of texts and binaries as Java computes them: polynomials of their units, modulo 2 to the 32.

Called by `key_hashes`. All values of a column are hashed at once, in windows of bytes that divide long
values, so memory is bounded. Nulls are as empty values. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lithify.columns.column_groups import Flags, Numbers

Words = npt.NDArray[np.uint32]
Octets = npt.NDArray[np.uint8]

FACTOR = 31
MODULUS = 1 << 32
_WINDOW = 1 << 18
"""Bytes that are hashed at once: the arrays of a window fit into the caches of processors."""
_ASCII, _TWO, _THREE = 0x80, 0xE0, 0xF0
"""First bytes below these begin characters of one, two and three bytes; others of four."""
_PLANE = 0x10000
"""The first code point that is two units in UTF-16."""


def text_hashes(column: pa.Array) -> Words:
    """The hash codes of a column of texts as `String` has them: the last unit of UTF-16 has the factor 1.

    Raises:
        ArrowInvalid: a text is not UTF-8.
    """
    column.validate(full=True)
    data, offsets = _octets_of(column)
    hashes = np.zeros(len(column), np.uint32)
    for window in _windows(data, offsets, in_texts=True):
        units, places = _units(data[window.start : window.stop])
        bounds = window.bounds if places is None else np.searchsorted(places, window.bounds)
        counts = np.diff(bounds)
        exponents = np.repeat(bounds[1:], counts) - 1 - np.arange(len(units))
        hashes[window.rows] = hashes[window.rows] * _powers(_WINDOW)[counts] + _sums(units, exponents, bounds)
    return hashes


def binary_hashes(column: pa.Array) -> Words:
    """The hash codes of a column of binaries as `ByteBuffer` has them: the first byte has the factor 1.

    Bytes are signed, and 1 stands behind them.
    """
    data, offsets = _octets_of(column)
    hashes = _powers_of(np.diff(offsets))
    for window in _windows(data, offsets, in_texts=False):
        units = data[window.start : window.stop].view(np.int8).astype(np.int32).view(np.uint32)
        counts = np.diff(window.bounds)
        exponents = np.arange(len(units)) - np.repeat(window.bounds[:-1], counts)
        before = np.maximum(window.start - offsets[:-1][window.rows], 0)
        hashes[window.rows] += _sums(units, exponents, window.bounds) * _powers_of(before)
    return hashes


class _Window(NamedTuple):
    """A piece of the bytes of a column.

    Attributes:
        start: its first byte.
        stop: the byte behind it.
        rows: the rows that have bytes in it.
        bounds: where each of these begins within it, and where the last one ends.
    """

    start: int
    stop: int
    rows: slice
    bounds: Numbers


def _octets_of(column: pa.Array) -> tuple[Octets, Numbers]:
    """The bytes of all values, and where each of them begins; nulls are empty."""
    if pa.types.is_fixed_size_binary(column.type):
        column = column.cast(pa.binary())
    wide = column.cast(pa.large_binary()).fill_null(b"")
    _, offsets, data = wide.buffers()
    if not len(wide):
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    starts = np.frombuffer(offsets, np.int64, len(wide) + 1, wide.offset * 8)
    return np.frombuffer(data or b"", np.uint8), starts


def _windows(data: Octets, offsets: Numbers, *, in_texts: bool) -> Iterator[_Window]:
    """Pieces of the bytes, which divide long values but no character of texts."""
    start, end = int(offsets[0]), int(offsets[-1])
    while start < end:
        stop = min(start + _WINDOW, end)
        while in_texts and stop < end and data[stop] & 0xC0 == 0x80:
            stop -= 1
        first = int(np.searchsorted(offsets, start, "right")) - 1
        last = int(np.searchsorted(offsets, stop, "left"))
        bounds = np.clip(offsets[first : last + 1], start, stop) - start
        yield _Window(start, stop, slice(first, last), bounds)
        start = stop


def _units(data: Octets) -> tuple[Words, Numbers | None]:
    """The units of UTF-16 of characters in UTF-8, and at which byte the character of each begins.

    The places are None if each byte is a unit.
    """
    if not (data & _ASCII).any():
        return data.astype(np.uint32), None
    places = np.flatnonzero((data & 0xC0) != 0x80)
    padded = np.concatenate([data, np.zeros(3, np.uint8)])
    first, *others = (padded[places + number].astype(np.uint32) for number in range(4))
    one, two, three = (each & 0x3F for each in others)
    points = np.select(
        [first < _ASCII, first < _TWO, first < _THREE],
        [first, (first & 0x1F) << 6 | one, (first & 0x0F) << 12 | one << 6 | two],
        (first & 0x07) << 18 | one << 12 | two << 6 | three,
    ).astype(np.uint32)
    return _with_surrogates(points, places)


def _with_surrogates(points: Words, places: Numbers) -> tuple[Words, Numbers]:
    """Code points as units: those of other planes become two."""
    is_pair: Flags = points >= _PLANE
    counts = is_pair + 1
    units, places = np.repeat(points, counts), np.repeat(places, counts)
    seconds = np.cumsum(counts)[is_pair] - 1
    above = points[is_pair] - np.uint32(_PLANE)
    units[seconds - 1] = 0xD800 + (above >> 10)
    units[seconds] = 0xDC00 + (above & 0x3FF)
    return units, places


def _sums(units: Words, exponents: Numbers, bounds: Numbers) -> Words:
    """For each row the sum of its units, each times a power of 31; modulo 2 to the 32."""
    sums = np.zeros(len(units) + 1, np.uint32)
    np.cumsum(units * _powers(_WINDOW)[exponents], out=sums[1:], dtype=np.uint32)
    return sums[bounds[1:]] - sums[bounds[:-1]]


@cache
def _powers(most: int) -> Words:
    """The powers of 31, modulo 2 to the 32, of exponents up to one."""
    factors = np.full(most + 1, FACTOR, np.uint32)
    factors[0] = 1
    return np.multiply.accumulate(factors, dtype=np.uint32)


def _powers_of(exponents: Numbers) -> Words:
    """The powers of 31, modulo 2 to the 32, of any exponents."""
    found, power = np.ones(len(exponents), np.uint32), FACTOR
    for bit in range(int(exponents.max(initial=0)).bit_length()):
        found = np.where(exponents >> bit & 1, found * np.uint32(power), found)
        power = power * power % MODULUS
    return found
