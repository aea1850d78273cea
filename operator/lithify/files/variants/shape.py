"""The columns into which variants are shredded.

Called by `columns`, `joining`, `shredding` and `options`. A *simple* type says what most variants are (a ROW
of an INT and a STRING, say; VARIANT if they vary); the type that a Parquet file stores is derived from it.
Follows `variantShreddingSchema` of Paimon's `PaimonShreddingUtils`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from lithify.files.types import (
    UNBOUNDED,
    VARIANT,
    ColumnType,
    Field,
    arrow_type,
)

METADATA, VALUE, TYPED = "metadata", "value", "typed_value"

_SCALARS = {
    name: ColumnType(name)
    for name in ("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "VARCHAR")
}
"""Types into which Java shreds variants, besides objects, arrays and decimals."""
_BYTES = ColumnType("VARBINARY", UNBOUNDED)


def stored_type(simple: ColumnType) -> ColumnType:
    """The type that a file stores for a VARIANT column of a simple type, always nullable."""
    metadata = Field(METADATA, replace(_BYTES, nullable=False), 0)
    return ColumnType("ROW", fields=(metadata, *_parts(simple, first=1)))


def _parts(simple: ColumnType, *, first: int = 0, may_lack: bool = False) -> Iterator[Field]:
    """`value` and `typed_value`; both may be null for a field of an object (`may_lack`)."""
    if simple.root == "VARIANT":
        yield Field(VALUE, replace(_BYTES, nullable=may_lack), first)
        return
    yield Field(VALUE, _BYTES, first)
    if simple.root == "ROW":
        fields = tuple(
            replace(field, type=_row(_parts(field.type, may_lack=True), nullable=False))
            for field in simple.fields
        )
        yield Field(TYPED, ColumnType("ROW", fields=fields), first + 1)
    elif simple.root == "ARRAY":
        (element,) = simple.fields
        shredded = replace(element, type=_row(_parts(element.type), nullable=True))
        yield Field(TYPED, ColumnType("ARRAY", fields=(shredded,)), first + 1)
    else:
        yield Field(TYPED, replace(simple, nullable=True), first + 1)


def _row(fields: Iterator[Field], *, nullable: bool) -> ColumnType:
    return ColumnType("ROW", nullable=nullable, fields=tuple(fields))


def is_canonical(stored: pa.StructType) -> bool:
    """Whether a file stores a column in the form that this module derives."""
    simple = _simple(stored)
    return simple is not None and arrow_type(stored_type(simple)) == stored


def _simple(stored: pa.DataType) -> ColumnType | None:
    """The simple type from which a stored type is derived, None if there is none."""
    if not pa.types.is_struct(stored) or VALUE not in stored.names:
        return None
    if TYPED not in stored.names:
        return VARIANT
    typed = stored.field(TYPED).type
    if pa.types.is_struct(typed):
        fields = [(field.name, _simple(field.type)) for field in typed]
        return ColumnType("ROW", fields=tuple(Field(name, kind) for name, kind in fields if kind))
    if pa.types.is_list(typed):
        element = _simple(typed.value_type)
        return element and ColumnType("ARRAY", fields=(Field("element", element),))
    if pa.types.is_decimal128(typed):
        return ColumnType("DECIMAL", typed.precision, typed.scale)
    return next((simple for simple in _SCALARS.values() if arrow_type(simple) == typed), None)


def fields_alike(kind: pa.StructType) -> list[list[int]]:
    """The indexes of fields, grouped by type: processing a group costs as much as a single field."""
    groups: dict[pa.DataType, list[int]] = {}
    for number, field in enumerate(kind):
        groups.setdefault(field.type, []).append(number)
    return list(groups.values())


def simple_types(row: ColumnType) -> dict[str, ColumnType]:
    """The simple types of some columns, from a ROW with a field for each of them.

    Raises:
        ValueError: it is no ROW, or has types into which variants are not shredded.
    """
    if row.root != "ROW":
        raise ValueError("it is not a ROW with a field for each column")
    for field in row.fields:
        _check(field.type)
    return {field.name: field.type for field in row.fields}


def _check(simple: ColumnType) -> None:
    if simple.root in ("ROW", "ARRAY"):
        if not simple.fields:
            raise ValueError("a ROW in it has no fields")
        for part in simple.fields:
            _check(part.type)
    elif simple.root not in (*_SCALARS, "DECIMAL", "VARIANT"):
        raise ValueError(f"variants are not shredded into columns of type {simple.root}")
