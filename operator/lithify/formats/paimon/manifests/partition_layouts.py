"""The real buckets of partitions that have postponed rows: how many there are, and their sequence numbers.

Called by `table` for every view. Rows of the postponed bucket get sequence numbers behind those of the files
that are in their real buckets already. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from lithify.columns.column_groups import ColumnGroups, flagged, integers, is_among, listed
from lithify.formats.paimon.model import PLACE, POSTPONED


@dataclass(frozen=True, slots=True)
class PartitionLayout:
    """The real buckets of one partition.

    Attributes:
        counts: the bucket counts that its files name: one, or none if it has no real bucket yet.
        highest: the highest sequence number in each bucket that has files.
    """

    counts: tuple[int, ...] = ()
    highest: Mapping[int, int] = field(default_factory=dict)


NO_FILES = PartitionLayout()


def partition_layouts(files: pa.Table) -> dict[bytes, PartitionLayout]:
    """The layouts of the partitions that have both postponed rows and real buckets.

    Args:
        files: live files, all those of these partitions among them.
    """
    is_postponed = integers(files["bucket"]) == POSTPONED
    if not is_postponed.any():
        return {}
    real = flagged(files, ~is_postponed & is_among(files, flagged(files, is_postponed), ["partition"]))
    groups = ColumnGroups(real, PLACE)
    firsts = real.take(pa.array(groups.firsts))
    highest = groups.max(integers(real["max_sequence"]))
    of_buckets: dict[bytes, dict[int, int]] = {}
    for partition, bucket, sequence in zip(*map(listed, firsts.select(PLACE).columns), highest, strict=True):
        of_buckets.setdefault(partition, {})[bucket] = int(sequence)
    counts: dict[bytes, list[int]] = {}
    pairs = ColumnGroups(real, ["partition", "total_buckets"])
    named = real.take(pa.array(np.sort(pairs.firsts)))
    for partition, count in zip(listed(named["partition"]), listed(named["total_buckets"]), strict=True):
        counts.setdefault(partition, []).append(count)
    return {
        partition: PartitionLayout(tuple(counts[partition]), buckets)
        for partition, buckets in of_buckets.items()
    }
