"""The steps that are timed: planning an invented table, and writing its manifests again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from iceberg_metadata.invented import FOLDER, PARTITION, InventedTable
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

ENTRIES_OF_A_COMMIT = 120_000
PLANNING = "planning"
WRITING = f"{ENTRIES_OF_A_COMMIT} entries written again"


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


def plan(table: InventedTable, times: Times, *, clustered: bool, objects: bool) -> None:
    """Everything from a manifest list to the bins of a plan."""
    columns = [ClusterColumn(1, "long")] if clustered else []
    options = PlanningOptions()
    with times.of(PLANNING):
        with times.of("  manifest list"):
            reader = ManifestReader(table)
            manifests = reader.manifests(f"{FOLDER}/metadata/list.avro")
        with times.of("  entries of manifests"):
            view = reader.view(manifests, Statistics(bounds=frozenset(each.id for each in columns)))
        with times.of("  index of deletes"):
            index = delete_index(view.data, view.deletes, set())
        with times.of("  selection, bins, statistics"):
            found = plan_rewrites(view.data, figures_of(view, index, 0, {}), options, columns)
            due = group_statistics(found)["due_files"]
    with times.of("the same snapshot again, all manifests known"):
        reader.view(manifests, Statistics(bounds=frozenset(each.id for each in columns)), view)
    if objects:
        with times.of(f"objects of {sum(due.to_pylist())} files"):
            made = sum(1 for _ in units(found, FileObjects(view, index)))
            if not made:
                raise SystemExit("nothing was due")


def write_again(table: InventedTable, times: Times) -> None:
    """Writes manifests with about as many entries as a commit touches at most."""
    entries = 0
    for manifest in table.listed:
        if entries >= ENTRIES_OF_A_COMMIT:
            break
        entries += manifest.added_files or 0
        owner = ManifestOwner(2, 1, manifest.content, 0, PARTITION, "[]", "{}")
        with times.of(WRITING):
            content = table.contents[manifest.path]
            kept = carried_entries(manifest, content, 2, 1, np.arange(10))
            encode_manifest([kept], owner, "new.avro")
