"""Random histories of tables without a key: rows, order, files and metadata beside those of Java.

A history writes, changes the schema, overwrites, deletes rows by vectors, lets Java compact, and lets
Lithify compact alone or beside a Java writer. Some tables are clustered. Without buckets the rows are
compared as a multiset, in a bucket as a sequence. Four of five histories have row groups copied, for which
those of a few rows are large enough there.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from infrastructure.oracle.arguments import Filter
from infrastructure.oracle.client import Oracle, OracleError
from infrastructure.oracle.model import DataFile, Row, Table
from java.fuzz.append_tables import AppendTable
from java.fuzz.index_reads import (
    IndexedTable,
    asks_of_indexes,
    assert_all_indexed,
    assert_skipped_alike,
)
from java.fuzz.metadata import misled
from lithify.engine.rewrite.budget import Budget
from lithify.formats.protocol.tasks import Sizing
from support.comparing.file_indexes import assert_same_indexes
from support.comparing.rounds import metadata
from support.comparing.rows import values_of
from support.comparing.vectors import unpaired
from support.copying import copying_from
from support.joining import joining_from
from support.races import Meanwhile
from support.runs import run_inline
from support.tables import copy_of, stray_files

_AGED: Mapping[str, str] = {"lithify.small-file-age": "1 ms"}
MOST_IDS = 1 << 30


@dataclass(frozen=True)
class Layout:
    """What `values_of` asks for."""

    key: dict[str, str] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    partition: dict[str, Any] = field(default_factory=dict)


class AppendHistory:
    """A random history, played as it is drawn.

    Args:
        seed: what is drawn.
        oracle: plays Java.
        folder: an empty folder.
    """

    def __init__(self, seed: int, oracle: Oracle, folder: Path) -> None:
        self._random = random = Random(seed)
        self._oracle, self._folder = oracle, folder
        self._table = Table(folder / "table", "db.t")
        self._drawn = drawn = AppendTable(seed, random)
        self._partition = drawn.partition
        self._is_ordered, self._is_clustered = drawn.kind == "ordered", drawn.kind == "clustered"
        self._has_vectors = drawn.kind == "vectors"
        self._left: set[str] = set()
        self.compactions = 0
        self.copied_bytes = 0
        self._oracle.create_table(
            self._table,
            drawn.all_columns,
            partition_keys=["p"] if drawn.partition else [],
            options=drawn.options,
        )

    def play(self, steps: int) -> None:
        """Plays a number of steps."""
        turns: list[tuple[Callable[[], None], int]] = [
            (self._write, 9),
            (self._alter, 2),
            (self._compact, 4),
            (self._compact_beside, 2),
            (self._java_compacts, 1),
            (self._overwrite, 1),
            (self._delete, 5 if self._has_vectors else 0),
        ]
        for turn in self._random.choices(*zip(*turns, strict=True), k=steps):
            turn()
        self._compact()
        assert stray_files(self._oracle, self._table) <= self._left
        assert unpaired(self._oracle, self._table) == set()

    def _rows(self, count: int) -> list[Row]:
        values = values_of(self._oracle, self._table, Layout())
        return [["+I", *(self._value(name, value) for name, value in values.items())] for _ in range(count)]

    def _value(self, name: str, value: Callable[[Random], Any]) -> Any:
        if name == "id":
            return self._random.randint(0, MOST_IDS)
        return self._random.choice(self._partition) if name == "p" else value(self._random)

    def _write(self) -> None:
        for _ in range(self._random.choice([1, 2, 6])):
            self._oracle.write(self._table, self._rows(self._random.choice([1, 5, 40, 300])))

    def _alter(self) -> None:
        change = self._drawn.columns.change()
        self._oracle.alter_table(self._table, change, *self._drawn.indexes.follow([change]))

    def _overwrite(self) -> None:
        where = {"p": self._random.choice(self._partition)} if self._partition else {}
        at = self._place(self._table)
        rows = [row for row in self._rows(9) if at is None or row[at] == where["p"]]
        self._oracle.write(self._table, rows, overwrite_partition=where)

    def _delete(self) -> None:
        where = self._where()
        self._oracle.delete(self._table, where, counted=self._random.random() < 0.8)

    def _where(self) -> Filter:
        """A share of the rows, by their random ids."""
        share = self._random.choice([0.001, 0.05, 0.15, 0.5])
        op, key = self._random.choice([("less_than", share), ("greater_than", 1 - share)])
        return {"column": "id", "op": op, "literal": int(key * MOST_IDS)}

    def _java_compacts(self) -> None:
        try:
            self._oracle.compact(self._table, full=self._random.random() < 0.5)
        except OracleError:  # it cannot always commit its own compactions of a bucket, and leaves their files
            self._left |= stray_files(self._oracle, self._table)

    def _copying(self, smallest: int) -> AbstractContextManager[None]:
        """In turn row groups are copied, and pages of small files are joined."""
        return joining_from() if self.compactions % 2 else copying_from(smallest)

    def _run(self, **how: Any) -> str:
        smallest = self._drawn.smallest
        sizing = Sizing(self._random.choice([None, 1]), Budget(self._random.choice([1 << 20, 384 << 20])))
        with nullcontext() if smallest is None else self._copying(smallest):
            report = run_inline(self._table, sizing=sizing, **how)
        self.copied_bytes += report.copied_bytes
        return report.status

    def _compact(self) -> None:
        oracle, full = self._oracle, self._random.random() < 0.4
        before, rows = oracle.files(self._table), self._read()
        aged = self._random.choice([{}, _AGED])
        # In a bucket Java compacts twice, and cannot commit what it has compacted in between.
        alike = self._is_clustered or not (self._is_ordered or full or aged)
        indexed = IndexedTable.of(oracle.schema(self._table))
        java = copy_of(self._table, self._folder / "java") if alike or indexed.asked_for else None
        status = self._run(full=full, options=aged)
        self.compactions += status == "Compacted"
        assert self._read() == rows
        ours = oracle.files(self._table)
        fresh = [file for file in ours if file.name not in {each.name for each in before}]
        assert_all_indexed(fresh, indexed.asked_for)
        if java is not None:
            pairs = []
            if alike:
                oracle.compact(java, full=full or not self._is_clustered)
                pairs = self._compare(before, ours, oracle.files(java))
            self._compare_indexes(indexed, java, pairs)
            shutil.rmtree(str(java.warehouse))

    def _compare(
        self, before: list[DataFile], ours: list[DataFile], java: list[DataFile]
    ) -> list[tuple[DataFile, DataFile]]:
        """Without buckets the same files are rewritten, and files alone in their partition are the same.

        Returns:
            These files, ours and Java's.
        """
        known = {file.name for file in before}
        assert known - {file.name for file in ours} == known - {file.name for file in java}
        mine, theirs = ([each for each in files if each.name not in known] for files in (ours, java))
        if not len({str(each.partition) for each in mine}) == len(mine) == len(theirs):
            return []
        pairs = []
        for one in mine:
            (other,) = [each for each in theirs if each.partition == one.partition]
            assert metadata(one) == metadata(other, like=one)
            pairs.append((one, other))
        return pairs

    def _compare_indexes(
        self, indexed: IndexedTable, java: Table, pairs: Sequence[tuple[DataFile, DataFile]]
    ) -> None:
        """Java finds all rows in our files, and skips as much of them as of its own.

        Indexes are the same where rows have the same order, which nothing promises without a bucket.
        """
        if not indexed.asked_for:
            return
        ours, theirs = (self._oracle.read(each, in_order=True) for each in (self._table, java))
        if ours == theirs:
            assert_same_indexes(pairs, indexed.types)
        rows = self._oracle.read(self._table)
        filters = asks_of_indexes(Random(len(rows)), indexed, rows)
        assert_skipped_alike(self._oracle, (self._table, java), pairs, filters)
        self._ask(filters, java)

    def _ask(self, filters: Sequence[Filter], java: Table) -> None:
        """Java finds no less in our files than in its own."""
        missed = misled(self._oracle, self._table, [ask for ask in filters if "[" not in ask["column"]])
        if missed:
            assert missed == misled(self._oracle, java, missed)

    def _compact_beside(self) -> None:
        twin = copy_of(self._table, self._folder / "twin")
        change = self._change()
        change(twin)
        when = self._random.choice(["before", "after"])
        full = self._random.random() < 0.5
        to_come = [change]

        def act() -> None:
            while to_come:
                to_come.pop()(self._table)

        self._run(full=full, runner=Meanwhile(**{when: act}))
        act()  # nothing was planned, so no moment came
        assert self._read() == self._read(twin)
        indexed = IndexedTable.of(self._oracle.schema(twin))
        self._ask(asks_of_indexes(Random(full), indexed, self._oracle.read(twin)), twin)
        shutil.rmtree(str(twin.warehouse))

    def _change(self) -> Callable[[Table], object]:
        """What a Java writer does to a table: it adds rows, or deletes some."""
        if self._has_vectors and self._random.random() < 0.6:
            where = self._where()
            return lambda table: self._oracle.delete(table, where)
        rows = self._rows(20)
        return lambda table: self._oracle.write(table, rows)

    def _read(self, table: Table | None = None) -> dict[str, list[Any]]:
        """The rows of each partition: in order in a bucket, unless Java has mixed them up, else sorted."""
        parts: dict[str, list[Any]] = {}
        rows = self._oracle.read(table or self._table, in_order=self._is_ordered)
        at = self._place(table or self._table)
        for row in rows:
            parts.setdefault("" if at is None else row[at], []).append(_unsigned(row))
        return parts if self._is_ordered else {part: sorted(found, key=repr) for part, found in parts.items()}

    def _place(self, table: Table) -> int | None:
        """Where a row has its partition."""
        names = [column["name"] for column in self._oracle.schema(table)["fields"]]
        return 1 + names.index("p") if self._partition else None


def _unsigned(value: Any) -> Any:
    """Leaves out the sign of zeros: to Java's ORC reader a batch of 0.0 and -0.0 is one repeated value."""
    if isinstance(value, list):
        return [_unsigned(each) for each in value]
    return 0.0 if value == "-0.0" else value
