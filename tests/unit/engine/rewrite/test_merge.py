"""A merge of sorted runs is what Paimon's row-by-row merge is, however the runs come in pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.columns.key_range import EVERYTHING, KeyRange
from lithify.engine.rewrite.merge import merge_cursors, reduce_cursors
from lithify.engine.rewrite.runs import Piece, RunCursor
from lithify.errors import CorruptTable
from support.properties import examples
from support.rewriting.columns import Kind
from support.rewriting.model import (
    KEY_KINDS,
    ListRun,
    Row,
    Table,
    naive_merge,
    ranges_of,
    runs_of,
    tables,
)

PROPERTY = settings(max_examples=examples(70), deadline=None)
INT = KEY_KINDS[0]
PIECE_ROWS = st.lists(st.integers(0, 4), min_size=1, max_size=3).filter(any)
BUFFERS = st.sampled_from([1, 50, 300, 1 << 20])


def merge(
    table: Table, sources: Sequence[ListRun], piece_bytes: int = 1 << 20, keys: KeyRange = EVERYTHING
) -> list[Row]:
    cursors = [RunCursor(source, table.layout, piece_bytes, keys) for source in sources]
    return rows_of(table, list(merge_cursors(cursors, table.spec)))


def reduced(table: Table, sources: Sequence[ListRun], piece_bytes: int) -> list[Piece]:
    cursors = [RunCursor(source, table.layout, piece_bytes) for source in sources]
    return list(reduce_cursors(cursors, table.spec))


def rows_of(table: Table, batches: Sequence[pa.RecordBatch]) -> list[Row]:
    for batch in batches:
        batch.validate(full=True)
        assert batch.schema == table.schema
    return [row for batch in batches for row in batch.to_pylist()]


def sources_of(
    table: Table, runs: Sequence[Sequence[Row]], piece_rows: Sequence[int] = (1 << 30,)
) -> list[ListRun]:
    return [ListRun(table, rows, number, piece_rows) for number, rows in enumerate(runs)]


def cursors_of(
    table: Table, runs: Sequence[Sequence[Row]], piece_rows: int, *, buffered: int
) -> list[RunCursor]:
    """Cursors that buffer about `buffered` rows, read in pieces of `piece_rows` rows."""
    sources = sources_of(table, runs, [piece_rows])
    row_bytes = table.batch(runs[0][:piece_rows]).nbytes / piece_rows
    return [RunCursor(source, table.layout, int(buffered * row_bytes)) for source in sources]


class TestAgainstTheModel:
    @pytest.mark.thorough
    @settings(PROPERTY, max_examples=examples(150))
    @given(data=st.data(), table=tables(), piece_rows=PIECE_ROWS, piece_bytes=BUFFERS)
    def test_any_runs_in_any_pieces(
        self, data: st.DataObject, table: Table, piece_rows: list[int], piece_bytes: int
    ) -> None:
        runs = data.draw(runs_of(table))
        sources = data.draw(st.permutations(sources_of(table, runs, piece_rows)))
        assert merge(table, sources, piece_bytes) == naive_merge(table, runs)

    @pytest.mark.thorough
    @PROPERTY
    @given(data=st.data(), table=tables(), piece_rows=PIECE_ROWS, piece_bytes=BUFFERS)
    def test_key_ranges_put_together(
        self, data: st.DataObject, table: Table, piece_rows: list[int], piece_bytes: int
    ) -> None:
        runs = data.draw(runs_of(table))
        parts = [
            merge(table, sources_of(table, runs, piece_rows), piece_bytes, keys)
            for keys in data.draw(ranges_of(table))
        ]
        assert [row for part in parts for row in part] == naive_merge(table, runs)

    @pytest.mark.thorough
    @PROPERTY
    @given(data=st.data(), piece_rows=PIECE_ROWS, drop=st.booleans(), piece_bytes=BUFFERS)
    def test_runs_of_one_writer_take_a_short_cut_to_the_same_rows(
        self, data: st.DataObject, piece_rows: list[int], drop: bool, piece_bytes: int
    ) -> None:
        """Without a user's sequence the merge may go by the runs; with a constant one it has to compare."""
        short = Table((INT,), drop_deletes=drop)
        long = replace(short, sequence=((Kind("constant", pa.int32(), st.just(1)), True),))
        runs = data.draw(runs_of(long, rising=True))
        constant = [[{**row, "s0": 1} for row in run] for run in runs]
        plain = [[{name: row[name] for name in row if name != "s0"} for row in run] for run in runs]
        expected = naive_merge(short, plain)
        assert merge(short, sources_of(short, plain, piece_rows), piece_bytes) == expected
        compared = merge(long, sources_of(long, constant, piece_rows), piece_bytes)
        assert [{name: row[name] for name in row if name != "s0"} for row in compared] == expected

    @pytest.mark.thorough
    @PROPERTY
    @given(data=st.data(), table=tables(), piece_bytes=BUFFERS)
    def test_no_round_repeats_or_passes_over_a_key(
        self, data: st.DataObject, table: Table, piece_bytes: int
    ) -> None:
        runs = data.draw(runs_of(table))
        pieces = reduced(table, sources_of(table, runs, [2, 1]), piece_bytes)
        keys = [
            table.key_of([row[name] for name in table.layout.key])
            for row in rows_of(table, [piece.rows for piece in pieces])
        ]
        every = {table.key_of([row[name] for name in table.layout.key]) for run in runs for row in run}
        assert sorted(set(keys)) == sorted(every)
        assert keys == sorted(keys)
        assert table.ignore_deletes or len(keys) == len(every)


