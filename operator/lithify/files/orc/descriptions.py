"""Attributes of ORC types that name the types of columns for which ORC has none, as in Iceberg's files.

Called by the writer beside this module; `stored_fields` reads them. Pure.
"""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa

from lithify.files.field_ids import id_of
from lithify.files.orc.stored_fields import BINARY_TYPE, LENGTH, LONG_TYPE, REQUIRED, TIMESTAMP_UNIT


def description(field: pa.Field, uuids: Collection[int]) -> dict[str, str]:
    """The attributes of a column or a part of one, but for its id.

    Args:
        field: the field, with its id.
        uuids: ids of UUIDs, which Arrow has as fixed bytes.
    """
    return {REQUIRED: str(not field.nullable).lower(), **_of_type(field, uuids)}


def _of_type(field: pa.Field, uuids: Collection[int]) -> dict[str, str]:
    kind = field.type
    if pa.types.is_fixed_size_binary(kind):
        if id_of(field) in uuids:
            return {BINARY_TYPE: "UUID"}
        return {BINARY_TYPE: "FIXED", LENGTH: str(kind.byte_width)}
    if pa.types.is_binary(kind):
        return {BINARY_TYPE: "BINARY"}
    if pa.types.is_int64(kind):
        return {LONG_TYPE: "LONG"}
    if pa.types.is_time(kind):
        return {LONG_TYPE: "TIME"}
    if pa.types.is_timestamp(kind):
        return {TIMESTAMP_UNIT: "NANOS" if kind.unit == "ns" else "MICROS"}
    return {}
