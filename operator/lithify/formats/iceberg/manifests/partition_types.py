"""Types of partition fields, between Iceberg, Avro, Arrow and Python.

Used by the modules beside this one. Partition values stay *physical* while they are grouped and carried on,
as Avro stores them: a date is an int, a decimal or a UUID is fixed bytes. Values for people and for writers
of data files are made for the few distinct partitions only. Pure.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.octets import fixed_array, fixed_octets, number_bytes, widened
from lithify.formats.iceberg.model import PartitionValue

_EPOCH = datetime(1970, 1, 1)
_EPOCH_DAY = date(1970, 1, 1)
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_FIXED = re.compile(r"fixed\[(\d+)\]")
_EXACT = Context(prec=100)
"""For decimals of up to 38 digits; the usual context rounds to 28."""
_UUID_BYTES = 16
_MOST_DECIMAL_BYTES = 16
_FIRST_FIELD = 1000
"""Id of the first partition field of specs that are older than these ids."""

_INTS = frozenset({"int", "date"})
_LONGS = frozenset({"long", "time", "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns"})
_PLAIN = {
    "boolean": ("boolean", pa.bool_()),
    "float": ("float", pa.float32()),
    "double": ("double", pa.float64()),
    "string": ("string", pa.string()),
    "binary": ("bytes", pa.binary()),
    "int": ("int", pa.int32()),
    "long": ("long", pa.int64()),
}
_LOGICAL: Mapping[str, dict[str, Any]] = {
    "date": {"type": "int", "logicalType": "date"},
    "time": {"type": "long", "logicalType": "time-micros"},
    "timestamp": {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": False},
    "timestamptz": {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True},
    "timestamp_ns": {"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": False},
    "timestamptz_ns": {"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": True},
    "uuid": {"type": "fixed", "name": "uuid_fixed", "size": _UUID_BYTES, "logicalType": "uuid"},
}
_OF_LOGICAL = {"date": "date", "time-micros": "time", "uuid": "uuid"}
_TIMESTAMPS = {"timestamp-micros": "", "timestamp-nanos": "_ns"}
_NUMBERS = {"int": "<i", "date": "<i", "float": "<f", "double": "<d"}


@dataclass(frozen=True, slots=True)
class PartitionField:
    """A field of a partition spec.

    Attributes:
        id: its field id, from 1000.
        name: its name in the spec.
        type: Iceberg's name of its type after the transform, such as `int` or `decimal(9,2)`.
    """

    id: int
    name: str
    type: str


PartitionType = tuple[PartitionField, ...]
"""The fields of a spec, in its order; empty if it is unpartitioned."""


def physical_type(kind: str) -> pa.DataType:
    """The Arrow type of a type's physical values.

    Raises:
        ValueError: the type cannot be that of a partition field.
    """
    if kind in _INTS:
        return pa.int32()
    if kind in _LONGS:
        return pa.int64()
    if kind in _PLAIN:
        return _PLAIN[kind][1]
    return pa.binary(fixed_size(kind))


def is_decimal(kind: str) -> bool:
    """Whether a type is a decimal, whose physical values are big-endian numbers."""
    return _DECIMAL.fullmatch(kind) is not None


def fixed_size(kind: str) -> int:
    """Bytes of a type whose physical values are fixed.

    Raises:
        ValueError: it is no such type.
    """
    if kind == "uuid":
        return _UUID_BYTES
    if match := _FIXED.fullmatch(kind):
        return int(match[1])
    if match := _DECIMAL.fullmatch(kind):
        return decimal_size(int(match[1]))
    raise ValueError(f"{kind} is no type of a partition field")


def decimal_size(precision: int) -> int:
    """Bytes of the fixed type in which Iceberg stores decimals of a precision."""
    return min(_MOST_DECIMAL_BYTES, math.ceil((precision * math.log2(10) + 1) / 8))


def partition_struct(fields: PartitionType) -> pa.StructType:
    """The Arrow type of physical partitions; fields are named by their ids."""
    return pa.struct([pa.field(f"p{field.id}", physical_type(field.type)) for field in fields])


def avro_type(kind: str) -> Any:
    """The Avro type of a partition field's values."""
    if kind in _PLAIN:
        return _PLAIN[kind][0]
    if kind in _LOGICAL:
        return dict(_LOGICAL[kind])
    size = fixed_size(kind)
    if match := _DECIMAL.fullmatch(kind):
        precision, scale = int(match[1]), int(match[2])
        name = f"decimal_{precision}_{scale}"
        parts = {"logicalType": "decimal", "precision": precision, "scale": scale}
        return {"type": "fixed", "name": name, "size": size, **parts}
    return {"type": "fixed", "name": f"fixed_{size}", "size": size}


def declared_fields(record: Mapping[str, Any], named: Mapping[str, Any]) -> PartitionType:
    """The partition fields that a manifest's Avro schema declares.

    Args:
        record: the record type of partitions.
        named: named types to which it may refer.

    Raises:
        ValueError, LookupError: it has types that no partition has.
    """
    fields = []
    for number, field in enumerate(record["fields"]):
        kind = field["type"]
        kind = next(part for part in kind if part != "null") if isinstance(kind, list) else kind
        own = field.get("field-id", _FIRST_FIELD + number)
        fields.append(PartitionField(own, field["name"], _iceberg_type(kind, dict(named))))
    return tuple(fields)


