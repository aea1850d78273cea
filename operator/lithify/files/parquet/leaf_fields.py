"""The physical columns of Parquet files with some columns, by their fields. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lithify.files.types import Field


@dataclass(frozen=True, slots=True)
class LeafField:
    """A physical column of Parquet files of a schema.

    Attributes:
        field: the field.
        name: its name, with dots for fields of structs.
        is_single: whether each row has one value: it is not in a list or map.
    """

    field: Field
    name: str
    is_single: bool


def leaf_fields(columns: Sequence[Field]) -> tuple[LeafField, ...]:
    """The physical columns of files with these columns, in their order."""
    return tuple(leaf for column in columns for leaf in _leaves(column, "", is_single=True))


def _leaves(field: Field, above: str, *, is_single: bool) -> Iterator[LeafField]:
    name = f"{above}{field.name}"
    if not field.type.fields:
        yield LeafField(field, name, is_single)
    for part in field.type.fields:
        yield from _leaves(part, f"{name}.", is_single=is_single and field.type.root == "ROW")
