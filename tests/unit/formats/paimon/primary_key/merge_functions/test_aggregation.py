"""The engine aggregation over whole merges: row by row, in passes over disk, and with deletes that remove."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lithify.engine.rewrite.budget import Budget
from lithify.engine.rewrite.functions import merge_groups
from lithify.engine.rewrite.groups import Groups
from lithify.engine.rewrite.passes import merge_section
from lithify.errors import InvalidOption, UnsupportedTable
from lithify.formats.paimon.options.merging.field_options import FieldOptions
from lithify.formats.paimon.primary_key.merge_functions.aggregation import Aggregation
from lithify.formats.paimon.primary_key.merge_functions.choosing import merge_function
from lithify.formats.paimon.primary_key.merge_specs import merge_spec
from lithify.formats.paimon.schema.schema import Column, Schema
from lithify.formats.paimon.schema.type_texts import parse_type
from support.properties import examples
from support.rewriting.model import ListRun, SchemaRows
from unit.formats.paimon.primary_key.merge_functions.row_by_row import fold, function_of

PROPERTY = settings(
    max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
TYPES = {
    "total": ("sum", parse_type("BIGINT")),
    "last": ("last_value", parse_type("STRING")),
    "latest": ("last_non_null_value", parse_type("STRING")),
    "all": ("collect", parse_type({"type": "ARRAY", "element": "INT"})),
}
KINDS = ("+I", "-U", "+U", "-D")
ALL_AT_ONCE, IN_PASSES = Budget(total=1 << 30), Budget(total=1)


def schema_of(options: Mapping[str, str], required: Sequence[str] = ()) -> Schema:
    named = {f"fields.{name}.aggregate-function": function for name, (function, _) in TYPES.items()}
    columns = [Column(0, "k", parse_type("INT NOT NULL"))]
    for number, (name, (_, column)) in enumerate(TYPES.items(), 1):
        not_null = parse_type("STRING NOT NULL") if name in required else column
        columns.append(Column(number, name, not_null))
    return Schema(0, tuple(columns), ("k",), (), {"merge-engine": "aggregation", **named, **options})


def merged(
    schema: Schema, runs: Sequence[Sequence[dict[str, Any]]], budget: Budget, folder: Path
) -> list[dict[str, Any]]:
    """What a merge of runs, the newest first, leaves."""
    spec = merge_spec(schema, (), merge_function(schema, ignore_deletes=False), drop_deletes=False)

    made = SchemaRows(schema.rows_schema())
    sources = [ListRun(made, rows, number, [2]) for number, rows in enumerate(runs)]
    batches = list(merge_section(sources, spec, budget, folder))
    return [row for batch in batches for row in batch.to_pylist()]


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "total": st.integers(-(2**63), 2**63 - 1),
    "last": st.sampled_from("abc"),
    "latest": st.sampled_from("abc"),
    "all": st.lists(st.integers(0, 2), max_size=3),
}


@st.composite
def histories(draw: st.DrawFn) -> list[list[dict[str, Any]]]:
    """Runs, the newest first, with a few keys each; records are numbered in any order."""
    keys = [draw(st.sets(st.integers(0, 4), min_size=1)) for _ in range(draw(st.integers(2, 7)))]
    numbers = iter(draw(st.permutations(range(sum(map(len, keys))))))
    with_nulls = draw(st.booleans())
    values = {name: st.none() | each if with_nulls else each for name, each in VALUES.items()}
    kinds = draw(st.sampled_from([(0,), (0, 2), (0, 0, 2, 1, 3)]))
    rows = st.fixed_dictionaries({**values, "_VALUE_KIND": st.sampled_from(kinds)})
    return [
        [{"k": key, **draw(rows), "_SEQUENCE_NUMBER": next(numbers)} for key in sorted(run)] for run in keys
    ]


@PROPERTY
@given(runs=histories(), budget=st.sampled_from([ALL_AT_ONCE, IN_PASSES]))
def test_merges_do_what_rows_do(runs: list[list[dict[str, Any]]], budget: Budget, tmp_path: Path) -> None:
    by_key: dict[int, list[dict[str, Any]]] = {}
    for row in sorted((row for run in runs for row in run), key=lambda row: row["_SEQUENCE_NUMBER"]):
        by_key.setdefault(row["k"], []).append(row)
    assert merged(schema_of({}), runs, budget, tmp_path) == [plain(by_key[key]) for key in sorted(by_key)]


def plain(records: list[dict[str, Any]]) -> dict[str, Any]:
    """A record of a key's records; a lone one as it is."""
    if len(records) == 1:
        return records[0]
    retracts = [record["_VALUE_KIND"] in (1, 3) for record in records]
    result = {"k": records[0]["k"]}
    for name, (function, column) in TYPES.items():
        values = [record[name] for record in records]
        made = function_of(function, column, FieldOptions(name))
        result[name] = fold(made, values, retracts, ignores=False)
    return {**result, "_SEQUENCE_NUMBER": records[-1]["_SEQUENCE_NUMBER"], "_VALUE_KIND": 0}


