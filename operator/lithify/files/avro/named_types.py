"""Schemas of Avro files with every named type in full, and their columns in neutral types, with field ids.

Used by the reader, the writer and `schema` beside this module. Ids are where Iceberg's specification puts
them. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from lithify.files.types import UNBOUNDED, ColumnType, Field

NO_ID = -1
_PLAIN = {
    "boolean": "BOOLEAN",
    "int": "INT",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "bytes": "VARBINARY",
}
_NAMED = ("record", "fixed", "enum")
_UNITS = {"millis": 3, "micros": 6, "nanos": 9}
_MOST_DIGITS = 38
_UUID_BYTES = 16
_MOST_DEPTH = 128
_MOST_TYPES = 100_000
"""Types of a schema: names that stand for types that name others grow it exponentially."""


def in_full(schema: Any) -> Any:
    """A schema in which every name of a record or fixed type is replaced by its definition.

    Raises:
        LookupError: a name is defined nowhere, or the schema is too large or nested too deeply.
    """
    return _Names().replaced(schema, "", 0)


@dataclass(slots=True)
class _Names:
    """Definitions of named types so far, by their full names."""

    known: dict[str, Any] = field(default_factory=dict)
    types: Iterator[int] = field(default_factory=count)

    def replaced(self, kind: Any, space: str, depth: int) -> Any:
        if depth > _MOST_DEPTH or next(self.types) > _MOST_TYPES:
            raise LookupError("its schema is too large, or nested too deeply")
        if isinstance(kind, str):
            return self._of_name(kind, space, depth)
        if isinstance(kind, list):
            return [self.replaced(each, space, depth + 1) for each in kind]
        if not isinstance(kind, Mapping):
            return kind
        inside = self._define(kind, space) if kind.get("type") in _NAMED else space
        parts = {
            key: self.replaced(kind[key], inside, depth + 1) for key in ("items", "values") if key in kind
        }
        if isinstance(kind.get("type"), Mapping | list):
            return self.replaced(kind["type"], space, depth + 1)
        if isinstance(kind.get("fields"), list):
            parts["fields"] = [self._field(each, inside, depth) for each in kind["fields"]]
        return {**kind, **parts}

    def _field(self, kind: Any, space: str, depth: int) -> Any:
        if not isinstance(kind, Mapping) or "type" not in kind:
            return kind
        return {**kind, "type": self.replaced(kind["type"], space, depth + 1)}

    def _define(self, kind: Mapping[str, Any], space: str) -> str:
        """Remembers a type; returns the namespace of the names in it."""
        name = _full(str(kind.get("name", "")), str(kind.get("namespace") or space))
        self.known[name] = kind
        return name.rpartition(".")[0]

    def _of_name(self, name: str, space: str, depth: int) -> Any:
        found = self.known.get(_full(name, space)) or self.known.get(name)
        if found is None or name in _PLAIN or name == "null":
            return name
        return self.replaced(found, space, depth + 1)


def _full(name: str, space: str) -> str:
    return name if "." in name or not space else f"{space}.{name}"


def stored_fields(schema: Any) -> tuple[Field, ...]:
    """The columns of a file, by the schema in its header, with the names and types that they have there.

    Raises:
        LookupError: a column has a type that no table has.
    """
    full = in_full(schema)
    if not isinstance(full, Mapping) or full.get("type") != "record":
        raise LookupError("its schema is not that of a record")
    try:
        return _fields(full)
    except (TypeError, ValueError) as error:
        raise LookupError(f"its schema is none of a table ({error})") from error


def _fields(record: Mapping[str, Any]) -> tuple[Field, ...]:
    return tuple(
        Field(str(each["name"]), _type(each["type"], str(each["name"])), int(each.get("field-id", NO_ID)))
        for each in record["fields"]
    )


def _type(kind: Any, column: str) -> ColumnType:
    if isinstance(kind, list):
        others = [each for each in kind if each != "null"]
        if len(others) != 1 or len(kind) > 2:
            raise LookupError(f"column {column} is a union of {len(kind)} types")
        return _typed(others[0], column, nullable=len(kind) > 1)
    return _typed(kind, column, nullable=False)


def _typed(kind: Any, column: str, *, nullable: bool) -> ColumnType:
    told: Mapping[str, Any] = kind if isinstance(kind, Mapping) else {"type": kind}
    name, logical = told["type"], told.get("logicalType")
    if name == "record":
        return ColumnType("ROW", nullable=nullable, fields=_fields(told))
    if name == "array" and logical == "map" and isinstance(told["items"], Mapping):
        return ColumnType("MAP", nullable=nullable, fields=_fields(told["items"]))
    if name == "array":
        element = Field("element", _type(told["items"], column), int(told.get("element-id", NO_ID)))
        return ColumnType("ARRAY", nullable=nullable, fields=(element,))
    if name == "map":
        key = Field("key", ColumnType("VARCHAR", UNBOUNDED, nullable=False), int(told.get("key-id", NO_ID)))
        value = Field("value", _type(told["values"], column), int(told.get("value-id", NO_ID)))
        return ColumnType("MAP", nullable=nullable, fields=(key, value))
    return _atomic(name, logical, told, column, nullable=nullable)


def _atomic(name: Any, logical: Any, told: Mapping[str, Any], column: str, *, nullable: bool) -> ColumnType:
    if logical == "decimal" and name in ("bytes", "fixed"):
        digits, scale = int(told["precision"]), int(told.get("scale", 0))
        if not 0 < digits <= _MOST_DIGITS or not 0 <= scale <= digits:
            raise LookupError(f"column {column} is a decimal of {digits} digits, {scale} behind the point")
        return ColumnType("DECIMAL", digits, scale, nullable)
    if name == "fixed" and 0 < int(told["size"]) <= UNBOUNDED:
        is_uuid = logical == "uuid" and int(told["size"]) == _UUID_BYTES
        return ColumnType("UUID" if is_uuid else "FIXED", int(told["size"]), nullable=nullable)
    if name in ("int", "long") and isinstance(logical, str):
        return _time(logical, told, name, nullable=nullable)
    if name not in _PLAIN:
        raise LookupError(f"column {column} has a type that no table has")
    unbounded = UNBOUNDED if name in ("string", "bytes") else 0
    return ColumnType(_PLAIN[name], unbounded, nullable=nullable)


def _time(logical: str, told: Mapping[str, Any], name: str, *, nullable: bool) -> ColumnType:
    """A date, a time, or a timestamp; integers with logical types that nobody knows are integers."""
    times = {"date": "DATE", "time-millis": "TIME", "time-micros": "TIME_MICROS"}
    if logical in times:
        return ColumnType(times[logical], nullable=nullable)
    local, unit = logical.startswith("local-"), logical.rpartition("-")[2]
    if logical.removeprefix("local-") != f"timestamp-{unit}" or unit not in _UNITS:
        return ColumnType(_PLAIN[name], nullable=nullable)
    is_adjusted = not local and str(told.get("adjust-to-utc", False)).lower() == "true"
    root = "TIMESTAMP_LTZ" if is_adjusted else "TIMESTAMP"
    return ColumnType(f"{root}_NANOS" if unit == "nanos" else root, _UNITS[unit], nullable=nullable)
