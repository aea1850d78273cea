"""The columns of an ORC file in neutral types, with the field ids and types that Iceberg notes in attributes.

Called by the reader beside this module. Pure. Follows the ORC v1 specification for the types, and that of
Iceberg (Appendix A) for the attributes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lithify.files.orc.layout import LIST, MAP, STRUCT
from lithify.files.orc.protobuf import Message, messages, number, numbers, text
from lithify.files.types import UNBOUNDED, ColumnType, Field

NO_ID = -1
ID, REQUIRED = "iceberg.id", "iceberg.required"
BINARY_TYPE, LENGTH = "iceberg.binary-type", "iceberg.length"
LONG_TYPE, TIMESTAMP_UNIT = "iceberg.long-type", "iceberg.timestamp-unit"
"""Attributes of types."""

UNREADABLE = "UNION"
"""The root of types that no reader of ours reads."""

_ROOTS = {
    **dict(enumerate(("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "VARCHAR"))),
    8: "VARBINARY",
    15: "DATE",
    16: "VARCHAR",
    17: "CHAR",
}
_LONG, _BINARY, _TIMESTAMP, _DECIMAL, _INSTANT = 4, 8, 9, 14, 18
_NESTED = {LIST: ("ARRAY", ("element",)), MAP: ("MAP", ("key", "value"))}


def stored_fields(types: Sequence[Message]) -> tuple[Field, ...]:
    """The columns of a file.

    Args:
        types: the types of all columns and their parts, which form a tree (`layout`).
    """
    return _parts(0, types, nullable=True).fields


def _parts(at: int, types: Sequence[Message], *, nullable: bool) -> ColumnType:
    """A nested type with its parts."""
    told = types[at]
    root, names = _NESTED.get(number(told, 1), ("ROW", ()))
    if root == "ROW":
        names = tuple(name.decode() for name in told.get(3, []) if isinstance(name, bytes))
    pairs = zip(names, numbers(told, 2), strict=True)
    fields = [_field(name, part, types, is_key=root == "MAP" and name == "key") for name, part in pairs]
    is_read = all(field.type.root != UNREADABLE for field in fields) or at == 0
    return ColumnType(root, nullable=nullable, fields=tuple(fields)) if is_read else ColumnType(UNREADABLE)


def _field(name: str, at: int, types: Sequence[Message], *, is_key: bool) -> Field:
    attributes = {text(each, 1): text(each, 2) for each in messages(types[at], 7)}
    nullable = not is_key and attributes.get(REQUIRED, "").lower() != "true"
    try:
        kind = _type(at, types, attributes, nullable=nullable)
        return Field(name, kind, int(attributes.get(ID, NO_ID)))
    except (ValueError, LookupError):  # attributes that are none of Iceberg's
        return Field(name, ColumnType(UNREADABLE))


def _type(at: int, types: Sequence[Message], attributes: Mapping[str, str], *, nullable: bool) -> ColumnType:
    told, kind = types[at], number(types[at], 1)
    if kind in (LIST, MAP, STRUCT):
        return _parts(at, types, nullable=nullable)
    if kind == _DECIMAL and 0 <= number(told, 6) <= number(told, 5) > 0:
        return ColumnType("DECIMAL", number(told, 5), number(told, 6), nullable)
    if kind in (_TIMESTAMP, _INSTANT):
        root = "TIMESTAMP" if kind == _TIMESTAMP else "TIMESTAMP_LTZ"
        is_nanos = attributes.get(TIMESTAMP_UNIT) == "NANOS"
        return ColumnType(f"{root}_NANOS" if is_nanos else root, 9 if is_nanos else 6, nullable=nullable)
    if kind == _LONG and attributes.get(LONG_TYPE) == "TIME":
        return ColumnType("TIME_MICROS", nullable=nullable)
    if kind == _BINARY and attributes.get(BINARY_TYPE) == "UUID":
        return ColumnType("UUID", 16, nullable=nullable)
    if kind == _BINARY and attributes.get(BINARY_TYPE) == "FIXED":
        return ColumnType("FIXED", max(1, min(int(attributes[LENGTH]), UNBOUNDED)), nullable=nullable)
    root = _ROOTS.get(kind, UNREADABLE)
    return ColumnType(root, UNBOUNDED if root in ("VARCHAR", "VARBINARY") else 0, nullable=nullable)
