"""Paimon's own Avro files (manifests, manifest lists, index manifests), unpacked within bounds.

Called by `entry_columns`, which decodes manifests into columns, and by `manifest_lists` and `manifests`,
which read the small ones record by record. Knows nothing of what the fields mean. Whatever a damaged or
hostile file says of itself, unpacking it ends, in memory that is bounded by its size.

Rows are records; releases before 0.9 wrote them as a union of null and a record.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any, cast

import pyarrow as pa
from fastavro import parse_schema, schemaless_reader

from lithify.tables.files.avro.container import (
    Header,
    as_array,
    blocks,
    decompress,
    read_header,
)

_MOST_BYTES = 64 << 20
_MOST_RATIO = 64
"""The most that a file may decompress to: this many bytes, or this many times its own size if that is more.

As objects and columns they take several times as much again.
"""
_MOST_IN_ALL = 1 << 30
"""Bytes that no file may decompress to, however large it is."""
_AT_ONCE = 1 << 20
"""Bytes of a block up to which its rows are decoded in one call; writers end blocks at 64 kB."""
_MOST_DEPTH = 10
"""How deep the types of a schema may nest; those of Paimon 0.4 come to 8."""
_MOST_TYPES = 4096
"""How many types a schema may have where references to named ones are resolved; Paimon's have 100."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBERS = frozenset({"int", "long"})
_PRIMITIVES = _NUMBERS | {"boolean", "float", "double", "bytes", "string"}

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A file whose blocks are decompressed as they are asked for.

    Attributes:
        content: the bytes of the file.
        header: what it says of itself.
        schema: of a row, without logical types and references: a record, or a union of null and one.
    """

    content: bytes
    header: Header
    schema: Any

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """How many rows each block has, and their bytes.

        Raises:
            EOFError: the file is cut off, or its blocks cannot be decompressed or come to too much.
            ValueError: a block cannot hold as many rows as it says.
        """
        left = min(max(_MOST_BYTES, _MOST_RATIO * len(self.content)), _MOST_IN_ALL)
        least = _least_bytes(self.schema)
        for found in blocks(pa.BufferReader(self.content), self.header):
            packed = self.content[found.start : found.start + found.size]
            data = decompress(self.header.codec, packed, left)
            left -= len(data)
            if found.rows * least > len(data):
                raise ValueError(f"a block says that it has {found.rows} rows, in {len(data)} bytes")
            yield found.rows, data

    def portions(self, size: int) -> Iterator[list[tuple[int, bytes]]]:
        """The same blocks, some at a time.

        Args:
            size: bytes that they come to at most, unless a single block comes to more.

        Returns:
            The portions, one at least.
        """
        portion: list[tuple[int, bytes]] = []
        left = size
        for rows, data in self.blocks():
            if portion and len(data) > left:
                yield portion
                portion, left = [], size
            portion.append((rows, data))
            left -= len(data)
        yield portion

    def records(self, blocks: Iterable[tuple[int, bytes]] | None = None) -> Iterator[Record]:
        """The rows, one after the other.

        Args:
            blocks: those to read; by default all.

        Raises:
            EOFError, ValueError, LookupError: what `blocks` raises, or rows cannot be decoded.
        """
        row = parse_schema(self.schema)
        array = parse_schema({"type": "array", "items": self.schema})
        for rows, data in self.blocks() if blocks is None else blocks:
            yield from _decoded(array, rows, data) if len(data) <= _AT_ONCE else _one_by_one(row, rows, data)


def unpack(content: bytes, known: Mapping[str, Any]) -> Unpacked:
    """Opens a file.

    Args:
        content: its bytes.
        known: the newest schema of such files; a field that both have must be of the same type.

    Raises:
        EOFError: it is cut off, or no Avro file.
        ValueError, LookupError: its schema is not that of such a file.
    """
    header = read_header(pa.BufferReader(content))
    try:
        schema = _Schema().plain(header.schema, 0)
    except (TypeError, AttributeError) as error:
        raise ValueError(f"its schema makes no sense ({error})") from error
    if _kind(_not_null(schema)) != "record":
        raise ValueError("its rows are no records")
    _check_types(_not_null(schema), _Schema().plain(known, 0), "")
    return Unpacked(content, header, schema)


def check_version(found: int | None, expected: int) -> None:
    """Makes sure that an entry is of the version that is known.

    Raises:
        ValueError: it is of another one.
    """
    if found != expected:
        raise ValueError(f"its entries are of version {found}, this release reads version {expected}")


def field_names(schema: Any) -> frozenset[str]:
    """Names of all fields in a plain schema, also of nested records."""
    schema = _not_null(schema)
    if _kind(schema) == "array":
        return field_names(schema["items"])
    fields = _types_of(schema)
    return frozenset(fields).union(*map(field_names, fields.values()))


def _types_of(schema: Any) -> dict[str, Any]:
    """The types of a record's fields, by name; none of what is no record."""
    return {field["name"]: field["type"] for field in schema["fields"]} if _kind(schema) == "record" else {}


