"""The work of a plan as objects: the files of its bins, with their deletes.

Called by the adapter, for the bins that a run takes. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from lithify.formats.iceberg.manifests.file_objects import FileObjects
from lithify.formats.iceberg.model import DataFile, Partition
from lithify.formats.iceberg.planning.figures import OTHER_SPECS
from lithify.formats.iceberg.planning.plan import RewritePlan
from lithify.formats.iceberg.planning.statistics import group_statistics
from lithify.formats.iceberg.planning.triggers import verdicts
from lithify.formats.protocol.model import TriggerVerdict


@dataclass(frozen=True, slots=True)
class RewriteBin:
    """Files that are rewritten on their own.

    Attributes:
        files: the files, in the order in which their rows are joined.
        expected_files: number of files that they make.
        split_size: bytes of input for each file that is written.
    """

    files: tuple[DataFile, ...]
    expected_files: int
    split_size: int

    @property
    def size(self) -> int:
        """Bytes of the files."""
        return sum(file.size for file in self.files)


@dataclass(frozen=True, slots=True)
class RewriteUnit:
    """The work in one group.

    Attributes:
        partition: its partition; None for files of other specs than the current one.
        bins: its bins.
        verdicts: the verdict of each trigger.
    """

    partition: Partition | None
    bins: tuple[RewriteBin, ...]
    verdicts: tuple[TriggerVerdict, ...]


def units(plan: RewritePlan, objects: FileObjects) -> Iterator[RewriteUnit]:
    """The work of a plan, group by group in the order of their first bin.

    Args:
        plan: the plan.
        objects: makes the objects of the view that was planned on.
    """
    places: dict[int, list[int]] = {}
    for place in range(len(plan.chosen)):
        places.setdefault(plan.group_of(place), []).append(place)
    rows = [plan.files(place) for chosen in places.values() for place in chosen]
    files = iter(objects.data_files(np.concatenate(rows)) if rows else ())
    statistics = group_statistics(plan)
    is_sorted = plan.clustering is not None and plan.clustering.column.is_sorted
    for group, chosen in places.items():
        (row,) = statistics.slice(group, 1).to_pylist()
        yield RewriteUnit(
            partition=_partition(plan, group, objects),
            bins=tuple(_bin(plan, place, files) for place in chosen),
            verdicts=tuple(verdicts(row, plan.options, is_sorted=is_sorted)),
        )


def _partition(plan: RewritePlan, group: int, objects: FileObjects) -> Partition | None:
    number = int(plan.partitions[group])
    return None if number == OTHER_SPECS else objects.view.partitions.partition(number)


def _bin(plan: RewritePlan, place: int, files: Iterator[DataFile]) -> RewriteBin:
    """A chosen bin, with the next files."""
    rows = plan.files(place)
    size = int(plan.figures.sizes[rows].sum())
    taken = tuple(islice(files, len(rows)))
    return RewriteBin(taken, plan.options.expected_files(size), plan.options.split_size(size))
