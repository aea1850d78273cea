"""Unpacks a table's Avro files of metadata (manifests, their lists) within bounds.

Called by adapters, which decode the rows into columns (`columns.avro_columns`) or read them record by record.
Does not know the meaning of fields. Even for a damaged or hostile file, unpacking terminates, in memory
bounded by the file's size. Rows are records, or a union of null and a record.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import Any, cast

import pyarrow as pa
from fastavro import parse_schema, schemaless_reader

from lithify.errors import CorruptTable, MissingFile
from lithify.files.avro.container import (
    Header,
    as_array,
    blocks,
    decompress,
    read_header,
)

_MOST_BYTES = 64 << 20
_MOST_RATIO = 64
"""Limit of a file's decompressed size: `_MOST_BYTES`, or this many times its own size if that is larger.

As objects and columns the data takes several times as much memory again.
"""
_MOST_IN_ALL = 1 << 30
"""Limit of a file's decompressed size in bytes, however large the file is."""
_AT_ONCE = 1 << 20
"""Bytes of a block up to which its rows are decoded in one call; writers end blocks at 64 kB."""
_MOST_DEPTH = 10
"""Maximum nesting depth of a schema's types; those of table formats reach 8."""
_MOST_TYPES = 4096
"""Maximum number of types in a schema with references to named types resolved; table formats have 100."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBERS = frozenset({"int", "long"})
_PRIMITIVES = _NUMBERS | {"boolean", "float", "double", "bytes", "string"}

_MOST_FIXED = 1 << 16
"""Maximum bytes of a fixed type; decimals and UUIDs have 16."""

Record = dict[str, Any]

FieldName = Callable[[Mapping[str, Any]], str]
"""Names a field of a schema; formats that identify fields by ids look at these."""


def _stored_name(field: Mapping[str, Any]) -> str:
    return cast(str, field["name"])


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A file whose blocks are decompressed on demand.

    Attributes:
        content: the bytes of the file.
        header: its Avro header.
        schema: schema of a row, without logical types and references: a record, or a union of null and one.
    """

    content: bytes
    header: Header
    schema: Any

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """The number of rows and the bytes of each block.

        Raises:
            EOFError: the file is truncated, or its blocks cannot be decompressed or exceed the limit.
            ValueError: a block is too small for its stated number of rows.
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
        """The same blocks, in portions.

        Args:
            size: upper bound of a portion's bytes, unless a single block is larger.

        Returns:
            The portions, at least one.
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
        """Iterates over the rows.

        Args:
            blocks: the blocks to read; by default all.

        Raises:
            EOFError, ValueError, LookupError: errors of `blocks`, or rows cannot be decoded.
        """
        row = parse_schema(self.schema)
        array = parse_schema({"type": "array", "items": self.schema})
        for rows, data in self.blocks() if blocks is None else blocks:
            yield from _decoded(array, rows, data) if len(data) <= _AT_ONCE else _one_by_one(row, rows, data)


def unpack(content: bytes, known: Mapping[str, Any], name_of: FieldName = _stored_name) -> Unpacked:
    """Opens a file.

    Args:
        content: its bytes.
        known: the newest schema of such files; a field that both have must be of the same type.
        name_of: what a field is called in the plain schema; by default as in the file.

    Raises:
        EOFError: it is truncated, or not an Avro file.
        ValueError, LookupError: its schema is not that of such a file.
    """
    header = read_header(pa.BufferReader(content))
    try:
        schema = _Schema(name_of).plain(header.schema, 0)
    except (TypeError, AttributeError) as error:
        raise ValueError(f"its schema makes no sense ({error})") from error
    if _kind(_not_null(schema)) != "record":
        raise ValueError("its rows are no records")
    _check_types(_not_null(schema), _Schema(_stored_name).plain(known, 0), "")
    return Unpacked(content, header, schema)


