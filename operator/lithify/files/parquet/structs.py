"""Structs of Thrift's compact protocol whose values stay encoded, so that a few can be replaced.

Called by the modules that read and write footers for `copying`. Knows no field by its meaning.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from lithify.files.parquet.thrift import (
    I32,
    I64,
    Thrift,
    number_of,
)

I16 = 4
BINARY, LIST, STRUCT = 8, 9, 12
"""Types of the compact protocol, besides those of `thrift`."""
_TRUE = 1
_BITS = {I16: 16, I32: 32, I64: 64}
_INTEGERS = (I16, I32, I64)
_MOST_BYTES = 10
"""Bytes of the longest integer."""
_LONG_LIST = 15
_MORE = 0x80
"""Set in every byte of an integer but the last."""


class Malformed(ValueError):
    """Bytes are not the structs that they should be."""


class Value(NamedTuple):
    """The value of a field; a footer has thousands.

    Attributes:
        kind: its type.
        data: its bytes (none for booleans, which are types).
        inner: the struct, or the structs of the list, that was read to find where the value ends.
    """

    kind: int
    data: bytes
    inner: Struct | list[Struct] | None = None

    @property
    def integer(self) -> int:
        """The number in an integer field.

        Raises:
            Malformed: it is no integer, or one that does not fit into the field.
        """
        if self.kind not in _INTEGERS:
            raise Malformed(f"a field of type {self.kind} is no integer")
        if len(self.data) > _MOST_BYTES:
            raise Malformed(f"an integer of {len(self.data)} bytes")
        number = shift = 0
        for byte in self.data:
            number |= (byte & 0x7F) << shift
            shift += 7
        if number >> _BITS[self.kind]:  # other readers would only see the last bits
            raise Malformed(f"an integer of more than {_BITS[self.kind]} bits")
        return (number >> 1) ^ -(number & 1)

    @property
    def binary(self) -> bytes:
        """The bytes in a binary field."""
        if self.kind != BINARY:
            raise Malformed(f"a field of type {self.kind} is not binary")
        walk = Thrift(self.data)
        length = walk.varint()
        return self.data[walk.at : walk.at + length]

    @property
    def is_true(self) -> bool:
        """Whether a boolean field is true."""
        return self.kind == _TRUE

    @property
    def struct(self) -> Struct:
        """The fields of a struct."""
        if self.kind != STRUCT:
            raise Malformed(f"a field of type {self.kind} is no struct")
        return self.inner if isinstance(self.inner, dict) else read_struct(Thrift(self.data))

    @property
    def structs(self) -> list[Struct]:
        """The elements of a list of structs."""
        if self.kind != LIST or not self.data or self.data[0] & 0x0F != STRUCT:
            raise Malformed("a field is no list of structs")
        return self.inner if isinstance(self.inner, list) else Thrift(self.data).each(read_struct)


_new = tuple.__new__
"""Makes a value in half of the time that its own constructor takes."""
Struct = Mapping[int, Value]
"""Values by field number."""


def read_struct(walk: Thrift) -> Struct:
    """Reads a struct with the structs nested in it; the walk is then at its end.

    Raises:
        IndexError: the data ends before the struct.
        Malformed: a field occurs twice.
    """
    found: dict[int, Value] = {}
    data, at, number = walk.data, walk.at, 0
    while header := data[at]:
        at += 1
        kind = header & 0x0F
        if header >> 4:
            number += header >> 4
        else:
            walk.at = at
            number, at = walk.integer(), walk.at
        start = at
        inner: Struct | list[Struct] | None = None
        if kind in _INTEGERS:  # most fields
            while data[at] >= _MORE:
                at += 1
            at += 1
        else:
            walk.at = at
            inner = _skipped(walk, kind)
            at = walk.at
        if at > len(data):
            raise IndexError(f"field {number} ends behind byte {len(data)}")
        if number in found:
            raise Malformed(f"field {number} occurs twice")
        found[number] = _new(Value, (kind, data[start:at], inner))
    walk.at = at + 1
    return found


def _skipped(walk: Thrift, kind: int) -> Struct | list[Struct] | None:
    """Moves a walk past a value; returns the value's structs: itself, or its elements."""
    if kind == STRUCT:
        return read_struct(walk)
    if kind == LIST and walk.data[walk.at] & 0x0F == STRUCT:
        return walk.each(read_struct)
    walk.skip(kind)
    return None


def integer_of(fields: Struct, number: int, default: int | None = None) -> int:
    """The number in a field.

    Raises:
        Malformed: the field is missing and there is no default, or it is no integer.
    """
    if number in fields:
        return fields[number].integer
    if default is None:
        raise Malformed(f"field {number} is missing")
    return default


def encode_struct(fields: Struct) -> bytes:
    """Encodes a struct."""
    parts, before = [], 0
    for number, value in sorted(fields.items()):
        step = number - before
        short = 0 < step <= _LONG_LIST
        parts.append(bytes([step << 4 | value.kind]) if short else bytes([value.kind]) + number_of(number))
        parts.append(value.data)
        before = number
    return b"".join([*parts, b"\x00"])


def i16(number: int) -> Value:
    """A 16-bit number as a value."""
    return Value(I16, number_of(number))


def i32(number: int) -> Value:
    """A 32-bit number as a value."""
    return Value(I32, number_of(number))


def i64(number: int) -> Value:
    """A 64-bit number as a value."""
    return Value(I64, number_of(number))


def binary(data: bytes) -> Value:
    """Bytes as a value."""
    return Value(BINARY, _varint(len(data)) + data)


def struct(fields: Struct) -> Value:
    """A struct as a value."""
    return Value(STRUCT, encode_struct(fields))


def structs(elements: Iterable[Struct]) -> Value:
    """A list of structs as a value."""
    encoded = [encode_struct(each) for each in elements]
    return Value(LIST, _list_header(len(encoded), STRUCT) + b"".join(encoded))


def list_of_i32(numbers: Sequence[int]) -> Value:
    """A list of 32-bit numbers as a value."""
    return Value(LIST, _list_header(len(numbers), I32) + b"".join(map(number_of, numbers)))


def joined_lists(lists: Sequence[Value]) -> Value:
    """One list with the elements of several, which stay encoded.

    Raises:
        Malformed: a value is no list, or the elements have different types.
    """
    kinds, count, parts = set(), 0, []
    for value in lists:
        size, kind, start = _list_begin(value)
        if size:
            kinds.add(kind)
            count += size
            parts.append(value.data[start:])
    if len(kinds) > 1:
        raise Malformed("lists of different types")
    return Value(LIST, _list_header(count, *kinds or (BINARY,)) + b"".join(parts))


def list_size(value: Value) -> int:
    """The number of elements in a list.

    Raises:
        Malformed: the value is no list.
    """
    return _list_begin(value)[0]


def _list_begin(value: Value) -> tuple[int, int, int]:
    """The number of elements of a list, their type, and the position of the first."""
    if value.kind != LIST or not value.data:
        raise Malformed(f"a field of type {value.kind} is no list")
    walk = Thrift(value.data, 1)
    size = value.data[0] >> 4
    return (walk.varint() if size == _LONG_LIST else size), value.data[0] & 0x0F, walk.at


def _list_header(count: int, kind: int) -> bytes:
    if count < _LONG_LIST:
        return bytes([count << 4 | kind])
    return bytes([_LONG_LIST << 4 | kind]) + _varint(count)


def _varint(number: int) -> bytes:
    found = bytearray()
    while number >= _MORE:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])
