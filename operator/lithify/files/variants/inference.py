"""Infers the type of a file's variants from its first rows.

Called by `columns` for tables with `variant.inferShreddingSchema`. Infers the same types as Paimon's
`InferVariantShreddingSchema`, from all values at one path together instead of row by row. Where Java fails on
the result (dates, timestamps, binaries, fields without a name), the values stay unshredded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.files.types import (
    UNBOUNDED,
    VARIANT,
    ColumnType,
    Field,
)
from lithify.files.variants.binary import Bytes, Ints, Mask
from lithify.files.variants.encoding import (
    VariantKind,
    elements_of,
    fields_of,
    kinds_of,
)
from lithify.files.variants.options import InferenceOptions
from lithify.files.variants.scalars import decimals_of, longs_of
from lithify.files.variants.shredding import Nodes, nodes_of

_MOST_FIELDS = 1000
"""Maximum number of fields of one object, in order of name, as in Java."""
_LONG_DIGITS, _MOST_DIGITS = 18, 38
_SIMPLE = {
    VariantKind.BOOLEAN: ColumnType("BOOLEAN"),
    VariantKind.STRING: ColumnType("VARCHAR", UNBOUNDED),
    VariantKind.DOUBLE: ColumnType("DOUBLE"),
    VariantKind.FLOAT: ColumnType("FLOAT"),
}
_NUMBERS = {VariantKind.LONG, VariantKind.DECIMAL}


def inferred(columns: Sequence[pa.StructArray], options: InferenceOptions) -> list[ColumnType]:
    """The simple type of each VARIANT column of one file, from its first rows; all share one column limit.

    Raises:
        Malformed: a value is not a valid variant.
    """
    room = _Room(options.width)
    types = []
    for column in columns:
        nodes = nodes_of(column.drop_null())
        least = math.ceil(len(nodes.values) * options.share)
        types.append(_type_of(nodes, options.depth, least, room))
    return types


class _Room:
    """The number of columns that may still be created."""

    def __init__(self, columns: int) -> None:
        self.columns = columns

    def take(self) -> bool:
        """Takes one; returns whether any was left."""
        self.columns -= 1
        return self.columns > 0


def _type_of(nodes: Nodes, depth: int, least: int, room: _Room) -> ColumnType:
    """The type of all values at one path; `least` is how often a field must occur."""
    if not room.take():
        return VARIANT
    kinds = kinds_of(nodes.values)
    found = set(np.unique(kinds).tolist()) - {VariantKind.NULL, VariantKind.UNKNOWN}
    if found == {VariantKind.OBJECT} and depth > 0:
        return _row(nodes, kinds == VariantKind.OBJECT, depth - 1, least, room)
    if found == {VariantKind.ARRAY} and depth > 0:
        return _array(nodes, kinds == VariantKind.ARRAY, depth - 1, least, room)
    simple = _number(nodes, kinds) if found and found <= _NUMBERS else _scalar(found)
    if simple != VARIANT:
        room.take()
    return simple


def _scalar(found: set[int]) -> ColumnType:
    return next((simple for kind, simple in _SIMPLE.items() if found == {kind}), VARIANT)


def _row(nodes: Nodes, which: Mask, depth: int, least: int, room: _Room) -> ColumnType:
    at = np.flatnonzero(which)
    members = fields_of(nodes.values.of(at))
    rows = nodes.rows[at][members.owners]
    codes = nodes.keys.codes(rows, members.ids)
    order = np.argsort(codes, kind="stable")
    distinct, firsts, counts = np.unique(codes[order], return_index=True, return_counts=True)
    fields: list[Field] = []
    for code, first, count in list(zip(distinct, firsts, counts, strict=True))[:_MOST_FIELDS]:
        name = nodes.keys.name(int(code))
        if count >= least and room.columns > 0 and name.strip():
            chosen = order[first : first + count]
            inner = _type_of(Nodes(members.values.of(chosen), rows[chosen], nodes.keys), depth, least, room)
            fields.append(Field(name, inner, len(fields)))
    return ColumnType("ROW", fields=tuple(fields)) if fields else VARIANT


def _array(nodes: Nodes, which: Mask, depth: int, least: int, room: _Room) -> ColumnType:
    """The type of arrays; if any of them has no non-null element, the element type stays VARIANT."""
    at = np.flatnonzero(which)
    members = elements_of(nodes.values.of(at))
    says = kinds_of(members.values) != VariantKind.NULL
    if (np.bincount(members.owners[says], minlength=len(at)) == 0).any():
        room.take()
        element = VARIANT
    else:
        inner = Nodes(members.values, nodes.rows[at][members.owners], nodes.keys)
        element = _type_of(inner, depth, least, room)
    return ColumnType("ARRAY", fields=(Field("element", element),))


def _number(nodes: Nodes, kinds: Bytes) -> ColumnType:
    """BIGINT, or a DECIMAL that holds all of the numbers; VARIANT if there is none."""
    digits = _digits(longs_of(nodes.values, kinds))
    needs = [_needs(*decimals) for decimals in decimals_of(nodes.values, kinds)]
    before = max([min(digits, _LONG_DIGITS), *(whole for whole, _ in needs)])
    behind = max([0, *(fraction for _, fraction in needs)])
    if behind == 0 and before <= _LONG_DIGITS:
        return ColumnType("BIGINT")
    precision = max(before, digits) + behind
    if precision > _MOST_DIGITS:
        return VARIANT
    return ColumnType("DECIMAL", _LONG_DIGITS if precision <= _LONG_DIGITS else _MOST_DIGITS, behind)


def _digits(numbers: Ints) -> int:
    """The number of digits of the longest number, 0 without any."""
    return max(len(str(abs(int(bound)))) for bound in (numbers.min(), numbers.max())) if len(numbers) else 0


def _needs(scale: int, unscaled: pa.Array) -> tuple[int, int]:
    """The integer and fraction digits that decimals of one scale need."""
    longest = int(pc.max(pc.abs(unscaled)).as_py())
    has_zero = bool(pc.any(pc.equal(unscaled, pa.scalar(0, unscaled.type))).as_py())
    fraction = next(digits for digits in range(scale + 1) if _is_enough(unscaled, digits - scale))
    return max(len(str(longest)) - scale, int(has_zero)), fraction


def _is_enough(unscaled: pa.Array, digits: int) -> bool:
    """Whether the numbers stay equal when truncated to this many digits."""
    return bool(pc.all(pc.equal(pc.round(unscaled, digits, "towards_zero"), unscaled)).as_py())
