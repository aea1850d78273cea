"""64-bit hashes of a column of texts, without a loop over rows.

Used where millions of names are looked up among others: eight bytes of each are kept instead of the text.
Equal texts have equal hashes, in every process. Different texts may have the same one, so a caller must be
safe if they do. The hash is not meant to withstand people who look for such texts. Pure.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Hashes = npt.NDArray[np.uint64]

_WORD = 8
_MULTIPLIER = np.uint64(0x9E37_79B9_7F4A_7C15)
_FINISHER = np.uint64(0xBF58_476D_1CE4_E5B9)
_HALF = np.uint64(32)
_ALL = ~np.uint64(0)


def text_hashes(texts: pa.Array) -> Hashes:
    """The hash of each text: of its bytes, eight at a time, and its length.

    Every type of texts gives the same hashes, and so do their bytes as binary values: a name may be stored in
    one way here and in another there. Null has the hash of an empty text.
    """
    if not len(texts):
        return np.empty(0, dtype=np.uint64)
    if pa.types.is_fixed_size_binary(texts.type):
        texts = texts.cast(pa.binary())
    texts = texts.cast(pa.large_binary())
    texts = texts.fill_null(b"") if texts.null_count else texts
    words, starts, lengths = _words(texts)
    hashes = mixed(lengths.astype(np.uint64))
    for step in range(0, int(lengths.max()), _WORD):
        rows = np.flatnonzero(lengths > step)
        left = np.minimum(lengths[rows] - step, _WORD)
        part = words[starts[rows] + step] & (_ALL >> ((_WORD - left) * 8).astype(np.uint64))
        hashes[rows] = mixed(hashes[rows] ^ part)
    return hashes


def _words(texts: pa.Array) -> tuple[Hashes, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The eight bytes from each offset on, and offset and length of each text."""
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    begin, end = int(bounds[0]), int(bounds[-1])
    octets = np.zeros(end - begin + _WORD, dtype=np.uint8)
    if end > begin:
        octets[: end - begin] = np.frombuffer(data, dtype=np.uint8)[begin:end]
    words: Hashes = np.ndarray((end - begin + 1,), np.dtype("<u8"), octets, strides=(1,))
    return words, bounds[:-1] - begin, np.diff(bounds)


def mixed(hashes: Hashes) -> Hashes:
    """Numbers with the bits of these mixed, one to one."""
    mixed = hashes * _MULTIPLIER
    mixed ^= mixed >> _HALF
    mixed *= _FINISHER
    mixed ^= mixed >> np.uint64(29)
    return mixed
