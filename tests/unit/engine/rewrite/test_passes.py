"""A budget decides how a section is merged, never what comes out; local disk is given back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lithify.columns.key_range import EVERYTHING, KeyRange
from lithify.engine.rewrite.budget import MAX_PIECE, MIN_PIECE, Budget
from lithify.engine.rewrite.passes import merge_section
from lithify.engine.rewrite.runs import Piece
from lithify.engine.rewrite.spill import spill
from lithify.errors import CorruptTable, StorageError
from support.properties import examples
from support.rewriting.model import KEY_KINDS, ListRun, Row, Table, naive_merge, ranges_of, runs_of, tables

# One folder serves all examples: every merge has to leave it empty.
PROPERTY = settings(
    max_examples=examples(90), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
INT = KEY_KINDS[0]
MIB = 1 << 20


@dataclass(frozen=True)
class SmallPieces(Budget):
    """A budget that buffers a few rows only, so that few rows make many rounds."""

    def piece_bytes(self, overheads: Sequence[int]) -> int:
        return min(60, super().piece_bytes(overheads))


BUDGETS = st.sampled_from(
    [Budget(total=1), Budget(total=16 * MIB), SmallPieces(total=1), SmallPieces(total=16 * MIB)]
)
OVERHEADS = st.sampled_from([0, MIB, 2 * MIB, 64 * MIB])


def section(data: st.DataObject, table: Table, runs: list[list[Row]]) -> list[ListRun]:
    return [
        ListRun(
            table,
            rows,
            number,
            piece_rows=[data.draw(st.integers(1, 4))],
            size=data.draw(st.integers(0, 3)),
            overhead=data.draw(OVERHEADS),
        )
        for number, rows in enumerate(runs)
    ]


def merged_rows(
    table: Table, sources: Sequence[ListRun], budget: Budget, folder: Path, keys: KeyRange = EVERYTHING
) -> list[Row]:
    batches = list(merge_section(sources, table.spec, budget, folder, keys))
    for batch in batches:
        batch.validate(full=True)
        assert batch.schema == table.schema
        assert batch.num_rows
    assert not list(folder.iterdir())
    assert not any(source.is_open for source in sources)
    return [row for batch in batches for row in batch.to_pylist()]


class TestAgainstTheModel:
    @pytest.mark.thorough
    @PROPERTY
    @given(data=st.data(), table=tables(), budget=BUDGETS)
    def test_rows_are_those_of_the_model_with_any_budget(
        self, data: st.DataObject, table: Table, budget: Budget, tmp_path: Path
    ) -> None:
        runs = data.draw(runs_of(table, max_runs=7))
        sources = section(data, table, runs)
        assert merged_rows(table, sources, budget, tmp_path) == naive_merge(table, runs)
        assert {source.reads for source in sources} == {1}

    @pytest.mark.thorough
    @settings(PROPERTY, max_examples=examples(40))
    @given(data=st.data(), table=tables(), budget=BUDGETS)
    def test_any_budget_in_every_key_range(
        self, data: st.DataObject, table: Table, budget: Budget, tmp_path: Path
    ) -> None:
        runs = data.draw(runs_of(table, max_runs=5))
        parts = [
            merged_rows(table, section(data, table, runs), budget, tmp_path, keys)
            for keys in data.draw(ranges_of(table))
        ]
        assert [row for part in parts for row in part] == naive_merge(table, runs)


def row(key: int, sequence: int = 1, kind: int = 0, payload: str | None = None) -> Row:
    values = {"k0": key, "origin": "", "payload": payload}
    return {**values, "_SEQUENCE_NUMBER": sequence, "_VALUE_KIND": kind}


DELETE = 3


def many_runs(table: Table, count: int, overhead: int = 64 * MIB) -> list[ListRun]:
    return [
        ListRun(table, [row(key, n) for key in range(20)], n, [5], size=n * MIB, overhead=overhead)
        for n in range(count)
    ]


@dataclass
class Watched(ListRun):
    """A run that counts how many of all runs are open while it is read."""

    together: Sequence[ListRun] = ()
    most: int = 0

    def pieces(self, piece_bytes: int) -> Iterator[Piece]:
        for piece in super().pieces(piece_bytes):
            self.most = max(self.most, sum(source.is_open for source in self.together))
            yield piece


class TestPasses:
    def test_no_more_runs_are_open_than_fit(self, tmp_path: Path) -> None:
        table = Table((INT,))
        sources = [
            Watched(table, source.rows, source.run, [5], overhead=MIB) for source in many_runs(table, 9)
        ]
        for source in sources:
            source.together = sources
        budget = SmallPieces(total=4 * (4 * (MIB + 3 * MIN_PIECE) // 3 + 1))
        assert len(merged_rows(table, sources, budget, tmp_path)) == 20
        assert max(source.most for source in sources) == 4

    def test_the_largest_runs_are_never_spilled(self, tmp_path: Path) -> None:
        table = Table((INT,))
        sources = many_runs(table, 5)
        rounds = merge_section(sources, table.spec, SmallPieces(total=1), tmp_path)
        next(rounds)
        assert [source.is_open for source in sources] == [False, False, False, False, True]
        rounds.close()  # type: ignore[attr-defined]

    def test_runs_that_fit_never_touch_the_disk(self, tmp_path: Path) -> None:
        table = Table((INT,))
        sources = many_runs(table, 5, overhead=0)
        assert len(merged_rows(table, sources, Budget(), tmp_path / ".")) == 20
        missing = tmp_path / "missing"
        assert [
            batch.num_rows for batch in merge_section(many_runs(table, 2), table.spec, Budget(1), missing)
        ] == [20]

    def test_a_section_without_runs_has_no_rows(self, tmp_path: Path) -> None:
        assert list(merge_section([], Table((INT,)).spec, Budget(), tmp_path)) == []

    @pytest.mark.parametrize("drop", [False, True], ids=["keep", "drop"])
    def test_deletes_that_met_in_an_earlier_pass_stay_ignored(self, drop: bool, tmp_path: Path) -> None:
        """Of key 1 nothing is left; key 2 has one record only, so its delete passes; key 3 is back."""
        table = Table((INT,), ignore_deletes=True, drop_deletes=drop)
        runs = [
            [row(1, 9, DELETE), row(3, 9, DELETE)],
            [row(1, 8, DELETE), row(2, 8, DELETE)],
            [row(0), row(3), row(4)],
        ]
        sources = [ListRun(table, rows, n, size=n * MIB, overhead=64 * MIB) for n, rows in enumerate(runs)]
        merged = merged_rows(table, sources, Budget(total=1), tmp_path)
        assert [each["k0"] for each in merged] == ([0, 3, 4] if drop else [0, 2, 3, 4])

    def test_an_abandoned_merge_lets_go_of_everything(self, tmp_path: Path) -> None:
        table = Table((INT,))
        sources = many_runs(table, 5)
        rounds = merge_section(sources, table.spec, SmallPieces(total=1), tmp_path)
        next(rounds)
        rounds.close()  # type: ignore[attr-defined]
        assert not any(source.is_open for source in sources)
        assert not list(tmp_path.iterdir())

    def test_two_sections_may_share_a_folder(self, tmp_path: Path) -> None:
        table = Table((INT,))
        for _ in range(2):
            assert len(merged_rows(table, many_runs(table, 6), Budget(total=1), tmp_path)) == 20

    @pytest.mark.parametrize("broken", range(4))
    def test_disorder_is_blamed_on_the_file_also_when_spilling(self, broken: int, tmp_path: Path) -> None:
        table = Table((INT,))
        sources = many_runs(table, 4)
        sources[broken].rows = [row(1), row(3), row(2)]
        with pytest.raises(CorruptTable) as caught:
            list(merge_section(sources, table.spec, Budget(total=1), tmp_path))
        assert caught.value.path == f"file-{broken}"
        assert not any(source.is_open for source in sources)

    def test_a_disk_that_refuses_is_a_storage_error(self, tmp_path: Path) -> None:
        table = Table((INT,))
        with pytest.raises(StorageError) as caught:
            list(merge_section(many_runs(table, 3), table.spec, Budget(total=1), tmp_path / "missing"))
        assert caught.value.path.startswith(str(tmp_path / "missing"))


def pieces_of(table: Table, *rows: Sequence[Row]) -> list[Piece]:
    return [Piece(table.batch(part), number) for number, part in enumerate(rows)]


class TestSpill:
    def test_pieces_come_back_with_run_numbers_and_marks(self, tmp_path: Path) -> None:
        table = Table((INT,))
        pieces = [
            Piece(table.batch([row(1), row(1)]), 3, begins=np.array([True, False])),
            Piece(table.batch([row(3), row(4)]), np.array([7, 2], dtype=np.int64)),
        ]
        first, second = spill(pieces, tmp_path / "run").pieces(1)
        assert first.rows == pieces[0].rows
        assert second.rows == pieces[1].rows
        assert first.run_numbers.tolist() == [3, 3]
        assert second.run_numbers.tolist() == [7, 2]
        assert first.begins is not None
        assert first.begins.tolist() == [True, False]
        assert second.begins is None

    def test_each_piece_may_have_a_dictionary_of_its_own(self, tmp_path: Path) -> None:
        table = Table((INT,), dictionary=True)
        parts = [[row(n, payload=f"value {n}"), row(n + 10, payload=None)] for n in range(5)]
        run = spill(pieces_of(table, *parts), tmp_path / "run")
        read = list(run.pieces(1))
        assert [piece.rows.to_pylist() for piece in read] == parts
        assert {piece.rows.schema.field("payload").type for piece in read} == {
            table.schema.field("payload").type
        }

    def test_large_pieces_are_stored_in_small_ones(self, tmp_path: Path) -> None:
        table = Table((INT,))
        rows = [row(key, payload=f"{key:04}" * 1000) for key in range(1000)]
        read = list(spill(pieces_of(table, rows), tmp_path / "run").pieces(1 << 30))
        assert max(piece.rows.nbytes for piece in read) <= MIB
        assert [each for piece in read for each in piece.rows.to_pylist()] == rows

    def test_one_row_may_be_larger_than_a_stored_batch(self, tmp_path: Path) -> None:
        table = Table((INT,))
        rows = [row(key, payload="x" * MIB) for key in range(3)]
        read = list(spill(pieces_of(table, rows), tmp_path / "run").pieces(1))
        assert [piece.rows.num_rows for piece in read] == [1, 1, 1]

    @pytest.mark.parametrize(
        "pieces", [[], [[]], [[], [], []]], ids=["no pieces", "an empty piece", "empty pieces"]
    )
    def test_a_run_without_rows(self, pieces: list[list[Row]], tmp_path: Path) -> None:
        run = spill(pieces_of(Table((INT,)), *pieces), tmp_path / "run")
        assert sum(piece.rows.num_rows for piece in run.pieces(1)) == 0

    def test_deleting_gives_the_disk_back(self, tmp_path: Path) -> None:
        run = spill(pieces_of(Table((INT,)), [row(1)]), tmp_path / "run")
        assert run.size == (tmp_path / "run").stat().st_size > 0
        run.delete()
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize(
        "cut",
        [lambda data: data[: len(data) // 2], lambda data: data[:20]],
        ids=["in the middle", "at the start"],
    )
    def test_a_damaged_spill_file_is_an_error(self, cut: Callable[[bytes], bytes], tmp_path: Path) -> None:
        run = spill(pieces_of(Table((INT,)), [row(key) for key in range(100)]), tmp_path / "run")
        run.path.write_bytes(cut(run.path.read_bytes()))
        with pytest.raises((OSError, pa.ArrowException)):
            list(run.pieces(1))


BUDGET_CASES = [
    pytest.param(1, [0], MIN_PIECE, id="never too small to be worth a round"),
    pytest.param(1 << 40, [0], MAX_PIECE, id="never larger than is useful"),
    pytest.param(4 * 8 * MIB, [3 * MIB] * 2, 3 * MIB, id="what the readers leave, in even shares of copies"),
    pytest.param(4 * 8 * MIB, [99 * MIB], MIN_PIECE, id="an overhead beyond the budget"),
]


class TestBudget:
    @pytest.mark.parametrize(("total", "overheads", "piece"), BUDGET_CASES)
    def test_a_piece_has_its_share_of_the_budget(self, total: int, overheads: list[int], piece: int) -> None:
        assert Budget(total).piece_bytes(overheads) == piece

    @settings(PROPERTY, max_examples=examples(100))
    @given(
        total=st.integers(1, 1 << 34), overheads=st.lists(st.integers(0, 1 << 30), min_size=1, max_size=20)
    )
    def test_what_is_admitted_fits(self, total: int, overheads: list[int]) -> None:
        budget = Budget(total)
        if budget.admits(overheads):
            assert sum(overheads) + 3 * len(overheads) * budget.piece_bytes(overheads) <= budget.merging
        assert budget.merging + budget.row_group <= max(total, 4 * MIB)

    def test_a_reader_of_many_columns_gets_pieces_that_are_worth_a_round(self) -> None:
        """Rather fewer runs at once than thousands of rounds of a few rows, each with all columns."""
        budget = Budget(384 * MIB)
        assert budget.admits([40 * MIB] * 6)
        assert not budget.admits([47 * MIB] * 6)
        assert budget.merging >= 3 * 6 * MIN_PIECE + 6 * 47 * MIB
