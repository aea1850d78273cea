"""The plan of a run, whatever the kind of table: the units of its buckets, and the buckets left alone.

Made by `planning`, used by steps and by commits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from lithify.formats.paimon.manifests.view import View
from lithify.formats.paimon.model import BucketId, DataFile
from lithify.formats.paimon.planning.details import UNREAD_FILES
from lithify.formats.paimon.planning.work import Idle
from lithify.formats.protocol.details import Details, totals_of
from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.results import Block
from lithify.formats.protocol.strategy import Strategy


class BucketUnit(Protocol):
    """The work of a run in one bucket."""

    @property
    def group(self) -> BucketId:
        """The bucket, as runs name it."""
        ...

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
    def details(self) -> Details:
        """What plans show of the unit besides."""
        ...

    @property
    def targets(self) -> range:
        """Numbers of other buckets of the partition that get the rows; none if rows stay in their bucket."""
        ...


AnyUnit = TypeVar("AnyUnit", bound=BucketUnit)
AnyUnit_co = TypeVar("AnyUnit_co", bound=BucketUnit, covariant=True)


@dataclass(frozen=True, slots=True)
class BucketPlan(Generic[AnyUnit_co]):
    """The work of a run and the buckets that it leaves alone.

    Attributes:
        view: the snapshot that was planned on.
        units: the work, one unit per bucket.
        idle: buckets without work.
        blocks: buckets that cannot be compacted.
        held: buckets skipped because they could not be compacted before and their files are unchanged.
        conflicts: buckets that other writers have compacted since the view was made, with the reason.
        strategy: minor or full.
        remaining: the view of further buckets with work, which another plan takes; None if there are none.
        unread_files: number of upgraded files that were to be read first and were not.
    """

    view: View
    units: tuple[AnyUnit_co, ...]
    idle: tuple[Idle, ...]
    blocks: tuple[Block, ...] = ()
    held: tuple[BucketId, ...] = ()
    conflicts: Mapping[BucketId, str] = field(default_factory=dict)
    strategy: Strategy = Strategy.MINOR
    remaining: View | None = None
    unread_files: int = 0

    @property
    def totals(self) -> Mapping[str, int]:
        """The sums of the units' details, and the number of unread files."""
        return totals_of(unit.details for unit in self.units) | {UNREAD_FILES: self.unread_files}

    @property
    def snapshot_id(self) -> SnapshotId:
        """Id of the snapshot that was planned on."""
        return self.view.snapshot_id

    @property
    def deferred(self) -> int:
        """Number of buckets with work that another plan takes."""
        return 0 if self.remaining is None else len(self.remaining.spans)

    @property
    def resting(self) -> Mapping[str, int]:
        """Number of buckets without work, by reason."""
        return Counter(each.reason for each in self.idle)


def units_of(planned: Mapping[BucketId, AnyUnit | Idle]) -> list[AnyUnit]:
    """The units of work among the results of planning."""
    return [each for each in planned.values() if not isinstance(each, Idle)]
