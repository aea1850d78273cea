"""Compacts append tables with both sides: large row groups, which we copy, and small ones, which we decode.

Java's side is its AppendCompactTask. What counts is the processor time of the thread that rewrites, because
others use the same machine.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.compaction import Side, copy_of, scan
from bench.page import JAVA, ON_ONE_CORE, markdown
from bench.table import LAYOUTS
from infrastructure.oracle.client import Oracle, Table
from support.runs import run_inline

_WARMUPS = 1


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
    java, ours = Side(JAVA), Side("Lithify")
    for number in range(_WARMUPS + repeats):
        theirs, mine = copy_of(table, folder / "java"), copy_of(table, folder / "ours")
        result = oracle.bench_compact(theirs, full=False)
        report = run_inline(mine, full=False)
        took = (result.rewrite_cpu_nanos / 1e9, report.core_seconds)
        print(f"round {number}: {took[0]:.2f} s, {took[1]:.2f} s of processor time", file=sys.stderr)
        if number >= _WARMUPS:
            java.seconds.append(result.rewrite_nanos / 1e9)
            ours.seconds.append(report.seconds["rewrite"])
            java.core_seconds.append(took[0])
            ours.core_seconds.append(took[1])
    assert oracle.digest(mine) == oracle.digest(theirs) == oracle.digest(table), "the rows differ"
    assert result.input.files == report.before.files == case.files, "other files were rewritten"
    java.bytes, ours.bytes = result.output.bytes, report.after.bytes
    scan(oracle, (java, theirs), (ours, mine))
    head = f"{case.title}: {rows:,} rows in {case.files} files become {report.after.files}."
    share = report.copied_bytes / report.before.bytes
    return f"{head}\n\n{markdown(_lines(java, ours, share, report.before.bytes))}"


def _lines(java: Side, ours: Side, share: float, size: int) -> list[tuple[str, ...]]:
    least = [min(side.core_seconds) for side in (java, ours)]
    return [
        ("", java.name, ours.name, "ratio"),
        (
            f"processor time, best of {len(ours.seconds)}",
            *(f"{seconds:.2f} s" for seconds in least),
            f"**{least[0] / least[1]:.1f} times faster**",
        ),
        (
            "by the clock, all rounds",
            java.spread,
            ours.spread,
            f"{java.median / ours.median:.1f} by the medians",
        ),
        ("bytes copied without decoding", "", f"{share:.0%} of {size:,}", ""),
        ("output", f"{java.bytes:,} bytes", f"{ours.bytes:,} bytes", f"{ours.bytes / java.bytes:.3f}"),
        (
            "Java scans the output in",
            f"{java.scan_seconds:.2f} s",
            f"{ours.scan_seconds:.2f} s",
            f"{ours.scan_seconds / java.scan_seconds:.2f}",
        ),
    ]
