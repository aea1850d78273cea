"""All uses of a table's columns: which type plays which role. Called by `reasons`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pypaimon.schema.table_schema import TableSchema

from lithify.formats.paimon.options.merging.merge_options import sequence_fields_of_groups
from lithify.formats.paimon.support.checks import ColumnUse
from lithify.formats.paimon.support.rules import Role


def column_uses(schema: TableSchema) -> Iterator[ColumnUse]:
    """Every column in every role that it has."""
    sequence = [name.strip() for name in schema.options.get("sequence.field", "").split(",")]
    sequence += sequence_fields_of_groups(schema.options)
    for column in schema.fields:
        roles = {
            Role.VALUE: True,
            Role.KEY: column.name in schema.primary_keys and column.name not in schema.partition_keys,
            Role.PARTITION: column.name in schema.partition_keys,
            Role.SEQUENCE: column.name in sequence,
        }
        for role in (role for role, plays in roles.items() if plays):
            yield ColumnUse(column.name, str(column.type), role)
        yield from (ColumnUse(column.name, text, Role.PART) for text in _parts(column.type.to_dict()))


def _parts(written: str | Mapping[str, Any]) -> Iterator[str]:
    """The primitive types of which a type consists."""
    if isinstance(written, str):
        return
    inner = [written[part] for part in ("element", "key", "value") if part in written]
    for part in [*inner, *(each["type"] for each in written.get("fields", ()))]:
        yield part if isinstance(part, str) else str(part["type"])
        yield from _parts(part)
