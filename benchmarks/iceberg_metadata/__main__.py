"""Plans a table of many files, and writes its manifests again; prints the processor time of each step.

The table is invented: real metadata of files that do not exist. Manifests are in memory, so the figures are
those of the processor, without a file system. `--profile` prints where the time goes.
"""

from __future__ import annotations

import cProfile
import pstats
import resource
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager

from iceberg_metadata.invented import Shape, invent
from iceberg_metadata.steps import Times, plan, write_again


def main() -> None:
    """Makes a table and prints the figures."""
    parser = ArgumentParser(prog="python -m iceberg_metadata", description=__doc__)
    parser.add_argument("--files", type=int, default=120_000)
    parser.add_argument("--deletes", type=int, default=24_000)
    parser.add_argument("--columns", type=int, default=9, help="columns with statistics")
    parser.add_argument("--partitions", type=int, default=100)
    parser.add_argument("--clustered", action="store_true", help="read the bounds of a column, too")
    parser.add_argument("--objects", action="store_true", help="make the objects of all files that are due")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which the last one is printed")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--java", action="store_true", help="let Java's planner plan the same table, too")
    given = parser.parse_args()
    shape = Shape(given.files, given.deletes, given.columns, given.partitions)
    table = invent(shape)
    print(f"{given.files} data files, {given.deletes} delete files, {len(table.listed)} manifests, ", end="")
    print(f"{table.bytes / (given.files + given.deletes):.0f} bytes an entry")
    times = Times()
    for _ in range(given.rounds):
        times = Times()
        with _profiling(given.profile):
            plan(table, times, clustered=given.clustered, objects=given.objects)
            write_again(table, times)
    print(times.text())
    if given.java:
        from iceberg_metadata.java import planned_by_java

        print(f"{'planning by Java, in its warmest round':<48}{min(planned_by_java(shape)):8.2f} s")
    print(f"{'most memory':<48}{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10:8} MiB")


@contextmanager
def _profiling(wanted: bool) -> Iterator[None]:
    if not wanted:
        yield
        return
    with cProfile.Profile() as profile:
        yield
    pstats.Stats(profile, stream=sys.stderr).sort_stats("tottime").print_stats(25)


if __name__ == "__main__":
    main()
