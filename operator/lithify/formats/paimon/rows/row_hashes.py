"""Hash codes of many rows at once, as Java's `BinaryRow.hashCode` computes them.

Called by `primary_key.buckets`. Java builds a BinaryRow of the columns (see `binary_row`) and hashes its
bytes by 32-bit words with Murmur3. Here no rows are built: every word is an array with one value per row,
mixed into the hashes of all rows at once. Only values that are longer than a slot have a different number of
words in each row. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lithify.columns.murmur_hash import Words, finished, mixed
from lithify.columns.octets import redundant_bytes
from lithify.columns.order import EPOCH_DAY, parts_of_column
from lithify.files.types import ColumnType

_Numbers: TypeAlias = npt.NDArray[np.int64]
_Octets: TypeAlias = npt.NDArray[np.uint8]

SEED = 42
"""Seed of all of Paimon's hashes of rows and texts."""
_SLOT_BYTES = 8
_WORD_BYTES = 4
_INLINE_BYTES = 7
_INLINE_MARK = 0x80
_DECIMAL_BYTES = 16
_DAY_MILLIS = 86_400_000
_SIGN = np.uint64(1 << 63)
_PADDING = bytes(_SLOT_BYTES)


@dataclass(frozen=True, slots=True)
class _Texts:
    """Byte strings: where each of them starts in the bytes of all, and its length.

    `words` has the four bytes from each offset on, little-endian.
    """

    words: Words
    starts: _Numbers
    lengths: _Numbers

    def word(self, number: int) -> Words:
        """The word of this number in each byte string, with zeros behind its end."""
        left = np.clip(self.lengths - _WORD_BYTES * number, 0, _WORD_BYTES)
        masks = (np.uint64(1) << (8 * left).astype(np.uint64)) - np.uint64(1)
        found = self.words[np.where(left > 0, self.starts + _WORD_BYTES * number, 0)]
        return found & masks.astype(np.uint32)

    def some(self, rows: _Numbers) -> _Texts:
        """The byte strings of some rows."""
        return _Texts(self.words, self.starts[rows], self.lengths[rows])


@dataclass(frozen=True, slots=True)
class _Field:
    """A column in the form of a BinaryRow.

    Attributes:
        slot: the two words of the slot; the upper one is replaced by the tail's offset if there is one.
        tail: the words of the tail; byte strings in `texts` have no others.
        texts: byte strings, which are in the tail if they do not fit the slot.
    """

    slot: tuple[Words, Words]
    tail: tuple[Words, ...] = ()
    texts: _Texts | None = None

    @property
    def tail_bytes(self) -> _Numbers:
        """Size of the tail in each row, a multiple of 8."""
        if self.texts is None:
            return np.full(len(self.slot[0]), _WORD_BYTES * len(self.tail), np.int64)
        rounded = (self.texts.lengths + _SLOT_BYTES - 1) // _SLOT_BYTES * _SLOT_BYTES
        return np.where(self.texts.lengths > _INLINE_BYTES, rounded, 0)


