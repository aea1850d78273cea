"""Partial updates over columns are those of the plain model, however runs come in pieces and passes."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lithify.columns.orders import SequenceField
from lithify.engine.rewrite.budget import Budget
from lithify.engine.rewrite.functions import MergeFunction
from lithify.engine.rewrite.passes import merge_section
from lithify.engine.rewrite.records import RecordLayout, RowKinds
from lithify.engine.rewrite.spec import MergeSpec
from lithify.errors import UnsupportedTable
from lithify.formats.paimon.options.merging.field_functions import field_function
from lithify.formats.paimon.options.merging.field_options import FieldOptions
from lithify.formats.paimon.options.merging.partial_update import Retractions
from lithify.formats.paimon.options.merging.sequence_groups import LateValues
from lithify.formats.paimon.primary_key.merge_functions.accumulating import (
    Accumulation,
    LastNonNull,
)
from lithify.formats.paimon.primary_key.merge_functions.aggregates.factory import aggregate_of
from lithify.formats.paimon.primary_key.merge_functions.partial_update import PartialUpdate
from lithify.formats.paimon.primary_key.merge_functions.sequence_groups import SequenceGroup
from lithify.formats.paimon.schema.type_texts import parse_type
from support.partial_updates import (
    RETRACTING,
    First,
    Function,
    Greatest,
    Last,
    LastThere,
    Model,
    Row,
    Sum,
)
from support.properties import examples
from support.rewriting.model import FanIn, ListRun, SchemaRows

PROPERTY = settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
COLUMNS = ("a", "b", "g", "h", "i", "p", "q", "m", "n")
INSERTS, ALL_KINDS = (0, 2), (0, 0, 2, 1, 3, 3)
OPEN = Budget(1 << 30)


def aggregated(name: str, function: str, late: LateValues, **how: bool) -> Accumulation:
    made = aggregate_of(field_function(function, parse_type("BIGINT"), FieldOptions(name)))
    return Accumulation(name, made, late, **how)


@dataclass(frozen=True)
class Case:
    """A merge function, the model's functions, and the kinds of records that it takes."""

    function: PartialUpdate
    functions: Mapping[str, type[Function]] = field(default_factory=dict)
    kinds: tuple[int, ...] = ALL_KINDS

    @property
    def spec(self) -> MergeSpec:
        return spec_of(self.function)


def spec_of(function: MergeFunction) -> MergeSpec:
    layout = RecordLayout(
        key=("k",),
        sequence=(SequenceField("_SEQUENCE_NUMBER"),),
        kinds=RowKinds("_VALUE_KIND", RETRACTING),
    )
    return MergeSpec(layout, function)


G = SequenceGroup(("g",), ("p",))
H = SequenceGroup(("h", "i"), ("q",))
SUMS = {"m": aggregated("m", "sum", LateValues.ADDED), "n": LastNonNull("n")}
LASTS = {"m": aggregated("m", "last_value", LateValues.IGNORED), "n": LastNonNull("n")}
FIRSTS = {
    "m": aggregated("m", "first_value", LateValues.SWAPPED, starts_over=False),
    "n": aggregated("n", "max", LateValues.ADDED),
}


def grouped(*groups: SequenceGroup, retractions: Retractions = Retractions.IN_GROUPS) -> PartialUpdate:
    taken = {name for group in groups for name in (*group.fields, *group.columns, *group.aggregates)}
    return PartialUpdate(tuple(n for n in COLUMNS if n not in taken), (), groups, retractions)


CASES = {
    "no deletes": Case(PartialUpdate(COLUMNS), kinds=INSERTS),
    "deletes are ignored": Case(PartialUpdate(COLUMNS, retractions=Retractions.IGNORED)),
    "deletes remove": Case(PartialUpdate(COLUMNS, retractions=Retractions.REMOVE)),
    "two groups": Case(grouped(G, H)),
    "two groups, deletes are ignored": Case(grouped(G, H, retractions=Retractions.IGNORED)),
    "one group removes": Case(grouped(G, replace(H, removes=True))),
    "both groups remove": Case(grouped(replace(G, removes=True), replace(H, removes=True))),
    "a sum in a group": Case(grouped(replace(G, aggregates=SUMS), H), {"m": Sum, "n": LastThere}),
    "a sum in a group that removes": Case(
        grouped(replace(G, aggregates=SUMS), replace(H, removes=True)), {"m": Sum, "n": LastThere}
    ),
    "a sum, deletes are ignored": Case(
        grouped(replace(G, aggregates=SUMS), retractions=Retractions.IGNORED), {"m": Sum, "n": LastThere}
    ),
    "last values in a group": Case(grouped(replace(H, aggregates=LASTS)), {"m": Last, "n": LastThere}),
    "the first and the greatest": Case(
        grouped(replace(G, aggregates=FIRSTS)), {"m": First, "n": Greatest}, INSERTS
    ),
}


