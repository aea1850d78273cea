"""Scopes of equality deletes: delete files that compare the same columns in the same partition.

Called by `anti_join`. Within a scope a row is deleted if its key has a delete with a greater sequence number
than its file has, so that the newest delete of each key says everything. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lithify.errors import UnsupportedTable
from lithify.files.types import LISTS, ColumnType, Field
from lithify.formats.iceberg.data_files.schema import Schema
from lithify.formats.iceberg.model import Content, DataFile, DeleteFile, Partition


@dataclass(frozen=True, slots=True)
class Scope:
    """Equality deletes with the same columns and partition, and the data files to which any of them applies.

    Attributes:
        ids: field ids of the columns, ascending.
        deletes: the delete files, each once, by path.
        files: the data files.
    """

    ids: tuple[int, ...]
    deletes: tuple[DeleteFile, ...]
    files: tuple[DataFile, ...]

    @property
    def newest(self) -> int:
        """The greatest sequence number of a delete."""
        return max(each.sequence for each in self.deletes)


def scopes_of(files: Sequence[DataFile]) -> tuple[Scope, ...]:
    """The scopes of the equality deletes that apply to files."""
    deletes: dict[tuple[tuple[int, ...], Partition], dict[str, DeleteFile]] = {}
    concerned: dict[tuple[tuple[int, ...], Partition], dict[str, DataFile]] = {}
    for file in files:
        for each in file.deletes:
            if each.content is Content.EQUALITY_DELETES and each.sequence > file.sequence:
                key = (tuple(sorted(each.equality_ids)), each.partition)
                deletes.setdefault(key, {})[each.path] = each
                concerned.setdefault(key, {})[file.path] = file
    return tuple(
        Scope(key[0], tuple(found.values()), tuple(concerned[key].values())) for key, found in deletes.items()
    )


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A key column as it is read: the column of the table, pruned to the part that is compared.

    Attributes:
        column: the column, with only one field in each struct on the way to the part.
        depth: number of structs around the part.
        type: the type of the part.
    """

    column: Field
    depth: int
    type: ColumnType


def key_columns(ids: Sequence[int], schema: Schema) -> tuple[KeyColumn, ...]:
    """The columns that equality deletes compare.

    Raises:
        UnsupportedTable: no schema of the table has one of them, or it has a list or map.
    """
    return tuple(_key_column(number, schema) for number in ids)


def _key_column(number: int, schema: Schema) -> KeyColumn:
    for column in (*schema.columns, *schema.older):
        found = _pruned(column, number)
        if found is not None:
            return KeyColumn(*found)
    raise UnsupportedTable("a table", (f"equality deletes of field {number}, which no schema has",))


def _pruned(field: Field, number: int) -> tuple[Field, int, ColumnType] | None:
    if field.id == number:
        if _has_many(field.type):
            raise UnsupportedTable(
                "a table", (f"equality deletes that compare {field.name}, which is nested",)
            )
        return Field(field.name, field.type, field.id, field.default), 0, field.type
    for part in field.type.fields if field.type.root == "ROW" else ():
        found = _pruned(part, number)
        if found is not None:
            kind = ColumnType("ROW", nullable=field.type.nullable, fields=(found[0],))
            return Field(field.name, kind, field.id, field.default), found[1] + 1, found[2]
    return None


def _has_many(kind: ColumnType) -> bool:
    return kind.root in {*LISTS, "MAP"} or any(_has_many(part.type) for part in kind.fields)
