"""The schema that Java Paimon gives its Avro files (AvroSchemaConverter), and a plain one to decode them by.

Used by the reader and the writer beside this module. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import pyarrow as pa

RECORD = "org.apache.paimon.avro.generated.record"
KEY, VALUE = "key", "value"
"""Field names of the records with which maps are encoded as arrays."""

_PRIMITIVES = ("boolean", "int", "long", "float", "double", "string", "bytes")


def record_schema(fields: Sequence[pa.Field]) -> dict[str, Any]:
    """The schema of a file with these columns."""
    namespace, _, name = RECORD.rpartition(".")
    return {"namespace": namespace, **_record(fields, name)}


def plain_schema(schema: Mapping[str, Any]) -> Any:
    """The same schema without logical types, texts and maps: values decode to numbers, bytes and lists.

    Encoded, a map equals an array of records of a text and a value.

    Raises:
        LookupError: a column has an unknown type.
    """
    return _plain(schema, count())


def has_nested(schema: Mapping[str, Any]) -> bool:
    """Whether any column of a file is nested."""
    kinds = (
        field["type"][-1] if isinstance(field["type"], list) else field["type"] for field in schema["fields"]
    )
    return any(isinstance(kind, Mapping) and kind["type"] in ("record", "array", "map") for kind in kinds)


def _plain(kind: Any, names: Iterator[int]) -> Any:
    if isinstance(kind, list):
        if len(kind) != 2 or kind[0] != "null":
            raise LookupError(f"a union of {kind} is no nullable column")
        return ["null", _plain(kind[1], names)]
    name = kind["type"] if isinstance(kind, Mapping) else kind
    if name == "record":
        return _plain_record({field["name"]: field["type"] for field in kind["fields"]}, names)
    if name == "array":
        return {"type": "array", "items": _plain(kind["items"], names)}
    if name == "map":
        return {"type": "array", "items": _plain_record({KEY: "bytes", VALUE: kind["values"]}, names)}
    if name not in _PRIMITIVES:
        raise LookupError(f"{name} is no type of a column")
    return "bytes" if name == "string" else name


def _plain_record(fields: Mapping[str, Any], names: Iterator[int]) -> dict[str, Any]:
    plain = [{"name": name, "type": _plain(kind, names)} for name, kind in fields.items()]
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
