"""The work of a plan as objects: the files of its bins, with their deletes.

Called by the adapter, for the bins that a run takes. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np
import pyarrow as pa

from lithify.formats.iceberg.manifests.file_objects import FileObjects
from lithify.formats.iceberg.model import DataFile, Partition
from lithify.formats.iceberg.planning.figures import OTHER_SPECS
from lithify.formats.iceberg.planning.plan import RewritePlan
from lithify.formats.iceberg.planning.statistics import group_statistics
from lithify.formats.iceberg.planning.triggers import verdicts
from lithify.formats.protocol.model import TriggerVerdict


@dataclass(frozen=True, slots=True)
class RewriteUnit:
    """The files of one bin, which are rewritten on their own.

    Attributes:
        partition: their partition; None for files of other specs than the current one.
        files: the files, in the order in which their rows are joined.
        split_size: bytes of input for each file that is written.
        verdicts: the verdict of each trigger on the group of the bin.
    """

    partition: Partition | None
    files: tuple[DataFile, ...]
    split_size: int
    verdicts: tuple[TriggerVerdict, ...]


def units(plan: RewritePlan, objects: FileObjects) -> Iterator[RewriteUnit]:
    """The work of a plan, bin by bin; those of a group together, in the order of their first bin.

    Args:
        plan: the plan.
        objects: makes the objects of the view that was planned on.
    """
    places: dict[int, list[int]] = {}
    for place in range(len(plan.chosen)):
        places.setdefault(plan.group_of(place), []).append(place)
    rows = [plan.files(place) for chosen in places.values() for place in chosen]
    files = iter(objects.data_files(np.concatenate(rows)) if rows else ())
    told = group_verdicts(plan, places)
    for group, chosen in places.items():
        partition = _partition(plan, group, objects)
        for place in chosen:
            bin_rows = plan.files(place)
            size = plan.options.split_size(int(plan.figures.sizes[bin_rows].sum()))
            yield RewriteUnit(partition, tuple(islice(files, len(bin_rows))), size, told[group])


def group_verdicts(plan: RewritePlan, groups: Collection[int]) -> Mapping[int, tuple[TriggerVerdict, ...]]:
    """The verdict of each trigger on some groups."""
    if not groups:
        return {}
    is_sorted = plan.clustering is not None and plan.clustering.column.is_sorted
    rows = group_statistics(plan).take(pa.array([*groups], pa.int64())).to_pylist()
    told = (tuple(verdicts(row, plan.options, is_sorted=is_sorted)) for row in rows)
    return dict(zip(groups, told, strict=True))


def _partition(plan: RewritePlan, group: int, objects: FileObjects) -> Partition | None:
    number = int(plan.partitions[group])
    return None if number == OTHER_SPECS else objects.view.partitions.partition(number)
