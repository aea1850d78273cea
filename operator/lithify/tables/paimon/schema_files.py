"""A version of a table's schema as this package works with it, made of what pypaimon has read.

Called by `catalog`. pypaimon fills in what the first releases took for granted (`TableSchema.from_json`), but
takes values as they come; what makes no sense is found here, before anybody builds on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from pypaimon.schema.table_schema import TableSchema
from pypaimon.table.file_store_table import FileStoreTable

from lithify.errors import CorruptTable
from lithify.tables.paimon.identity import home
from lithify.tables.paimon.schema import Column, Schema
from lithify.tables.paimon.storage import reporting
from lithify.tables.paimon.types import arrow_type, parse_type


def read_schema(table: FileStoreTable, overrides: Mapping[str, str], schema_id: int | None) -> Schema:
    """A version of the schema from its file; None for the newest.

    Raises:
        CorruptTable: it does not exist, or cannot be read.
        StorageError: the file system refuses.
    """
    manager = table.schema_manager
    find = manager.latest if schema_id is None else partial(manager.get_schema, schema_id)
    path = _path(table, schema_id)
    with reporting(path), _understanding(path):
        found = find()
    if found is None:
        raise CorruptTable(table.table_path, f"it has no schema {schema_id}")
    return known_schema(table, found, overrides)


def known_schema(table: FileStoreTable, found: TableSchema, overrides: Mapping[str, str]) -> Schema:
    """A version of the schema that pypaimon has read.

    Raises:
        CorruptTable: it makes no sense.
    """
    with _understanding(_path(table, found.id)):
        schema = _schema(found, overrides)
        _check(schema, found)
        return schema


def stored_options(schema: TableSchema) -> dict[str, str]:
    """The table's options; pypaimon adds what a REST catalog tells about it, be it None."""
    return {name: value for name, value in schema.options.items() if value is not None}


def _schema(found: TableSchema, overrides: Mapping[str, str]) -> Schema:
    partition_keys = tuple(found.partition_keys)
    return Schema(
        id=found.id,
        columns=tuple(
            Column(column.id, column.name, parse_type(column.type.to_dict())) for column in found.fields
        ),
        primary_key=tuple(name for name in found.primary_keys if name not in partition_keys),
        partition_keys=partition_keys,
        options={**stored_options(found), **overrides},
    )


def _check(schema: Schema, found: TableSchema) -> None:
    names, ids = _distinct(schema, "name", str), _distinct(schema, "id", int)
    _must(type(schema.id) is int, "its id makes no sense")
    _must(len(names) == len(ids) > 0, "it has no columns")
    for keys in (found.primary_keys, found.partition_keys):
        _must(isinstance(keys, list) and set(keys) <= names, f"its keys {keys} are not among its columns")
    _must(all(isinstance(each, str) for each in schema.options.values()), "its options are no texts")
    for column in schema.columns:
        _check_type(column)


def _distinct(schema: Schema, attribute: str, kind: type) -> set[Any]:
    values = [getattr(column, attribute) for column in schema.columns]
    _must(all(type(value) is kind for value in values), f"a column's {attribute} makes no sense")
    _must(len(set(values)) == len(values), f"two columns have the same {attribute}")
    return set(values)


def _check_type(column: Column) -> None:
    """A type of which nobody here knows is not damaged: `support` refuses it by its name."""
    try:
        arrow_type(column.type)
    except KeyError:
        return


def _must(holds: bool, problem: str) -> None:
    if not holds:
        raise ValueError(problem)


def _path(table: FileStoreTable, schema_id: int | None) -> str:
    return f"{home(table)}/schema" + ("" if schema_id is None else f"/schema-{schema_id}")


@contextmanager
def _understanding(path: str) -> Iterator[None]:
    """Names the file of what cannot be understood."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, RuntimeError) as error:
        raise CorruptTable(path, f"the schema cannot be read ({error.__cause__ or error})") from error
