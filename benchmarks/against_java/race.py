"""Java Paimon and ours compact copies of one table in turns; what that took, and the lines of its figures.

Used by the benchmarks that compare a compaction. Nothing is told before Java reads the same rows from both
results.
"""

from __future__ import annotations

import shutil
import statistics
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from against_java.page import JAVA
from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import CompactBench
from lithify.engine.run.report import Report
from support.runs import run_inline

SCANS = 5

Line = tuple[str, ...]
"""A line of a table of figures: a title, Java's figure, ours, and what to make of them."""


@dataclass
class Side:
    """What one side took and made.

    Attributes:
        name: of the side.
        table: the last copy that it compacted.
        seconds: by the clock, of each round that counts.
        core_seconds: the processor time of what rewrites, because others use the same machine.
        bytes: of the new files.
        rows: of the new files.
        scan_seconds: that Java takes to read the result.
    """

    name: str
    table: Table
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


@dataclass(frozen=True, slots=True)
class Race:
    """Both sides, and what they report of the last round."""

    java: Side
    ours: Side
    result: CompactBench
    report: Report


def race(
    oracle: Oracle, original: Table, folder: Path, *, full: bool, repeats: int, warmups: int = 1, **how: Any
) -> Race:
    """Compacts copies of a table.

    Args:
        oracle: Java Paimon.
        original: the table, which stays as it is.
        folder: where the copies go.
        full: whether everything is compacted.
        repeats: rounds that count.
        warmups: rounds before these.
        how: what else our run is asked.
    """
    java, ours = (Side(name, original) for name in (JAVA, "Lithify"))
    for number in range(warmups + repeats):
        java.table = _copy_of(original, folder / "java")
        result = oracle.bench_compact(java.table, full=full)
        ours.table = _copy_of(original, folder / "ours")
        report = run_inline(ours.table, full=full, **how)
        assert report.status == "Compacted"
        _note(java, result.rewrite_nanos / 1e9, result.rewrite_cpu_nanos / 1e9)
        _note(ours, report.seconds["rewrite"], report.task_seconds)
        times = ", ".join(f"{each.name}: {each.seconds[-1]:.2f} s" for each in (java, ours))
        cores = " and ".join(f"{each.core_seconds[-1]:.2f} s" for each in (java, ours))
        print(f"round {number + 1}: {times}; {cores} of processor time", file=sys.stderr)
    for side in (java, ours):
        del side.seconds[:warmups], side.core_seconds[:warmups]
    _check_rows(oracle, original, java, ours)
    java.bytes, java.rows = result.output.bytes, result.output.rows
    ours.bytes, ours.rows = report.after.bytes, report.after.rows
    return Race(java, ours, result, report)


def scan(oracle: Oracle, *sides: Side) -> None:
    """Java reads what either side wrote, in turns; the best of several after as many to warm up."""
    taken: dict[str, list[int]] = {side.name: [] for side in sides}
    for _ in range(2 * SCANS):
        for side in sides:
            taken[side.name] += oracle.scan(side.table).nanos
    for side in sides:
        side.scan_seconds = min(taken[side.name][SCANS:]) / 1e9


def head(java: Side, ours: Side) -> Line:
    return ("", java.name, ours.name, "ratio")


def best_line(title: str, java: float, ours: float) -> Line:
    """The best times in seconds, and how much faster ours is."""
    return (title, f"{java:.2f} s", f"{ours:.2f} s", f"**{java / ours:.1f} times faster**")


def rounds_line(title: str, java: Side, ours: Side) -> Line:
    """All times by the clock."""
    return (title, java.spread, ours.spread, f"{java.median / ours.median:.1f} by the medians")


def copied_line(report: Report) -> Line:
    """The share of the input that was copied."""
    share = report.copied_bytes / report.before.bytes
    return ("bytes copied without decoding", "", f"{share:.0%} of {report.before.bytes:,}", "")


def output_lines(java: Side, ours: Side) -> list[Line]:
    """The sizes of the results, and what it takes to read them."""
    scans = java.scan_seconds, ours.scan_seconds
    return [
        ("output", f"{java.bytes:,} bytes", f"{ours.bytes:,} bytes", f"{ours.bytes / java.bytes:.3f}"),
        ("Java scans the output in", *(f"{each:.2f} s" for each in scans), f"{scans[1] / scans[0]:.2f}"),
    ]


def _note(side: Side, seconds: float, core_seconds: float) -> None:
    side.seconds.append(seconds)
    side.core_seconds.append(core_seconds)


def _check_rows(oracle: Oracle, original: Table, java: Side, ours: Side) -> None:
    digest = oracle.digest(ours.table)
    assert digest == oracle.digest(java.table), "the rows differ"
    options = oracle.schema(original)["options"]
    # Their readers see no level 0, so they see other rows before the compaction.
    is_skipped = options.get("merge-engine") == "first-row" or "deletion-vectors.enabled" in options
    if not is_skipped:
        assert digest == oracle.digest(original), "the rows have changed"


def _copy_of(table: Table, warehouse: Path) -> Table:
    shutil.rmtree(warehouse, ignore_errors=True)
    shutil.copytree(str(table.warehouse), warehouse)
    return Table(warehouse, table.name)
