"""Creates the aggregate functions that checked options name.

Called when a merge function is made for tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lithify.formats.paimon.options.merging.field_functions import UNION_NAMES, FieldFunction
from lithify.formats.paimon.primary_key.merge_functions.aggregates.arrays import collect_of
from lithify.formats.paimon.primary_key.merge_functions.aggregates.booleans import boolean_of
from lithify.formats.paimon.primary_key.merge_functions.aggregates.extremes import extreme_of
from lithify.formats.paimon.primary_key.merge_functions.aggregates.maps import (
    MergeMap,
    merge_map_with_time_of,
)
from lithify.formats.paimon.primary_key.merge_functions.aggregates.model import (
    FieldAggregate,
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
from lithify.formats.paimon.primary_key.merge_functions.aggregates.unions import union_of

_FUNCTIONS: Mapping[str, Callable[[FieldFunction], FieldAggregate]] = {
    "primary-key": lambda _: NewestValue(),
    "last_value": lambda _: LastValue(),
    "last_non_null_value": lambda _: LastNonNullValue(),
    "first_value": lambda function: FirstValue(function.options.column, skips_nulls=False),
    "first_non_null_value": lambda function: FirstValue(function.options.column, skips_nulls=True),
    "first_not_null_value": lambda function: FirstValue(function.options.column, skips_nulls=True),
    "sum": sum_of,
    "product": product_of,
    "bool_and": boolean_of,
    "bool_or": boolean_of,
    "listagg": listagg_of,
    "collect": collect_of,
    "merge_map": lambda _: MergeMap(),
    "merge_map_with_keytime": merge_map_with_time_of,
    "nested_update": nested_update_of,
    "nested_partial_update": nested_partial_update_of,
    "max": extreme_of,
    "min": extreme_of,
    **dict.fromkeys(UNION_NAMES, union_of),
}


def aggregate_of(function: FieldFunction) -> FieldAggregate:
    """The aggregate function of a column."""
    made = _FUNCTIONS[function.name](function)
    if not function.options.ignore_retract:
        return made
    return SelectionIgnoresRetractions(made) if isinstance(made, FieldSelection) else IgnoresRetractions(made)
