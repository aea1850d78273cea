"""Parquet footers in Thrift's compact protocol: walks through one and replaces parts of it.

Called by `int96`, `bloom_filters` and `structs`, which know what the fields mean. Unknown fields are kept.
A walk through bytes that are no footer raises IndexError; it neither hangs nor takes much memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")

_MAGIC = b"PAR1"
_TAIL = 8
"""Bytes of the footer's length and the magic bytes after it."""

ROW_GROUPS = 4
"""Field number of the row groups in `parquet.thrift`'s FileMetaData."""
_COLUMNS, _META_DATA = 1, 3
"""Field numbers of a row group's column chunks, and of a chunk's metadata."""

_MOST_BITS = 64
"""Bits of the longest integer; longer ones would take time that grows with the square of their length."""

I32, I64 = 5, 6
_BOOLEANS, _INTEGERS = (1, 2), (4, I32, I64)
_BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 3, 7, 8, 9, 10, 11, 12
"""Types of the compact protocol."""
_FIXED = {1: 0, 2: 0, _BYTE: 1, _DOUBLE: 8}
"""Bytes of types of one width; booleans are types."""


@dataclass(slots=True)
class Thrift:
    """A walk through a footer, and the changes to be made.

    Attributes:
        data: the footer.
        at: current position.
        changes: replacements of byte ranges.
    """

    data: bytes
    at: int = 0
    changes: list[tuple[int, int, bytes]] = field(default_factory=list)

    def varint(self) -> int:
        """Reads a varint."""
        shift = result = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                return result
            shift += 7
            if shift > _MOST_BITS:
                raise IndexError(f"an integer of more than {_MOST_BITS} bits at byte {self.at}")

    def integer(self) -> int:
        """Reads a signed (zigzag) varint."""
        number = self.varint()
        return (number >> 1) ^ -(number & 1)

    def fields(self) -> Iterator[tuple[int, int, int]]:
        """Number, type and header position of each field of a struct; the caller reads its value."""
        number = 0
        while True:
            start = self.at
            header = self.data[self.at]
            self.at += 1
            if header == 0:
                return
            delta = header >> 4
            number = number + delta if delta else self.integer()
            yield number, header & 0x0F, start

    def each(self, read: Callable[[Thrift], T]) -> list[T]:
        """Reads a list of structs."""
        size, _ = self._sized()
        return [read(self) for _ in range(size)]

    def skip(self, kind: int) -> None:
        """Skips a value of a type."""
        if kind in _FIXED:
            self.at += _FIXED[kind]
        elif kind == _BINARY:
            length = self.varint()
            self.at += length
        elif kind in (_LIST, _SET):
            size, element = self._sized()
            for _ in range(size):
                self._skip_element(element)
        elif kind == _MAP:
            self._skip_map()
        elif kind == _STRUCT:
            for _, inner, _ in self.fields():
                self.skip(inner)
        elif kind in _INTEGERS:
            self.varint()
        else:
            raise IndexError(f"a value of the unknown type {kind} at byte {self.at}")

    def changed(self) -> bytes:
        """The footer with all changes applied."""
        parts, done = [], 0
        for start, end, replacement in sorted(self.changes):
            parts += [self.data[done:start], replacement]
            done = end
        return b"".join([*parts, self.data[done:]])

    def _sized(self) -> tuple[int, int]:
        """Number and type of the elements of a list or set."""
        header = self.data[self.at]
        self.at += 1
        size = header >> 4
        return self._present(self.varint() if size == 0x0F else size), header & 0x0F

    def _present(self, size: int) -> int:
        """The number of elements, each of which takes a byte or more."""
        if size > len(self.data) - self.at:
            raise IndexError(f"{size} elements at byte {self.at} of {len(self.data)}")
        return size

    def _skip_map(self) -> None:
        size = self._present(self.varint())
        if size:
            kinds = self.data[self.at]
            self.at += 1
            for _ in range(size):
                self._skip_element(kinds >> 4)
                self._skip_element(kinds & 0x0F)

    def _skip_element(self, kind: int) -> None:
        self.skip(_BYTE if kind in _BOOLEANS else kind)


def column_chunks(thrift: Thrift, read: Callable[[Thrift], T]) -> list[T]:
    """Reads a row group: the results of `read` for the metadata of each column chunk."""
    found: list[T] = []
    for number, kind, _ in thrift.fields():
        if number == _COLUMNS:
            found = [one for chunk in thrift.each(lambda inner: _of_chunk(inner, read)) for one in chunk]
        else:
            thrift.skip(kind)
    return found


def _of_chunk(thrift: Thrift, read: Callable[[Thrift], T]) -> list[T]:
    found = []
    for number, kind, _ in thrift.fields():
        if number == _META_DATA:
            found.append(read(thrift))
        else:
            thrift.skip(kind)
    return found


def number_of(value: int) -> bytes:
    """Encodes a signed number."""
    left = (value << 1) ^ (value >> 63)
    found = bytearray()
    while left >= 0x80:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*found, left])


def with_footer(end: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """The end of a file (or a file with nothing else) whose footer was changed."""
    length = int.from_bytes(end[-_TAIL : -len(_MAGIC)], "little")
    start = len(end) - _TAIL - length
    footer = change(end[start:-_TAIL])
    return end[:start] + footer + len(footer).to_bytes(4, "little") + _MAGIC
