"""Full ties: writers that started from the same snapshot gave a key the same sequence number.

What Java 1.4.2 makes of them was found by running it, and `test_java_lets_the_keys_around_a_tie_decide`
holds it. Its loser tree asks whether one record is newer than the other and takes "no" for "then the other
is", so that the winner follows from which run was advanced last:

- of two runs with the same keys, the winner alternates from key to key;
- of one key and two writers, Java's reader takes the one and its compaction the other, because they hand the
  files to the tree in different orders; a third run changes it again;
- of runs whose key ranges differ, reader and compaction agree, but the ranges decide and not the age: the row
  of the run with keys 5 beats that of the run with keys 5 and 9, whichever was written or committed first.

So there is no rule of Java's to follow. What does hold of Java in all cases: a key has one row, which is one
of the tied ones, and whatever decides a tie (a newer record, a sequence field) decides it for Java's reader,
its compaction and ours alike.

Ours takes the newest sorted run: the lowest level, and within level 0 the order that Java gives its runs; of
two files with the same sequence numbers that is the one that was created first. It does not depend on how
the work is cut, on passes over local disk, or on compactions in between.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import DataFile, KeyValue, Row
from lithify.engine.rewrite.budget import Budget
from lithify.formats.protocol.tasks import Sizing
from support.runs import run_inline

pytestmark = pytest.mark.oracle

SIX = tuple(range(6))
LETTERS = "ABCDEFGH"


@dataclass(frozen=True, slots=True)
class Case:
    """Writers that do not know of each other.

    Attributes:
        name: a telling id.
        writers: the keys that each writes, in its order; the first ones have the same sequence number, the
            second ones the next, and so on.
        older: keys that were written before all of them.
        newer: keys that are written after all of them.
        order: in which order they commit.
        deletes: writers that delete their keys.
        compacted: whether Java compacts the first commit into the top level before the next.
        options: table options.
    """

    name: str
    writers: Sequence[Sequence[int]] = (SIX, SIX)
    older: Sequence[int] = ()
    newer: Sequence[int] = ()
    order: Sequence[int] = ()
    deletes: Sequence[int] = ()
    compacted: bool = False
    options: Mapping[str, str] = field(default_factory=dict)

    def make(self, oracle: Oracle, warehouse: Path) -> Table:
        """The table; the value of a row is its writer's letter."""
        table = Table(warehouse, "db.t")
        columns = {"id": "INT NOT NULL", "v": "STRING"}
        oracle.create_table(table, columns, ["id"], options={"bucket": "1", **self.options})
        oracle.write(table, [["+I", key, "older"] for key in self.older])
        prepared = [oracle.prepare(table, self._rows(writer)) for writer in range(len(self.writers))]
        for writer in self.order or range(len(prepared)):
            oracle.commit_prepared(prepared[writer].token)
            if self.compacted and writer == (self.order or [0])[0]:
                oracle.manager_round(table, full=True, commit=True)
        oracle.write(table, [["+I", key, "newer"] for key in self.newer])
        return table

    def _rows(self, writer: int) -> list[Row]:
        kind = "-D" if writer in self.deletes else "+I"
        return [[kind, key, LETTERS[writer]] for key in self.writers[writer]]


CASES = [
    Case("one key, two writers", ([1], [1])),
    Case("one key, two writers, the second commits first", ([1], [1]), order=[1, 0]),
    Case("one key, five writers", ([1],) * 5),
    Case("same keys, two writers"),
    Case("same keys, three writers", (SIX,) * 3),
    Case("same keys, eight writers", (SIX,) * 8),
    Case("same keys over an older row", older=SIX),
    Case("half of the keys tied", ([0, 1, 2, 3, 4, 5], [0, 11, 2, 13, 4, 15])),
    Case("the second reaches further", ([5], [5, 9])),
    Case("the first reaches further", ([5, 9], [5])),
    Case("one further left, the other further right", ([5, 9], [5, 1])),
    Case("a chain of three", ([1, 2, 9], [1, 5, 3], [7, 5, 9])),
    Case("top level and level 0", compacted=True),
    Case("top level and level 0, the second commits first", order=[1, 0], compacted=True),
    Case("the first deletes", deletes=[0]),
    Case("the second deletes", deletes=[1]),
]

WAYS: dict[str, Callable[[Table], object]] = {
    "in one piece": run_inline,
    "in many tasks and passes": lambda table: run_inline(table, sizing=Sizing(1, Budget(1 << 20))),
    "in two rounds": lambda table: [run_inline(table, full=full) for full in (False, True)],
}


