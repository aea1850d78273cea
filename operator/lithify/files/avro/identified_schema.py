"""The schema of Avro files whose parts have ids, as Iceberg's specification has it (Appendix A).

Used by the writer beside this module, which converts values to the types of that schema. It differs from that
of `schema` in names, ids, and types: decimals are fixed bytes. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from lithify.files.avro.schema import KEY, VALUE
from lithify.files.field_ids import id_of
from lithify.files.nesting import rebuilt, with_fields

_DECIMAL_BYTES = 16
_UUID_BYTES = 16
_SIMPLE = {
    pa.bool_(): "boolean",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "bytes",
    pa.date32(): {"type": "int", "logicalType": "date"},
    pa.time64("us"): {"type": "long", "logicalType": "time-micros"},
}
_UNITS = {"us": "micros", "ns": "nanos"}


def identified_schema(fields: Sequence[pa.Field], uuids: frozenset[int]) -> dict[str, Any]:
    """The schema of a file with these columns.

    Args:
        fields: columns with ids in all parts.
        uuids: ids of the parts that are UUIDs, which Arrow has as fixed bytes.
    """
    return _Naming(uuids).record(fields, "table")


class _Naming:
    """Defines each fixed type once: Avro then wants its name."""

    def __init__(self, uuids: frozenset[int]) -> None:
        self._uuids = uuids
        self._defined: set[str] = set()

    def record(self, fields: Sequence[pa.Field], name: str) -> dict[str, Any]:
        return {"type": "record", "name": name, "fields": [self._field(field) for field in fields]}

    def _field(self, field: pa.Field) -> dict[str, Any]:
        name = avro_name(field.name)
        other = {} if name == field.name else {"iceberg-field-name": field.name}
        default = {"default": None} if field.nullable else {}
        return {"name": name, "type": self._optional(field), **default, **other, "field-id": id_of(field)}

    def _optional(self, field: pa.Field) -> Any:
        kind = self._type(field)
        return ["null", kind] if field.nullable else kind

    def _type(self, field: pa.Field) -> Any:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_struct(kind):
            return self.record(list(kind), f"r{id_of(field)}")
        if pa.types.is_map(kind):
            return self._map(kind)
        if pa.types.is_list(kind):
            element = kind.value_field
            return {"type": "array", "items": self._optional(element), "element-id": id_of(element)}
        if pa.types.is_decimal(kind):
            logical = {"logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}
            return self._fixed(f"decimal_{kind.precision}_{kind.scale}", decimal_bytes(kind), logical)
        if pa.types.is_fixed_size_binary(kind):
            if id_of(field) in self._uuids:
                return self._fixed("uuid_fixed", _UUID_BYTES, {"logicalType": "uuid"})
            return self._fixed(f"fixed_{kind.byte_width}", kind.byte_width, {})
        if pa.types.is_timestamp(kind):
            logical = {"logicalType": f"timestamp-{_UNITS[kind.unit]}", "adjust-to-utc": kind.tz is not None}
            return {"type": "long", **logical}
        return _SIMPLE[kind]

    def _map(self, kind: pa.MapType) -> dict[str, Any]:
        """Avro's maps have text keys; maps with other keys are arrays of records."""
        key, value = kind.key_field, kind.item_field
        if pa.types.is_string(kind.key_type):
            ids = {"key-id": id_of(key), "value-id": id_of(value)}
            return {"type": "map", "values": self._optional(value), **ids}
        fields = [key.with_name(KEY), value.with_name(VALUE)]
        items = self.record(fields, f"k{id_of(key)}_v{id_of(value)}")
        return {"type": "array", "items": items, "logicalType": "map"}

    def _fixed(self, name: str, size: int, logical: dict[str, Any]) -> Any:
        if name in self._defined:
            return name
        self._defined.add(name)
        return {"type": "fixed", "name": name, "size": size, **logical}


def avro_name(name: str) -> str:
    """A name that Avro allows, as Java makes it of a column's: other characters become their codes."""
    return "".join(_character(each, is_first=place == 0) for place, each in enumerate(name))


def _character(each: str, *, is_first: bool) -> str:
    if each == "_" or each.isalpha() or (each.isdecimal() and not is_first):
        return each
    if each.isdecimal():
        return f"_{each}"
    codes = each.encode("utf-16-be")  # Java's characters are units of UTF-16
    return "".join(f"_x{int.from_bytes(codes[at : at + 2], 'big'):X}" for at in range(0, len(codes), 2))


def decimal_bytes(kind: pa.Decimal128Type) -> int:
    """The fewest bytes that hold every unscaled value of a decimal's precision."""
    return next(size for size in range(1, 17) if 10**kind.precision <= 1 << (8 * size - 1))


def with_fixed_decimals(values: pa.Array) -> pa.Array:
    """A column in which decimals, also nested ones, are their unscaled values as big-endian bytes."""
    return _fixed(values, _fixed_type(values.type))


def _fixed_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_decimal(kind):
        return pa.binary(decimal_bytes(kind))
    return with_fields(kind, lambda part: part.with_type(_fixed_type(part.type)))


def _fixed(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if values.type == kind:
        return values
    if pa.types.is_nested(kind):
        return rebuilt(values, kind, _fixed)
    octets = np.frombuffer(values.buffers()[1], np.uint8)
    own = octets[_DECIMAL_BYTES * values.offset : _DECIMAL_BYTES * (values.offset + len(values))]
    data = np.ascontiguousarray(own.reshape(-1, _DECIMAL_BYTES)[:, kind.byte_width - 1 :: -1])
    known = values.is_valid().buffers()[1] if values.null_count else None
    return pa.Array.from_buffers(kind, len(values), [known, pa.py_buffer(data)])