SCHEMA = pa.schema(
    [
        pa.field("k", pa.int64(), nullable=False),
        *(pa.field(name, pa.int64()) for name in COLUMNS),
        pa.field("_SEQUENCE_NUMBER", pa.int64(), nullable=False),
        pa.field("_VALUE_KIND", pa.int8(), nullable=False),
    ]
)
VALUES = st.none() | st.integers(0, 3)


@st.composite
def histories(draw: st.DrawFn, kinds: Sequence[int]) -> list[list[Row]]:
    """Runs; run 0 is the newest. No two records of a key have the same sequence number."""
    count = draw(st.integers(1, 8))
    numbers = draw(st.permutations(range(count)))
    return [
        [
            {
                "k": key,
                **{name: draw(VALUES) for name in COLUMNS},
                "_SEQUENCE_NUMBER": number,
                "_VALUE_KIND": draw(st.sampled_from(kinds)),
            }
            for key in sorted(draw(st.sets(st.integers(0, 2))))
        ]
        for number in numbers
    ]


def merged(spec: MergeSpec, runs: Sequence[Sequence[Row]], folder: Path, budget: Budget = OPEN) -> list[Row]:
    sources = [ListRun(SchemaRows(SCHEMA), [*rows], number) for number, rows in enumerate(runs)]
    return [row for batch in merge_section(sources, spec, budget, folder) for row in batch.to_pylist()]


def expected(case: Case, runs: Sequence[Sequence[Row]]) -> list[Row]:
    model = Model(case.function, case.functions)
    rows = []
    for key in sorted({row["k"] for run in runs for row in run}):
        records = sorted(
            (row for run in runs for row in run if row["k"] == key), key=lambda row: row["_SEQUENCE_NUMBER"]
        )
        rows.append(records[0] if len(records) == 1 else model(records))
    return rows


@pytest.mark.thorough
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@PROPERTY
@given(data=st.data(), budget=st.sampled_from([OPEN, FanIn(runs=2), FanIn(runs=3)]))
def test_any_history_in_any_passes(case: Case, data: st.DataObject, budget: Budget, tmp_path: Path) -> None:
    runs = data.draw(histories(case.kinds))
    assert merged(case.spec, runs, tmp_path, budget) == expected(case, runs)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_ships_to_executors(case: Case) -> None:
    assert pickle.loads(pickle.dumps(case.spec)) == case.spec


def row(number: int, kind: int = 0, **values: int | None) -> Row:
    given_values = {**dict.fromkeys(COLUMNS), **values}
    return {"k": 1, **given_values, "_SEQUENCE_NUMBER": number, "_VALUE_KIND": kind}


@pytest.mark.parametrize("function", [PartialUpdate(COLUMNS), grouped(G, H)], ids=["plain", "groups"])
def test_lone_records_keep_their_kind_unless_keys_are_looked_up(
    function: PartialUpdate, tmp_path: Path
) -> None:
    for merges, kind in ((False, 2), (True, 0)):
        spec = spec_of(replace(function, merges_lone=merges))
        (only,) = merged(spec, [[row(2, 2, a=1, g=1, p=2)]], tmp_path)
        assert only["_VALUE_KIND"] == kind


class TestRefusals:
    @pytest.mark.parametrize("kind", RETRACTING)
    def test_a_record_that_retracts_beside_others(self, kind: int, tmp_path: Path) -> None:
        with pytest.raises(UnsupportedTable):
            merged(spec_of(PartialUpdate(COLUMNS)), [[row(2, kind)], [row(1)]], tmp_path)

    def test_a_retraction_alone_is_taken_as_it_is(self, tmp_path: Path) -> None:
        (only,) = merged(spec_of(PartialUpdate(COLUMNS)), [[row(2, 3)]], tmp_path)
        assert only == row(2, 3)

    @pytest.mark.parametrize("budget", [OPEN, FanIn(runs=2)], ids=["at once", "in passes"])
    def test_a_null_in_a_required_column_that_others_would_hide(self, budget: Budget, tmp_path: Path) -> None:
        function = PartialUpdate(COLUMNS, required=("a",))
        runs = [[row(3, a=1)], [row(2)], [row(1, a=3)]]
        with pytest.raises(UnsupportedTable) as caught:
            merged(spec_of(function), runs, tmp_path, budget)
        assert caught.value.table == "column a"

    def test_a_required_column_that_a_group_empties(self, tmp_path: Path) -> None:
        function = replace(grouped(G), required=("p",))
        with pytest.raises(UnsupportedTable) as caught:
            merged(spec_of(function), [[row(2, 1, g=2)], [row(1, g=1, p=1)]], tmp_path)
        assert caught.value.table == "column p"

    def test_a_first_value_after_a_removal(self, tmp_path: Path) -> None:
        function = grouped(replace(G, aggregates=FIRSTS, removes=True))
        with pytest.raises(UnsupportedTable) as caught:
            merged(spec_of(function), [[row(2, 3, g=2)], [row(1, g=1, m=1)]], tmp_path)
        assert caught.value.table == "column m"
