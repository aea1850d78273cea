"""Runs to merge, and Paimon's merge written row by row in plain Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import cmp_to_key
from itertools import cycle, groupby, pairwise
from typing import Any, Protocol

import pyarrow as pa
from hypothesis import strategies as st

from lithify.columns.key_range import Key, KeyRange
from lithify.columns.order import key_at
from lithify.columns.orders import SequenceField
from lithify.engine.rewrite.budget import Budget
from lithify.engine.rewrite.functions import Deduplicate, LoneRecords
from lithify.engine.rewrite.records import RecordLayout, RowKinds
from lithify.engine.rewrite.runs import Piece
from lithify.engine.rewrite.spec import MergeSpec
from support.rewriting.columns import Kind
from support.rewriting.functions import RETRACTS, Case, Row

# Few values each, so that runs share keys; the pairs are those that a wrong order would swap.
KEY_KINDS = [
    Kind("int", pa.int32(), st.sampled_from([-(1 << 31), -2, -1, 0, 1, 2, (1 << 31) - 1])),
    Kind("bigint", pa.int64(), st.sampled_from([-(1 << 63), -1, 0, 1, (1 << 63) - 1])),
    Kind(
        "string",
        pa.string(),
        st.sampled_from(["", "\x00", "a", "aa", "é", "\uffff", "\U0001f600"]),
        str.encode,
    ),
    Kind(
        "decimal",
        pa.decimal128(9, 2),
        st.sampled_from([Decimal(n).scaleb(-2) for n in (-999, -1, 0, 1, 999)]),
    ),
    Kind(
        "wide-decimal",
        pa.decimal128(38, 0),
        st.sampled_from(
            [Decimal(n) for n in (-(10**37), -(1 << 64), -1, 0, (1 << 63) - 1, 1 << 63, 1 << 64)]
        ),
    ),
]
SEQUENCE_KINDS = [
    Kind("int", pa.int32(), st.sampled_from([-1, 0, 1])),
    Kind("string", pa.string(), st.sampled_from(["", "a", "b"]), str.encode),
    Kind("date", pa.date32(), st.sampled_from([date(1900, 1, 1), date(1970, 1, 1), date(9999, 12, 31)])),
    Kind("wide-decimal", pa.decimal128(20, 0), st.sampled_from([Decimal(-1), Decimal(0), Decimal(1 << 64)])),
]
_DICTIONARY = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True)
class Table:
    """What the rows of a test look like and how they are merged."""

    keys: tuple[Kind, ...]
    sequence: tuple[tuple[Kind, bool], ...] = ()
    ignore_deletes: bool = False
    drop_deletes: bool = False
    dictionary: bool = False
    amounts: bool = False
    case: Case | None = None

    @property
    def layout(self) -> RecordLayout:
        user = (SequenceField(f"s{n}", ascending) for n, (_, ascending) in enumerate(self.sequence))
        return RecordLayout(
            key=tuple(f"k{n}" for n in range(len(self.keys))),
            sequence=(*user, SequenceField("_SEQUENCE_NUMBER")),
            kinds=RowKinds("_VALUE_KIND", RETRACTS),
            nan_problem="NaN has no order",
        )

    @property
    def spec(self) -> MergeSpec:
        function = self.case.function if self.case else Deduplicate(self.ignore_deletes)
        return MergeSpec(self.layout, function, self.drop_deletes)

    @property
    def schema(self) -> pa.Schema:
        return pa.schema(
            [
                *(pa.field(f"k{n}", kind.type, nullable=False) for n, kind in enumerate(self.keys)),
                *(pa.field(f"s{n}", kind.type) for n, (kind, _) in enumerate(self.sequence)),
                pa.field("origin", pa.string()),
                pa.field("payload", _DICTIONARY if self.dictionary else pa.string()),
                *([pa.field("amount", pa.int64())] if self.amounts else []),
                pa.field("_SEQUENCE_NUMBER", pa.int64(), nullable=False),
                pa.field("_VALUE_KIND", pa.int8(), nullable=False),
            ]
        )

    def batch(self, rows: Sequence[Row]) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist(list(rows), schema=self.schema)

    def key_of(self, key: Sequence[Any]) -> Key:
        """A key as the merge compares it."""
        columns = [pa.array([value], kind.type) for kind, value in zip(self.keys, key, strict=True)]
        row = pa.RecordBatch.from_arrays(columns, names=list(self.layout.key))
        return key_at(self.layout.key_parts(row), 0)

    def compare_keys(self, one: Sequence[Any], other: Sequence[Any]) -> int:
        compared = (kind.compare(a, b) for kind, a, b in zip(self.keys, one, other, strict=True))
        return next((result for result in compared if result), 0)

    def compare_ages(self, one: Row, other: Row) -> int:
        """Which of two records of a key is newer, by the user's sequence, the number, and the run."""
        for n, (kind, ascending) in enumerate(self.sequence):
            result = kind.compare(one[f"s{n}"], other[f"s{n}"], ascending=ascending)
            if result:
                return result
        a, b = [(row["_SEQUENCE_NUMBER"], -row["run"]) for row in (one, other)]
        return (a > b) - (a < b)


def key_values(row: Row) -> tuple[Any, ...]:
    return tuple(value for name, value in row.items() if name.startswith("k"))


