"""The schema that Java Paimon gives its Avro files (AvroSchemaConverter), and a plain one to decode them by.

Used by the reader and the writer beside this module. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

RECORD = "org.apache.paimon.avro.generated.record"


def record_schema(fields: Sequence[pa.Field]) -> dict[str, Any]:
    """The schema of a file with these columns."""
    return {
        "type": "record",
        "name": "record",
        "namespace": RECORD.rpartition(".")[0],
        "fields": [_field(field) for field in fields],
    }


def stored_as(schema: Mapping[str, Any]) -> dict[str, tuple[str, bool]]:
    """For each column of a file the primitive type that it has, and whether it is a union with null.

    Raises:
        LookupError: it has columns of other kinds.
    """
    return {field["name"]: _primitive(field["type"]) for field in schema["fields"]}


def plain_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The same schema without logical types and texts: values come as plain numbers and bytes."""
    fields = []
    for name, (kind, union) in stored_as(schema).items():
        plain = "bytes" if kind == "string" else kind
        fields.append({"name": name, "type": ["null", plain] if union else plain})
    return {"type": "record", "name": "record", "fields": fields}


def _primitive(kind: Any) -> tuple[str, bool]:
    if isinstance(kind, list):
        if len(kind) != 2 or kind[0] != "null":
            raise LookupError(f"a union of {kind} is no nullable column")
        return _primitive(kind[1])[0], True
    name = kind["type"] if isinstance(kind, dict) else kind
    if name not in ("boolean", "int", "long", "float", "double", "string", "bytes"):
        raise LookupError(f"{name} is no type of a column")
    return name, False


def _field(field: pa.Field) -> dict[str, Any]:
    kind = _type(field.type)
    if not field.nullable:
        return {"name": field.name, "type": kind}
    return {"name": field.name, "type": ["null", kind], "default": None}


def _type(kind: pa.DataType) -> Any:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_decimal(kind):
        return {"type": "bytes", "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}
    if pa.types.is_timestamp(kind):
        # Java Paimon has the two kinds of timestamps the wrong way round.
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
