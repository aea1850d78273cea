"""Due work in each bucket or partition of a table whose rows are clustered.

Called by `engine.observe.groups` like `due_work`, of which it replaces what knows merge trees.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa

from lithify.clock import epoch_of_wall, wall_millis
from lithify.columns.column_groups import Flags, taken
from lithify.formats.paimon.buckets.clustered import have_same_columns, rests, taken_at_once
from lithify.formats.paimon.manifests.entry_objects import data_files
from lithify.formats.paimon.model import Bucket, BucketId
from lithify.formats.paimon.observing.due_work import UNCOUNTED, Judgement
from lithify.formats.paimon.observing.due_work_append import AppendJudge
from lithify.formats.paimon.planning.clustering.plan import (
    HISTORY,
    ClusteredUnit,
    history_due_millis,
    plan_bucket,
)
from lithify.formats.paimon.planning.clustering.policy import ClusteringOptions
from lithify.formats.paimon.planning.universal.triggers import Trigger
from lithify.formats.paimon.planning.work import BucketWork, Idle
from lithify.formats.protocol.strategy import Strategy

_COUNTED = frozenset({Trigger.SORTED_RUNS.value, HISTORY})
"""Triggers whose reason begins with the bucket's own figures."""


def _always(schema_id: int) -> bool:
    del schema_id
    return True


@dataclass(frozen=True, slots=True)
class ClusteringJudge(AppendJudge):
    """Judges buckets whose rows are clustered.

    Attributes:
        clustering: the table's options that steer clustering.
        has_same_columns: tells whether a schema has the clustering columns of the newest one; schemas never
            change, so figures do not depend on it otherwise.
        same_columns: whether it is true of all schemas of the files at hand.
    """

    clustering: ClusteringOptions = field(default_factory=lambda: ClusteringOptions(()))
    has_same_columns: Callable[[int], bool] = _always
    same_columns: bool = False

    @property
    def terms(self) -> str:
        """Everything except files and time that figures depend on."""
        return f"{super(ClusteringJudge, self).terms}, {self.clustering!r}"

    @property
    def has_buckets(self) -> bool:
        """Whether the table has buckets."""
        return self.clustering.grows

    def figures(self, files: pa.Table) -> pa.Table:
        """The figures of the buckets of some files; see `Judge.figures`."""
        same = have_same_columns(files, self.has_same_columns)
        return super(ClusteringJudge, replace(self, same_columns=same)).figures(files)

    def _rests(self, statistics: pa.Table, strategy: Strategy) -> Flags:
        return rests(statistics, self.clustering, strategy, self.now, same_columns=self.same_columns)

    def _planned(self, bucket_id: BucketId, files: pa.Table, *, rests_minor: bool) -> Judgement:
        at_once = taken(files, taken_at_once(files, self.clustering))
        bucket = Bucket(bucket_id, data_files(at_once, self.order_keys), UNCOUNTED)
        plan = partial(plan_bucket, bucket, self.clustering)
        minor = None if rests_minor else plan(Strategy.MINOR, self.now, self.has_same_columns)
        full = plan(Strategy.FULL, self.now, self.has_same_columns)
        return self._judgement(bucket_id, minor, full, self._due_at(bucket, minor))

    def _due_at(self, bucket: Bucket, minor: ClusteredUnit | Idle | None) -> int | None:
        """When the age of the bucket's files makes it due, in milliseconds since the epoch."""
        later = history_due_millis(bucket.files, self.clustering)
        is_due = isinstance(minor, ClusteredUnit) and minor.trigger == HISTORY
        if later is None or wall_millis(self.now) > later or is_due:
            return None
        return epoch_of_wall(later, self.now.tzinfo) + 1

    def _told(self, place: str, due: BucketWork) -> str:
        return (
            super(ClusteringJudge, self)._told(place, due)
            if due.trigger in _COUNTED
            else f"in {place}, {due.reason}"
        )