def copy(table: Table, warehouse: Path) -> Table:
    shutil.copytree(Path(str(table.warehouse)), warehouse)
    return Table(warehouse, table.name)


def compacted_by_java(oracle: Oracle, table: Table, warehouse: Path) -> Table:
    java = copy(table, warehouse)
    oracle.manager_round(java, full=True, commit=True)
    return java


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.name)
def original(
    request: pytest.FixtureRequest, oracle: Oracle, tmp_path_factory: pytest.TempPathFactory
) -> Table:
    """A case's table. Tests compact copies."""
    case: Case = request.param
    return case.make(oracle, tmp_path_factory.mktemp("original"))


@pytest.fixture
def tied(oracle: Oracle, original: Table) -> dict[int, list[KeyValue]]:
    """The records of each key that share its greatest sequence number, those of newer runs first."""
    records: dict[int, list[KeyValue]] = {}
    runs = sorted(oracle.files(original), key=age)
    for record in chain.from_iterable(oracle.kv_rows(original, file.name) for file in runs):
        records.setdefault(record.key[0], []).append(record)
    greatest = {key: max(record.sequence for record in group) for key, group in records.items()}
    return {k: [record for record in group if record.sequence == greatest[k]] for k, group in records.items()}


def age(file: DataFile) -> tuple[object, ...]:
    """Files in the order of their runs, newest first."""
    if file.level > 0:
        return (file.level,)
    return (0, -file.max_sequence, file.min_sequence, file.creation_time, file.name)


def rows_of(records: Iterable[KeyValue]) -> list[Row]:
    """What readers see of records: deletes are not there."""
    return [["+I", *record.values] for record in records if record.kind != "-D"]


@pytest.mark.parametrize("way", WAYS)
def test_the_newest_run_wins(
    oracle: Oracle, original: Table, tied: dict[int, list[KeyValue]], tmp_path: Path, way: str
) -> None:
    assert max(len(group) for group in tied.values()) > 1
    ours = copy(original, tmp_path / "ours")
    WAYS[way](ours)
    assert sorted(oracle.read(ours)) == sorted(rows_of(group[0] for group in tied.values()))
    assert all(file.level == 5 for file in oracle.files(ours))


def test_java_takes_one_of_the_tied_rows_too(
    oracle: Oracle, original: Table, tied: dict[int, list[KeyValue]], tmp_path: Path
) -> None:
    rows = oracle.read(compacted_by_java(oracle, original, tmp_path / "java"))
    may_vanish = {key for key, group in tied.items() if any(record.kind == "-D" for record in group)}
    assert len({row[1] for row in rows}) == len(rows)
    assert {row[1] for row in rows} | may_vanish == tied.keys()
    assert all(row in rows_of(tied[row[1]]) for row in rows)


JAVA = {
    "one key, two writers": ("A", "B"),
    "one key, five writers": ("A", "A"),
    "same keys, two writers": ("ABABAB", "BABABA"),
    "same keys, three writers": ("ACACAC", "ABABAB"),
    "same keys over an older row": ("ABABAB", "AAAAAA"),
    "the second reaches further": ("AB", "AB"),
    "the first reaches further": ("BA", "BA"),
    "top level and level 0": ("ABABAB", "ABABAB"),
}
"""What Java reads before and after its own compaction, in the order of the keys."""


@pytest.mark.parametrize("name", JAVA)
def test_java_lets_the_keys_around_a_tie_decide(oracle: Oracle, tmp_path: Path, name: str) -> None:
    (case,) = (case for case in CASES if case.name == name)
    original = case.make(oracle, tmp_path / "original")
    java = compacted_by_java(oracle, original, tmp_path / "java")
    assert (letters(oracle, original), letters(oracle, java)) == JAVA[name]


def letters(oracle: Oracle, table: Table) -> str:
    return "".join(value for _, _, value in sorted(oracle.read(table)))


DECIDED = [
    Case("a newer row", newer=SIX),
    Case("a sequence field", (SIX,) * 3, options={"sequence.field": "v"}),
    Case(
        "a descending sequence field",
        (SIX,) * 3,
        options={"sequence.field": "v", "sequence.field.sort-order": "descending"},
    ),
]


@pytest.mark.parametrize("case", DECIDED, ids=lambda case: case.name)
def test_what_decides_a_tie_decides_it_everywhere(oracle: Oracle, tmp_path: Path, case: Case) -> None:
    original = case.make(oracle, tmp_path / "original")
    rows = oracle.read(original)
    assert oracle.read(compacted_by_java(oracle, original, tmp_path / "java")) == rows
    run_inline(original)
    assert oracle.read(original) == rows
