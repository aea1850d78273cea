"""The columns of a schema as table metadata has it, as far as they have single values. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class SchemaColumn:
    """A column of a primitive type, also one within structs.

    Attributes:
        id: its field id.
        name: its name, with dots for fields of structs.
        type: Iceberg's name of its type.
        is_required: whether neither it nor a struct around it may be null.
    """

    id: int
    name: str
    type: str
    is_required: bool


def schema_columns(schema: Mapping[str, Any]) -> dict[int, SchemaColumn]:
    """The primitive columns of a schema by id, in its order; elements of lists and maps are none."""
    return {column.id: column for column in _columns(schema["fields"], "", required=True)}


def _columns(fields: Iterable[Mapping[str, Any]], above: str, *, required: bool) -> Iterator[SchemaColumn]:
    for field in fields:
        kind, name = field["type"], f"{above}{field['name']}"
        is_required = required and bool(field.get("required"))
        if isinstance(kind, str):
            yield SchemaColumn(int(field["id"]), name, kind.replace(" ", ""), is_required)
        elif kind.get("type") == "struct":
            yield from _columns(kind["fields"], f"{name}.", required=is_required)