def naive_merge(table: Table, runs: Sequence[Sequence[Row]]) -> list[Row]:
    """What a merge of all runs leaves, row by row."""
    by_key = cmp_to_key(table.compare_keys)
    rows = sorted((row for run in runs for row in run), key=lambda row: by_key(key_values(row)))
    merged = []
    for _, group in groupby(rows, key=key_values):
        record = _merge_one(table, sorted(group, key=cmp_to_key(table.compare_ages)))
        if record is not None and not (table.drop_deletes and record["_VALUE_KIND"] in RETRACTS):
            merged.append({name: value for name, value in record.items() if name != "run"})
    return merged


def _merge_one(table: Table, records: list[Row]) -> Row | None:
    """What the records of a key become, oldest first."""
    if table.case is not None:
        passes = len(records) == 1 and table.case.function.lone_records is LoneRecords.KEPT
        return records[0] if passes else table.case.plain(records)
    if table.ignore_deletes and len(records) > 1:
        records = [record for record in records if record["_VALUE_KIND"] not in RETRACTS]
    return records[-1] if records else None


class MakesBatches(Protocol):
    """Makes batches of rows."""

    def batch(self, rows: Sequence[Row]) -> pa.RecordBatch: ...


@dataclass(frozen=True)
class SchemaRows:
    """Makes batches of a schema."""

    schema: pa.Schema

    def batch(self, rows: Sequence[Row]) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist(list(rows), schema=self.schema)


@dataclass(frozen=True)
class FanIn(Budget):
    """A budget in which a number of runs of one byte fit, a few rows of each at a time."""

    runs: int = 2
    buffered: int = 60

    def admits(self, overheads: Sequence[int]) -> bool:
        return len(overheads) <= self.runs

    def piece_bytes(self, overheads: Sequence[int]) -> int:
        del overheads
        return self.buffered


@dataclass
class ListRun:
    """A run whose rows lie in memory, handed out in pieces of given numbers of rows."""

    table: MakesBatches
    rows: Sequence[Row]
    run: int
    piece_rows: Sequence[int] = (1 << 30,)
    size: int = 0
    overhead: int = 0
    origin: str = ""
    reads: int = field(default=0, init=False)
    is_open: bool = field(default=False, init=False)

    def pieces(self, piece_bytes: int) -> Iterator[Piece]:
        del piece_bytes
        self.reads += 1
        self.is_open = True
        try:
            start = 0
            for count in cycle(self.piece_rows):
                if start >= len(self.rows):
                    return
                batch = self.table.batch(self.rows[start : start + count])
                yield Piece(batch, self.run, self.origin or f"file-{self.run}")
                start += count
        finally:
            self.is_open = False


@st.composite
def tables(draw: st.DrawFn) -> Table:
    return Table(
        keys=tuple(draw(st.lists(st.sampled_from(KEY_KINDS), min_size=1, max_size=2))),
        sequence=tuple(draw(st.lists(st.tuples(st.sampled_from(SEQUENCE_KINDS), st.booleans()), max_size=2))),
        ignore_deletes=draw(st.booleans()),
        drop_deletes=draw(st.booleans()),
        dictionary=draw(st.booleans()),
    )


PAYLOADS = st.none() | st.sampled_from(["", "x", "y", "long enough to matter " * 3])
AMOUNTS = st.none() | st.integers(-1, 2)
ROW_KINDS = st.integers(0, 3)


@st.composite
def runs_of(draw: st.DrawFn, table: Table, *, max_runs: int = 5, rising: bool = False) -> list[list[Row]]:
    """Runs with strictly increasing keys; run 0 is the newest.

    With `rising`, sequence numbers are mostly those of one writer: higher in every newer run.
    """
    count = draw(st.integers(1, max_runs))
    return [_run(draw, table, run, 100 * (count - run) if rising else 0) for run in range(count)]


def _run(draw: st.DrawFn, table: Table, run: int, first_sequence: int) -> list[Row]:
    keys = draw(st.lists(st.tuples(*(kind.values for kind in table.keys)), unique=True, max_size=8))
    keys.sort(key=cmp_to_key(table.compare_keys))
    last = 100 if first_sequence else 2
    return [
        {
            **{f"k{n}": value for n, value in enumerate(key)},
            **{f"s{n}": draw(st.none() | kind.values) for n, (kind, _) in enumerate(table.sequence)},
            "origin": f"{run}/{number}",
            "payload": draw(PAYLOADS),
            **({"amount": draw(AMOUNTS)} if table.amounts else {}),
            "_SEQUENCE_NUMBER": first_sequence + draw(st.integers(0, last)),
            "_VALUE_KIND": draw(ROW_KINDS),
            "run": run,
        }
        for number, key in enumerate(keys)
    ]


@st.composite
def ranges_of(draw: st.DrawFn, table: Table) -> list[KeyRange]:
    """Key ranges that together cover everything, cut at any keys."""
    keys = draw(st.lists(st.tuples(*(kind.values for kind in table.keys)), max_size=3, unique=True))
    cuts = sorted(table.key_of(key) for key in keys)
    ends = [None, *cuts, None]
    return [KeyRange(after, upto) for after, upto in pairwise(ends)]
