"""Compacts copies of one table with both: Java Paimon in a JVM that has done the same work before, and ours.

Ours is the task as an executor runs it. Nothing is told before Java reads the same rows from both results.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from bench.coding import coding_seconds
from bench.page import JAVA, ON_ONE_CORE, markdown
from bench.table import LAYOUTS, RUNS, make
from infrastructure.oracle.client import Oracle, Table
from support.runs import run_inline

SCANS = 5


@dataclass
class Side:
    """What one side took and made."""

    name: str
    seconds: list[float] = field(default_factory=list)
    core_seconds: list[float] = field(default_factory=list)
    bytes: int = 0
    rows: int = 0
    scan_seconds: float = 0.0

    @property
    def best(self) -> float:
        return min(self.seconds)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def spread(self) -> str:
        return f"{self.best:.2f} to {max(self.seconds):.2f} s, median {self.median:.2f} s"


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
    java, ours = Side(JAVA), Side("Lithify")
    peak = 0
    for number in range(warmups + repeats):
        theirs = copy_of(original, folder / "java")
        result = oracle.bench_compact(theirs, full=True)
        mine = copy_of(original, folder / "ours")
        report = run_inline(mine)
        peak = report.peak_task_bytes
        took = (result.rewrite_nanos / 1e9, report.seconds["rewrite"])
        print(f"round {number + 1}: {took[0]:.2f} s, {took[1]:.2f} s", file=sys.stderr)
        if number >= warmups:
            java.seconds.append(took[0])
            ours.seconds.append(took[1])
            java.core_seconds.append(result.rewrite_cpu_nanos / 1e9)
            ours.core_seconds.append(report.core_seconds)
    assert oracle.digest(mine) == oracle.digest(theirs), "the rows differ"
    # Readers of first-row see no level 0, so they see other rows before the compaction.
    if oracle.schema(original)["options"].get("merge-engine") != "first-row":
        assert oracle.digest(mine) == oracle.digest(original), "the rows have changed"
    java.bytes, java.rows = result.output.bytes, result.output.rows
    ours.bytes, ours.rows = report.after.bytes, report.after.rows
    scan(oracle, (java, theirs), (ours, mine))
    coding = coding_seconds(oracle.files(original), oracle.files(mine), repeats)
    return _figures(java, ours, result.input.rows, report.before.bytes, peak, coding)


def copy_of(table: Table, warehouse: Path) -> Table:
    shutil.rmtree(warehouse, ignore_errors=True)
    shutil.copytree(str(table.warehouse), warehouse)
    return Table(warehouse, table.name)


def scan(oracle: Oracle, *sides: tuple[Side, Table]) -> None:
    """Java reads what either side wrote, in turns; the best of several after as many to warm up."""
    taken: dict[str, list[int]] = {side.name: [] for side, _ in sides}
    for _ in range(2 * SCANS):
        for side, table in sides:
            taken[side.name] += oracle.scan(table).nanos
    for side, _ in sides:
        side.scan_seconds = min(taken[side.name][SCANS:]) / 1e9


def _figures(java: Side, ours: Side, rows: int, size: int, peak: int, coding: float) -> str:
    lines = [
        ("", java.name, ours.name, "ratio"),
        (
            f"rewriting, best of {len(ours.seconds)}",
            f"{java.best:.2f} s",
            f"{ours.best:.2f} s",
            f"**{java.best / ours.best:.1f} times faster**",
        ),
        (
            "rewriting, all rounds",
            java.spread,
            ours.spread,
            f"{java.median / ours.median:.1f} by the medians",
        ),
        (
            "processor time of its thread, best",
            *(f"{min(side.core_seconds):.2f} s" for side in (java, ours)),
            f"{min(java.core_seconds) / min(ours.core_seconds):.1f}",
        ),
        (
            "PyArrow alone reads the same files and writes the same rows in",
            "",
            f"{coding:.2f} s",
            f"{min(java.core_seconds) / coding:.1f} at most",
        ),
        ("rows a second", f"{rows / java.best:,.0f}", f"{rows / ours.best:,.0f}", ""),
        (
            "bytes read a second",
            *(f"{size / best / (1 << 20):,.0f} MiB" for best in (java.best, ours.best)),
            "",
        ),
        ("output", f"{java.bytes:,} bytes", f"{ours.bytes:,} bytes", f"{ours.bytes / java.bytes:.3f}"),
        (
            "Java scans the output in",
            f"{java.scan_seconds:.2f} s",
            f"{ours.scan_seconds:.2f} s",
            f"{ours.scan_seconds / java.scan_seconds:.2f}",
        ),
        ("peak memory of the process", "", f"{peak / (1 << 20):,.0f} MiB", ""),
    ]
    return f"{rows:,} rows in {RUNS} runs become {ours.rows:,} rows.\n\n{markdown(lines)}"
