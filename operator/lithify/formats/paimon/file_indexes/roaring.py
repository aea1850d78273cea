"""Writes many Roaring bitmaps at once, in the portable format, byte by byte as Java Paimon does.

Used by the indexes that are made of bitmaps: an index of values has one for each of perhaps a million values,
which would take seconds one after the other. A bitmap has a container for each 2^16 positions that it has any
of: a list, a bit set, or runs where these take fewer bytes (`RoaringBitmap.runOptimize`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

_WITHOUT_RUNS, _WITH_RUNS = 12346, 12347
_LARGEST_LIST = 4096
_BIT_SET_BYTES = 1 << 13
_CONTAINER = 1 << 16
_FEW = 4
"""Number of containers from which bitmaps with runs have offsets."""


@dataclass(frozen=True, slots=True)
class Bitmaps:
    """Bitmaps as bytes, one after the other.

    Attributes:
        data: their bytes.
        lengths: bytes of each.
    """

    data: Bytes
    lengths: Ints


@dataclass(frozen=True, slots=True)
class _Containers:
    """The containers of all bitmaps, in order.

    Attributes:
        bitmap: number of the bitmap of each.
        high: upper 16 bits of its positions.
        first: its first position, as an index of all positions.
        count: number of its positions.
        run_first: first position of each run of consecutive positions, in the same way.
        run_of: the container of each run.
        runs: number of runs of each container.
    """

    bitmap: Ints
    high: Ints
    first: Ints
    count: Ints
    run_first: Ints
    run_of: Ints
    runs: Ints

    @property
    def has_runs(self) -> npt.NDArray[np.bool_]:
        """Whether a container is stored as runs."""
        return np.where(self.count > _LARGEST_LIST, _BIT_SET_BYTES, 2 * self.count) > 2 + 4 * self.runs

    @property
    def has_bits(self) -> npt.NDArray[np.bool_]:
        """Whether it is stored as a bit set."""
        return (self.count > _LARGEST_LIST) & ~self.has_runs

    @property
    def sizes(self) -> Ints:
        """Bytes of each container."""
        lists = np.where(self.has_bits, _BIT_SET_BYTES, 2 * self.count)
        return np.where(self.has_runs, 2 + 4 * self.runs, lists)


def one(positions: npt.NDArray[np.integer]) -> bytes:
    """One bitmap of ascending positions."""
    return bitmaps(positions, np.array([len(positions)])).data.tobytes()


def bitmaps(positions: npt.NDArray[np.integer], counts: Ints) -> Bitmaps:
    """Several bitmaps.

    Args:
        positions: the positions of the first bitmap, of the second, and so on, each ascending; below 2^32.
        counts: number of positions of each bitmap.
    """
    rows: Ints = positions.astype(np.int64)
    found = _containers(rows, counts)
    number = np.bincount(found.bitmap, minlength=len(counts))
    mixed = np.bincount(found.bitmap, found.has_runs, len(counts)) > 0
    flags = np.where(mixed, (number + 7) // 8, 4)  # without flags there is the number of containers
    has_offsets = ~mixed | (number >= _FEW)
    heads = 4 + flags + 4 * number + 4 * number * has_offsets
    lengths = heads + np.bincount(found.bitmap, found.sizes, len(counts)).astype(np.int64)
    starts = np.cumsum(lengths) - lengths
    data = np.zeros(int(lengths.sum()), np.uint8)

    _put(data, starts, np.where(mixed, _WITH_RUNS | (number - 1) << 16, _WITHOUT_RUNS), 4)
    _put(data, starts[~mixed] + 4, number[~mixed], 4)
    nth = np.arange(len(found.bitmap)) - (np.cumsum(number) - number)[found.bitmap]
    in_runs = np.flatnonzero(found.has_runs)
    flag = starts[found.bitmap[in_runs]] + 4 + nth[in_runs] // 8
    np.bitwise_or.at(data, flag, np.uint8(1) << (nth[in_runs] % 8).astype(np.uint8))
    keys = (starts + 4 + flags)[found.bitmap] + 4 * nth
    _put(data, keys, found.high, 2)
    _put(data, keys + 2, found.count - 1, 2)

    before = np.append(0, np.cumsum(found.sizes))  # bytes of the containers of all bitmaps before each
    of_bitmap = before[np.cumsum(number) - number]
    at = (starts + heads - of_bitmap)[found.bitmap] + before[:-1]
    offset = has_offsets[found.bitmap]
    _put(data, (keys + 4 * number[found.bitmap])[offset], (at - starts[found.bitmap])[offset], 4)
    _put_containers(data, at, rows, found)
    return Bitmaps(data, lengths)


def _containers(positions: Ints, counts: Ints) -> _Containers:
    """Divides the positions of bitmaps into containers and runs."""
    begins = np.zeros(len(positions), np.bool_)  # of a container
    begins[1:] = positions[1:] >> 16 != positions[:-1] >> 16
    firsts = (np.cumsum(counts) - counts)[counts > 0]
    begins[firsts] = True
    runs = begins.copy()
    runs[1:] |= positions[1:] != positions[:-1] + 1
    first, run_first = np.flatnonzero(begins), np.flatnonzero(runs)
    run_of = np.searchsorted(first, run_first, side="right") - 1
    return _Containers(
        bitmap=np.searchsorted(np.cumsum(counts), first, side="right"),
        high=positions[first] >> 16,
        first=first,
        count=np.diff(first, append=len(positions)),
        run_first=run_first,
        run_of=run_of,
        runs=np.bincount(run_of, minlength=len(first)),
    )


def _put_containers(data: Bytes, at: Ints, positions: Ints, found: _Containers) -> None:
    """Writes the containers to their places."""
    has_runs, has_bits = found.has_runs, found.has_bits
    _put(data, at[has_runs], found.runs[has_runs], 2)
    run_length = np.diff(found.run_first, append=len(positions))
    nth = np.arange(len(found.run_of)) - (np.cumsum(found.runs) - found.runs)[found.run_of]
    stored = has_runs[found.run_of]
    places = (at[found.run_of] + 2 + 4 * nth)[stored]
    _put(data, places, (positions[found.run_first] % _CONTAINER)[stored], 2)
    _put(data, places + 2, run_length[stored] - 1, 2)

    for container in np.flatnonzero(has_bits):
        first = found.first[container]
        low = positions[first : first + found.count[container]] % _CONTAINER
        bits = np.zeros(_CONTAINER, np.bool_)
        bits[low] = True
        data[at[container] : at[container] + _BIT_SET_BYTES] = np.packbits(bits, bitorder="little")

    lists = np.flatnonzero(~has_runs & ~has_bits)
    counts = found.count[lists]
    which = np.repeat(np.arange(len(lists)), counts)
    nth = np.arange(len(which)) - (np.cumsum(counts) - counts)[which]
    _put(data, at[lists][which] + 2 * nth, positions[found.first[lists][which] + nth] % _CONTAINER, 2)


def _put(data: Bytes, at: Ints, numbers: Ints, width: int) -> None:
    """Writes little-endian numbers of `width` bytes to their places."""
    stored = numbers.astype(f"<u{width}").view(np.uint8).reshape(-1, width)
    for byte in range(width):
        data[at + byte] = stored[:, byte]