def row_hashes(columns: Sequence[pa.Array], types: Sequence[ColumnType]) -> npt.NDArray[np.int32]:
    """The hash codes of rows of these columns.

    Args:
        columns: at least one column, without nulls, dictionaries and nested types.
        types: types of the columns.

    Raises:
        ValueError: a column has nulls.
    """
    if any(column.null_count for column in columns):
        raise ValueError("a column of the key has nulls")
    fields = [_field(*pair) for pair in zip(columns, types, strict=True)]
    head = _null_bytes(len(fields))
    rows = len(columns[0])
    hashes = np.full(rows, SEED, np.uint32)
    end = np.full(rows, head + _SLOT_BYTES * len(fields), np.int64)
    for _ in range(head // _WORD_BYTES):
        hashes = mixed(hashes, np.zeros(rows, np.uint32))
    for field in fields:
        size = field.tail_bytes
        low, high = field.slot
        hashes = mixed(hashes, low)
        hashes = mixed(hashes, np.where(size > 0, end, high).astype(np.uint32))
        end = end + size
    for field in fields:
        for word in field.tail:
            hashes = mixed(hashes, word)
        if field.texts is not None:
            _mix_texts(hashes, field.texts, field.tail_bytes // _WORD_BYTES)
    return finished(hashes, end.astype(np.uint32)).view(np.int32)


def _mix_texts(hashes: Words, texts: _Texts, counts: _Numbers) -> None:
    """Mixes the words of byte strings into the hashes; the longest come first, to drop the others in turn."""
    order = np.argsort(-counts, kind="stable")
    sizes = counts[order]
    for number in range(int(sizes[0]) if len(sizes) else 0):
        order = order[: np.searchsorted(-sizes, -number, side="left")]
        sizes = sizes[: len(order)]
        hashes[order] = mixed(hashes[order], texts.some(order).word(number))


def _null_bytes(fields: int) -> int:
    """Bytes of the row kind and the null bits, which are all zero."""
    return (fields + 63 + 8) // 64 * 8


def _field(column: pa.Array, kind: ColumnType) -> _Field:
    if kind.is_bytes:
        return _of_texts(column)
    if kind.is_float:
        bits = column.to_numpy(zero_copy_only=False)
        words = bits.view(np.uint32) if kind.root == "FLOAT" else bits.view(np.uint64)
        return _Field(_split(words.astype(np.uint64)))
    parts = cast(list[_Numbers], parts_of_column(column))
    if kind.is_wide_decimal:
        return _of_decimals(*parts)
    if kind.is_timestamp and kind.precision > 3:
        return _of_timestamps(parts, kind)
    return _Field(_split(_narrowed(parts[0], kind)))


def _narrowed(values: _Numbers, kind: ColumnType) -> npt.NDArray[np.uint64]:
    """The value in its slot: the bytes above its own width are zero."""
    width = _WIDTHS.get(kind.root, 64)
    unsigned = values.astype(np.int64).view(np.uint64)
    return unsigned if width == 64 else unsigned & np.uint64((1 << width) - 1)


_WIDTHS = {"BOOLEAN": 8, "TINYINT": 8, "SMALLINT": 16, "INT": 32, "DATE": 32, "TIME": 32}
"""Bits of types that do not fill their slot."""


def _split(words: npt.NDArray[np.uint64]) -> tuple[Words, Words]:
    """The lower and the upper half of 64-bit words."""
    return words.astype(np.uint32), (words >> np.uint64(32)).astype(np.uint32)


def _of_timestamps(parts: Sequence[_Numbers], kind: ColumnType) -> _Field:
    """The tail has the milliseconds, the slot the nanoseconds that they leave."""
    if kind.is_nanos:
        day, nanos = parts
        millis = (day - EPOCH_DAY) * _DAY_MILLIS + nanos // 1_000_000
        rest = nanos % 1_000_000
    else:
        millis, rest = parts[0] // 1000, parts[0] % 1000 * 1000
    words = rest.astype(np.uint32)
    return _Field((words, words), _split(millis.view(np.uint64)))


def _of_decimals(upper: _Numbers, lower: _Numbers) -> _Field:
    """The tail has the shortest big-endian two's complement, padded with zeros; the slot has its length."""
    halves = np.stack([upper.view(np.uint64), lower.view(np.uint64) + _SIGN], axis=1)
    octets = halves.astype(">u8").view(np.uint8).reshape(-1, _DECIMAL_BYTES)
    redundant = redundant_bytes(octets)
    places = np.arange(_DECIMAL_BYTES) + redundant[:, None]
    used = np.take_along_axis(octets, np.minimum(places, _DECIMAL_BYTES - 1), axis=1)
    used = np.where(places < _DECIMAL_BYTES, used, 0).astype(np.uint8)
    lengths = (_DECIMAL_BYTES - redundant).astype(np.uint32)
    return _Field((lengths, lengths), tuple(_words_of(used)))


def _words_of(octets: _Octets) -> Iterator[Words]:
    table = np.ascontiguousarray(octets).view("<u4")
    return (np.ascontiguousarray(table[:, number]) for number in range(table.shape[1]))


def _of_texts(column: pa.Array) -> _Field:
    (part,) = cast(list[pa.LargeBinaryArray], parts_of_column(column))
    _, offsets_buffer, data_buffer = part.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int64)[part.offset : part.offset + len(part) + 1]
    first, last = (int(offsets[0]), int(offsets[-1])) if len(part) else (0, 0)
    data = (b"" if data_buffer is None else data_buffer.slice(first, last - first).to_pybytes()) + _PADDING
    words = np.ndarray((len(data) - _WORD_BYTES + 1,), np.dtype("<u4"), data, strides=(1,))
    texts = _Texts(words, offsets[:-1] - first, np.diff(offsets))
    is_inline = texts.lengths <= _INLINE_BYTES
    marks = ((_INLINE_MARK | texts.lengths) << 24).astype(np.uint32)
    low = np.where(is_inline, texts.word(0), texts.lengths.astype(np.uint32))
    return _Field((low, texts.word(1) | marks), texts=texts)
