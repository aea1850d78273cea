"""Tables of many files are planned by Java's planner of Iceberg and by us: figures for docs/benchmarks.md.

Called by `make bench ARGS=--iceberg-planning`. Java plans in a JVM that has planned the same table before.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from against_java.page import markdown
from iceberg_metadata.invented import Shape, invent
from iceberg_metadata.java import planned_by_java
from iceberg_metadata.steps import ENTRIES_OF_A_COMMIT, PLANNING, WRITING, Times, plan, write_again

SHAPES = (Shape(120_000, 24_000), Shape(1_000_000, 200_000))


def compare(shapes: Sequence[Shape], repeats: int) -> str:
    """The figures in Markdown: processor seconds, the least of each side."""
    head = (
        "",
        "Java's planner",
        "Lithify",
        "ratio",
        f"{ENTRIES_OF_A_COMMIT:,} entries written",
        "peak memory",
    )
    lines = [head, *(_line(shape, repeats) for shape in shapes)]
    told = f"Best of {repeats}, {datetime.now(UTC).date()}, {os.cpu_count()} cores."
    return f"{told}\n\n{markdown(lines)}"


def _line(shape: Shape, repeats: int) -> tuple[str, ...]:
    print(f"planning {shape.files:,} files", file=sys.stderr)
    table, rounds = invent(shape), []
    for _ in range(repeats):
        times = Times()
        plan(table, times, clustered=True, objects=False)
        write_again(table, times)
        rounds.append(times.seconds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    ours, written = (min(each[step] for each in rounds) for step in (PLANNING, WRITING))
    java = min(planned_by_java(shape))
    return (
        f"{shape.files:,} data files, {shape.deletes:,} delete files",
        f"{java:.2f} s",
        f"{ours:.2f} s",
        f"**{java / ours:.1f}**",
        f"{written:.2f} s",
        f"{peak:,} MiB",
    )
