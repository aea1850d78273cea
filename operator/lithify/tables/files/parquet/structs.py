"""Structs of Thrift's compact protocol whose values stay encoded, so that a few can be replaced.

Called by the modules that read and write footers for `copying`. Knows no field by its meaning.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lithify.tables.files.parquet.thrift import I32, I64, Thrift, number_of

I16 = 4
BINARY, LIST, STRUCT = 8, 9, 12
"""Types of the compact protocol, besides those of `thrift`."""
_TRUE = 1
_INTEGERS = (I16, I32, I64)
_LONG_LIST = 15


class Malformed(ValueError):
    """Bytes are not the structs that they should be."""


@dataclass(frozen=True, slots=True)
class Value:
    """The value of a field: its type, and its bytes (none for booleans, which are types)."""

    kind: int
    data: bytes

    @property
    def integer(self) -> int:
        """The number in an integer field."""
        if self.kind not in _INTEGERS:
            raise Malformed(f"a field of type {self.kind} is no integer")
        return Thrift(self.data).integer()

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
        return read_struct(Thrift(self.data))

    @property
    def structs(self) -> list[Struct]:
        """The elements of a list of structs."""
        if self.kind != LIST or not self.data or self.data[0] & 0x0F != STRUCT:
            raise Malformed("a field is no list of structs")
        return Thrift(self.data).each(read_struct)


Struct = Mapping[int, Value]
"""Values by field number."""


def read_struct(walk: Thrift) -> Struct:
    """Reads a struct and leaves the walk behind it.

    Raises:
        IndexError: the data ends before the struct.
        Malformed: a field occurs twice.
    """
    found: dict[int, Value] = {}
    for number, kind, _ in walk.fields():
        start = walk.at
        walk.skip(kind)
        if walk.at > len(walk.data):
            raise IndexError(f"field {number} ends behind byte {len(walk.data)}")
        if number in found:
            raise Malformed(f"field {number} occurs twice")
        found[number] = Value(kind, walk.data[start : walk.at])
    return found


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
    return Value(LIST, _list_header(encoded) + b"".join(encoded))


def _list_header(elements: Sequence[bytes]) -> bytes:
    count = len(elements)
    if count < _LONG_LIST:
        return bytes([count << 4 | STRUCT])
    return bytes([_LONG_LIST << 4 | STRUCT]) + _varint(count)


def _varint(number: int) -> bytes:
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])
