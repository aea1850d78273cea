"""The plan of a run, whatever the kind of table: the units of its buckets, and the buckets left alone.

Made by the planners of `primary_key` and `append`, used by their steps and by commits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Generic, Protocol, TypeVar

from lithify.planning.work import Rest, Strategy
from lithify.tables.format import Block
from lithify.tables.model import BucketId, DataFile, SnapshotId
from lithify.tables.paimon.compaction.blocking import Blocks
from lithify.tables.paimon.metadata.view import View


class BucketUnit(Protocol):
    """The work of a run in one bucket."""

    @property
    def bucket(self) -> BucketId:
        """The bucket."""
        ...

    @property
    def inputs(self) -> tuple[DataFile, ...]:
        """All files that are rewritten or upgraded."""
        ...

    @property
    def rewritten(self) -> tuple[DataFile, ...]:
        """Files that are rewritten."""
        ...

    @property
    def upgraded(self) -> tuple[DataFile, ...]:
        """Files that only change level."""
        ...

    @property
    def output_level(self) -> int | None:
        """New level of upgraded files; None where files have no levels."""
        ...

    @property
    def trigger(self) -> str:
        """The trigger that fired, for example `SortedRuns`."""
        ...

    @property
    def reason(self) -> str:
        """The numbers behind the trigger, as a sentence for people."""
        ...

    @property
    def targets(self) -> range:
        """Numbers of other buckets of the partition that get the rows; none if rows stay in their bucket."""
        ...


MOST_FILES = 100_000
"""Number of files above which a plan takes no more buckets: each takes about 5 KiB until it is committed."""

NOTHING_HELD: Mapping[str, str] = MappingProxyType({})
"""Buckets to leave alone: none."""

AnyUnit = TypeVar("AnyUnit", bound=BucketUnit)
AnyUnit_co = TypeVar("AnyUnit_co", bound=BucketUnit, covariant=True)


@dataclass(frozen=True, slots=True)
class BucketPlan(Generic[AnyUnit_co]):
    """The work of a run and the buckets that it leaves alone.

    Attributes:
        view: the snapshot that was planned on.
        units: the work, one unit per bucket.
        rests: buckets without work.
        blocks: buckets that cannot be compacted.
        held: buckets skipped because they could not be compacted before and their files are unchanged.
        conflicts: buckets that other writers have compacted since the view was made, with the reason.
        strategy: minor or full.
        rest: the view of further buckets with work, which another plan takes; None if there are none.
    """

    view: View
    units: tuple[AnyUnit_co, ...]
    rests: tuple[Rest, ...]
    blocks: tuple[Block, ...] = ()
    held: tuple[BucketId, ...] = ()
    conflicts: Mapping[BucketId, str] = field(default_factory=dict)
    strategy: Strategy = Strategy.MINOR
    rest: View | None = None

    @property
    def snapshot_id(self) -> SnapshotId:
        """Id of the snapshot that was planned on."""
        return self.view.snapshot_id

    @property
    def left(self) -> int:
        """Number of buckets with work that another plan takes."""
        return 0 if self.rest is None else len(self.rest.spans)

    @property
    def resting(self) -> Mapping[str, int]:
        """Number of buckets without work, by reason."""
        return Counter(rest.reason for rest in self.rests)


class Portion:
    """The buckets with work that one plan takes; at least one.

    Args:
        view: the snapshot that is planned on.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self._files = 0
        self._later: list[BucketId] = []

    @property
    def rest(self) -> View | None:
        """The view of the buckets that are left to another plan."""
        return self._view.only(self._later) if self._later else None

    def leaves(self, bucket: BucketId) -> bool:
        """Whether a bucket is left to another plan without a look at it: it is known to have work."""
        if not self._view.is_due or not self._is_full:
            return False
        self._later.append(bucket)
        return True

    def takes(self, work: BucketUnit | Rest) -> bool:
        """Whether the plan takes a bucket; otherwise another one does."""
        if isinstance(work, Rest):
            return True
        if self._is_full:
            self._later.append(work.bucket)
            return False
        self._files += len(work.inputs)
        return True

    @property
    def _is_full(self) -> bool:
        return self._files >= MOST_FILES


def plan_of(
    view: View,
    planned: Mapping[BucketId, AnyUnit | Rest],
    waiting: Iterable[BucketId],
    blocks: Blocks,
    strategy: Strategy,
    rest: View | None = None,
) -> BucketPlan[AnyUnit]:
    """The plan of a run, without the buckets that have turned out to be blocked.

    Args:
        view: the snapshot that was planned on.
        planned: the work of each bucket, or why it has none.
        waiting: buckets that still have the files with which they could not be compacted.
        blocks: the errors of buckets.
        strategy: minor or full.
        rest: the view of buckets that another plan takes.
    """
    left = [each for bucket, each in planned.items() if bucket not in blocks.errors]
    blocked, conflicts = blocks.sorted_out()
    return BucketPlan(
        view=view,
        units=tuple(each for each in left if not isinstance(each, Rest)),
        rests=tuple(each for each in left if isinstance(each, Rest)),
        blocks=blocked,
        held=tuple(waiting),
        conflicts=conflicts,
        strategy=strategy,
        rest=rest,
    )


def held_buckets(view: View, held: Mapping[str, str]) -> dict[BucketId, str]:
    """The buckets that still have the files with which they could not be compacted, and their fingerprints.

    Args:
        view: the snapshot.
        held: fingerprints of such files by bucket path.
    """
    known = {bucket: held[bucket.path] for bucket in view.bucket_ids if bucket.path in held}
    return {bucket: files for bucket, files in known.items() if files == view.fingerprint(bucket)}


def plan_buckets(
    chosen: Iterable[BucketId],
    resting: Mapping[BucketId, str],
    blocks: Blocks,
    plan: Callable[[BucketId], AnyUnit | Rest],
    portion: Portion | None = None,
) -> dict[BucketId, AnyUnit | Rest]:
    """Plans buckets one by one; an error about the files of a bucket blocks only that bucket.

    Args:
        chosen: the buckets.
        resting: why buckets certainly have no work; they are not planned.
        blocks: records errors.
        plan: plans one bucket.
        portion: decides which buckets with work are left to another plan; None to take all.
    """
    planned: dict[BucketId, AnyUnit | Rest] = {}
    for bucket in chosen:
        if bucket in resting:
            planned[bucket] = Rest(bucket, resting[bucket])
            continue
        if portion is not None and portion.leaves(bucket):
            continue
        with blocks.isolate(bucket):
            work = plan(bucket)
            if portion is None or portion.takes(work):
                planned[bucket] = work
    return planned


def units_of(planned: Mapping[BucketId, AnyUnit | Rest]) -> list[AnyUnit]:
    """The work among what was planned."""
    return [each for each in planned.values() if not isinstance(each, Rest)]
