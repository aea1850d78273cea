"""Compacts tables whose compactions write a changelog, look up keys or delete rows by vectors, with both.

Each table has one run at the top level, which we have compacted before, and two files of new rows at level 0.
What counts is processor time, of Java's thread that compacts and of our tasks, in the same run.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from against_java.page import JAVA, ON_ONE_CORE, markdown
from against_java.race import race
from against_java.table import LAYOUTS
from infrastructure.oracle.client import Oracle, Table
from support.runs import run_inline

ROWS = 1_000_000
_TABLE = {"bucket": "1", "write-only": "true", "write-buffer-size": "2 gb", "target-file-size": "1 gb"}
_SPARSE = 1 << 40
"""A range of keys so large that hardly any is drawn twice."""


@dataclass(frozen=True, slots=True)
class NewRows:
    """The rows of level 0 and the keys of the table, as shares of its rows.

    Attributes:
        text: what they are, for the page.
        share: rows of the table for each of them.
        within: their keys are in the middle of the table, in so small a part of it.
        are_known: whether the table has their keys.
    """

    text: str
    share: int = 10
    within: int = 1
    are_known: bool = True

    def write(self, oracle: Oracle, table: Table, rows: int) -> None:
        """Writes the table's first rows, compacts them, and writes the new ones."""
        values = LAYOUTS["orders"].values
        old = {"mode": "sequential"} if self.are_known else {"mode": "uniform", "range": _SPARSE}
        oracle.generate(table, rows=rows, seed=1, columns=values, key=old)
        run_inline(table)
        start = rows // 2 if self.within > 1 else 0
        known = {"mode": "uniform", "start": start, "range": rows // self.within}
        key: dict[str, Any] = known if self.are_known else old
        deletes = 0.05 if self.are_known else 0
        count = rows // self.share
        oracle.generate(table, rows=count, commits=2, seed=2, columns=values, key=key, delete_ratio=deletes)


_MANY = NewRows("a tenth as many rows, keys all over the table")
_FEW = NewRows("a 5000th as many rows, keys in a fiftieth of the table", share=5_000, within=50)
_NEW = NewRows("a tenth as many rows, keys that are not there, between those that are", are_known=False)

_NONE: Mapping[str, str] = {"changelog-producer": "none"}
_INPUT: Mapping[str, str] = {"changelog-producer": "input"}
_FULL: Mapping[str, str] = {"changelog-producer": "full-compaction"}
_LOOKUP: Mapping[str, str] = {"changelog-producer": "lookup"}
_VECTORS: Mapping[str, str] = {"deletion-vectors.enabled": "true"}

CASES: tuple[tuple[str, Mapping[str, str], bool, NewRows], ...] = (
    ("`none`", _NONE, True, _MANY),
    ("`input`", _INPUT, True, _MANY),
    ("`full-compaction`", _FULL, True, _MANY),
    ("`lookup`", _LOOKUP, True, _MANY),
    ("`lookup`", _LOOKUP, False, _MANY),
    ("`lookup`", _LOOKUP, False, _FEW),
    ("`lookup`", _LOOKUP, False, _NEW),
    ("deletion vectors", _VECTORS, True, _MANY),
    ("deletion vectors", _VECTORS, False, _MANY),
    ("deletion vectors", _VECTORS, False, _FEW),
    ("deletion vectors", _VECTORS, False, _NEW),
    ("deletion vectors, `lookup`", {**_VECTORS, **_LOOKUP}, False, _MANY),
    ("deletion vectors, `lookup`", {**_VECTORS, **_LOOKUP}, False, _FEW),
)


def compare(rows: int | None, repeats: int) -> str:
    """The figures, in Markdown."""
    rows = rows or ROWS
    lines = [("", "compaction", "level 0", JAVA, "Lithify", "ratio")]
    with (
        tempfile.TemporaryDirectory(prefix="lithify-bench-") as folder,
        Oracle.start(heap="6g", jvm_args=ON_ONE_CORE) as oracle,
    ):
        for number, (name, options, full, new) in enumerate(CASES):
            place = Path(folder) / f"{number}"
            table = Table(place / "original", "shop.bench")
            columns = LAYOUTS["orders"].columns
            oracle.create_table(table, columns, ["order_id"], options={**_TABLE, **options})
            new.write(oracle, table, rows)
            java, ours = _measured(oracle, table, place, repeats, full=full)
            kind = "full" if full else "minor"
            figures = f"{java:.2f} s", f"{ours:.2f} s", f"**{java / ours:.1f}**"
            print(name, kind, new.text, *figures, file=sys.stderr)
            lines.append((name, kind, new.text, *figures))
    return f"{rows:,} rows at the top level; processor time, best of {repeats}.\n\n{markdown(lines)}"


def _measured(oracle: Oracle, table: Table, folder: Path, repeats: int, *, full: bool) -> tuple[float, float]:
    """Seconds of processor time of either side, the best of several after one to warm up."""
    done = race(oracle, table, folder, full=full, repeats=repeats)
    sides = done.java, done.ours
    changes = [oracle.snapshots(each.table)[-1].get("changelogRecordCount") for each in sides]
    assert changes[0] == changes[1], "the changelogs differ"
    return min(done.java.core_seconds), min(done.ours.core_seconds)
