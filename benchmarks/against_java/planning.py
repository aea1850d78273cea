"""Plans tables of many files with Java Paimon and with Lithify, and looks at one as the operator does.

The tables are invented: real metadata of files that do not exist (`support.invented`). Java's side is the
scan of all live files that its plans begin with, ours is `lithify plan`: the scan, and what is picked in each
bucket. Each round starts a process of its own for either, so that loading and compiling are in both times;
how fast Java's is in a warm JVM is told beside.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from against_java.page import JAVA, ON_ONE_CORE, markdown
from infrastructure.oracle.client import Oracle, Table
from support.invented.shape import REAL_DAY, Shape
from support.invented.table import make_invented, orders
from support.looks import Observer, Taken
from support.process import Usage, measured, peak_bytes
from support.runs import LITHIFY

_WARM_SCANS = 4


@dataclass(frozen=True, slots=True)
class _Case:
    """A table, and what both sides took in each round."""

    shape: Shape
    java: Sequence[Usage]
    warm_cpu_seconds: float
    ours: Sequence[Usage]


def beside(shape: Shape) -> list[Shape]:
    """The shape, a tenth of it, and the shape with all buckets due."""
    tenth = replace(shape, files=shape.files // 10, buckets=shape.buckets // 10)
    return [shape, tenth, replace(shape, due=1.0)]


def compare(shapes: Sequence[Shape], repeats: int) -> str:
    """The figures of plans of all shapes and of looks at the first, in Markdown."""
    figures, looks = [], ""
    for shape in shapes:
        with tempfile.TemporaryDirectory(prefix="lithify-bench-") as folder:
            table = _make(shape, Path(folder) / "warehouse")
            figures.append(_figures(_measure(table, shape, repeats)))
            looks = looks or _looks(table, Path(folder) / "kept")
    return "\n\n".join([*figures, looks])


def _make(shape: Shape, warehouse: Path) -> Table:
    print(f"inventing {_title(shape)}", file=sys.stderr)
    with Oracle.start() as oracle:
        return make_invented(oracle, warehouse, shape)


def _measure(table: Table, shape: Shape, repeats: int) -> _Case:
    java, warm, ours = [], [], []
    command = [LITHIFY, "plan", "--warehouse", str(table.warehouse), "--table", str(table.name), "--json"]
    for number in range(repeats):
        cold, *later = _java(table, shape.files)
        java.append(cold)
        warm += [usage.cpu_seconds for usage in later]
        ours.append(measured(command))
        print(f"round {number + 1}: {cold}, {ours[-1]}", file=sys.stderr)
    return _Case(shape, java, min(warm), ours)


def _java(table: Table, files: int) -> list[Usage]:
    """A JVM that starts and scans, and what more scans take in it then."""
    begin = time.monotonic()
    with Oracle.start(heap="6g", jvm_args=ON_ONE_CORE) as oracle:
        first = oracle.bench_plan(table)
        cpu_seconds = (first.cpu_nanos_before + first.cpu_nanos[0]) / 1e9
        cold = Usage(time.monotonic() - begin, cpu_seconds, peak_bytes(oracle.pid))
        assert first.entries == files, f"Java found {first.entries} files"
        warm = oracle.bench_plan(table, _WARM_SCANS)
        peak = peak_bytes(oracle.pid)
        return [
            cold,
            *(
                Usage(nanos / 1e9, cpu / 1e9, peak)
                for nanos, cpu in zip(warm.nanos, warm.cpu_nanos, strict=True)
            ),
        ]


def _looks(table: Table, folder: Path) -> str:
    """What looks of the operator at the table take, before and after one more commit."""
    with Oracle.start() as oracle, Observer(table, folder) as observer:
        full = observer.look()
        oracle.write(table, orders(REAL_DAY, range(1000)))
        added = len(oracle.files_of_delta(table, 2))
        more = observer.look()
        assert more.files == full.files + added, f"{more.files} files after {added} came to {full.files}"
        none = observer.look()
    return markdown(
        [
            (f"the operator looks at the table of {full.files:,} files", "processor time", "by the clock"),
            ("for the first time", *_seconds(full)),
            (f"after one more commit, of {added:,} files", *_seconds(more)),
            ("when nothing has changed", *_seconds(none)),
            ("peak memory of the process", _gibibytes(none.peak_bytes), ""),
        ]
    )


def _seconds(taken: Taken) -> tuple[str, str]:
    return f"{taken.cpu_seconds:.3f} s", f"{taken.seconds:.3f} s"


def _figures(case: _Case) -> str:
    java, ours = _best(case.java), _best(case.ours)
    return markdown(
        [
            (_title(case.shape), JAVA, "Lithify", "ratio"),
            (
                f"processor time of a process, best of {len(case.ours)}",
                f"{java.cpu_seconds:.2f} s",
                f"{ours.cpu_seconds:.2f} s",
                f"**{ours.cpu_seconds / java.cpu_seconds:.2f}**",
            ),
            (
                "processor time, all rounds",
                _spread(case.java),
                _spread(case.ours),
                f"{_median(case.ours) / _median(case.java):.2f} by the medians",
            ),
            (
                "the same when the JVM is warm",
                f"{case.warm_cpu_seconds:.2f} s",
                "",
                f"{ours.cpu_seconds / case.warm_cpu_seconds:.2f}",
            ),
            (
                "by the clock, with the start",
                f"{java.seconds:.2f} s",
                f"{ours.seconds:.2f} s",
                f"{ours.seconds / java.seconds:.2f}",
            ),
            (
                "peak memory of the process",
                _gibibytes(java.peak_bytes),
                _gibibytes(ours.peak_bytes),
                f"{ours.peak_bytes / java.peak_bytes:.2f}",
            ),
        ]
    )


def _title(shape: Shape) -> str:
    return f"{shape.files:,} files in {shape.buckets:,} buckets, {shape.due:.0%} of them due"


def _best(rounds: Sequence[Usage]) -> Usage:
    """The least of each figure."""
    return Usage(
        min(usage.seconds for usage in rounds),
        min(usage.cpu_seconds for usage in rounds),
        min(usage.peak_bytes for usage in rounds),
    )


def _median(rounds: Sequence[Usage]) -> float:
    return statistics.median(usage.cpu_seconds for usage in rounds)


def _spread(rounds: Sequence[Usage]) -> str:
    seconds = [usage.cpu_seconds for usage in rounds]
    return f"{min(seconds):.2f} to {max(seconds):.2f} s, median {_median(rounds):.2f} s"


def _gibibytes(size: int) -> str:
    return f"{size / (1 << 30):.2f} GiB"
