"""Runs the benchmark and prints its figures; `--write` puts them into docs/benchmarks.md.

Both sides are pinned to the same core, one at a time: Java Paimon's own reader, merge and writer in a JVM
that has done the same work before, and Lithify's task as an executor runs it. Both rewrite copies of one
table.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
from argparse import ArgumentParser
from dataclasses import dataclass, field
from pathlib import Path

# One core for us too: these are read when the libraries are loaded.
os.environ["POLARS_MAX_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"

import pyarrow as pa

from bench.table import LAYOUTS, RUNS, make
from oracle.client import Oracle, Table
from support.runs import run_inline

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"
BEGIN, END = "<!-- figures of {} -->", "<!-- end of figures of {} -->"
JVM = ["-XX:ActiveProcessorCount=1", "-XX:+UseSerialGC"]
SCANS = 5


@dataclass
class Side:
    """What one side took and made."""

    name: str
    seconds: list[float] = field(default_factory=list)
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


def main() -> None:
    parser = ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--table", choices=LAYOUTS, default="orders")
    parser.add_argument("--rows", type=int, help="other than the table usually has")
    parser.add_argument("--warmups", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    given = parser.parse_args()
    _pin_to_one_core()
    with (
        tempfile.TemporaryDirectory(prefix="lithify-bench-") as folder,
        Oracle.start(heap="6g", jvm_args=JVM) as oracle,
    ):
        layout = LAYOUTS[given.table]
        rows = given.rows or layout.rows
        print(f"writing {rows:,} rows in {RUNS} runs", file=sys.stderr)
        original = make(oracle, Path(folder) / "original", layout, rows)
        figures = _measure(oracle, original, Path(folder), given.warmups, given.repeats)
    print(figures)
    if given.write:
        _write(given.table, figures)


def _pin_to_one_core() -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)


def _measure(oracle: Oracle, original: Table, folder: Path, warmups: int, repeats: int) -> str:
    java, ours = Side("Java Paimon 1.4.2"), Side("Lithify")
    peak = 0
    for number in range(warmups + repeats):
        theirs = _copy(original, folder / "java")
        result = oracle.bench_compact(theirs, full=True)
        mine = _copy(original, folder / "ours")
        report = run_inline(mine)
        peak = report.peak_task_bytes
        took = (result.rewrite_nanos / 1e9, report.seconds["rewrite"])
        print(f"round {number + 1}: {took[0]:.2f} s, {took[1]:.2f} s", file=sys.stderr)
        if number >= warmups:
            java.seconds.append(took[0])
            ours.seconds.append(took[1])
    assert oracle.digest(mine) == oracle.digest(theirs) == oracle.digest(original), "the rows differ"
    java.bytes, java.rows = result.output.bytes, result.output.rows
    ours.bytes, ours.rows = report.after.bytes, report.after.rows
    _scan(oracle, (java, theirs), (ours, mine))
    return _figures(java, ours, result.input.rows, report.before.bytes, peak)


def _copy(table: Table, warehouse: Path) -> Table:
    shutil.rmtree(warehouse, ignore_errors=True)
    shutil.copytree(str(table.warehouse), warehouse)
    return Table(warehouse, table.name)


def _scan(oracle: Oracle, *sides: tuple[Side, Table]) -> None:
    """Java reads what either side wrote, in turns; the best of several after as many to warm up."""
    taken: dict[str, list[int]] = {side.name: [] for side, _ in sides}
    for _ in range(2 * SCANS):
        for side, table in sides:
            taken[side.name] += oracle.scan(table).nanos
    for side, _ in sides:
        side.scan_seconds = min(taken[side.name][SCANS:]) / 1e9


def _figures(java: Side, ours: Side, rows: int, size: int, peak: int) -> str:
    lines = [
        ("", java.name, ours.name, "ratio"),
        ("---",) * 4,
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
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    return f"{rows:,} rows in {RUNS} runs become {ours.rows:,} rows.\n\n{table}"


def _write(name: str, figures: str) -> None:
    begin, end = BEGIN.format(name), END.format(name)
    head, rest = PAGE.read_text().split(begin)
    PAGE.write_text(f"{head}{begin}\n{figures}\n{end}{rest.split(end)[1]}")


if __name__ == "__main__":
    main()
