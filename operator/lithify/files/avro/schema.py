"""The schema of Avro files, as Paimon's AvroSchemaConverter makes it, and a plain one to decode them by.

Used by the reader and the writer beside this module. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import pyarrow as pa

from lithify.files.avro.named_types import in_full

KEY, VALUE = "key", "value"
"""Field names of the records with which maps are encoded as arrays."""

_PRIMITIVES = ("boolean", "int", "long", "float", "double", "string", "bytes")
_MOST_DEPTH = 128
"""Paimon's types are nested at most 32 deep, with up to three types of Avro for each."""


def record_schema(fields: Sequence[pa.Field], full_name: str) -> dict[str, Any]:
    """The schema of a file with these columns, whose rows are records of this name."""
    namespace, _, name = full_name.rpartition(".")
    return {"namespace": namespace, **_record(fields, name)}


def plain_schema(schema: Any) -> Any:
    """The same schema without logical types, texts and maps: values decode to numbers, bytes and lists.

    Encoded, a map equals an array of records of a text and a value. Each value of a plain schema takes at
    least one byte, so no block has more values than bytes.

    Raises:
        LookupError: it is no schema of rows, or a column has an unknown type.
    """
    full = in_full(schema)
    if not isinstance(full, Mapping) or full.get("type") != "record":
        raise LookupError("its schema is not that of a record")
    return _plain(full, count(), 0)


def has_nested(plain: Mapping[str, Any]) -> bool:
    """Whether any column of a plain schema is nested."""
    kinds = (_not_null(field["type"]) for field in plain["fields"])
    return any(isinstance(kind, Mapping) for kind in kinds)


def check_type(plain: Any, kind: pa.DataType, column: str) -> None:
    """Checks that the plain type of a column's values is one in which the column can be stored.

    Raises:
        LookupError: it is another.
    """
    plain = _not_null(plain)
    name = plain["type"] if isinstance(plain, Mapping) else plain
    if name not in _stored(kind):
        raise LookupError(f"column {column} is stored as {name}")
    if pa.types.is_struct(kind):
        _check_parts(plain, {part.name: part.type for part in kind}, column)
    elif pa.types.is_map(kind):
        items = plain["items"]
        if not isinstance(items, Mapping) or items["type"] != "record":
            raise LookupError(f"the entries of column {column} are no records")
        _check_parts(items, {KEY: kind.key_type, VALUE: kind.item_type}, column)
    elif pa.types.is_list(kind):
        check_type(plain["items"], kind.value_type, column)


def _check_parts(plain: Mapping[str, Any], parts: Mapping[str, pa.DataType], column: str) -> None:
    stored = {field["name"]: field["type"] for field in plain["fields"]}
    for name, kind in parts.items():
        check_type(stored[name], kind, f"{column}.{name}")


def _stored(kind: pa.DataType) -> tuple[str, ...]:
    """Names of the plain types in which values may be stored."""
    if pa.types.is_nested(kind):
        return ("record",) if pa.types.is_struct(kind) else ("array",)
    if pa.types.is_floating(kind):
        return ("float" if pa.types.is_float32(kind) else "double",)
    if pa.types.is_boolean(kind):
        return ("boolean",)
    if pa.types.is_integer(kind) or pa.types.is_temporal(kind):
        return "int", "long"
    if pa.types.is_decimal(kind):
        return "bytes", "fixed"
    return ("fixed" if pa.types.is_fixed_size_binary(kind) else "bytes",)


def _not_null(plain: Any) -> Any:
    """The type other than null in a union of two."""
    return plain[plain[0] == "null"] if isinstance(plain, list) else plain


