"""The logical type UUID in footers, which PyArrow does not write for 16 fixed bytes.

Called by the writer beside this module. Java's readers of Iceberg return bytes instead of UUIDs without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lithify.files.parquet.copying.footers import SCHEMA
from lithify.files.parquet.structs import encode_struct, integer_of, read_struct, struct, structs
from lithify.files.parquet.thrift import Thrift
from lithify.files.types import ColumnType

_CHILDREN, _LOGICAL = 5, 10
"""Fields of a schema element."""
_UUID = 14
"""Field of the union of logical types."""


def uuid_columns(types: Mapping[str, ColumnType]) -> frozenset[int]:
    """The numbers of the physical columns that are UUIDs, in rows with columns of these types."""
    leaves = (leaf for kind in types.values() for leaf in _leaves(kind))
    return frozenset(number for number, leaf in enumerate(leaves) if leaf.root == "UUID")


def with_uuids(footer: bytes, columns: frozenset[int]) -> bytes:
    """The footer with some physical columns labelled as UUIDs."""
    fields = dict(read_struct(Thrift(footer)))
    elements, number = [], 0
    for element in fields[SCHEMA].structs:
        is_leaf = integer_of(element, _CHILDREN, 0) == 0
        is_uuid = is_leaf and number in columns
        elements.append({**element, _LOGICAL: struct({_UUID: struct({})})} if is_uuid else element)
        number += is_leaf
    fields[SCHEMA] = structs(elements)
    return encode_struct(fields)


def _leaves(kind: ColumnType) -> Iterator[ColumnType]:
    if not kind.fields:
        yield kind
    for part in kind.fields:
        yield from _leaves(part.type)