def _iceberg_type(kind: Any, named: Mapping[str, Any]) -> str:
    if isinstance(kind, str):
        kind = named.get(kind, {"type": kind})
    logical, stored = kind.get("logicalType"), kind["type"]
    if logical in _TIMESTAMPS:
        return f"timestamp{'tz' if kind.get('adjust-to-utc') else ''}{_TIMESTAMPS[logical]}"
    if logical == "decimal":
        return f"decimal({kind['precision']},{kind.get('scale', 0)})"
    if logical in _OF_LOGICAL:
        return _OF_LOGICAL[logical]
    if stored == "fixed":
        return f"fixed[{kind['size']}]"
    return "binary" if stored == "bytes" else str(stored)


def promoted(column: pa.Array, kind: str) -> pa.Array:
    """Physical values as those of a wider type; specs keep their fields when source columns are widened.

    Raises:
        ValueError: the values cannot be of that type.
    """
    wanted = physical_type(kind)
    if column.type == wanted:
        return column
    if pa.types.is_fixed_size_binary(wanted) and pa.types.is_fixed_size_binary(column.type):
        return _widened(column, wanted.byte_width)
    try:
        return column.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ValueError(f"a partition value of type {column.type} is no {kind}") from error


def _widened(column: pa.FixedSizeBinaryArray, width: int) -> pa.FixedSizeBinaryArray:
    """Big-endian numbers with more bytes, by repeating their sign."""
    old = column.type.byte_width
    if old > width:
        raise ValueError(f"a partition value has {old} bytes instead of {width}")
    return fixed_array(widened(fixed_octets(column), width), column.is_valid())


def with_one_nan(column: pa.Array) -> pa.Array:
    """A column in which all NaN have the same bits, by which partitions are compared."""
    if not pa.types.is_floating(column.type):
        return column
    return pc.if_else(pc.is_nan(column), pa.scalar(math.nan, column.type), column)


def wider_type(one: str, other: str) -> str:
    """The type of a field that manifests state differently.

    Its source column was widened, or some writers take days for integers, as the specification once did.
    """
    if one == other:
        return one
    if {one, other} == {"int", "date"}:
        return "date"
    order = ("int", "long", "float", "double")
    if one in order and other in order:
        return max(one, other, key=order.index)
    return max(one, other, key=lambda kind: (fixed_size(kind), kind))


def value_of(physical: Any, kind: str) -> PartitionValue:
    """A physical value as the Python value that it stands for.

    Nanoseconds stay numbers, as do dates and timestamps of years that Python does not have.
    """
    if physical is None:
        return None
    try:
        return _value_of(physical, kind)
    except OverflowError:
        return physical  # type: ignore[no-any-return]


def _value_of(physical: Any, kind: str) -> PartitionValue:
    if kind == "date":
        return _EPOCH_DAY + timedelta(days=physical)
    if kind == "time":
        return (_EPOCH + timedelta(microseconds=physical)).time()
    if kind in ("timestamp", "timestamptz"):
        moment = _EPOCH + timedelta(microseconds=physical)
        return moment.replace(tzinfo=UTC) if kind == "timestamptz" else moment
    if kind == "uuid":
        return UUID(bytes=physical)
    if match := _DECIMAL.fullmatch(kind):
        unscaled = int.from_bytes(physical, "big", signed=True)
        return Decimal(unscaled).scaleb(-int(match[2]), _EXACT)
    return physical  # type: ignore[no-any-return]


def physical_of(value: PartitionValue, kind: str) -> Any:
    """The inverse of `value_of`."""
    if value is None:
        return None
    if isinstance(value, datetime):
        naive = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
        return (naive - _EPOCH) // timedelta(microseconds=1)
    if isinstance(value, date):
        return (value - _EPOCH_DAY).days
    if isinstance(value, time):
        return (datetime.combine(_EPOCH_DAY, value) - _EPOCH) // timedelta(microseconds=1)
    if isinstance(value, UUID):
        return value.bytes
    if isinstance(value, Decimal):
        scale = int(_scale(kind))
        return int(value.scaleb(scale, _EXACT)).to_bytes(fixed_size(kind), "big", signed=True)
    return value


def _scale(kind: str) -> str:
    match = _DECIMAL.fullmatch(kind)
    if match is None:
        raise ValueError(f"a decimal is no partition value of type {kind}")
    return match[2]


def single_value(physical: Any, kind: str) -> bytes:
    """A physical value in Iceberg's single-value serialization, as bounds have it."""
    if kind == "boolean":
        return b"\x01" if physical else b"\x00"
    if kind in _NUMBERS:
        return struct.pack(_NUMBERS[kind], physical)
    if kind in _LONGS:
        return struct.pack("<q", physical)
    if kind == "string":
        return str(physical).encode()
    if _DECIMAL.fullmatch(kind):
        return number_bytes(int.from_bytes(physical, "big", signed=True))
    return bytes(physical)
