"""Which row groups may be in one file: those of files with the same schema, by writers without known defects.

Called by `copier` and by planners of compactions. Codecs and encodings may differ between row groups, even
between their columns: each column chunk names its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256

from lithify.files.parquet.copying.footers import (
    COLUMN_ORDERS,
    FILE_PATH,
    INDEX_PAGE,
    SCHEMA,
    ParquetFooter,
    RowGroup,
)
from lithify.files.parquet.structs import Struct, Value, integer_of

_ENCRYPTION, _SIGNING = 8, 9
_KNOWN_OF_FILE = {*range(1, 8)}
_KNOWN_OF_GROUP = {*range(1, 8)}
_KNOWN_OF_CHUNK = {*range(2, 8)}
_KNOWN_OF_METADATA = {*range(1, 18)} - {INDEX_PAGE}
"""Fields that can be copied. Others may contain offsets, or change the meaning of the bytes."""

_LENGTH, _REPETITION, _NAME, _CHILDREN, _CONVERTED = 2, 3, 4, 5, 6
_SCALE, _PRECISION, _ID, _LOGICAL = 7, 8, 9, 10
_KNOWN_OF_ELEMENT = {*range(1, 11)}
_FIXED = 7
_MAP_KEY_VALUE = 2
"""A converted type without a meaning, which only some writers give to the entries of maps."""

_ABOUT_SCHEMA = re.compile(rb"schema|metadata|pandas|geo|model|proto|spark|calendar|zone", re.IGNORECASE)
"""Keys of key-value metadata that tell readers more about the columns, such as `ARROW:schema`.

Spark tells by its version, and by keys for old dates, in which calendar it wrote them.
"""
_NOT_ABOUT_SCHEMA = {b"writer.model.name", b"iceberg.schema"}
"""Iceberg repeats the schema with its id there; readers go by the field ids of the columns."""

_WRITER = re.compile(r"(?P<name>\S.*?) version v?(?P<number>\d+(?:\.\d+)*)")
_DEFECTIVE_BEFORE = {"parquet-mr": (1, 10), "parquet-cpp": (2,), "parquet-cpp-arrow": (4,)}
"""Versions before which readers interpret files by the name of their writer: statistics, lengths of chunks,
DELTA_BYTE_ARRAY. A copied row group would be in a file with another one's name."""


def obstacle(footer: ParquetFooter) -> str | None:
    """Why row groups of a file cannot be copied, None if they can."""
    if not footer.fields.keys() <= _KNOWN_OF_FILE:
        is_encrypted = {_ENCRYPTION, _SIGNING} & footer.fields.keys()
        return "it is encrypted" if is_encrypted else "its footer has unknown fields"
    elements = footer.fields[SCHEMA].structs
    if not all(element.keys() <= _KNOWN_OF_ELEMENT for element in elements):
        return "its schema has unknown fields"
    defect = _defect(footer.created_by)
    return defect or next(filter(None, map(_obstacle_of_group, footer.row_groups)), None)


def _obstacle_of_group(group: RowGroup) -> str | None:
    if not group.fields.keys() <= _KNOWN_OF_GROUP:
        return "a row group has unknown fields"
    for chunk in group.chunks:
        if FILE_PATH in chunk.fields:
            return "a column is in another file"
        if not (chunk.fields.keys() <= _KNOWN_OF_CHUNK and chunk.metadata.keys() <= _KNOWN_OF_METADATA):
            return "a column is encrypted, or has unknown fields"
    return None


def _defect(created_by: str) -> str | None:
    match = _WRITER.match(created_by)
    if match is None:
        return f"it was written by {created_by or 'an unknown application'}, of an unknown version"
    version = tuple(map(int, match["number"].split(".")))
    if version < _DEFECTIVE_BEFORE.get(match["name"], ()):
        return f"readers treat files by {match[0]} in a special way"
    return None


def schema_fingerprint(footer: ParquetFooter) -> str:
    """Equal for files whose row groups can be in one file, as far as their schemas are concerned.

    Covers names, types, logical types, repetition and field ids of the tree, the order of values in
    statistics, and key-value metadata about the schema. Ignores the name of the root.
    """
    digest = sha256()
    for part in _identity(footer):
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


def _identity(footer: ParquetFooter) -> Iterator[bytes]:
    root, *elements = footer.fields[SCHEMA].structs
    yield root[_CHILDREN].data
    for element in elements:
        yield repr(_meaning(element)).encode()
    orders = footer.fields.get(COLUMN_ORDERS)
    yield b"" if orders is None else orders.data
    for key, value in sorted(footer.key_values.items()):
        if _ABOUT_SCHEMA.search(key) and key not in _NOT_ABOUT_SCHEMA:
            yield key
            yield b"" if value is None else value.data


def _meaning(element: Struct) -> tuple[object, ...]:
    """What an element means; converted types only where there is no logical one."""
    kind = integer_of(element, 1, -1)
    logical: tuple[object, ...] = ()
    if _LOGICAL in element:
        logical = (_raw(element, _LOGICAL),)
    elif integer_of(element, _CONVERTED, -1) not in (-1, _MAP_KEY_VALUE):
        logical = tuple(integer_of(element, number, -1) for number in (_CONVERTED, _SCALE, _PRECISION))
    length = integer_of(element, _LENGTH, 0) if kind == _FIXED else 0
    numbers = (integer_of(element, _CHILDREN, 0), *(integer_of(element, n, -1) for n in (_REPETITION, _ID)))
    return (kind, length, *numbers, _raw(element, _NAME), logical)


def _raw(element: Struct, number: int) -> bytes:
    value: Value | None = element.get(number)
    return b"" if value is None else value.data
