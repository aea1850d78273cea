"""Reads Avro rows in parallel: a field of all rows at once, each row at its own offset.

Used by `avro_columns`. Offsets of Avro rows cannot be computed, so the caller gives their starts and observes
their ends. An impossible offset (beyond the bytes, after a negative length) becomes `Lanes.nowhere` and stays
so; values read there are meaningless.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Numbers: TypeAlias = npt.NDArray[np.int64]
_Words: TypeAlias = npt.NDArray[np.uint64]
_Pairs: TypeAlias = npt.NDArray[np.uint16]

_PADDING = 24
"""Zero bytes after the data: a number may be read at the end, and all offsets are read as words."""
_CONTINUES = np.uint64(0x8080_8080_8080_8080)
_BYTES_OF_ONE = np.uint64(0x0101_0101_0101_0101)
_WORD_BYTES = 8
_NO_SHORT_ENTRY = np.uint16(0x8180)
"""The bits of two bytes that are set if one of them is continued, or the second number is negative."""
_LENGTH_BITS = np.uint16(9)
"""Bits before the length in two such bytes: those of the first number, and the sign."""
_GROUPS = (
    (np.uint64(0x007F_007F_007F_007F), np.uint64(0x7F00_7F00_7F00_7F00), np.uint64(1)),
    (np.uint64(0x0000_3FFF_0000_3FFF), np.uint64(0x3FFF_0000_3FFF_0000), np.uint64(2)),
    (np.uint64(0x0000_0000_0FFF_FFFF), np.uint64(0x0FFF_FFFF_0000_0000), np.uint64(4)),
)
"""Each step joins pairs of bit groups: of 7, of 14, of 28 bits."""


class ByteBlock:
    """The concatenated rows of some blocks.

    Attributes:
        size: in bytes.
        octets: the bytes, followed by zeros.
        words: the eight bytes from each offset on, little-endian.
        pairs: likewise the two bytes.
    """

    def __init__(self, data: bytes) -> None:
        self.size = len(data)
        self.buffer = pa.py_buffer(data + bytes(_PADDING))
        self.octets = np.frombuffer(self.buffer, dtype=np.uint8)
        places = len(self.octets) - _WORD_BYTES + 1
        self.words: _Words = np.ndarray((places,), np.dtype("<u8"), self.octets, strides=(1,))
        self.pairs: _Pairs = np.ndarray((places,), np.dtype("<u2"), self.octets, strides=(1,))

    @cached_property
    def ends(self) -> Numbers:
        """The offsets of all bytes that may be the last one of a number."""
        return np.flatnonzero(self.octets[: self.size] < 0x80)

    @cached_property
    def _aligned_stops(self) -> _Words:
        """The words of eight bytes, in which bytes that may end a number have their highest bit set."""
        whole = self.octets[: len(self.octets) // _WORD_BYTES * _WORD_BYTES].view("<u8")
        return cast(_Words, ~whole & _CONTINUES)

    @cached_property
    def _ends_before(self) -> Numbers:
        """The number of such bytes before each eight bytes, and in all."""
        found = np.zeros(len(self._aligned_stops) + 1, dtype=np.int64)
        np.cumsum(np.bitwise_count(self._aligned_stops), out=found[1:])
        return found

    def past_numbers(self, at: Numbers, counts: Numbers) -> Numbers:
        """The offsets after `counts` numbers from each offset on.

        Numbers are counted by their last bytes: those before each eight bytes are known, which is an eighth
        of the memory and time of an offset for each.

        Args:
            at: offsets, at most `size + 1`.
            counts: at least one and at most `size` each.

        Returns:
            An offset after `size` if there are not as many numbers.
        """
        words, before = self._aligned_stops, self._ends_before
        first = at // _WORD_BYTES
        skipped = (np.uint64(1) << ((at % _WORD_BYTES) * _WORD_BYTES).astype(np.uint64)) - np.uint64(1)
        wanted = before[first] + np.bitwise_count(words[first] & skipped) + counts
        last = np.minimum(np.searchsorted(before, wanted) - 1, len(words) - 1)
        missing = wanted - before[last]
        reached = (words[last] >> np.uint64(7)) * _BYTES_OF_ONE  # each byte counts those up to it
        rest = np.minimum(missing, _WORD_BYTES + 1).astype(np.uint64) * _BYTES_OF_ONE
        is_past = ((reached | _CONTINUES) - rest) & _CONTINUES
        return cast(Numbers, (last + 1) * _WORD_BYTES - np.bitwise_count(is_past).astype(np.int64) + 1)


class Lanes:
    """An offset for each row, which advances while reading.

    Args:
        block: the bytes.
        at: the offsets.
    """

    def __init__(self, block: ByteBlock, at: Numbers) -> None:
        self.block = block
        self.at = at

    @property
    def nowhere(self) -> int:
        """The offset that marks rows which cannot be read on."""
        return self.block.size + 1

    def move(self, to: Numbers, *, where: Any = True) -> None:
        """Moves to other offsets; rows for which these are impossible go to `nowhere`."""
        is_there = (to <= self.block.size) & (to >= self.at) & where
        self.at = np.where(is_there, to, self.nowhere)

    def _advance(self, lengths: Any) -> None:
        """Moves on by at most a few bytes: `nowhere` is the greatest offset."""
        self.at = np.minimum(self.at + lengths, self.nowhere)

    def longs(self) -> Numbers:
        """Reads an integer."""
        first = self.block.octets[self.at]
        if first.max(initial=0) < 0x80:
            self._advance(1)
            return _SIGNED[first]
        words = self.block.words[self.at]
        stops = ~words & _CONTINUES
        lowest = stops & (~stops + np.uint64(1))  # 0 where the number has more bytes than a word
        payload = words & ((lowest << np.uint64(1)) - np.uint64(1)) & ~_CONTINUES
        for even, odd, shift in _GROUPS:
            payload = (payload & even) | ((payload & odd) >> shift)
        lengths = np.bitwise_count(lowest - np.uint64(1)).astype(np.int64) // _WORD_BYTES + 1
        if not lowest.all():
            self._long(np.flatnonzero(lowest == 0), payload, lengths)
            self.move(self.at + lengths)
        else:
            self._advance(lengths)
        return _signed(payload)

    def _long(self, rows: Numbers, payload: _Words, lengths: Numbers) -> None:
        """Completes numbers of nine and ten bytes; longer ones are invalid."""
        ninth, tenth = (self.block.octets[self.at[rows] + place].astype(np.uint64) for place in (8, 9))
        has_tenth = ninth > 0x7F
        payload[rows] |= (ninth & np.uint64(0x7F)) << np.uint64(56)
        payload[rows] |= np.where(has_tenth, tenth << np.uint64(63), np.uint64(0))
        lengths[rows] = np.where(has_tenth, np.where(tenth > 1, -1, 10), 9)

    def bytes(self) -> tuple[Numbers, Numbers]:
        """Reads a text or bytes: start and end offset."""
        lengths = self.longs()
        starts = self.at
        self.move(starts + lengths)
        return starts, self.at

    def short_entries(self) -> Numbers | None:
        """Reads a number, and moves past the bytes that follow it.

        Returns:
            The numbers; None, without moving, unless the number and the length of the bytes take one byte
            each in all rows, as in most maps of columns to bounds.
        """
        pairs = self.block.pairs[self.at]
        if (pairs & _NO_SHORT_ENTRY).any():
            return None
        self._advance((pairs >> _LENGTH_BITS) + np.int64(2))
        return cast(Numbers, _SIGNED[pairs & np.uint16(0x7F)])

    def branches(self) -> npt.NDArray[np.bool_]:
        """Reads the branch of a union with null: whether it is not null."""
        first = self.block.octets[self.at]
        if (first == _SOME).all():
            self._advance(1)
            return cast(npt.NDArray[np.bool_], self.at != self.nowhere)
        branch = self.longs()
        self.move(self.at, where=(branch == 0) | (branch == 1))
        return cast(npt.NDArray[np.bool_], (branch == 1) & (self.at != self.nowhere))

    def some(self, rows: Any) -> Lanes:
        """The offsets of some rows, to read fields there that other rows lack; see `rejoin`."""
        return Lanes(self.block, self.at[rows])

    def rejoin(self, rows: Any, others: Lanes) -> None:
        """Takes over the offsets that some rows have reached."""
        self.at = self.at.copy()
        self.at[rows] = others.at


def _signed(payload: _Words) -> Numbers:
    """Decodes Avro's zigzag code."""
    return (payload >> np.uint64(1)).view(np.int64) ^ -(payload & np.uint64(1)).view(np.int64)


_SOME = 2
"""The branch of a union with null that is not null, as it is encoded."""
_SIGNED: Numbers = _signed(np.arange(128, dtype=np.uint64))
"""The numbers that take one byte."""
