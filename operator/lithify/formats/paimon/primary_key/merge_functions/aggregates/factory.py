"""Creates aggregate functions by their names in table options.

Called by the merge functions when a table is opened and when its tasks are made. Refuses the types that
Paimon refuses, with the option at fault.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from lithify.errors import InvalidOption
from lithify.files.types import ColumnType
from lithify.formats.paimon.primary_key.merge_functions.aggregates.arrays import collect_of
from lithify.formats.paimon.primary_key.merge_functions.aggregates.booleans import boolean_of
from lithify.formats.paimon.primary_key.merge_functions.aggregates.extremes import extreme_of
from lithify.formats.paimon.primary_key.merge_functions.aggregates.maps import (
    merge_map_of,
    merge_map_with_time_of,
)
from lithify.formats.paimon.primary_key.merge_functions.aggregates.model import (
    FieldAggregate,
    FieldOptions,
    FieldSelection,
)
from lithify.formats.paimon.primary_key.merge_functions.aggregates.nested import nested_update_of
from lithify.formats.paimon.primary_key.merge_functions.aggregates.nested_partial import (
    nested_partial_update_of,
)
from lithify.formats.paimon.primary_key.merge_functions.aggregates.numbers import product_of, sum_of
from lithify.formats.paimon.primary_key.merge_functions.aggregates.retractions import (
    IgnoresRetractions,
    SelectionIgnoresRetractions,
)
from lithify.formats.paimon.primary_key.merge_functions.aggregates.selecting import (
    FirstValue,
    LastNonNullValue,
    LastValue,
    NewestValue,
)
from lithify.formats.paimon.primary_key.merge_functions.aggregates.texts import listagg_of
from lithify.formats.paimon.primary_key.merge_functions.aggregates.unions import UNIONS, union_of

Make = Callable[[ColumnType, FieldOptions], FieldAggregate]

DEFAULT = "last_non_null_value"
"""The function of columns without one, if the table has no default."""

_FUNCTIONS: Mapping[str, Make] = {
    "primary-key": lambda _, __: NewestValue(),
    "last_value": lambda _, __: LastValue(),
    "last_non_null_value": lambda _, __: LastNonNullValue(),
    "first_value": lambda _, options: FirstValue(options.column, skips_nulls=False),
    "first_non_null_value": lambda _, options: FirstValue(options.column, skips_nulls=True),
    "first_not_null_value": lambda _, options: FirstValue(options.column, skips_nulls=True),
    "sum": sum_of,
    "product": product_of,
    "bool_and": lambda column, options: boolean_of("bool_and", column, options),
    "bool_or": lambda column, options: boolean_of("bool_or", column, options),
    "listagg": listagg_of,
    "collect": collect_of,
    "merge_map": merge_map_of,
    "merge_map_with_keytime": merge_map_with_time_of,
    "nested_update": nested_update_of,
    "nested_partial_update": nested_partial_update_of,
    "max": lambda column, options: extreme_of("max", column, options),
    "min": lambda column, options: extreme_of("min", column, options),
    **{name: partial(union_of, name) for name in UNIONS},
}


def aggregate_of(name: str, column: ColumnType, options: FieldOptions) -> FieldAggregate:
    """The aggregate function of a column.

    Args:
        name: name of the function in options, for example `sum`.
        column: the type of the column.
        options: the table's other options for the column.

    Raises:
        InvalidOption: Paimon has no such function for this type.
    """
    make = _FUNCTIONS.get(name)
    if make is None:
        raise InvalidOption(options.function_option, _unknown(name))
    made = make(column, options)
    if not options.ignore_retract:
        return made
    return SelectionIgnoresRetractions(made) if isinstance(made, FieldSelection) else IgnoresRetractions(made)


def _unknown(name: str) -> str:
    return f"{name} is no aggregate function of Paimon 1.4 (it has {', '.join(sorted(_FUNCTIONS))})"