def _plain(kind: Any, names: Iterator[int], depth: int) -> Any:
    if depth > _MOST_DEPTH:
        raise LookupError(f"its schema is nested deeper than {_MOST_DEPTH} levels")
    if isinstance(kind, list):
        others = [each for each in kind if each != "null"]
        if len(kind) != 2 or len(others) != 1 or isinstance(others[0], list):
            raise LookupError(f"a union of {len(kind)} types is no nullable column")
        return [each if each == "null" else _plain(each, names, depth + 1) for each in kind]
    name = kind["type"] if isinstance(kind, Mapping) else kind
    if name == "record":
        return _plain_record(_parts(kind), names, depth)
    if name == "array":
        return {"type": "array", "items": _plain(kind["items"], names, depth + 1)}
    if name == "map":
        parts = {KEY: "bytes", VALUE: kind["values"]}
        return {"type": "array", "items": _plain_record(parts, names, depth)}
    if name == "fixed" and isinstance(kind["size"], int) and kind["size"] > 0:
        return {"type": "fixed", "name": f"fixed{next(names)}", "size": kind["size"]}
    if name not in _PRIMITIVES:
        raise LookupError("a column has a type that none has")
    return "bytes" if name == "string" else name


def _parts(record: Any) -> dict[str, Any]:
    """The types of a record's fields by name."""
    fields = record["fields"] if isinstance(record, Mapping) else None
    if not isinstance(fields, list) or not all(isinstance(field, Mapping) for field in fields):
        raise LookupError("the fields of a record are no list of them")
    parts = {field["name"]: field["type"] for field in fields if isinstance(field["name"], str)}
    if not parts or len(parts) < len(fields):
        raise LookupError("a record has no fields, or two of the same name")
    return parts


def _plain_record(fields: Mapping[str, Any], names: Iterator[int], depth: int) -> dict[str, Any]:
    plain = [{"name": name, "type": _plain(kind, names, depth + 1)} for name, kind in fields.items()]
    return {"type": "record", "name": f"record{next(names)}", "fields": plain}


def _record(fields: Sequence[pa.Field], name: str) -> dict[str, Any]:
    """A record type; nested records are named after their path, so that names are unique."""
    written = []
    for field in fields:
        kind = _nullable(field, f"{name}_{field.name}")
        default = {"default": None} if field.nullable else {}
        written.append({"name": field.name, "type": kind, **default})
    return {"type": "record", "name": name, "fields": written}


def _nullable(field: pa.Field, name: str) -> Any:
    kind = _type(field.type, name)
    return ["null", kind] if field.nullable else kind


def _type(kind: pa.DataType, name: str) -> Any:
    if pa.types.is_struct(kind):
        return _record(list(kind), name)
    if pa.types.is_map(kind):
        return _map(kind, name)
    if pa.types.is_list(kind):
        return {"type": "array", "items": _nullable(kind.value_field, name)}
    return _atomic(kind.value_type if pa.types.is_dictionary(kind) else kind)


def _map(kind: pa.MapType, name: str) -> Any:
    """Avro's maps have text keys; maps with other keys become arrays of records."""
    if pa.types.is_string(kind.key_type):
        return {"type": "map", "values": _nullable(kind.item_field, name)}
    fields = [kind.key_field.with_name(KEY), kind.item_field.with_name(VALUE)]
    return {"type": "array", "items": _record(fields, name), "logicalType": "map"}


def _atomic(kind: pa.DataType) -> Any:
    if pa.types.is_decimal(kind):
        return {"type": "bytes", "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}
    if pa.types.is_timestamp(kind):
        # Java Paimon swaps the two kinds of timestamps.
        local = "" if kind.tz is None else "local-"
        unit = "millis" if kind.unit == "ms" else "micros"
        return {"type": "long", "logicalType": f"{local}timestamp-{unit}"}
    if pa.types.is_date32(kind):
        return {"type": "int", "logicalType": "date"}
    if pa.types.is_time32(kind):
        return {"type": "int", "logicalType": "time-millis"}
    names = {pa.bool_(): "boolean", pa.int64(): "long", pa.float32(): "float", pa.float64(): "double"}
    if pa.types.is_integer(kind):
        return names.get(kind, "int")
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "string"
    return names.get(kind, "bytes")
