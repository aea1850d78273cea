"""First rows over columns are those of a plain model, however runs come in pieces and passes."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lithify.columns.orders import SequenceField
from lithify.engine.rewrite.budget import Budget
from lithify.engine.rewrite.passes import merge_section
from lithify.engine.rewrite.records import RecordLayout, RowKinds
from lithify.engine.rewrite.spec import MergeSpec
from lithify.errors import UnsupportedTable
from lithify.formats.paimon.primary_key.merge_functions.first_row import FirstRow
from support.properties import examples
from support.rewriting.model import FanIn, ListRun, Row, SchemaRows

RETRACTING = (1, 3)
PROPERTY = settings(
    max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
SCHEMA = pa.schema(
    [
        pa.field("k", pa.int64(), nullable=False),
        pa.field("v", pa.string()),
        pa.field("_SEQUENCE_NUMBER", pa.int64(), nullable=False),
        pa.field("_VALUE_KIND", pa.int8(), nullable=False),
    ]
)


BUDGETS = [Budget(), FanIn(runs=2), FanIn(runs=3)]


def merged(function: FirstRow, runs: Sequence[Sequence[Row]], folder: Path, budget: Budget) -> list[Row]:
    layout = RecordLayout(
        key=("k",),
        sequence=(SequenceField("_SEQUENCE_NUMBER"),),
        kinds=RowKinds("_VALUE_KIND", RETRACTING),
    )
    sources = [ListRun(SchemaRows(SCHEMA), [*rows], number) for number, rows in enumerate(runs)]
    batches = merge_section(sources, MergeSpec(layout, function), budget, folder)
    return [row for batch in batches for row in batch.to_pylist()]


def expected(function: FirstRow, runs: Sequence[Sequence[Row]]) -> list[Row]:
    rows = []
    for key in sorted({row["k"] for run in runs for row in run}):
        found = [(row, number) for number, run in enumerate(runs) for row in run if row["k"] == key]
        is_known = any(number >= function.first_known_run for _, number in found)
        new = [(row, n) for row, n in found if n < function.first_known_run]
        if len(new) == 1 and not function.looks_up:
            rows.append(new[0][0])
            continue
        usable = [(row, n) for row, n in new if row["_VALUE_KIND"] not in RETRACTING]
        has_upper = any(number >= function.first_upper_run for _, number in usable)
        if usable and (has_upper or not is_known):
            rows.append(min(usable, key=lambda pair: pair[0]["_SEQUENCE_NUMBER"])[0])
    return rows


@st.composite
def histories(draw: st.DrawFn, kinds: Sequence[int]) -> list[list[Row]]:
    """Runs; no two records of a key have the same sequence number."""
    count = draw(st.integers(1, 8))
    return [
        [
            {
                "k": key,
                "v": draw(st.sampled_from([None, "x", "y"])),
                "_SEQUENCE_NUMBER": number,
                "_VALUE_KIND": draw(st.sampled_from(kinds)),
            }
            for key in sorted(draw(st.sets(st.integers(0, 3))))
        ]
        for number in draw(st.permutations(range(count)))
    ]


@st.composite
def functions(draw: st.DrawFn, *, ignores: bool) -> FirstRow:
    if not draw(st.booleans()):
        return FirstRow(ignores)
    upper = draw(st.integers(1, 4))
    known = upper + draw(st.integers(0, 3))
    return FirstRow(ignores, looks_up=True, first_upper_run=upper, first_known_run=known)


@pytest.mark.thorough
@PROPERTY
@given(data=st.data(), ignores=st.booleans(), budget=st.sampled_from(BUDGETS))
def test_any_history_in_any_passes(
    data: st.DataObject, ignores: bool, budget: Budget, tmp_path: Path
) -> None:
    function = data.draw(functions(ignores=ignores))
    runs = data.draw(histories([0, 2, 1, 3] if ignores else [0, 2]))
    assert merged(function, runs, tmp_path, budget) == expected(function, runs)
    assert pickle.loads(pickle.dumps(function)) == function


@pytest.mark.parametrize("kind", RETRACTING)
@pytest.mark.parametrize("beside", [True, False], ids=["beside another record", "alone"])
def test_records_that_retract_are_refused(kind: int, beside: bool, tmp_path: Path) -> None:
    record = {"k": 1, "v": None, "_SEQUENCE_NUMBER": 2, "_VALUE_KIND": kind}
    runs = [[record], [{**record, "_SEQUENCE_NUMBER": 1, "_VALUE_KIND": 0}]][: 1 + beside]
    with pytest.raises(UnsupportedTable):
        merged(FirstRow(looks_up=True), runs, tmp_path, Budget())
