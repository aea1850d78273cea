"""Plans a table of many files, and writes its manifests again; prints the processor time of each step.

The table is invented: real metadata of files that do not exist. Manifests are in memory, so the figures are
those of the processor, without a file system. `--profile` prints where the time goes.
"""

from __future__ import annotations

import cProfile
import pstats
import resource
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from iceberg_metadata.invented import FOLDER, PARTITION, InventedTable, Shape, invent
from lithify.formats.iceberg.manifests.carrying import carried_entries
from lithify.formats.iceberg.manifests.delete_index import delete_index
from lithify.formats.iceberg.manifests.file_objects import FileObjects
from lithify.formats.iceberg.manifests.manifest_writer import ManifestOwner, encode_manifest
from lithify.formats.iceberg.manifests.view import ManifestReader, Statistics
from lithify.formats.iceberg.planning.clustering import ClusterColumn
from lithify.formats.iceberg.planning.figures import figures_of
from lithify.formats.iceberg.planning.options import PlanningOptions
from lithify.formats.iceberg.planning.plan import plan_rewrites
from lithify.formats.iceberg.planning.statistics import group_statistics
from lithify.formats.iceberg.planning.units import units

_ENTRIES_OF_A_COMMIT = 120_000


class Times:
    """Processor seconds by step."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def of(self, step: str) -> Iterator[None]:
        """Adds what a block of code takes to a step."""
        begin = time.process_time()
        yield
        self.seconds[step] = self.seconds.get(step, 0.0) + time.process_time() - begin

    def text(self) -> str:
        """A line for each step."""
        return "\n".join(f"{step:<48}{seconds:8.2f} s" for step, seconds in self.seconds.items())


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


def plan(table: InventedTable, times: Times, *, clustered: bool, objects: bool) -> None:
    """Everything from a manifest list to the bins of a plan."""
    columns = [ClusterColumn(1, "long")] if clustered else []
    options = PlanningOptions()
    with times.of("planning"):
        with times.of("  manifest list"):
            reader = ManifestReader(table)
            manifests = reader.manifests(f"{FOLDER}/metadata/list.avro")
        with times.of("  entries of manifests"):
            view = reader.view(manifests, Statistics(bounds=frozenset(each.id for each in columns)))
        with times.of("  index of deletes"):
            index = delete_index(view.data, view.deletes, set())
        with times.of("  selection, bins, statistics"):
            found = plan_rewrites(view.data, figures_of(view, index, 0), options, columns)
            due = group_statistics(found)["due_files"]
    with times.of("the same snapshot again, all manifests known"):
        reader.view(manifests, Statistics(bounds=frozenset(each.id for each in columns)), view)
    if objects:
        with times.of(f"objects of {sum(due.to_pylist())} files"):
            made = sum(len(each.bins) for each in units(found, FileObjects(view, index)))
            if not made:
                raise SystemExit("nothing was due")


def write_again(table: InventedTable, times: Times) -> None:
    """Writes manifests with about as many entries as a commit touches at most."""
    entries = 0
    step = f"{_ENTRIES_OF_A_COMMIT} entries written again"
    for manifest in table.listed:
        if entries >= _ENTRIES_OF_A_COMMIT:
            break
        entries += manifest.added_files or 0
        owner = ManifestOwner(2, 1, manifest.content, 0, PARTITION, "[]", "{}")
        with times.of(step):
            content = table.contents[manifest.path]
            kept = carried_entries(manifest, content, 2, 1, np.arange(10))
            encode_manifest([kept], owner, "new.avro")


if __name__ == "__main__":
    main()
