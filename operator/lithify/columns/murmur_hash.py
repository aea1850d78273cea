"""Murmur3 with 32 bits: its steps, for many hashes at once, and the hash of a byte string.

Used where formats hash rows and texts; they differ in the seed and in how bytes become words. Pure.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint32]


def mixed(hashes: Words, words: Words) -> Words:
    """The hashes after one more word each."""
    return _rotated(hashes ^ _scrambled(words), 13) * np.uint32(5) + np.uint32(0xE6546B64)


def finished(hashes: Words, lengths: Words) -> Words:
    """The results, after all words; `lengths` are in bytes."""
    hashes = hashes ^ lengths
    hashes = (hashes ^ (hashes >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    hashes = (hashes ^ (hashes >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return hashes ^ (hashes >> np.uint32(16))


def murmur3(data: bytes) -> int:
    """The hash of bytes, with seed 0, as MurmurHash3 by Austin Appleby defines it."""
    hashes, end = np.zeros(1, np.uint32), len(data) // 4 * 4
    for word in np.frombuffer(data[:end], "<u4").reshape(-1, 1):
        hashes = mixed(hashes, word)
    rest = np.array([int.from_bytes(data[end:], "little")], np.uint32)
    return int(finished(hashes ^ _scrambled(rest), np.array([len(data)], np.uint32))[0])


def murmur3_of_each(offsets: npt.NDArray[np.int64], data: npt.NDArray[np.uint8]) -> Words:
    """The hashes of byte strings that follow each other, with seed 0.

    Args:
        offsets: where each begins, and at last where the last one ends.
        data: their bytes.
    """
    starts, lengths = offsets[:-1], np.diff(offsets)
    hashes = np.zeros(len(starts), np.uint32)
    words = lengths // 4
    padded = np.concatenate([data, np.zeros(4, np.uint8)])
    for step in range(int(words.max(initial=0))):
        rows = np.flatnonzero(words > step)
        hashes[rows] = mixed(hashes[rows], _words_at(padded, starts[rows] + 4 * step))
    rest = _words_at(padded, starts + 4 * words)
    kept = np.uint32(0xFFFFFFFF) >> (np.uint32(8) * (np.uint32(4) - (lengths % 4).astype(np.uint32)) % 32)
    rest = np.where(lengths % 4 == 0, np.uint32(0), rest & kept.astype(np.uint32))
    return finished(hashes ^ _scrambled(rest), lengths.astype(np.uint32))


def _words_at(data: npt.NDArray[np.uint8], places: npt.NDArray[np.int64]) -> Words:
    """The little-endian words at some places."""
    words = np.zeros(len(places), np.uint32)
    for byte in range(4):
        words |= data[places + byte].astype(np.uint32) << np.uint32(8 * byte)
    return words


def _scrambled(words: Words) -> Words:
    return _rotated(words * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)


def _rotated(words: Words, bits: int) -> Words:
    return (words << np.uint32(bits)) | (words >> np.uint32(32 - bits))