def record(number: int, kind: str, **values: Any) -> dict[str, Any]:
    empty = dict.fromkeys(TYPES)
    return {"k": 1, **empty, **values, "_SEQUENCE_NUMBER": number, "_VALUE_KIND": KINDS.index(kind)}


@pytest.mark.parametrize(("of_lookup", "expected"), [(False, [1, 1]), (True, [1])])
def test_a_lone_array_keeps_its_duplicates_unless_a_lookup_merges_it(
    *, of_lookup: bool, expected: list[int]
) -> None:
    schema = schema_of({"fields.all.distinct": "true"})
    spec = merge_spec(schema, (), merge_function(schema, ignore_deletes=False), drop_deletes=False)
    records = [{**record(1, "+I", all=[2]), "k": 1}, {**record(2, "+I", all=[2]), "k": 1}]
    records.append({**record(3, "+I", all=[1, 1]), "k": 2})
    rows = SchemaRows(schema.rows_schema()).batch(records)
    groups = Groups(
        rows, spec.layout, np.zeros(3, dtype=np.int64), np.arange(3), np.array([0, 2]), rises=True
    )
    merged_groups = spec.function.merge(groups) if of_lookup else merge_groups(spec.function, groups)
    assert merged_groups.computed["all"].to_pylist() == [[2], expected]


REMOVES = {"aggregation.remove-record-on-delete": "true"}


@pytest.mark.parametrize(
    ("records", "result"),
    [
        ([record(1, "+I", total=1), record(2, "-D", total=5)], record(2, "-D", total=5)),
        (
            [record(1, "+I", total=1), record(2, "-D", total=5), record(3, "+I", total=2)],
            record(3, "+I", total=7),
        ),
        (
            [record(1, "-D", total=5), record(2, "-U", total=2), record(3, "-D", last="x")],
            record(3, "-D", last="x"),
        ),
        (
            [record(1, "+I", all=[1]), record(2, "-D", all=[2, 2]), record(3, "-U", all=[2])],
            record(3, "+I", all=[2]),
        ),
    ],
    ids=["last", "between", "several", "retracted after"],
)
def test_deletes_that_remove_become_the_record(
    records: list[dict[str, Any]], result: dict[str, Any], tmp_path: Path
) -> None:
    runs = [[each] for each in reversed(records)]
    assert merged(schema_of(REMOVES), runs, ALL_AT_ONCE, tmp_path) == [result]


@pytest.mark.parametrize(("before", "expected"), [(True, "gone"), (False, "new")])
def test_a_first_value_before_a_delete_keeps_later_ones_out(
    *, before: bool, expected: str, tmp_path: Path
) -> None:
    """Paimon remembers that there was a first value, but not that the delete has taken its place."""
    records = [record(2, "-D", last="gone"), record(3, "+I", last="new"), record(4, "+I", last="newer")]
    runs = [[each] for each in reversed([record(1, "+I", last="old"), *records] if before else records)]
    schema = schema_of({**REMOVES, "fields.last.aggregate-function": "first_value"})
    (row,) = merged(schema, runs, ALL_AT_ONCE, tmp_path)
    assert row["last"] == expected


def test_a_null_where_none_may_be_is_refused(tmp_path: Path) -> None:
    runs = [[record(2, "-D", last="b")], [record(1, "+I", last="a")]]
    with pytest.raises(UnsupportedTable) as raised:
        merged(schema_of({}, required=["last"]), runs, ALL_AT_ONCE, tmp_path)
    assert raised.value.table == "column last"


def test_sequence_fields_and_keys_have_no_function_of_their_own() -> None:
    schema = schema_of({"sequence.field": "total", "fields.default-aggregate-function": "max"})
    function = merge_function(schema, ignore_deletes=True)
    assert isinstance(function, Aggregation)
    assert "k" not in function.aggregates
    assert type(function.aggregates["total"]).__name__ == "LastValue"


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({**REMOVES, "fields.last.ignore-retract": "true"}, "fields.last.ignore-retract"),
        ({"fields.total.aggregate-function": "total"}, "fields.total.aggregate-function"),
        ({"aggregation.remove-record-on-delete": "yes"}, "aggregation.remove-record-on-delete"),
        ({"fields.all.count-limit": "few"}, "fields.all.count-limit"),
    ],
)
def test_options_that_make_no_function_are_named(options: dict[str, str], option: str) -> None:
    with pytest.raises(InvalidOption) as raised:
        merge_function(schema_of(options), ignore_deletes=False)
    assert raised.value.option == option