def rows(*records: tuple[Any, ...], **more: Any) -> list[Row]:
    """Rows of (key, sequence number, row kind)."""
    return [
        {"k0": key, **more, "origin": f"{key}@{sequence}", "payload": None, "_SEQUENCE_NUMBER": sequence,
         "_VALUE_KIND": kind}
        for key, sequence, kind in records
    ]  # fmt: skip


INSERT, BEFORE, AFTER, DELETE = range(4)

KEEP: dict[str, bool] = {}
DROP = {"drop_deletes": True}
IGNORE = {"ignore_deletes": True}

WINNERS = {
    "the higher sequence number": (KEEP, [[(1, 5, INSERT)], [(1, 6, INSERT)]], ["1@6"]),
    "a delete is kept": (KEEP, [[(1, 5, DELETE)], [(1, 4, INSERT)]], ["1@5"]),
    "a delete is dropped": (DROP, [[(1, 5, DELETE)], [(1, 4, INSERT)]], []),
    "an update's before is dropped": (DROP, [[(1, 5, BEFORE)], [(1, 4, INSERT)]], []),
    "an update's after stays": (DROP, [[(1, 5, AFTER)], [(1, 4, DELETE)]], ["1@5"]),
    "a lone delete is dropped": (DROP, [[(1, 5, DELETE), (2, 5, INSERT)]], ["2@5"]),
    "a lone delete is not ignored": (IGNORE, [[(1, 5, DELETE)]], ["1@5"]),
    "a delete is ignored": (IGNORE, [[(1, 5, DELETE)], [(1, 4, INSERT)]], ["1@4"]),
    "nothing but deletes": (IGNORE, [[(1, 5, DELETE)], [(1, 4, BEFORE)]], []),
    "a lone delete is ignored and dropped": (IGNORE | DROP, [[(1, 5, DELETE)]], []),
}


class TestWinners:
    @pytest.mark.parametrize(("options", "runs", "left"), WINNERS.values(), ids=WINNERS)
    def test_of_rows_with_one_key_the_latest_is_left(
        self, options: dict[str, bool], runs: list[list[Any]], left: list[str]
    ) -> None:
        table = Table((INT,), **options)
        merged = merge(table, sources_of(table, [rows(*run) for run in runs]))
        assert [row["origin"] for row in merged] == left

    @pytest.mark.parametrize(
        ("ascending", "older", "newer"),
        [
            pytest.param(True, 1, 2, id="the larger"),
            pytest.param(True, None, -5, id="any value over null"),
            pytest.param(False, 2, 1, id="descending, the smaller"),
            pytest.param(False, None, 5, id="descending, any value over null"),
        ],
    )
    @pytest.mark.parametrize("newer_is_first", [True, False])
    def test_the_users_sequence_is_asked_first(
        self, ascending: bool, older: int | None, newer: int | None, newer_is_first: bool
    ) -> None:
        table = Table((INT,), sequence=((INT, ascending),))
        runs = [rows((1, 1, INSERT), s0=newer), rows((1, 2, INSERT), s0=older)]
        merged = merge(table, sources_of(table, runs if newer_is_first else runs[::-1]))
        assert [row["s0"] for row in merged] == [newer]

    @pytest.mark.parametrize("sequence", [(), ((INT, True),)], ids=["number only", "user's sequence too"])
    def test_the_newer_run_wins_a_full_tie(self, sequence: tuple[tuple[Kind, bool], ...]) -> None:
        table = Table((INT,), sequence=sequence)
        runs = [
            [{**row, "origin": f"run {run}"} for row in rows((1, 5, INSERT), s0=None)] for run in range(3)
        ]
        plain = (
            runs if sequence else [[{k: v for k, v in r.items() if k != "s0"} for r in run] for run in runs]
        )
        for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2]):
            merged = merge(table, [sources_of(table, plain)[run] for run in order])
            assert [row["origin"] for row in merged] == ["run 0"]

    def test_sequence_numbers_at_both_ends(self) -> None:
        table = Table((INT,))
        runs = [
            rows((1, -(1 << 63), INSERT), (2, (1 << 63) - 1, INSERT)),
            rows((1, (1 << 63) - 1, INSERT), (2, -(1 << 63), INSERT)),
        ]
        merged = merge(table, sources_of(table, runs))
        assert [row["_SEQUENCE_NUMBER"] for row in merged] == [(1 << 63) - 1] * 2

    def test_a_record_keeps_its_own_run_number_for_later_passes(self) -> None:
        table = Table((INT,))
        sources = [
            ListRun(table, rows((1, 5, INSERT), (3, 5, INSERT)), 7),
            ListRun(table, rows((1, 6, INSERT), (2, 6, INSERT)), 4),
        ]
        pieces = reduced(table, sources, 1 << 20)
        assert [number for piece in pieces for number in piece.run_numbers.tolist()] == [4, 4, 7]


