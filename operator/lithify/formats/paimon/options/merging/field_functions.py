"""Aggregate functions as options name them, and the types for which Paimon has each.

Read by `aggregation` and `partial_update` beside this module; `aggregates.factory` makes the functions that
aggregate. Refuses the types that Paimon refuses, with the option at fault.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from lithify.errors import InvalidOption
from lithify.files.types import UNBOUNDED, ColumnType
from lithify.formats.paimon.options.merging.field_options import FieldOptions
from lithify.formats.paimon.options.merging.nested_types import (
    check_elements,
    check_map,
    check_nested_partial_update,
    check_nested_update,
    check_timed_map,
)

DEFAULT: Final = "last_non_null_value"
"""The function of columns without one, if the table has no default."""
UNION_NAMES: Final = ("rbm32", "rbm64", "theta_sketch", "hll_sketch")
"""Functions that unite serialized bitmaps and sketches."""
INTEGERS: Final = frozenset({"TINYINT", "SMALLINT", "INT", "BIGINT"})


@dataclass(frozen=True, slots=True)
class FieldFunction:
    """The aggregate function of a column; made by `field_function`, which checks it.

    Attributes:
        name: name of the function in options, for example `sum`.
        type: the type of the column.
        options: the table's other options for the column.
    """

    name: str
    type: ColumnType
    options: FieldOptions


@dataclass(frozen=True, slots=True)
class _Accepted:
    """The columns that a function takes.

    Attributes:
        has: whether Paimon has the function for a type.
        types: these types, as words of a message.
        check: raises `InvalidOption` if the options or the parts of the type cannot be used.
    """

    has: Callable[[ColumnType], bool]
    types: str
    check: Callable[[ColumnType, FieldOptions], None] | None = None


def _is_number(column: ColumnType) -> bool:
    return column.root == "DECIMAL" or column.root in INTEGERS or column.is_float


def _is_boolean(column: ColumnType) -> bool:
    return column.root == "BOOLEAN"


def _has_order(column: ColumnType) -> bool:
    return not column.is_nested and column.root != "BOOLEAN"


def _is_text(column: ColumnType) -> bool:
    return column.root == "VARCHAR" and column.precision == UNBOUNDED


def _is_any(column: ColumnType) -> bool:
    del column
    return True


def _has_root(root: str, column: ColumnType) -> bool:
    return column.root == root


def _check_delimiter(column: ColumnType, options: FieldOptions) -> None:
    del column
    if options.distinct and _overlaps_itself(options.delimiter):
        raise InvalidOption(
            f"fields.{options.column}.list-agg-delimiter",
            f"with '{options.delimiter}' between texts Paimon may find other parts in a list than were put "
            "into it, so this release refuses it with distinct; take a delimiter like , or ;",
        )


def _overlaps_itself(delimiter: str) -> bool:
    """Whether the delimiter is empty or a proper suffix of it is also a prefix."""
    return not delimiter or any(delimiter.startswith(delimiter[cut:]) for cut in range(1, len(delimiter)))


_ANY = _Accepted(_is_any, "all types")
_NUMBERS = _Accepted(_is_number, "numbers")
_BOOLEANS = _Accepted(_is_boolean, "BOOLEAN")
_ORDERED = _Accepted(_has_order, "types with an order")
_SERIALIZED = _Accepted(partial(_has_root, "VARBINARY"), "VARBINARY and BYTES")
_IS_MAP = partial(_has_root, "MAP")

ACCEPTED: Final[Mapping[str, _Accepted]] = {
    "primary-key": _ANY,
    "last_value": _ANY,
    "last_non_null_value": _ANY,
    "first_value": _ANY,
    "first_non_null_value": _ANY,
    "first_not_null_value": _ANY,
    "sum": _NUMBERS,
    "product": _NUMBERS,
    "bool_and": _BOOLEANS,
    "bool_or": _BOOLEANS,
    "listagg": _Accepted(_is_text, "STRING", _check_delimiter),
    "collect": _Accepted(partial(_has_root, "ARRAY"), "ARRAY", check_elements),
    "merge_map": _Accepted(_IS_MAP, "MAP", check_map),
    "merge_map_with_keytime": _Accepted(_IS_MAP, "MAP", check_timed_map),
    "nested_update": _Accepted(_is_any, "arrays of ROWs", check_nested_update),
    "nested_partial_update": _Accepted(_is_any, "arrays of ROWs", check_nested_partial_update),
    "max": _ORDERED,
    "min": _ORDERED,
    **dict.fromkeys(UNION_NAMES, _SERIALIZED),
}
"""The columns that each function takes, by its name in options."""


def field_function(name: str, column: ColumnType, options: FieldOptions) -> FieldFunction:
    """The aggregate function of a column.

    Args:
        name: name of the function in options.
        column: the type of the column.
        options: the table's other options for the column.

    Raises:
        InvalidOption: Paimon has no such function for this type, or this release cannot follow it.
    """
    accepted = ACCEPTED.get(name)
    if accepted is None:
        known = ", ".join(sorted(ACCEPTED))
        raise InvalidOption(
            options.function_option, f"{name} is no aggregate function of Paimon 1.4 (it has {known})"
        )
    if not accepted.has(column):
        problem = f"Paimon has {name} for {accepted.types} only, and the column's type is {column.root}"
        raise InvalidOption(options.function_option, problem)
    if accepted.check is not None:
        accepted.check(column, options)
    return FieldFunction(name, column, options)
