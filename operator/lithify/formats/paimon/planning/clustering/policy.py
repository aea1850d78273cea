"""The parameters of clustering: the table's options as numbers.

The format adapters create a `ClusteringOptions` from table options; the planners only read it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from lithify.formats.paimon.planning.universal.policy import UniversalOptions


@dataclass(frozen=True, slots=True)
class HistoryOptions:
    """When partitions count as history, which is clustered fully.

    Attributes:
        idle_millis: age of the newest file outside the top level.
        limit: number of such partitions that one plan takes.
    """

    idle_millis: int
    limit: int


@dataclass(frozen=True, slots=True)
class ClusteringOptions:
    """The options of one table that steer clustering.

    Attributes:
        columns: the columns by which rows are sorted.
        universal: levels, and the triggers of universal compaction.
        grows: whether the number of levels grows with existing files, as in Paimon's buckets.
        history: which partitions are clustered fully because nothing is written to them any more; None if
            that depends on the triggers alone.
        max_files: number of files of level 0 of a bucket that one plan takes at most, the oldest.
    """

    columns: tuple[str, ...]
    universal: UniversalOptions = field(default_factory=UniversalOptions)
    grows: bool = False
    history: HistoryOptions | None = None
    max_files: int = 100_000
