"""Compacts copies of one table with both: Java Paimon in a JVM that has done the same work before, and ours.

Ours is the task as an executor runs it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from against_java.coding import coding_seconds
from against_java.page import ON_ONE_CORE, markdown
from against_java.race import best_line, head, output_lines, race, rounds_line, scan
from against_java.table import LAYOUTS, RUNS, make
from infrastructure.oracle.client import Oracle, Table


def compare(table: str, rows: int | None, warmups: int, repeats: int) -> str:
    """The figures of one table, in Markdown."""
    with (
        tempfile.TemporaryDirectory(prefix="lithify-bench-") as folder,
        Oracle.start(heap="6g", jvm_args=ON_ONE_CORE) as oracle,
    ):
        layout = LAYOUTS[table]
        rows = rows or layout.rows
        print(f"writing {rows:,} rows in {RUNS} runs", file=sys.stderr)
        original = make(oracle, Path(folder) / "original", layout, rows)
        return _measure(oracle, original, Path(folder), warmups, repeats)


def _measure(oracle: Oracle, original: Table, folder: Path, warmups: int, repeats: int) -> str:
    done = race(oracle, original, folder, full=True, repeats=repeats, warmups=warmups)
    java, ours, size, rows = done.java, done.ours, done.report.before.bytes, done.result.input.rows
    scan(oracle, java, ours)
    inputs, outputs = ([file.path for file in oracle.files(table)] for table in (original, ours.table))
    coding = coding_seconds(inputs, outputs, repeats, level=1)
    least = min(java.core_seconds), min(ours.core_seconds)
    lines = [
        head(java, ours),
        best_line(f"rewriting, best of {repeats}", java.best, ours.best),
        rounds_line("rewriting, all rounds", java, ours),
        (
            "processor time of its thread, best",
            *(f"{seconds:.2f} s" for seconds in least),
            f"{least[0] / least[1]:.1f}",
        ),
        (
            "PyArrow alone reads the same files and writes the same rows in",
            "",
            f"{coding:.2f} s",
            f"limit {least[0] / coding:.1f}",
        ),
        ("rows a second", f"{rows / java.best:,.0f}", f"{rows / ours.best:,.0f}", ""),
        (
            "bytes read a second",
            *(f"{size / best / (1 << 20):,.0f} MiB" for best in (java.best, ours.best)),
            "",
        ),
        *output_lines(java, ours),
        ("peak memory of the process", "", f"{done.report.peak_task_bytes / (1 << 20):,.0f} MiB", ""),
    ]
    return f"{rows:,} rows in {RUNS} runs become {ours.rows:,} rows.\n\n{markdown(lines)}"
