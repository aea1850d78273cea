"""What judging tables without a primary key has in common, whether files are joined or sorted.

Base of `due_work_packing` and `due_work_clustering`. Besides commits, only the age of files makes a bucket
due.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import pyarrow as pa

from lithify.columns.column_groups import with_columns
from lithify.formats.paimon.model import BucketId
from lithify.formats.paimon.observing.due_work import Judge, Judgement, place_of
from lithify.formats.paimon.planning.work import BucketWork, Idle


@dataclass(frozen=True, slots=True)
class AppendJudge(Judge, ABC):
    """Judges buckets of a table without a primary key, or its partitions if it has no buckets."""

    @property
    @abstractmethod
    def has_buckets(self) -> bool:
        """Whether the table has buckets."""

    def _judgement(
        self, bucket: BucketId, minor: BucketWork | Idle | None, full: BucketWork | Idle, due_at: int | None
    ) -> Judgement:
        """The result of planning a bucket.

        Args:
            bucket: the bucket.
            minor: the plan of a minor compaction; None if the bucket certainly has no work.
            full: the plan of a full compaction.
            due_at: when time alone makes the bucket due, in milliseconds since the epoch; None for never.
        """
        due = minor if isinstance(minor, BucketWork) else None
        place = place_of(bucket, is_numbered=self.has_buckets)
        return Judgement(
            trigger=None if due is None else due.trigger,
            detail=None if due is None else self._told(place, due),
            is_picked=due is not None,
            full_bytes=full.read_bytes if isinstance(full, BucketWork) else None,
            due_at=due_at,
        )

    def _told(self, place: str, due: BucketWork) -> str:
        """The numbers behind due work, as a sentence that names the place."""
        return f"{place} has {due.reason}"

    def _timed(self, figures: pa.Table) -> pa.Table:
        """Adds the times at which figures change without a commit: when files are old enough."""
        due = figures["due_at"].combine_chunks()
        return with_columns(figures, next_trigger=due, valid_until=due)
