"""Every aggregate function against the same function row by row."""

from __future__ import annotations

import math
import pickle
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.errors import InvalidOption, UnsupportedTable
from lithify.files.types import arrow_type
from lithify.formats.paimon.options.merging.field_functions import ACCEPTED, field_function
from lithify.formats.paimon.options.merging.field_options import FieldOptions, field_options
from lithify.formats.paimon.primary_key.merge_functions.aggregates import factory
from lithify.formats.paimon.primary_key.merge_functions.aggregates.factory import aggregate_of
from lithify.formats.paimon.primary_key.merge_functions.aggregates.model import AggregatesRows
from lithify.formats.paimon.schema.type_texts import parse_type
from support.properties import examples
from unit.formats.paimon.primary_key.merge_functions.row_by_row import CannotRetract, fold, function_of

PROPERTY = settings(max_examples=examples(150), deadline=None)

ROW = {
    "type": "ROW",
    "fields": [{"id": 1, "name": "k", "type": "STRING"}, {"id": 2, "name": "n", "type": "INT"}],
}
TIMED = {
    "type": "ROW",
    "fields": [{"id": 1, "name": "v", "type": "INT"}, {"id": 2, "name": "t", "type": "STRING"}],
}
TIMES = {"type": "MAP", "key": "STRING", "value": TIMED}
ROWS: Any = {"type": "ARRAY", "element": ROW}
TEXT = st.sampled_from(["", "a", "b", "ä", "\uffff", "a,b", "b,,c"])
PLAIN_TEXT = st.sampled_from(["", "a", "b", "ä", "zz"])
FLOATS = st.sampled_from([0.0, -0.0, 1.5, -3.25, 0.1, math.inf, -math.inf, math.nan, 1e30])
SMALL_ROWS = st.none() | st.fixed_dictionaries(
    {"k": st.sampled_from([None, "a", "b"]), "n": st.none() | st.integers(0, 2)}
)


def decimals(digits: int, scale: int) -> st.SearchStrategy[Decimal]:
    least = 10**digits - 1
    return st.integers(-least, least).map(lambda number: Decimal(f"{number}e-{scale}"))


