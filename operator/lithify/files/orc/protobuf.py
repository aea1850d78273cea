"""Parses Protocol Buffers messages without their schemas, for the footers of ORC files. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

Field: TypeAlias = int | bytes
Message: TypeAlias = dict[int, list[Field]]
"""Values by field number: ints for varints and fixed widths, bytes for the rest."""

_FIXED64, _BYTES, _FIXED32 = 1, 2, 5
_MOST_BITS = 64
_MOST_FIELDS = 1 << 20
"""Fields of a message; those of files are believed up to this number."""


def parse(data: bytes) -> Message:
    """Parses a message.

    Raises:
        EOFError: it is truncated, too large, or not a message.
    """
    message: Message = {}
    for count, (number, value) in enumerate(_fields(data)):
        message.setdefault(number, []).append(value)
        if count > _MOST_FIELDS:
            raise EOFError("a message in it has too many fields")
    return message


def number(message: Message, field: int, default: int = 0) -> int:
    """The last value of a number field; later values override earlier ones in protobuf."""
    value = message.get(field, [default])[-1]
    return value if isinstance(value, int) else default


def numbers(message: Message, field: int) -> list[int]:
    """All values of a repeated number field, which are encoded packed or one by one."""
    found: list[int] = []
    for value in message.get(field, []):
        found += [value] if isinstance(value, int) else _packed(value)
    return found


def signed(message: Message, field: int) -> int | None:
    """The value of an `sint64` field, None if it is missing."""
    value = message.get(field, [None])[-1]
    return (value >> 1) ^ -(value & 1) if isinstance(value, int) else None


def messages(message: Message, field: int) -> list[Message]:
    """The embedded messages of a field."""
    return [parse(value) for value in message.get(field, []) if isinstance(value, bytes)]


def text(message: Message, field: int) -> str:
    """The value of a text field, empty if it is missing."""
    value = message.get(field, [b""])[-1]
    return value.decode() if isinstance(value, bytes) else ""


def _fields(data: bytes) -> Iterator[tuple[int, Field]]:
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        kind = key & 7
        if kind == 0:
            value, position = _varint(data, position)
            yield key >> 3, value
            continue
        if kind == _BYTES:
            length, position = _varint(data, position)
        else:
            length = {_FIXED64: 8, _FIXED32: 4}.get(kind, len(data) + 1)
        chunk = data[position : position + length]
        if len(chunk) < length:
            raise EOFError("a message in it is cut off")
        position += length
        yield key >> 3, chunk if kind == _BYTES else int.from_bytes(chunk, "little")


def _packed(data: bytes) -> list[int]:
    found, position = [], 0
    while position < len(data):
        value, position = _varint(data, position)
        found.append(value)
    return found


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(data):
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift >= _MOST_BITS:
            break
    raise EOFError("a number in it is cut off, or too long")
