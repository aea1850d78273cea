"""Functions over columns do what they do record by record, however runs come in pieces and passes."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lithify.columns import offsets
from lithify.columns.key_range import EVERYTHING, KeyRange
from lithify.engine.rewrite import spill
from lithify.engine.rewrite.budget import Budget
from lithify.engine.rewrite.functions import Merged
from lithify.engine.rewrite.groups import Groups
from lithify.engine.rewrite.passes import merge_section
from lithify.engine.rewrite.runs import Piece
from lithify.errors import UnsupportedTable
from support.properties import examples
from support.rewriting.functions import (
    CASES,
    LAST_NON_NULL,
    Case,
    HastyLastNonNull,
    KeepsAll,
    Row,
    last_non_null,
)
from support.rewriting.model import (
    KEY_KINDS,
    SEQUENCE_KINDS,
    FanIn,
    ListRun,
    Table,
    naive_merge,
    ranges_of,
    runs_of,
)

# One folder serves all examples: every merge has to leave it empty.
PROPERTY = settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
INT = KEY_KINDS[0]
MIB = 1 << 20
DELETE = 3


FAN_INS = st.builds(FanIn, runs=st.sampled_from([2, 3, 99]), buffered=st.sampled_from([1, 60, 400, MIB]))


@st.composite
def tables(draw: st.DrawFn, case: Case) -> Table:
    sequence = st.lists(st.tuples(st.sampled_from(SEQUENCE_KINDS), st.booleans()), max_size=1)
    return Table(
        keys=tuple(draw(st.lists(st.sampled_from(KEY_KINDS), min_size=1, max_size=2))),
        sequence=tuple(draw(sequence)),
        drop_deletes=draw(st.booleans()),
        dictionary="payload" not in case.function.columns and draw(st.booleans()),
        amounts=True,
        case=case,
    )


def sources_of(data: st.DataObject, table: Table, runs: Sequence[Sequence[Row]]) -> list[ListRun]:
    sizes, pieces = st.integers(0, 3), st.integers(1, 4)
    return [
        ListRun(table, rows, number, piece_rows=[data.draw(pieces)], size=data.draw(sizes))
        for number, rows in enumerate(runs)
    ]


def merged(
    table: Table, sources: Sequence[ListRun], budget: Budget, folder: Path, keys: KeyRange = EVERYTHING
) -> list[Row]:
    batches = list(merge_section(sources, table.spec, budget, folder, keys))
    for batch in batches:
        batch.validate(full=True)
        assert batch.schema == table.schema
    assert not list(folder.iterdir())
    return [row for batch in batches for row in batch.to_pylist()]


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
class TestAgainstTheModel:
    @pytest.mark.thorough
    @PROPERTY
    @given(data=st.data(), budget=FAN_INS, rising=st.booleans(), batch=st.sampled_from([1, 300, MIB]))
    def test_any_runs_in_any_passes(
        self, case: Case, data: st.DataObject, budget: FanIn, rising: bool, batch: int, tmp_path: Path
    ) -> None:
        table = data.draw(tables(case))
        runs = data.draw(runs_of(table, max_runs=7, rising=rising))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(spill, "_BATCH_BYTES", batch)
            rows = merged(table, sources_of(data, table, runs), budget, tmp_path)
        assert rows == naive_merge(table, runs)

    @pytest.mark.thorough
    @settings(PROPERTY, max_examples=examples(40))
    @given(data=st.data(), budget=FAN_INS)
    def test_key_ranges_put_together(
        self, case: Case, data: st.DataObject, budget: FanIn, tmp_path: Path
    ) -> None:
        table = data.draw(tables(case))
        runs = data.draw(runs_of(table))
        parts = [
            merged(table, sources_of(data, table, runs), budget, tmp_path, keys)
            for keys in data.draw(ranges_of(table))
        ]
        assert [row for part in parts for row in part] == naive_merge(table, runs)

    @pytest.mark.thorough
    @settings(PROPERTY, max_examples=examples(40))
    @given(data=st.data(), budget=FAN_INS, most=st.sampled_from([1, 200]))
    def test_more_bytes_than_offsets_address(
        self, case: Case, data: st.DataObject, budget: FanIn, most: int, tmp_path: Path
    ) -> None:
        table = data.draw(tables(case))
        runs = data.draw(runs_of(table, max_runs=5))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(offsets, "MOST_BYTES", most)
            rows = merged(table, sources_of(data, table, runs), budget, tmp_path)
        assert rows == naive_merge(table, runs)

    def test_ships_to_executors(self, case: Case) -> None:
        assert pickle.loads(pickle.dumps(case.function)) == case.function


def row(
    key: int, sequence: int = 1, kind: int = 0, payload: str | None = None, amount: int | None = None
) -> Row:
    values = {"k0": key, "origin": f"{key}@{sequence}", "payload": payload, "amount": amount}
    return {**values, "_SEQUENCE_NUMBER": sequence, "_VALUE_KIND": kind}


def updates(table: Table, count: int) -> list[ListRun]:
    """Runs of one writer, the oldest one largest; each changes one of two columns of a key."""
    return [
        ListRun(
            table,
            [row(1, count - n, payload=f"p{n}") if n % 2 else row(1, count - n, amount=n)],
            n,
            size=n * MIB,
        )
        for n in range(count)
    ]


class TestPasses:
    def test_a_pass_keeps_values_that_newer_records_do_not_have(self, tmp_path: Path) -> None:
        table = Table((INT,), amounts=True, case=LAST_NON_NULL)
        (only,) = merged(table, updates(table, 9), FanIn(runs=2), tmp_path)
        assert (only["payload"], only["amount"], only["origin"]) == ("p1", 0, "1@9")

    def test_passes_that_keep_the_newest_record_only_lose_them(self, tmp_path: Path) -> None:
        """What the test before would not notice, it would be worth nothing."""
        table = Table((INT,), amounts=True, case=Case(HastyLastNonNull(), last_non_null))
        (only,) = merged(table, updates(table, 9), FanIn(runs=2), tmp_path)
        assert (only["payload"], only["amount"]) != ("p1", 0)

    def test_records_of_a_key_stay_together_on_disk(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(spill, "_BATCH_BYTES", 1)
        monkeypatch.setattr(spill, "_COLUMN_BYTES", 0)
        table = Table((INT,))
        rows = [row(1), row(2), row(2), row(2), row(3)]
        piece = Piece(
            table.batch(rows),
            0,
            begins=pa.array([True, True, False, False, True]).to_numpy(zero_copy_only=False),
        )
        read = spill.spill([piece], tmp_path / "run").pieces(1)
        assert [[each["k0"] for each in piece.rows.to_pylist()] for piece in read] == [[1], [2, 2, 2], [3]]

    @pytest.mark.parametrize("count", [2, 50, 300])
    def test_a_key_may_have_more_bytes_than_are_buffered(self, count: int, tmp_path: Path) -> None:
        table = Table((INT,), amounts=True, case=CASES["trace"])
        runs = [[row(0, n), row(1, n, payload="x" * 1000), row(2, n)] for n in range(count)]
        sources = [ListRun(table, rows, n, [1], size=n) for n, rows in enumerate(runs)]
        rows = merged(table, sources, FanIn(runs=7, buffered=1), tmp_path)
        assert rows == naive_merge(
            table, [[{**each, "run": n} for each in run] for n, run in enumerate(runs)]
        )


@dataclass(frozen=True, slots=True)
class Refusing(KeepsAll):
    """Meets no record that retracts."""

    def merge(self, groups: Groups) -> Merged:
        if groups.retracts[groups.order].any():
            raise UnsupportedTable("db.t", ("a record retracts",))
        return Merged(groups.newest())


class TestLoneRecords:
    RUNS = (([1, DELETE], [2, DELETE]), ([0, 0], [2, 0], [3, DELETE]))

    @pytest.fixture
    def sources(self) -> list[ListRun]:
        table = Table((INT,), amounts=True)
        return [
            ListRun(table, [row(key, 9 - n, kind) for key, kind in run], n) for n, run in enumerate(self.RUNS)
        ]

    @pytest.mark.parametrize(
        ("merges", "left"), [(False, [0, 1, 3]), (True, [0])], ids=["pass", "go through the function"]
    )
    @pytest.mark.parametrize("runs", [slice(0, 2), slice(1, 2)], ids=["beside others", "in one run"])
    def test_as_the_function_wants(
        self, merges: bool, left: list[int], runs: slice, sources: list[ListRun], tmp_path: Path
    ) -> None:
        """Counts are 1 or -1 for lone records, 0 for key 2 in both runs."""
        case = CASES["count" if merges else "count, lone records as they are"]
        table = replace(sources[0].table, case=case)
        rows = merged(table, sources[runs], Budget(), tmp_path)
        expected = naive_merge(
            table, [[{**each, "run": run.run} for each in run.rows] for run in sources[runs]]
        )
        assert rows == expected
        assert all((each["amount"] is not None) == merges for each in rows)

    def test_that_pass_are_never_shown_to_the_function(self, sources: list[ListRun], tmp_path: Path) -> None:
        table = replace(sources[0].table, case=Case(Refusing(), last_non_null))
        sources[0].rows = [row(1, 9, DELETE)]
        assert [each["k0"] for each in merged(table, sources, Budget(), tmp_path)] == [0, 1, 2, 3]
        sources[0].rows = [row(1, 9, DELETE), row(2, 9, DELETE)]
        with pytest.raises(UnsupportedTable):
            merged(table, sources, Budget(), tmp_path)
        assert not any(source.is_open for source in sources)
