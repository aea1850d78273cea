"""Columns of a file as columns of the table's current schema: matched by field id, promoted, or filled in.

Called by the reader for each batch. Columns that a file lacks get their initial default, else null. Values of
types that have been promoted since are cast; Iceberg allows only promotions that lose nothing.
"""

from __future__ import annotations

import base64
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa

from lithify.files.nesting import declared_struct, list_of, map_of, nulls
from lithify.files.parquet.physical import stored_as
from lithify.files.types import Field, arrow_type
from lithify.formats.iceberg.data_files.stored import Stored


def is_same(stored: Stored, field: Field) -> bool:
    """Whether a column has the parts of a field of the schema, in their order and with their names."""
    if stored.id != field.id or len(stored.parts) != len(field.type.fields):
        return False
    pairs = zip(stored.parts, field.type.fields, strict=True)
    is_struct = field.type.root == "ROW"
    return all(is_same(part, own) and (not is_struct or part.name == own.name) for part, own in pairs)


def projected(values: pa.Array, stored: Stored, field: Field) -> pa.Array:
    """A column of a file as a column of the schema, in the Arrow type of that.

    Raises:
        pa.ArrowInvalid: the types are not those of a column and its promotion, or a required part is null.
    """
    kind = arrow_type(field.type)
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if values.type == kind and is_same(stored, field):
        return values
    match field.type.root:
        case "ROW":
            return declared_struct(values, kind, [_part(values, stored, part) for part in field.type.fields])
        case "ARRAY":
            values = _plain_list(values)
            elements = projected(values.values, stored.parts[0], field.type.fields[0])
            return list_of(values, kind, elements)
        case "MAP":
            pairs = zip((values.keys, values.items), stored.parts, field.type.fields, strict=True)
            return map_of(values, kind, *(projected(*each) for each in pairs))
    return _promoted(values, kind)


def filled(rows: int, field: Field) -> pa.Array:
    """A column that a file lacks."""
    kind = arrow_type(field.type)
    if field.default is None:
        return nulls(rows, kind)
    return repeated(default_value(field.default, field), kind, rows)


def repeated(value: Any, kind: pa.DataType, rows: int) -> pa.Array:
    """A column with one value in all rows."""
    return pa.array([value], kind).take(pa.array(np.zeros(rows, dtype=np.int64)))


def default_value(value: Any, field: Field) -> Any:
    """A default from its JSON, as Arrow takes it."""
    if value is None:
        return None
    kind = field.type
    match kind.root:
        case "ROW":
            named = {part.name: value.get(str(part.id), part.default) for part in kind.fields}
            return {part.name: default_value(named[part.name], part) for part in kind.fields}
        case "ARRAY":
            return [default_value(each, kind.fields[0]) for each in value]
        case "MAP":
            sides = zip(kind.fields, (value["keys"], value["values"]), strict=True)
            keys, items = ([default_value(each, part) for each in side] for part, side in sides)
            return list(zip(keys, items, strict=True))
    return _scalar(value, kind.root)


def _scalar(value: Any, root: str) -> Any:
    match root:
        case "DECIMAL":
            return Decimal(value)
        case "DATE":
            return date.fromisoformat(value)
        case "TIME_MICROS":
            return time.fromisoformat(value)
        case "TIMESTAMP" | "TIMESTAMP_LTZ":
            return datetime.fromisoformat(value)
        case "TIMESTAMP_NANOS" | "TIMESTAMP_LTZ_NANOS":
            return np.datetime64(value.removesuffix("+00:00"), "ns").astype(np.int64).item()
        case "UUID":
            return UUID(value).bytes
        case "FIXED" | "VARBINARY":
            return base64.b16decode(value.upper())
    return value


def _part(values: pa.StructArray, stored: Stored, field: Field) -> pa.Array:
    found = stored.part(field.id)
    if found is None:
        return filled(len(values), field)
    place, part = found
    return projected(values.field(place), part, field)


def _plain_list(values: pa.Array) -> pa.Array:
    if pa.types.is_large_list(values.type):
        return values.cast(pa.list_(values.type.value_field))
    return values


def _promoted(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    return stored_as(values, kind)
