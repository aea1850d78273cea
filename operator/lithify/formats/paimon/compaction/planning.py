"""Plans the buckets of a view one by one, whatever the kind of table.

`opened_table` makes a `BucketPlanner` for each plan; `primary_key` and `append` plan buckets with it. Their
`planning` modules decide what is done in a bucket; this one knows which buckets are held, blocked or left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import MappingProxyType

from lithify.clock import Clock
from lithify.formats.paimon.compaction.blocking import failed_buckets
from lithify.formats.paimon.compaction.checks import check_files, check_view
from lithify.formats.paimon.compaction.plan import (
    AnyUnit,
    BucketPlan,
    BucketUnit,
    units_of,
)
from lithify.formats.paimon.manifests.view import View
from lithify.formats.paimon.model import BucketId, DataFile
from lithify.formats.paimon.planning.work import Idle
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.strategy import Strategy

MOST_FILES = 100_000
"""Number of files above which a plan takes no more buckets: each takes about 5 KiB until it is committed."""

NO_BUCKETS: Mapping[BucketId, str] = MappingProxyType({})
NOTHING_HELD: Mapping[str, str] = MappingProxyType({})
"""Buckets to leave alone: none."""


class _Portion:
    """The buckets with work that one plan takes; at least one.

    Args:
        view: the snapshot that is planned on.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self._files = 0
        self._later: list[BucketId] = []

    @property
    def remaining(self) -> View | None:
        """The view of the buckets that are left to another plan."""
        return self._view.only(self._later) if self._later else None

    def leaves(self, bucket: BucketId) -> bool:
        """Whether a bucket that is known to have work is left to another plan without planning it."""
        if not self._view.is_due or not self._is_full:
            return False
        self._later.append(bucket)
        return True

    def takes(self, work: BucketUnit | Idle) -> bool:
        """Whether the plan takes a bucket; otherwise another one does."""
        if isinstance(work, Idle):
            return True
        if self._is_full:
            self._later.append(work.bucket)
            return False
        self._files += len(work.inputs)
        return True

    @property
    def _is_full(self) -> bool:
        return self._files >= MOST_FILES


class BucketPlanner:
    """One planning of the buckets of a view. A problem with the files of a bucket blocks only that bucket.

    Attributes:
        table: the table.
        view: the snapshot and its buckets.
        strategy: minor or full.
        now: the time for triggers that depend on it.
        held: buckets that still have the files with which they could not be compacted.
        reads_data: whether data files may be opened; if not, they are counted instead (`leave_unread`).

    Args:
        table: the table.
        view: the snapshot and its buckets.
        strategy: minor or full.
        clock: source of the time.
        held: fingerprints by bucket path: buckets that still have these files are left out.
        reads_data: whether data files may be opened.

    Raises:
        UnsupportedTable: a problem prevents the compaction of every bucket.
    """

    def __init__(
        self,
        table: PaimonTable,
        view: View,
        strategy: Strategy,
        clock: Clock,
        held: Mapping[str, str] = NOTHING_HELD,
        *,
        reads_data: bool = True,
    ) -> None:
        check_view(table, view)
        self.table = table
        self.view = view
        self.strategy = strategy
        self.now = clock.now()
        self.reads_data = reads_data
        self._unread_files = 0
        self._blocks = failed_buckets(table, view)
        self._portion = _Portion(view)
        known = {bucket: held[bucket.path] for bucket in view.bucket_ids if bucket.path in held}
        self.held = tuple(bucket for bucket, files in known.items() if files == view.fingerprint(bucket))

    @property
    def buckets(self) -> list[BucketId]:
        """The buckets of the view, except those that are held."""
        held = frozenset(self.held)
        return [bucket for bucket in self.view.bucket_ids if bucket not in held]

    def isolate(self, bucket: BucketId) -> AbstractContextManager[None]:
        """Records an error about the bucket's files instead of raising it; see `FailedGroups.isolate`."""
        return self._blocks.isolate(bucket)

    def is_blocked(self, bucket: BucketId) -> bool:
        """Whether an error about the bucket's files was recorded."""
        return bucket in self._blocks.errors

    def plan(
        self,
        buckets: Iterable[BucketId],
        plan: Callable[[BucketId], AnyUnit | Idle],
        resting: Mapping[BucketId, str],
        *,
        takes_all: bool = False,
    ) -> dict[BucketId, AnyUnit | Idle]:
        """The work of each bucket, or why it has none.

        Blocked buckets are missing, and those with work of which this plan would have too many files: another
        plan takes them.

        Args:
            buckets: the buckets.
            plan: plans one bucket.
            resting: why buckets certainly have no work; they are not planned.
            takes_all: whether no bucket is left to another plan.
        """
        planned: dict[BucketId, AnyUnit | Idle] = {}
        for bucket in buckets:
            if bucket in resting:
                planned[bucket] = Idle(bucket, resting[bucket])
                continue
            if not takes_all and self._portion.leaves(bucket):
                continue
            with self.isolate(bucket):
                work = plan(bucket)
                if takes_all or self._portion.takes(work):
                    planned[bucket] = work
        return planned

    def plan_again(
        self, buckets: Iterable[BucketId], plan: Callable[[BucketId], AnyUnit | Idle]
    ) -> dict[BucketId, AnyUnit | Idle]:
        """The work of buckets that this plan takes already, or why they have none; see `plan`."""
        return self.plan(buckets, plan, NO_BUCKETS, takes_all=True)

    def leave_unread(self, files: int) -> None:
        """Counts files whose content matters to the plan, and which it may not open."""
        self._unread_files += files

    def check_files(self, bucket: BucketId, files: Sequence[DataFile]) -> None:
        """Checks that some files of a bucket can be compacted; see `checks.check_files`."""
        check_files(self.table, self.view, bucket, files)

    def check(self, planned: Mapping[BucketId, AnyUnit | Idle], check: Callable[[AnyUnit], None]) -> None:
        """Checks the files of each unit; a bucket whose check raises is blocked."""
        for unit in units_of(planned):
            with self.isolate(unit.bucket):
                check(unit)

    def result(self, planned: Mapping[BucketId, AnyUnit | Idle]) -> BucketPlan[AnyUnit]:
        """The plan, without the buckets that have turned out to be blocked.

        Args:
            planned: the work of each bucket, or why it has none.
        """
        left = [each for bucket, each in planned.items() if not self.is_blocked(bucket)]
        blocked, conflicts = self._blocks.sorted_out()
        return BucketPlan(
            view=self.view,
            units=tuple(each for each in left if not isinstance(each, Idle)),
            idle=tuple(each for each in left if isinstance(each, Idle)),
            blocks=blocked,
            held=self.held,
            conflicts=conflicts,
            strategy=self.strategy,
            remaining=self._portion.remaining,
            unread_files=self._unread_files,
        )