class TestStreaming:
    def test_a_merge_of_no_rows_is_empty(self) -> None:
        table = Table((INT,))
        assert merge(table, []) == []
        assert merge(table, sources_of(table, [[], []])) == []

    def test_empty_pieces_are_passed_over(self) -> None:
        table = Table((INT,))
        run = rows((1, 1, INSERT), (2, 1, INSERT), (3, 1, INSERT))
        assert [row["k0"] for row in merge(table, sources_of(table, [run], [0, 0, 1]), 1)] == [1, 2, 3]

    def test_only_a_bounded_piece_of_each_run_is_read_ahead(self) -> None:
        table = Table((INT,))
        runs = [rows(*((key, run, INSERT) for key in range(run, 1000, 2))) for run in range(2)]
        rounds = merge_cursors(cursors_of(table, runs, 10, buffered=10), table.spec)
        assert [row["k0"] for row in next(rounds).to_pylist()] == list(range(19))
        assert sum(batch.num_rows for batch in rounds) == 1000 - 19

    def test_every_round_is_as_large_as_the_buffers(self) -> None:
        """The other runs are filled up when one is empty: else most rounds would have a few rows only."""
        table = Table((INT,))
        runs = [rows(*((key, run, INSERT) for key in range(run, 4000, 4))) for run in range(4)]
        rounds = list(merge_cursors(cursors_of(table, runs, 10, buffered=100), table.spec))
        assert len(rounds) <= 4000 / (4 * 100) + 1

    def test_a_piece_larger_than_asked_for_is_merged_in_parts(self) -> None:
        table = Table((INT,))
        runs = [rows(*((key, run, INSERT) for key in range(run, 1000, 2))) for run in range(2)]
        rounds = [
            batch.num_rows for batch in merge_cursors(cursors_of(table, runs, 500, buffered=20), table.spec)
        ]
        assert sum(rounds) == 1000
        assert max(rounds) <= 3 * 2 * 20

    def test_a_large_piece_is_not_kept_for_its_last_rows(self) -> None:
        table = Table((INT,))
        text = "x" * 10_000
        run = [{**row, "payload": text} for row in rows(*((key, 1, INSERT) for key in range(200)))]
        before = pa.total_allocated_bytes()
        cursor = RunCursor(ListRun(table, run, 0, [150, 1]), table.layout, 20 * len(text))
        cursor.fill()
        cursor.take_upto((147,))
        cursor.fill()
        assert pa.total_allocated_bytes() - before < 100 * len(text)
        taken = cursor.take_upto(None)
        assert [row["k0"] for piece in taken for row in piece.piece.rows.to_pylist()][:4] == [
            148,
            149,
            150,
            151,
        ]

    @given(data=st.data(), after=st.none() | st.integers(-2, 12), upto=st.none() | st.integers(-2, 12))
    @settings(PROPERTY, max_examples=examples(60))
    def test_a_range_is_read_no_further_than_its_end(
        self, data: st.DataObject, after: int | None, upto: int | None
    ) -> None:
        table = Table((INT,))
        bound = KeyRange(None if after is None else (after,), None if upto is None else (upto,))
        source = ListRun(
            table, rows(*((key, 1, INSERT) for key in range(10))), 0, [data.draw(st.integers(1, 4))]
        )
        inside = [
            key for key in range(10) if (after is None or key > after) and (upto is None or key <= upto)
        ]
        assert [row["k0"] for row in merge(table, [source], 1, bound)] == inside

    def test_rows_beyond_the_range_are_not_even_looked_at(self) -> None:
        table = Table((INT,))
        broken = rows((1, 1, INSERT), (2, 1, INSERT), (9, 1, INSERT), (3, 1, INSERT))
        merged = merge(table, sources_of(table, [broken], [1]), 1, KeyRange(None, (2,)))
        assert [row["k0"] for row in merged] == [1, 2]

    def test_closing_lets_go_of_the_source(self) -> None:
        table = Table((INT,))
        source = ListRun(table, rows((1, 1, INSERT), (2, 1, INSERT)), 0, [1])
        cursor = RunCursor(source, table.layout, 1)
        assert not source.is_open
        cursor.fill()
        assert source.is_open
        cursor.close()
        assert not source.is_open
        assert cursor.is_exhausted

    def test_payload_dictionaries_of_all_runs_are_united(self) -> None:
        table = Table((INT,), dictionary=True)
        runs = [[{**row, "payload": f"from {n}"} for row in rows((n, 1, INSERT))] for n in range(3)]
        assert [row["payload"] for row in merge(table, sources_of(table, runs))] == [
            "from 0",
            "from 1",
            "from 2",
        ]