def maps(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(st.sampled_from("abc"), values, max_size=3).map(lambda each: [*each.items()])


MOMENTS = st.datetimes().map(lambda moment: moment.replace(fold=0))
NUMBERS: dict[str, st.SearchStrategy[Any]] = {
    "TINYINT": st.integers(-128, 127),
    "SMALLINT": st.integers(-(2**15), 2**15 - 1),
    "INT": st.integers(-(2**31), 2**31 - 1),
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "DOUBLE": FLOATS,
    "FLOAT": FLOATS.map(lambda value: float(np.float32(value))),
    "DECIMAL(20, 3)": decimals(20, 3),
    "DECIMAL(38, 10)": decimals(38, 10),
}
SAYS: dict[str, Any] = {"distinct": True}
CASES: list[tuple[str, Any, st.SearchStrategy[Any], dict[str, Any]]] = [
    *((name, kind, values, {}) for name in ("sum", "product") for kind, values in NUMBERS.items()),
    ("sum", "DECIMAL(9, 2)", decimals(5, 2), {}),
    ("product", "DECIMAL(9, 2)", decimals(3, 2), {}),
    *((name, kind, values, {}) for name in ("max", "min") for kind, values in NUMBERS.items()),
    *((name, "TIMESTAMP(6)", MOMENTS, {}) for name in ("max", "min")),
    *((name, "DATE", st.dates(), {}) for name in ("max", "min")),
    *((name, "STRING", TEXT, {}) for name in ("max", "min", "last_value", "last_non_null_value")),
    *((name, "STRING", TEXT, {}) for name in ("first_value", "first_non_null_value", "primary-key")),
    *((name, "BOOLEAN", st.booleans(), {}) for name in ("bool_and", "bool_or")),
    ("listagg", "STRING", TEXT, {}),
    ("listagg", "STRING", TEXT, {"delimiter": ""}),
    ("listagg", "STRING", TEXT, SAYS),
    ("listagg", "STRING", PLAIN_TEXT, SAYS),
    ("collect", {"type": "ARRAY", "element": "INT"}, st.lists(st.none() | st.integers(0, 3), max_size=4), {}),
    ("collect", {"type": "ARRAY", "element": "INT"}, st.lists(st.none() | st.integers(0, 9)), SAYS),
    ("collect", {"type": "ARRAY", "element": "STRING"}, st.lists(PLAIN_TEXT), SAYS),
    ("merge_map", {"type": "MAP", "key": "STRING", "value": "INT"}, maps(st.none() | st.integers(0, 9)), {}),
    (
        "merge_map_with_keytime",
        TIMES,
        maps(
            st.none()
            | st.fixed_dictionaries({"v": st.integers(0, 9), "t": st.sampled_from([None, "1", "10", "2"])})
        ),
        {},
    ),
    ("nested_update", ROWS, st.lists(SMALL_ROWS, max_size=4), {}),
    ("nested_update", ROWS, st.lists(SMALL_ROWS, max_size=4), {"count_limit": 3}),
    ("nested_update", ROWS, st.lists(SMALL_ROWS, max_size=4), {"nested_key": ("k",)}),
    ("nested_update", ROWS, st.lists(SMALL_ROWS, max_size=4), {"nested_key": ("n", "k"), "count_limit": 2}),
    ("nested_partial_update", ROWS, st.lists(SMALL_ROWS, max_size=4), {"nested_key": ("k",)}),
]


def known(value: Any) -> Any:
    """Something that is equal only where values are the same: with the sign of zeros, and NaN.

    What is in arrays and maps has no order here.
    """
    if isinstance(value, list):
        return sorted(known(each) for each in value)
    if isinstance(value, tuple):
        return repr([known(each) for each in value])
    return repr(sorted(value.items()) if isinstance(value, dict) else value)


@pytest.mark.parametrize(
    ("name", "kind", "values", "said"), CASES, ids=[f"{each[0]}-{n}" for n, each in enumerate(CASES)]
)
@PROPERTY
@given(data=st.data())
def test_columns_do_what_rows_do(
    data: st.DataObject, name: str, kind: Any, values: st.SearchStrategy[Any], said: dict[str, Any]
) -> None:
    column, ignores = parse_type(kind), data.draw(st.booleans())
    options = FieldOptions("v", ignore_retract=ignores, **said)
    record = st.tuples(st.none() | values, st.sampled_from([False, False, True]))
    groups = data.draw(st.lists(st.lists(record, min_size=1, max_size=5), min_size=1, max_size=4))
    flat = [each for group in groups for each in group]
    # The values begin in the middle of an array, as they do where a batch was cut.
    column_values = pa.array([groups[0][0][0], *(value for value, _ in flat)], arrow_type(column))[1:]
    starts = np.cumsum([0, *(len(group) for group in groups[:-1])])
    retracts = np.array([retract for _, retract in flat])
    try:
        with np.errstate(all="ignore"):
            expected = [
                fold(function_of(name, column, options), *zip(*group, strict=True), ignores=ignores)
                for group in groups
            ]
    except CannotRetract:
        expected = None
    aggregate = pickle.loads(pickle.dumps(aggregate_of(field_function(name, column, options))))
    if expected is None:
        with pytest.raises(UnsupportedTable):
            aggregate.aggregate(column_values, starts, retracts)
        return
    result = aggregate.aggregate(column_values, starts, retracts)
    result.validate(full=True)
    assert result.type == column_values.type
    assert [known(value) for value in result.to_pylist()] == [known(value) for value in expected]


BY_ROWS = [case for case in CASES if case[0] in ("listagg", "collect")]


@pytest.mark.parametrize(
    ("name", "kind", "values", "said"), BY_ROWS, ids=[f"{each[0]}-{n}" for n, each in enumerate(BY_ROWS)]
)
@PROPERTY
@given(data=st.data())
def test_rows_in_any_order_do_what_values_in_order_do(
    data: st.DataObject, name: str, kind: Any, values: st.SearchStrategy[Any], said: dict[str, Any]
) -> None:
    column, options = parse_type(kind), FieldOptions("v", **said)
    groups = data.draw(st.lists(st.lists(st.none() | values, min_size=1, max_size=5), min_size=1, max_size=5))
    flat = [value for group in groups for value in group]
    order = np.array(data.draw(st.permutations(range(len(flat)))))
    stored = [flat[place] for place in np.argsort(order)]
    rows = pa.array([flat[0], *stored], arrow_type(column))[1:]
    starts = np.cumsum([0, *(len(group) for group in groups[:-1])])
    aggregate = aggregate_of(field_function(name, column, options))
    assert isinstance(aggregate, AggregatesRows)
    result = aggregate.aggregate_rows(rows, order, starts)
    result.validate(full=True)
    assert result.type == rows.type
    function = function_of(name, column, options)
    for group, value in zip(groups, result.to_pylist(), strict=True):
        if len(group) == 1:
            assert value == group[0]
        else:
            assert known(value) == known(fold(function, group, [False] * len(group), ignores=False))


@pytest.mark.parametrize("number", range(len(CASES)))
def test_nothing_is_left_where_all_values_retract_and_are_ignored(number: int) -> None:
    name, kind, _, said = CASES[number]
    column = parse_type(kind)
    aggregate = aggregate_of(field_function(name, column, FieldOptions("v", ignore_retract=True, **said)))
    values = pa.nulls(3, arrow_type(column))
    result = aggregate.aggregate(values, np.array([0, 1]), np.ones(3, dtype=bool))
    assert (result.type, result.to_pylist()) == (values.type, [None, None])


@pytest.mark.parametrize("total", [5, 12, 13, 100])
def test_distinct_elements_come_in_the_order_of_a_hash_set(total: int) -> None:
    kind = parse_type({"type": "ARRAY", "element": "INT"})
    collect = aggregate_of(field_function("collect", kind, FieldOptions("v", distinct=True)))
    values = pa.array([[*range(total, 0, -1)], [1, 2]], pa.list_(pa.int32()))
    result = collect.aggregate(values, np.array([0]), np.zeros(2, dtype=bool))
    assert result.to_pylist() == [[*range(1, total + 1)]]


def test_a_sum_of_decimals_has_the_digits_of_its_type() -> None:
    kind = parse_type("DECIMAL(4, 2)")
    values = pa.array([Decimal("99.99")] * 2, arrow_type(kind))
    with pytest.raises(UnsupportedTable) as raised:
        aggregate_of(field_function("sum", kind, FieldOptions("v"))).aggregate(
            values, np.array([0]), np.zeros(2, dtype=bool)
        )
    assert raised.value.table == "column v"


@pytest.mark.parametrize(
    ("added", "taken", "total"),
    [
        ([2**62, 2**62], [], 2**63),
        ([2**63 - 1, 1], [], 2**63),
        ([-(2**63), -1], [], -(2**63) - 1),
        ([-(2**63)], [1], -(2**63) - 1),
        ([2**61] * 4, [], 2**63),
        ([2**64, -1], [2**64], -1),
        ([2**62, 2**61], [1], 2**62 + 2**61 - 1),
    ],
)
def test_a_sum_of_wide_decimals_does_not_end_at_64_bits(
    added: list[int], taken: list[int], total: int
) -> None:
    kind = parse_type("DECIMAL(38, 0)")
    values = pa.array([Decimal(each) for each in (*added, *taken, 7)], arrow_type(kind))
    retracts = np.array([False] * len(added) + [True] * len(taken) + [False])
    starts = np.array([0, len(values) - 1])
    sums = aggregate_of(field_function("sum", kind, FieldOptions("v"))).aggregate(values, starts, retracts)
    assert sums.to_pylist() == [Decimal(total), Decimal(7)]


@pytest.mark.parametrize(
    ("name", "kind", "options", "at_fault"),
    [
        ("sum", "STRING", {}, "aggregate-function"),
        ("product", "DATE", {}, "aggregate-function"),
        ("max", "BOOLEAN", {}, "aggregate-function"),
        ("min", {"type": "ARRAY", "element": "INT"}, {}, "aggregate-function"),
        ("bool_and", "INT", {}, "aggregate-function"),
        ("listagg", "VARCHAR(9)", {}, "aggregate-function"),
        ("listagg", "STRING", {"distinct": "true", "list-agg-delimiter": "--"}, "list-agg-delimiter"),
        ("listagg", "STRING", {"distinct": "true", "list-agg-delimiter": ""}, "list-agg-delimiter"),
        ("collect", "INT", {}, "aggregate-function"),
        ("collect", {"type": "ARRAY", "element": "BYTES"}, {"distinct": "true"}, "distinct"),
        ("collect", ROWS, {"distinct": "true"}, "distinct"),
        ("merge_map", "INT", {}, "aggregate-function"),
        ("merge_map", {"type": "MAP", "key": "BYTES", "value": "INT"}, {}, "aggregate-function"),
        ("merge_map_with_keytime", {"type": "MAP", "key": "INT", "value": "INT"}, {}, "aggregate-function"),
        (
            "merge_map_with_keytime",
            {"type": "MAP", "key": "INT", "value": TIMED},
            {"ts-field": "x"},
            "ts-field",
        ),
        (
            "merge_map_with_keytime",
            {"type": "MAP", "key": "INT", "value": TIMED},
            {"ts-field": "v"},
            "aggregate-function",
        ),
        ("nested_update", "INT", {}, "aggregate-function"),
        ("nested_update", ROWS, {"nested-key": "k, x"}, "nested-key"),
        ("nested_partial_update", ROWS, {}, "nested-key"),
        ("nested_partial_update", "INT", {"nested-key": "k"}, "aggregate-function"),
        ("rbm32", "INT", {}, "aggregate-function"),
        ("hll_sketch", "BINARY(3)", {}, "aggregate-function"),
        ("count", "BIGINT", {}, "aggregate-function"),
    ],
)
def test_what_cannot_be_aggregated_is_named(
    name: str, kind: Any, options: dict[str, str], at_fault: str
) -> None:
    said = field_options({f"fields.v.{key}": value for key, value in options.items()}, "v")
    with pytest.raises(InvalidOption) as raised:
        field_function(name, parse_type(kind), said)
    assert raised.value.option == f"fields.v.{at_fault}"


def test_every_function_that_options_can_name_can_be_made() -> None:
    assert {*factory._FUNCTIONS} == {*ACCEPTED}
