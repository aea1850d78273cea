"""The steps of Murmur3 with 32 bits, for many hashes at once.

Used where Paimon hashes rows and texts; the callers know how bytes become words.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint32]

SEED = 42
"""Paimon's."""


def mixed(hashes: Words, words: Words) -> Words:
    """The hashes after one more word each."""
    words = _rotated(words * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    return _rotated(hashes ^ words, 13) * np.uint32(5) + np.uint32(0xE6546B64)


def finished(hashes: Words, lengths: Words) -> Words:
    """The results, after all words; `lengths` are in bytes."""
    hashes = hashes ^ lengths
    hashes = (hashes ^ (hashes >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    hashes = (hashes ^ (hashes >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return hashes ^ (hashes >> np.uint32(16))


def _rotated(words: Words, bits: int) -> Words:
    return (words << np.uint32(bits)) | (words >> np.uint32(32 - bits))