DISORDER = [
    pytest.param([1, 3, 2, 4], id="a key that falls"),
    pytest.param([1, 2, 2, 4], id="a key twice"),
    pytest.param([4, 1, 2, 3], id="at the start"),
    pytest.param([1, 2, 4, 3], id="at the end"),
    pytest.param([2, 2], id="nothing else"),
]


class TestCorruptRuns:
    @pytest.mark.parametrize("keys", DISORDER)
    @pytest.mark.parametrize("piece_rows", [1, 2, 3, 9])
    @pytest.mark.parametrize("piece_bytes", [1, 1 << 20])
    def test_disorder_names_the_file(self, keys: list[int], piece_rows: int, piece_bytes: int) -> None:
        table = Table((INT,))
        broken = ListRun(
            table, rows(*((key, 1, INSERT) for key in keys)), 1, [piece_rows], origin="broken.parquet"
        )
        sound = ListRun(table, rows(*((key, 1, INSERT) for key in range(9))), 0, [piece_rows])
        with pytest.raises(CorruptTable) as caught:
            merge(table, [sound, broken], piece_bytes)
        assert caught.value.path == "broken.parquet"

    @settings(PROPERTY, max_examples=examples(60))
    @given(data=st.data(), kind=st.sampled_from(KEY_KINDS), piece_rows=st.integers(1, 2))
    def test_the_second_part_of_a_key_counts(self, data: st.DataObject, kind: Kind, piece_rows: int) -> None:
        table = Table((INT, kind))
        values = data.draw(st.tuples(kind.values, kind.values))
        run = [{**row, "k1": value} for row, value in zip(rows((1, 1, INSERT)) * 2, values, strict=True)]
        if kind.compare(*values) < 0:
            assert len(merge(table, sources_of(table, [run], [piece_rows]))) == 2
        else:
            with pytest.raises(CorruptTable):
                merge(table, sources_of(table, [run], [piece_rows]))


class TestPieces:
    @pytest.mark.parametrize("numbers", [3, np.array([3, 5, 4], dtype=np.int64)], ids=["one run", "mixed"])
    def test_a_slice_keeps_what_belongs_to_its_rows(self, numbers: Any) -> None:
        table = Table((INT,))
        begins = np.array([True, False, True])
        piece = Piece(
            table.batch(rows((1, 1, INSERT), (2, 1, INSERT), (3, 1, INSERT))), numbers, "file", begins
        ).slice(1, 3)
        assert [row["k0"] for row in piece.rows.to_pylist()] == [2, 3]
        assert piece.run_numbers.tolist() == ([3, 3] if isinstance(numbers, int) else [5, 4])
        assert piece.oldest_run == (3 if isinstance(numbers, int) else 5)
        assert piece.begins is not None
        assert piece.begins.tolist() == [False, True]
        assert piece.origin == "file"
