"""Values that come late in a sequence group: aggregates against the same functions with swapped arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.errors import UnsupportedTable
from lithify.files.types import arrow_type
from lithify.formats.paimon.options.merging.field_functions import field_function
from lithify.formats.paimon.options.merging.field_options import FieldOptions
from lithify.formats.paimon.primary_key.merge_functions.aggregates.factory import aggregate_of
from lithify.formats.paimon.primary_key.merge_functions.aggregates.model import TakesLateValues
from lithify.formats.paimon.primary_key.merge_functions.aggregates.swapping import aggregate_swapping
from lithify.formats.paimon.schema.type_texts import parse_type
from support.properties import examples
from unit.formats.paimon.primary_key.merge_functions.row_by_row import CannotRetract, function_of
from unit.formats.paimon.primary_key.merge_functions.test_aggregates import CASES, known

SWAPPED = [
    case
    for case in CASES
    if (case[0].startswith(("merge_map", "nested", "first")) or case[:2] == ("listagg", "STRING"))
    # Which rows a limit leaves depends on the order of Java's hash maps, which the plain model does not know.
    and "count_limit" not in case[3]
]


@pytest.mark.parametrize(
    ("name", "kind", "values", "said"), SWAPPED, ids=[f"{each[0]}-{n}" for n, each in enumerate(SWAPPED)]
)
@settings(max_examples=examples(150), deadline=None)
@given(data=st.data())
def test_late_values_are_the_accumulator(
    data: st.DataObject, name: str, kind: Any, values: st.SearchStrategy[Any], said: dict[str, Any]
) -> None:
    column, options = parse_type(kind), FieldOptions("v", **said)
    record = st.tuples(st.none() | values, st.sampled_from(["adds", "adds", "late", "retracts"]))
    groups = data.draw(st.lists(st.lists(record, min_size=1, max_size=6), min_size=1, max_size=4))
    flat = [each for group in groups for each in group]
    retracts, late = (np.array([how == wanted for _, how in flat]) for wanted in ("retracts", "late"))
    arguments = (
        pa.array([value for value, _ in flat], arrow_type(column)),
        np.cumsum([0, *(len(group) for group in groups[:-1])]),
        retracts,
        late,
    )
    function = aggregate_of(field_function(name, column, options))
    try:
        expected = [row_by_row(function_of(name, column, options), group) for group in groups]
    except CannotRetract:
        with pytest.raises(UnsupportedTable):
            aggregate(function, *arguments)
        return
    result = aggregate(function, *arguments)
    result.validate(full=True)
    assert [known(value) for value in result.to_pylist()] == [known(value) for value in expected]


def aggregate(function: Any, *arguments: Any) -> pa.Array:
    if isinstance(function, TakesLateValues):
        return function.aggregate_late(*arguments)
    return aggregate_swapping(function, *arguments)


def row_by_row(function: Any, group: list[tuple[Any, str]]) -> Any:
    accumulator = None
    for value, how in group:
        if how == "retracts":
            accumulator = function.retract(accumulator, value)
        elif how == "late":
            accumulator = function.agg(value, accumulator)
        else:
            accumulator = function.agg(accumulator, value)
    return accumulator
