"""Footers in which Parquet's INT96 columns are labelled as 12 fixed bytes, and the way back.

PyArrow makes int64 nanoseconds of INT96, which wrap beyond the year 2262, and writes INT96 for all timestamps
of a file or for none. The bytes of both kinds of column are the same in data and dictionary pages; only the
footer tells them apart. So the reader hands PyArrow a footer with fixed bytes, and the writer lets PyArrow
write those and labels the columns that Java stores so at the end. Knows as much of Thrift's compact protocol
as that takes.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

T = TypeVar("T")

_INT96, _FIXED = 3, 7
"""Of `parquet.thrift`'s `Type`."""
_WIDTH = 12
_MAGIC = b"PAR1"
_TAIL = 8
"""The length of the footer and the magic bytes behind it."""

_BOOLEANS = (1, 2)
_BYTE, _I32, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 3, 5, 7, 8, 9, 10, 11, 12
"""Types of the compact protocol; those in between are variable-length integers."""

_SCHEMA, _ROW_GROUPS, _COLUMNS, _META_DATA = 2, 4, 1, 3
_TYPE, _TYPE_LENGTH, _CHILDREN, _CONVERTED, _LOGICAL = 1, 2, 5, 6, 10


def has_int96(footer: pq.FileMetaData) -> bool:
    """Whether any column of a file is INT96."""
    columns = (footer.schema.column(index) for index in range(footer.num_columns))
    return any(column.physical_type == "INT96" for column in columns)


def with_fixed_bytes(footer: pq.FileMetaData) -> pq.FileMetaData:
    """The footer of a file with its INT96 columns labelled as 12 fixed bytes, itself if there are none."""
    if not has_int96(footer):
        return footer
    whole = io.BytesIO()
    footer.write_metadata_file(whole)
    thrift = _relabelled(whole.getvalue()[len(_MAGIC) : -_TAIL], to_int96=False)
    return pq.read_metadata(pa.BufferReader(_MAGIC + thrift + _end_of(thrift)))


def with_int96(tail: bytes) -> bytes:
    """The end of a file, footer included, with columns of 12 fixed bytes and no meaning labelled as INT96."""
    length = int.from_bytes(tail[-_TAIL : -len(_MAGIC)], "little")
    start = len(tail) - _TAIL - length
    thrift = _relabelled(tail[start:-_TAIL], to_int96=True)
    return tail[:start] + thrift + _end_of(thrift)


def _end_of(thrift: bytes) -> bytes:
    return len(thrift).to_bytes(4, "little") + _MAGIC


@dataclass(slots=True)
class _Leaf:
    """Where in the footer a column's label is; positions of the values of `type` and `type_length`."""

    type: int = 0
    type_at: int = 0
    length: int = 0
    length_from: int = 0
    length_to: int = 0
    next_header_at: int = 0
    children: int = 0
    has_meaning: bool = False

    def is_wanted(self, *, to_int96: bool) -> bool:
        if to_int96:
            return self.type == _FIXED and self.length == _WIDTH and not self.has_meaning
        return self.type == _INT96


@dataclass(slots=True)
class _Thrift:
    """A footer being walked through, and the changes to be made."""

    data: bytes
    at: int = 0
    changes: list[tuple[int, int, bytes]] = field(default_factory=list)

    def varint(self) -> int:
        shift = result = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                return result
            shift += 7

    def integer(self) -> int:
        number = self.varint()
        return (number >> 1) ^ -(number & 1)

    def fields(self) -> Iterator[tuple[int, int, int]]:
        """Number, type and position of the header of each field of a struct; the caller takes its value."""
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

    def sized(self) -> tuple[int, int]:
        """Number and type of the elements of a list or set."""
        header = self.data[self.at]
        self.at += 1
        size = header >> 4
        return (self.varint() if size == 0x0F else size), header & 0x0F

    def skip(self, kind: int) -> None:
        if kind in _BOOLEANS:
            return
        if kind == _BYTE:
            self.at += 1
        elif kind == _DOUBLE:
            self.at += 8
        elif kind == _BINARY:
            length = self.varint()
            self.at += length
        elif kind in (_LIST, _SET):
            size, element = self.sized()
            for _ in range(size):
                self._skip_element(element)
        elif kind == _MAP:
            self._skip_map()
        elif kind == _STRUCT:
            for _, inner, _ in self.fields():
                self.skip(inner)
        else:
            self.varint()

    def _skip_map(self) -> None:
        size = self.varint()
        if size:
            kinds = self.data[self.at]
            self.at += 1
            for _ in range(size):
                self._skip_element(kinds >> 4)
                self._skip_element(kinds & 0x0F)

    def _skip_element(self, kind: int) -> None:
        self.skip(_BYTE if kind in _BOOLEANS else kind)

    def changed(self) -> bytes:
        """The footer after all changes."""
        parts, done = [], 0
        for start, end, replacement in sorted(self.changes):
            parts += [self.data[done:start], replacement]
            done = end
        return b"".join([*parts, self.data[done:]])


