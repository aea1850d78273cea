"""Finds what a run could not rewrite before and still has the same files; it is left out of figures. Pure.

Called by `summary`. What a run works on is a part of a partition; its fingerprint follows from its files and
their deletes, as `compaction.groups` makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

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
from lithify.formats.iceberg.planning.minor import minor_fingerprint
from lithify.formats.iceberg.planning.plan import RewritePlan
from lithify.formats.protocol.model import BlockedGroup, fingerprint_of


@dataclass(frozen=True, slots=True)
class HeldWork:
    """What is held of a table.

    Attributes:
        figures: the figures of its partitions, with due files and bytes only of what is not held.
        blocked: the groups that still have the files on which a run failed.
    """

    figures: pa.Table
    blocked: tuple[BlockedGroup, ...] = ()


def held_work(
    cache: IcebergCache,
    figures: pa.Table,
    judge: PartitionJudge,
    column: int | None,
    held: Mapping[str, str],
    path_of: Callable[[str], str],
) -> HeldWork:
    """Finds the groups that are held among what minor and full compactions would work on now.

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
    places = {path.rpartition("/")[0] for path in held}
    groups = [group for group in listed(figures["group"]) if path_of(group) in places] if places else []
    if not groups:
        return HeldWork(figures)
    there = flagged(figures, is_one_of(figures["group"], groups))
    files = cache.files_in(there)
    grouped = ColumnGroups(files, ["group"])
    names = taken(files.select(["group"]), grouped.firsts)
    paths, judged = [path_of(name) for name in listed(names["group"])], judged_files(files, grouped.numbers)
    minor = _held_bins(judge.plan(judged, column), judged, paths, held)
    full = _held_bins(judge.of_full.plan(judged, column), judged, paths, held)
    rows = places_in(names, figures, ["group"])
    found = {name: integers(figures[name]).copy() for name in ("due_files", "due_bytes")}
    for each in minor:
        found["due_files"][rows[each.partition]] -= each.files
        found["due_bytes"][rows[each.partition]] -= each.bytes
    confirmed = sorted({each.path for each in (*minor, *full)})
    blocked = tuple(BlockedGroup.confirmed(path, held[path]) for path in confirmed)
    return HeldWork(with_columns(figures, **found), blocked)


@dataclass(frozen=True, slots=True)
class _HeldBin:
    """A due bin or minor unit that is held: its group, the number of its partition, and its size."""

    path: str
    partition: int
    files: int
    bytes: int


def _held_bins(
    plan: RewritePlan, judged: JudgedFiles, paths: Sequence[str], held: Mapping[str, str]
) -> list[_HeldBin]:
    """The bins and minor units of a plan that are held; `paths` has the path of each partition."""
    found = []
    for place in range(len(plan.chosen)):
        rows = plan.files(place)
        number = int(judged.figures.partitions[rows[0]])
        fingerprint = fingerprint_of(_identities(judged, rows))
        path = f"{paths[number]}/{fingerprint}"
        if held.get(path) == fingerprint:
            found.append(_HeldBin(path, number, len(rows), int(judged.figures.sizes[rows].sum())))
    for group in np.unique(plan.groups[plan.minor.files]).tolist():
        rows, number = plan.minor.files_of(plan.groups, group), int(plan.partitions[group])
        fingerprint = minor_fingerprint(
            listed(taken(judged.data.select(["path"]), rows)["path"]),
            listed(taken(judged.deletes.select(["path"]), plan.minor.deletes_of(group))["path"]),
        )
        path = f"{paths[number]}/{fingerprint}"
        if held.get(path) != fingerprint:
            path = next((each.path for each in found if each.partition == number), "")
        if path:  # held itself, or a file of the partition is held that needs the equality deletes
            found.append(_HeldBin(path, number, len(rows), int(judged.figures.sizes[rows].sum())))
    return found


def _identities(judged: JudgedFiles, rows: Numbers) -> list[tuple[str, int]]:
    """The data files of some rows and their deletes, as `compaction.groups` tells them apart."""
    data = [(path, 0) for path in listed(taken(judged.data.select(["path"]), rows)["path"])]
    chosen = taken(judged.deletes.select(["path", "offset"]), judged.index.applied(rows).deletes)
    offsets = np.maximum(integers(chosen["offset"]), 0)
    return [*data, *zip(listed(chosen["path"]), (1 + offsets).tolist(), strict=True)]
