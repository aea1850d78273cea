"""Reads a version of a table's schema, via pypaimon's parser.

Called by `opening` and `connecting`. pypaimon fills in the defaults of the first releases
(`TableSchema.from_json`), but does not validate values; invalid ones, and more than a table can have, are
detected here, before other code relies on them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pypaimon.schema.table_schema import TableSchema
from pypaimon.table.file_store_table import FileStoreTable

from lithify.columns.json_texts import parse_object
from lithify.errors import CorruptTable
from lithify.files.types import ColumnType, arrow_type
from lithify.formats.paimon.access.file_access import storage_of
from lithify.formats.paimon.access.identity import home
from lithify.formats.paimon.schema.schema import Column, Schema
from lithify.formats.paimon.schema.type_texts import parse_type
from lithify.io.small_files import MOST_JSON
from lithify.io.storage import Storage

_MOST_COLUMNS = 10_000
_MOST_TYPES = 100_000
"""Maximum number of types of a table's columns including all their parts."""
_MOST_DEPTH = 32
_MOST_KEYS = 1_000
_MOST_OPTIONS = 10_000
_LARGEST_ID = (1 << 31) - 1
_LONGEST_MESSAGE = 300
_STEM = "schema-"
_SCHEMA = re.compile(rf"{_STEM}[0-9]{{1,10}}")


def read_schema(table: FileStoreTable, overrides: Mapping[str, str], schema_id: int | None) -> Schema:
    """Reads a version of the schema from its file; None for the newest.

    Raises:
        CorruptTable: it does not exist, or cannot be read.
        StorageError: the file system refuses.
    """
    found = read_table_schema(storage_of(table.file_io), home(table), schema_id)
    if found is None:
        version = "" if schema_id is None else f" {schema_id}"
        raise CorruptTable(table.table_path, f"it has no schema{version}")
    return known_schema(table, found, overrides)


def read_table_schema(storage: Storage, folder: str, schema_id: int | None = None) -> TableSchema | None:
    """A version of the schema as pypaimon parses it; None if it does not exist.

    Args:
        storage: access to the table's files.
        folder: folder of the table, or of a branch of it.
        schema_id: the version, None for the newest.

    Raises:
        CorruptTable: it cannot be read.
        StorageError: the file system refuses.
    """
    schemas = f"{folder}/schema"
    if schema_id is None:
        names = (name for name in storage.names_in(schemas) if _SCHEMA.fullmatch(name))
        schema_id = max((int(name.removeprefix(_STEM)) for name in names), default=None)
        if schema_id is None:
            return None
    path = f"{schemas}/{_STEM}{schema_id}"
    text = storage.read_text(path, MOST_JSON)
    if text is None:
        return None
    with _understanding(path):
        _check_counts(parse_object(text))
        found: TableSchema = TableSchema.from_json(text)
        return found


def _check_counts(written: Mapping[str, Any]) -> None:
    """Limits what pypaimon gets, because it compares all columns pairwise."""
    for name, most in (
        ("fields", _MOST_COLUMNS),
        ("primaryKeys", _MOST_KEYS),
        ("partitionKeys", _MOST_KEYS),
        ("options", _MOST_OPTIONS),
    ):
        _must(len(written.get(name) or ()) <= most, f"it has more than {most} {name}")


def known_schema(table: FileStoreTable, found: TableSchema, overrides: Mapping[str, str]) -> Schema:
    """Converts a version of the schema that pypaimon has read.

    Raises:
        CorruptTable: it is invalid.
    """
    with _understanding(_path(table, found.id)):
        schema = _schema(found, overrides)
        _check(schema, found)
        return schema


def stored_options(schema: TableSchema) -> dict[str, str]:
    """The table's options as stored; pypaimon adds values of a REST catalog, which may be None."""
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
    _must(len(names) <= _MOST_COLUMNS, f"it has more than {_MOST_COLUMNS} columns")
    _must(all(0 <= number <= _LARGEST_ID for number in ids), "a column's id is out of range")
    _must(0 <= schema.id <= _LARGEST_ID, "its id is out of range")
    _check_nesting([column.type for column in schema.columns])
    for keys in (found.primary_keys, found.partition_keys):
        _must(isinstance(keys, list) and len(keys) <= _MOST_KEYS, "its keys make no sense")
        _must(set(keys) <= names, "its keys are not among its columns")
    _must(all(isinstance(each, str) for each in schema.options.values()), "its options are no texts")
    for column in schema.columns:
        _check_type(column)


def _distinct(schema: Schema, attribute: str, kind: type) -> set[Any]:
    values = [getattr(column, attribute) for column in schema.columns]
    _must(all(type(value) is kind for value in values), f"a column's {attribute} makes no sense")
    _must(len(set(values)) == len(values), f"two columns have the same {attribute}")
    return set(values)


def _check_nesting(types: Sequence[ColumnType]) -> None:
    """Checks the number and the depth of types."""
    level, count = types, len(types)
    for _ in range(_MOST_DEPTH):
        level = [part.type for outer in level for part in outer.fields]
        count += len(level)
        _must(count <= _MOST_TYPES, f"its columns have more than {_MOST_TYPES} parts")
        if not level:
            return
    _must(holds=False, problem=f"the types of its columns are nested deeper than {_MOST_DEPTH} levels")


def _check_type(column: Column) -> None:
    """Checks a type. An unknown type is not corruption: `support` refuses it by its name."""
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
    """Adds the file's name to errors of invalid content."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, RuntimeError) as error:
        problem = _shortened(error.__cause__ or error)
        raise CorruptTable(path, f"the schema cannot be read ({problem})") from error


def _shortened(error: BaseException) -> str:
    """Shortens a message: pypaimon may quote the whole file."""
    text = str(error)
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}..."
