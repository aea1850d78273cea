"""XXH64 of many values at once, the hash of Parquet's bloom filters.

Called by `bloom_filters`. Follows the xxHash specification, with seed 0: each step is applied to all values
that are long enough for it.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
_Places = NDArray[np.int64]

_PRIMES: Final = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
_1, _2, _3, _4, _5 = map(np.uint64, _PRIMES)
_LANES = tuple(
    np.uint64(start % (1 << 64)) for start in (_PRIMES[0] + _PRIMES[1], _PRIMES[1], 0, -_PRIMES[0])
)
_STRIPE, _WORD, _HALF = 32, 8, 4


def xx_hashes(data: NDArray[np.uint8], starts: _Places, lengths: _Places) -> Hashes:
    """The hash of each value.

    Args:
        data: the bytes of all values.
        starts: offset of each value.
        lengths: length of each value in bytes.
    """
    if data.size < _WORD:
        data = np.concatenate([data, np.zeros(_WORD, np.uint8)])
    words = _at_every_byte(data, np.dtype("<u8"))
    hashes = np.where(lengths >= _STRIPE, _of_stripes(words, starts, lengths), _5)
    hashes += lengths.astype(np.uint64)
    at, left = starts + lengths // _STRIPE * _STRIPE, lengths % _STRIPE
    for _ in range(_STRIPE // _WORD - 1):
        some = _longer(left, _WORD)
        hashes[some] = _turned(hashes[some] ^ _mixed(words[at[some]]), 27) * _1 + _4
        at[some] += _WORD
        left[some] -= _WORD
    some = _longer(left, _HALF)
    half = _at_every_byte(data, np.dtype("<u4"))[at[some]].astype(np.uint64)
    hashes[some] = _turned(hashes[some] ^ half * _1, 23) * _2 + _3
    at[some] += _HALF
    left[some] -= _HALF
    for _ in range(_HALF - 1):
        some = _longer(left, 1)
        hashes[some] = _turned(hashes[some] ^ data[at[some]].astype(np.uint64) * _5, 11) * _1
        at[some] += 1
        left[some] -= 1
    return _spread(hashes)


def _of_stripes(words: Hashes, starts: _Places, lengths: _Places) -> Hashes:
    """The accumulated hash of each value's full stripes of 32 bytes; undefined for values without any."""
    lanes = [np.full(starts.size, start) for start in _LANES]
    stripes = lengths // _STRIPE
    order = np.argsort(-stripes, kind="stable")  # values with a further stripe always come first
    has_more = -stripes[order]
    for number in range(int(stripes.max(initial=0))):
        some = order[: np.searchsorted(has_more, -number)]
        for index, lane in enumerate(lanes):
            word = words[starts[some] + (number * _STRIPE + index * _WORD)]
            lane[some] = _turned(lane[some] + word * _2, 31) * _1
    turns = (1, 7, 12, 18)
    hashes = np.zeros(starts.size, np.uint64)
    for lane, turn in zip(lanes, turns, strict=True):
        hashes += _turned(lane, turn)
    for lane in lanes:
        hashes = (hashes ^ _mixed(lane)) * _1 + _4
    return hashes


def _at_every_byte(data: NDArray[np.uint8], kind: np.dtype[np.unsignedinteger]) -> NDArray[np.uint64]:
    """The little-endian number at each offset."""
    return np.ndarray((data.size - kind.itemsize + 1,), kind, data, strides=(1,))


def _longer(left: _Places, size: int) -> _Places:
    return np.flatnonzero(left >= size)


def _turned(values: Hashes, bits: int) -> Hashes:
    return (values << np.uint64(bits)) | (values >> np.uint64(64 - bits))


def _mixed(words: Hashes) -> Hashes:
    return _turned(words * _2, 31) * _1


def _spread(hashes: Hashes) -> Hashes:
    hashes = (hashes ^ (hashes >> np.uint64(33))) * _2
    hashes = (hashes ^ (hashes >> np.uint64(29))) * _3
    return hashes ^ (hashes >> np.uint64(32))
