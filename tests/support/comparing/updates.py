"""Tables of partial updates: every commit writes some of the keys, and some of the columns of each.

A table is the same whenever it is made. No commit has a key twice: what Java's writers make of such rows is
no matter of compaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import Row
from support.comparing.rounds import compacted_by_both
from support.comparing.rows import without_nan

SMALL: Mapping[str, tuple[Any, ...]] = {
    "INT": (0, 1, 2, 3, -7),
    "BIGINT": (0, 1, 5, 1 << 40, -3),
    "STRING": ("", "a", "b", "much longer than the others"),
    "DOUBLE": (0.5, -2.0, 3.25),
    "DECIMAL(6, 2)": ("1.00", "-2.50", "99.99"),
    "TIMESTAMP(6)": ("2024-02-29T10:11:12.000001", "2025-01-01T00:00"),
    "ARRAY<INT>": ([], [1, None], [2, 3]),
    "BOOLEAN": (True, False),
    "MAP<STRING, INT>": ([], [["a", 1]], [["a", 2], ["b", None]], [["b", 3], ["c", 4]]),
    "MAP<STRING, ROW<v INT, t STRING>>": (
        [],
        [["a", [1, "2"]], ["b", [2, "2"]]],
        [["a", [3, "10"]], ["c", None]],
        [["a", None], ["b", [4, None]]],
        [["b", [5, "3"]], ["c", [6, "2"]]],
    ),
    "ARRAY<ROW<k STRING, n INT, m INT>>": (
        [],
        [None, ["a", 1, None]],
        [["a", None, 2], ["b", 2, 2]],
        [["b", 3, None], ["c", None, None], ["a", 4, 1]],
        [[f"k{number}", number, None] for number in range(9)],
    ),
}
"""Few values, so that many are equal."""


@dataclass(frozen=True, slots=True)
class Updates:
    """A table and its history.

    Attributes:
        name: a telling id.
        values: the columns beside the key and their types.
        options: table options.
        kinds: kinds of rows, as often as they stand here.
        nulls: share of values that are null.
        key_values: how many keys there are.
        written: rows a commit, two thirds of the keys if it is not said.
        commits: how many commits.
        compacted: after which commits Java compacts some runs.
        loaded: how many rows of as many keys come first, in two commits that Java moves to the top level.
        never_null: columns that have a value in every row.
        key: the type of the key.
    """

    name: str
    values: Mapping[str, str] = field(default_factory=lambda: {"a": "INT", "b": "STRING", "c": "ARRAY<INT>"})
    options: Mapping[str, str] = field(default_factory=dict)
    kinds: tuple[str, ...] = ("+I", "+U")
    nulls: float = 0.5
    key_values: int = 40
    written: int | None = None
    commits: int = 7
    compacted: tuple[int, ...] = (3,)
    loaded: int = 0
    never_null: tuple[str, ...] = ()
    key: str = "INT NOT NULL"

    def make(self, oracle: Oracle, warehouse: Path) -> Table:
        """Creates the table and writes its commits."""
        random = Random(self.name)
        table = Table(warehouse, "db.t")
        options = {"bucket": "1", "merge-engine": "partial-update", "write-only": "true", **self.options}
        oracle.create_table(table, {"id": self.key, **self.values}, ["id"], options=options)
        self._load(oracle, table, random)
        for commit in range(self.commits):
            keys = random.sample(range(self.key_values), self.written or self.key_values * 2 // 3)
            oracle.write(table, [self._row(random, key) for key in keys])
            if commit in self.compacted:
                tuned = {"num-sorted-run.compaction-trigger": "3", "write-only": "false"}
                oracle.compact(table, full=False, options=tuned)
        return table

    def _load(self, oracle: Oracle, table: Table, random: Random) -> None:
        if self.loaded:
            for first in (0, 1):
                keys = range(first, self.loaded, 2)
                oracle.write(table, [["+I", *self._row(random, key)[1:]] for key in keys])
                oracle.manager_round(table, full=True, commit=True)

    def _row(self, random: Random, key: int) -> Row:
        kind = random.choice(self.kinds)
        id_ = f"k{key}" if self.key.startswith("STRING") else key
        return [kind, id_, *(self._value(random, name) for name in self.values)]

    def _value(self, random: Random, name: str) -> Any:
        if name not in self.never_null and random.random() < self.nulls:
            return None
        return without_nan(lambda drawn: drawn.choice(SMALL[self.values[name].removesuffix(" NOT NULL")]))(
            random
        )


def assert_compacted_as_by_java(
    oracle: Oracle, original: Table, folder: Path, *, full: bool, **how: Any
) -> None:
    """Java compacts a copy, we compact another one: rows, kinds, numbers and files are the same."""
    ours, java = compacted_by_both(oracle, original, folder, full=full, **how)
    assert ours.removed or ours.upgraded or not full
    assert oracle.read(ours.table) == oracle.read(java.table)