@contextmanager
def reading(path: str, what: str) -> Iterator[None]:
    """Adds the file's name to errors when it is missing or damaged; `what` says what it should be.

    Raises:
        MissingFile, CorruptTable: it is.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise MissingFile(path) from error
    except (ValueError, EOFError, IndexError, KeyError, StopIteration) as error:
        raise CorruptTable(path, f"the {what} cannot be read ({error})") from error


def field_names(schema: Any) -> frozenset[str]:
    """Names of all fields in a plain schema, also of nested records."""
    schema = _not_null(schema)
    if _kind(schema) == "array":
        return field_names(schema["items"])
    fields = _types_of(schema)
    return frozenset(fields).union(*map(field_names, fields.values()))


def plain_schema(schema: Mapping[str, Any]) -> Any:
    """A schema of this release as `Unpacked.schema` has that of a file: no logical types, no references."""
    return _Schema(_stored_name).plain(schema, 0)


def has_same_encoding(one: Any, other: Any) -> bool:
    """Whether values of two plain types are the same bytes; names of records do not count."""
    if isinstance(one, list) != isinstance(other, list):
        return False
    one, other = _not_null(one), _not_null(other)
    kinds = {_kind(one), _kind(other)}
    if kinds <= _NUMBERS:
        return True
    if len(kinds) > 1:
        return False
    if kinds == {"array"}:
        return has_same_encoding(one["items"], other["items"])
    if kinds == {"fixed"}:
        return bool(one["size"] == other["size"])
    mine, theirs = _types_of(one), _types_of(other)
    return [*mine] == [*theirs] and all(has_same_encoding(mine[name], theirs[name]) for name in mine)


def _types_of(schema: Any) -> dict[str, Any]:
    """The types of a record's fields, by name; empty for other types."""
    return {field["name"]: field["type"] for field in schema["fields"]} if _kind(schema) == "record" else {}


def _kind(schema: Any) -> str:
    """The name of a plain type, or `union`."""
    if isinstance(schema, list):
        return "union"
    return cast(str, schema["type"] if isinstance(schema, Mapping) else schema)


def _not_null(schema: Any) -> Any:
    """A type without null if it is a union with null."""
    return schema[1] if isinstance(schema, list) else schema


class _Schema:
    """Makes a schema plain; counts its types, because references can multiply them without limit."""

    def __init__(self, name_of: FieldName) -> None:
        self._name_of = name_of
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
            return self._array(schema["items"], depth)
        if kind == "fixed":
            return self._fixed(schema)
        return self._record(schema, depth) if kind == "record" else self.plain(kind, depth + 1)

    def _array(self, items: Any, depth: int) -> dict[str, Any]:
        plain = self.plain(items, depth + 1)
        if not _least_bytes(plain):
            raise ValueError("its schema has an array whose items take no bytes")
        return {"type": "array", "items": plain}

    def _fixed(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        size = schema["size"]
        if not isinstance(size, int) or not 0 < size <= _MOST_FIXED:
            raise ValueError("its schema has a fixed type without a size")
        self._named[schema["name"]] = schema
        return {"type": "fixed", "name": f"fixed{self._types}", "size": size}

    def _union(self, schema: list[Any], depth: int) -> list[Any]:
        if len(schema) != 2 or schema[0] != "null" or isinstance(schema[1], list):
            raise ValueError("its schema has a union that is no nullable type")
        return ["null", self.plain(schema[1], depth + 1)]

    def _record(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        name = f"record{self._types}"
        fields = {self._name_of(field): self.plain(field["type"], depth + 1) for field in schema["fields"]}
        is_empty = not fields and not depth
        if is_empty or len(fields) != len(schema["fields"]) or not all(map(_NAME.fullmatch, fields)):
            raise ValueError("its schema has rows without fields, or fields that have no name")
        self._named[schema["name"]] = schema
        return _record(name, fields)


def _record(name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    plain_fields = [{"name": field, "type": kind} for field, kind in fields.items()]
    return {"type": "record", "name": name, "fields": plain_fields}


def _least_bytes(schema: Any) -> int:
    """Minimum bytes of a value: a number, a length or a union branch takes one."""
    kind = _kind(schema)
    if kind == "record":
        return sum(map(_least_bytes, _types_of(schema).values()))
    return cast(int, schema["size"]) if kind == "fixed" else 1


def _check_types(schema: Any, known: Any, where: str) -> None:
    """Checks that the common fields of two schemas have the same type; nullability is left to readers."""
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
    """The rows of a large block, one by one: as objects they take many times their bytes."""
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