def _kind(schema: Any) -> str:
    """The name of a plain type, or `union`."""
    if isinstance(schema, list):
        return "union"
    return cast(str, schema["type"] if isinstance(schema, Mapping) else schema)


def _not_null(schema: Any) -> Any:
    """A type without null, where it may be that."""
    return schema[1] if isinstance(schema, list) else schema


class _Schema:
    """Makes one schema plain; counts its types, because references can make any number of few."""

    def __init__(self) -> None:
        self._named: dict[str, Any] = {}
        self._types = 0

    def plain(self, schema: Any, depth: int) -> Any:
        self._types += 1
        if depth > _MOST_DEPTH or self._types > _MOST_TYPES:
            raise ValueError("its schema is nested too deep")
        if isinstance(schema, list):
            return self._union(schema, depth)
        if isinstance(schema, str):
            return schema if schema in _PRIMITIVES else self.plain(self._named[schema], depth + 1)
        kind = schema["type"]
        if kind == "array":
            return {"type": "array", "items": self.plain(schema["items"], depth + 1)}
        return self._record(schema, depth) if kind == "record" else self.plain(kind, depth + 1)

    def _union(self, schema: list[Any], depth: int) -> list[Any]:
        if len(schema) != 2 or schema[0] != "null" or isinstance(schema[1], list):
            raise ValueError("its schema has a union that is no nullable type")
        return ["null", self.plain(schema[1], depth + 1)]

    def _record(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        name = f"record{self._types}"
        fields = {field["name"]: self.plain(field["type"], depth + 1) for field in schema["fields"]}
        if not fields or len(fields) != len(schema["fields"]) or not all(map(_NAME.fullmatch, fields)):
            raise ValueError("its schema has a record without fields, or with fields that have no name")
        self._named[schema["name"]] = schema
        return _record(name, fields)


def _record(name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    plain_fields = [{"name": field, "type": kind} for field, kind in fields.items()]
    return {"type": "record", "name": name, "fields": plain_fields}


def _least_bytes(schema: Any) -> int:
    """Bytes that a value takes at least: a number, a length or the choice of a union takes one."""
    return sum(map(_least_bytes, _types_of(schema).values())) or 1


def _check_types(schema: Any, known: Any, where: str) -> None:
    """Makes sure that what two schemas have in common is of the same type; null is left to readers."""
    schema, known = _not_null(schema), _not_null(known)
    kinds = {_kind(schema), _kind(known)}
    if len(kinds) > 1 and not kinds <= _NUMBERS:
        raise ValueError(f"{where} is of type {_kind(schema)}")
    if kinds == {"array"}:
        _check_types(schema["items"], known["items"], where)
    expected = _types_of(known)
    for name, kind in _types_of(schema).items():
        if name in expected:
            _check_types(kind, expected[name], name)


def _one_by_one(schema: Any, rows: int, data: bytes) -> Iterator[Record]:
    """The rows of a large block: as objects they take many times as much memory as they do as bytes."""
    stream = BytesIO(data)
    for _ in range(rows):
        yield _row(stream, schema)
    if stream.tell() != len(data):
        raise ValueError(f"a block says that it has {rows} rows, but it does not")


def _row(stream: BytesIO, schema: Any) -> Record:
    try:
        record: Any = schemaless_reader(stream, schema, None)
    except (TypeError, OverflowError) as error:
        raise ValueError(f"its rows cannot be decoded ({error})") from error
    if record is None:
        raise ValueError("a row in it is null")
    return cast(Record, record)


def _decoded(schema: Any, rows: int, data: bytes) -> list[Record]:
    if data and not rows:
        raise ValueError("a block says that it has no rows, but it has bytes")
    array = as_array(rows, data)
    stream = BytesIO(array)
    try:
        records: Any = schemaless_reader(stream, schema, None)
    except (TypeError, OverflowError) as error:
        raise ValueError(f"its rows cannot be decoded ({error})") from error
    if len(records) != rows or stream.tell() != len(array) or None in records:
        raise ValueError(f"a block says that it has {rows} rows, but it does not")
    return cast(list[Record], records)
