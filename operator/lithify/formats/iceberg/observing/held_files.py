"""Leaves out of figures what a run could not rewrite before, as long as it still has the same files. Pure.

Called by `summary`. What a run works on is a part of a partition; its fingerprint follows from its files and
their deletes, as `compaction.groups` makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from lithify.columns.column_groups import (
    ColumnGroups,
    Numbers,
    flagged,
    integers,
    is_one_of,
    listed,
    places_in,
    taken,
    with_columns,
)
from lithify.formats.iceberg.observing.cached_files import IcebergCache
from lithify.formats.iceberg.observing.judging import JudgedFiles, PartitionJudge, judged_files
from lithify.formats.protocol.model import fingerprint_of


def without_held(
    cache: IcebergCache,
    figures: pa.Table,
    judge: PartitionJudge,
    column: int | None,
    held: Mapping[str, str],
    path_of: Callable[[str], str],
) -> pa.Table:
    """The figures, with due files and bytes only of what is not held.

    Args:
        cache: the table's cache.
        figures: the figures of some partitions.
        judge: the judge of the table.
        column: the column by which the table is clustered.
        held: fingerprints by path of groups.
        path_of: the path of a partition, by its text.

    Raises:
        Damaged: the cache cannot be read.
    """
    prints: dict[str, set[str]] = {}
    for path, fingerprint in held.items():
        prints.setdefault(path.rpartition("/")[0], set()).add(fingerprint)
    groups = [group for group in listed(figures["group"]) if path_of(group) in prints] if prints else []
    if not groups:
        return figures
    there = flagged(figures, is_one_of(figures["group"], groups)).select(["group"])
    files = cache.files_in(there)
    grouped = ColumnGroups(files, ["group"])
    names = taken(files.select(["group"]), grouped.firsts)
    kept = {path_of(name): prints[path_of(name)] for name in listed(names["group"])}
    count, size = _held_work(files, grouped.numbers, names, judge, column, kept, path_of)
    places = places_in(names, figures, ["group"])
    found = {name: integers(figures[name]).copy() for name in ("due_files", "due_bytes")}
    found["due_files"][places] -= count
    found["due_bytes"][places] -= size
    return with_columns(figures, **found)


def _held_work(
    files: pa.Table,
    numbers: Numbers,
    names: pa.Table,
    judge: PartitionJudge,
    column: int | None,
    prints: Mapping[str, set[str]],
    path_of: Callable[[str], str],
) -> tuple[Numbers, Numbers]:
    """The due files and bytes of each group that are held."""
    judged = judged_files(files, numbers)
    plan, groups = judge.plan(judged, column), listed(names["group"])
    count, size = (np.zeros(len(groups), dtype=np.int64) for _ in range(2))
    for place in range(len(plan.chosen)):
        rows = plan.files(place)
        number = int(judged.figures.partitions[rows[0]])
        if fingerprint_of(_identities(judged, rows)) in prints[path_of(groups[number])]:
            count[number] += len(rows)
            size[number] += int(judged.figures.sizes[rows].sum())
    return count, size


def _identities(judged: JudgedFiles, rows: Numbers) -> list[tuple[str, int]]:
    """The data files of some rows and their deletes, as `compaction.groups` tells them apart."""
    data = [(path, 0) for path in listed(taken(judged.data.select(["path"]), rows)["path"])]
    chosen = taken(judged.deletes.select(["path", "offset"]), judged.index.applied(rows).deletes)
    offsets = np.maximum(integers(chosen["offset"]), 0)
    return [*data, *zip(listed(chosen["path"]), (1 + offsets).tolist(), strict=True)]