def _relabelled(footer: bytes, *, to_int96: bool) -> bytes:
    thrift = _Thrift(footer)
    wanted: list[bool] = []
    for number, kind, _ in thrift.fields():
        if number == _SCHEMA:
            leaves = [leaf for leaf in _each(thrift, _leaf) if not leaf.children]
            wanted = [leaf.is_wanted(to_int96=to_int96) for leaf in leaves]
            for leaf in (leaf for leaf, is_wanted in zip(leaves, wanted, strict=True) if is_wanted):
                _relabel(thrift, leaf, to_int96=to_int96)
        elif number == _ROW_GROUPS:
            for columns in _each(thrift, _types_of_row_group):
                _relabel_chunks(thrift, columns, wanted, to_int96=to_int96)
        else:
            thrift.skip(kind)
    return thrift.changed()


def _each(thrift: _Thrift, read: Callable[[_Thrift], T]) -> list[T]:
    size, _ = thrift.sized()
    return [read(thrift) for _ in range(size)]


def _leaf(thrift: _Thrift) -> _Leaf:
    leaf = _Leaf()
    previous = 0
    for number, kind, header_at in thrift.fields():
        if previous in (_TYPE, _TYPE_LENGTH):
            leaf.next_header_at = header_at
        previous = number
        if number == _TYPE:
            leaf.type_at = thrift.at
            leaf.type = thrift.integer()
        elif number == _TYPE_LENGTH:
            leaf.length_from = header_at
            leaf.length = thrift.integer()
            leaf.length_to = thrift.at
        elif number == _CHILDREN:
            leaf.children = thrift.integer()
        else:
            leaf.has_meaning = leaf.has_meaning or number in (_CONVERTED, _LOGICAL)
            thrift.skip(kind)
    return leaf


def _relabel(thrift: _Thrift, leaf: _Leaf, *, to_int96: bool) -> None:
    """Changes a schema element: its type, and whether it has a length, on which the next header depends."""
    label = _label(to_int96=to_int96)
    length = b"" if to_int96 else bytes([0x10 | _I32, _WIDTH << 1])
    if leaf.length_from:
        thrift.changes += [
            (leaf.type_at, leaf.type_at + 1, label),
            (leaf.length_from, leaf.length_to, length),
        ]
    else:
        thrift.changes.append((leaf.type_at, leaf.type_at + 1, label + length))
    header = thrift.data[leaf.next_header_at]
    step = int(to_int96) - int(not leaf.length_from)
    thrift.changes.append((leaf.next_header_at, leaf.next_header_at + 1, bytes([header + (step << 4)])))


def _label(*, to_int96: bool) -> bytes:
    return bytes([(_INT96 if to_int96 else _FIXED) << 1])


def _types_of_row_group(thrift: _Thrift) -> list[int]:
    """Where the type of each column chunk is."""
    found: list[int] = []
    for number, kind, _ in thrift.fields():
        if number == _COLUMNS:
            found = _each(thrift, _type_of_chunk)
        else:
            thrift.skip(kind)
    return found


def _type_of_chunk(thrift: _Thrift) -> int:
    found = 0
    for number, kind, _ in thrift.fields():
        if number != _META_DATA:
            thrift.skip(kind)
            continue
        for inner, inner_kind, _ in thrift.fields():
            if inner == _TYPE:
                found = thrift.at
            thrift.skip(inner_kind)
    return found


def _relabel_chunks(thrift: _Thrift, types_at: list[int], wanted: list[bool], *, to_int96: bool) -> None:
    for at in (at for at, is_wanted in zip(types_at, wanted, strict=True) if is_wanted):
        thrift.changes.append((at, at + 1, _label(to_int96=to_int96)))
