"""Space-filling curves: one sort key of several numbers, so that rows near each other stay together.

Called by `sort_keys`. A row is a point whose coordinates are unsigned 64-bit words, or a few bytes for texts.
Its position on the curve is returned as 64-bit words, the most significant first. Column kernels on numpy
arrays; large inputs are processed in chunks that fit into a processor's cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Words: TypeAlias = npt.NDArray[np.uint64]
Octets: TypeAlias = npt.NDArray[np.uint8]

WORD_BITS = 64
WORD_BYTES = 8
_CHUNK = 1 << 15
"""Rows that are processed at once."""


def z_order(columns: Sequence[Octets]) -> Words:
    """The positions of rows on the z-order curve, which takes a bit of each column in turn.

    A column with fewer bytes than others is left out once its bits are used up.

    Args:
        columns: big-endian numbers of each column; shape (rows, bytes of the column), at least one column.

    Returns:
        Shape (rows, words); the last word is filled up with zeros.
    """
    rows, size = len(columns[0]), sum(column.shape[1] for column in columns)
    places = _turns([column.shape[1] * 8 for column in columns])
    padded = np.zeros((rows, -(-size // WORD_BYTES) * WORD_BYTES), dtype=np.uint8)
    for part in _chunks(rows):
        bits = np.concatenate([np.unpackbits(column[part], axis=1) for column in columns], axis=1)
        padded[part, :size] = np.packbits(bits[:, places], axis=1)
    return words_of(padded)


def hilbert(columns: Sequence[Words], bits: int = WORD_BITS) -> Words:
    """The positions of rows on the Hilbert curve.

    Skilling's algorithm (Programming the Hilbert curve, 2004): the coordinates are transformed so that a bit
    of each in turn, as on the z-order curve, is the position.

    Args:
        columns: the coordinates, one array per dimension, at least two.
        bits: number of bits of each coordinate; higher bits are ignored.

    Returns:
        Shape (rows, dimensions); if `bits` is less than 64, the first bits are zero.
    """
    rows, dimensions = len(columns[0]), len(columns)
    positions = np.empty((rows, dimensions), dtype=np.uint64)
    for part in _chunks(rows):
        transposed = _transposed([column[part].copy() for column in columns], bits)
        positions[part] = _joined_bits(transposed, bits)
    return positions


def words_of(octets: Octets) -> Words:
    """Big-endian bytes as words; shape (rows, words of 8 bytes)."""
    return np.ascontiguousarray(octets).view(">u8").astype(np.uint64)


def octets_of(words: Words) -> Octets:
    """Words as big-endian bytes; shape (rows, 8)."""
    return words.astype(">u8").view(np.uint8).reshape(len(words), WORD_BYTES)


def _turns(lengths: Sequence[int]) -> npt.NDArray[np.int64]:
    """For each bit of the position, its place among the bits of all columns, one column after the other."""
    starts = np.cumsum([0, *lengths[:-1]])
    turns = [start + bit for bit in range(max(lengths)) for start in _with_bit(starts, lengths, bit)]
    return np.array(turns, dtype=np.int64)


def _with_bit(starts: npt.NDArray[np.int64], lengths: Sequence[int], bit: int) -> list[int]:
    return [int(start) for start, length in zip(starts, lengths, strict=True) if bit < length]


def _transposed(point: list[Words], bits: int) -> list[Words]:
    """Transforms the coordinates in place: undoes the rotations of the curve, then encodes by Gray's code."""
    first, last = point[0], point[-1]
    for bit in range(bits - 1, 0, -1):
        below = np.uint64((1 << bit) - 1)
        for each in point:
            is_set = (each >> np.uint64(bit)) & np.uint64(1)
            inverts = (np.uint64(0) - is_set) & below
            swapped = (first ^ each) & below & ~inverts
            np.bitwise_xor(first, swapped | inverts, out=first)
            if each is not first:
                np.bitwise_xor(each, swapped, out=each)
    for before, each in pairwise(point):
        np.bitwise_xor(each, before, out=each)
    parity = np.zeros_like(last)
    for bit in range(bits - 1, 0, -1):
        is_set = (last >> np.uint64(bit)) & np.uint64(1)
        parity ^= (np.uint64(0) - is_set) & np.uint64((1 << bit) - 1)
    for each in point:
        np.bitwise_xor(each, parity, out=each)
    return point


def _joined_bits(point: Sequence[Words], bits: int) -> Words:
    """The bits of all words in turn; shape (rows, words)."""
    used = [np.unpackbits(octets_of(each), axis=1)[:, WORD_BITS - bits :] for each in point]
    joined = np.stack(used, axis=2).reshape(len(point[0]), bits * len(point))
    unused = np.zeros((len(joined), (WORD_BITS - bits) * len(point)), dtype=np.uint8)
    return words_of(np.packbits(np.concatenate([unused, joined], axis=1), axis=1))


def _chunks(rows: int) -> Iterator[slice]:
    return (slice(start, min(start + _CHUNK, rows)) for start in range(0, rows, _CHUNK))
