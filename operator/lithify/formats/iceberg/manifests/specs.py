"""The types of partition fields, from the JSON of partition specs and schemas in table metadata.

Called by the commit for the manifests that it writes, and by planning for the columns whose bounds it
compares. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lithify.formats.iceberg.manifests.partition_types import PartitionField, PartitionType

_FIRST_FIELD = 1000
_VOID = "void"
_TRUNCATE = re.compile(r"truncate\[\d+\]")
_BUCKET = re.compile(r"bucket\[\d+\]")
_INTEGERS = frozenset({"year", "month", "hour"})


@dataclass(frozen=True, slots=True)
class SchemaColumn:
    """A column of a primitive type, also one within structs.

    Attributes:
        id: its field id.
        name: its name, with those of the structs around it.
        type: Iceberg's name of its type.
        is_required: whether neither it nor a struct around it may be null.
    """

    id: int
    name: str
    type: str
    is_required: bool


def schema_columns(schema: Mapping[str, Any]) -> dict[int, SchemaColumn]:
    """The primitive columns of a schema by id; elements of lists and maps are none."""
    return {column.id: column for column in _columns(schema["fields"], "", required=True)}


def _columns(fields: Iterable[Mapping[str, Any]], prefix: str, *, required: bool) -> Iterator[SchemaColumn]:
    for field in fields:
        name, kind = f"{prefix}{field['name']}", field["type"]
        is_required = required and bool(field.get("required"))
        if isinstance(kind, str):
            yield SchemaColumn(int(field["id"]), name, _without_spaces(kind), is_required)
        elif kind.get("type") == "struct":
            yield from _columns(kind["fields"], f"{name}.", required=is_required)


def _without_spaces(kind: str) -> str:
    return kind.replace(" ", "")


def partition_type(
    fields: Iterable[Mapping[str, Any]], columns: Mapping[int, SchemaColumn], known: PartitionType = ()
) -> PartitionType:
    """The partition fields of a spec.

    Args:
        fields: the fields of the spec as JSON.
        columns: the columns of the table's current schema.
        known: fields that manifests of the spec declare; they count where a source column was dropped.

    Raises:
        ValueError: the type of a field is not known.
    """
    declared = {field.id: field.type for field in known}
    found = []
    for number, field in enumerate(fields):
        own = int(field.get("field-id", _FIRST_FIELD + number))
        source = columns.get(int(field["source-id"])) if "source-id" in field else None
        kind = _result(str(field["transform"]), None if source is None else source.type)
        kind = kind or declared.get(own)
        if kind is None:
            raise ValueError(f"partition field {field['name']} has a type that is not known")
        found.append(PartitionField(own, str(field["name"]), kind))
    return tuple(found)


def _result(transform: str, source: str | None) -> str | None:
    """The type that a transform returns; None if it is that of a column which is gone."""
    if transform in _INTEGERS or _BUCKET.fullmatch(transform):
        return "int"
    if transform == "day":
        return "date"
    if transform in ("identity", _VOID) or _TRUNCATE.fullmatch(transform):
        return source
    return None


def is_unpartitioned(fields: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a spec has no fields, or void ones only: its equality deletes apply to all partitions."""
    return all(field["transform"] == _VOID for field in fields)
