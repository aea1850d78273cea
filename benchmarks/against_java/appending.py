"""Compacts append tables with both sides: large row groups, which we copy, and small ones, which we decode.

Java's side is its AppendCompactTask. What counts is the processor time of the thread that rewrites.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from against_java.page import ON_ONE_CORE, markdown
from against_java.race import best_line, copied_line, head, output_lines, race, rounds_line, scan
from against_java.table import LAYOUTS
from infrastructure.oracle.client import Oracle, Table


@dataclass(frozen=True, slots=True)
class Case:
    """A table of orders without a key: its title, rows, and the number of files that have them."""

    title: str
    rows: int
    files: int


CASES = (
    Case("Row groups of several MiB", 3_000_000, 10),
    Case("Row groups of 300 KiB, one in a file", 1_000_000, 100),
)


def compare(rows: int | None, repeats: int) -> str:
    """The figures, in Markdown.

    Args:
        rows: of each table, None for as many as the cases say.
        repeats: rounds that count.
    """
    with (
        tempfile.TemporaryDirectory(prefix="lithify-bench-") as folder,
        Oracle.start(heap="6g", jvm_args=ON_ONE_CORE) as oracle,
    ):
        parts = [
            _measured(oracle, case, rows or case.rows, Path(folder) / str(number), repeats)
            for number, case in enumerate(CASES)
        ]
    return "\n\n".join(parts)


def _make(oracle: Oracle, warehouse: Path, rows: int, files: int) -> Table:
    table, layout = Table(warehouse, "shop.bench"), LAYOUTS["orders"]
    oracle.create_table(table, layout.columns, options={"write-buffer-size": "2 gb"})
    values = {"order_id": {"kind": "sequential"}, **layout.values}
    print(f"writing {rows:,} rows in {files} files", file=sys.stderr)
    oracle.generate(table, rows=rows, commits=files, seed=1, columns=values)
    assert len(oracle.files(table)) == files
    return table


def _measured(oracle: Oracle, case: Case, rows: int, folder: Path, repeats: int) -> str:
    table = _make(oracle, folder / "original", rows, case.files)
    done = race(oracle, table, folder, full=False, repeats=repeats)
    java, ours, report = done.java, done.ours, done.report
    assert done.result.input.files == report.before.files == case.files, "other files were rewritten"
    scan(oracle, java, ours)
    lines = [
        head(java, ours),
        best_line(f"processor time, best of {repeats}", min(java.core_seconds), min(ours.core_seconds)),
        rounds_line("by the clock, all rounds", java, ours),
        copied_line(report),
        *output_lines(java, ours),
    ]
    title = f"{case.title}: {rows:,} rows in {case.files} files become {report.after.files}."
    return f"{title}\n\n{markdown(lines)}"
