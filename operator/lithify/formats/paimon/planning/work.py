"""Results of planning a bucket, whatever the arrangement of its files: idle, or the work in it.

`BucketWork` is the base of the units of all planners. A unit says which files it merges and which it only
moves to another level, and everything else that a plan reports of files follows from it. Pure.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from lithify.formats.paimon.model import BucketId, DataFile
from lithify.formats.paimon.planning.details import DROPS_DELETES, OUTPUT_LEVEL, UPGRADES
from lithify.formats.protocol.details import Detail
from lithify.formats.protocol.model import TriggerVerdict

ALL_AT_TOP = "all files are in the top level already"
"""Why a bucket whose files have levels has no work under `Strategy.FULL`."""
NO_FILES = "the bucket is empty"
"""Why a bucket has no work under any strategy."""
FULL = TriggerVerdict("Full", fired=True, detail="a full compaction was asked for")
"""Why a bucket has work under `Strategy.FULL`."""


@dataclass(frozen=True, slots=True)
class Idle:
    """A bucket without work, and the reason."""

    bucket: BucketId
    reason: str


class BucketWork(ABC):
    """The work of a run in one bucket.

    A `WorkUnit` of `formats.protocol`. Subclasses are dataclasses.

    Attributes:
        bucket: the bucket.
        verdict: the trigger that fired.
        output_level: level of the output; None where files have no levels.
        drop_deletes: whether rows that retract their key are dropped.
    """

    __slots__ = ()

    bucket: BucketId
    verdict: TriggerVerdict
    output_level: int | None
    drop_deletes: bool

    @property
    @abstractmethod
    def merges(self) -> tuple[tuple[DataFile, ...], ...]:
        """The rewritten files, grouped by merge."""

    @property
    def upgraded(self) -> tuple[DataFile, ...]:
        """Files that change in metadata only."""
        return ()

    @property
    def targets(self) -> range:
        """Numbers of other buckets of the partition that get the rows; none if rows stay in their bucket."""
        return range(0)

    @property
    def group(self) -> BucketId:
        """The bucket's identity in a run."""
        return self.bucket

    @property
    def trigger(self) -> str:
        """The name of the trigger that fired."""
        return str(self.verdict.trigger)

    @property
    def reason(self) -> str:
        """The numbers behind the trigger, as a sentence for people."""
        return self.verdict.detail

    @property
    def rewritten(self) -> tuple[DataFile, ...]:
        """Files that are rewritten."""
        return tuple(file for files in self.merges for file in files)

    @property
    def inputs(self) -> tuple[DataFile, ...]:
        """Files that are rewritten or upgraded."""
        return (*self.rewritten, *self.upgraded)

    @property
    def rewrites(self) -> tuple[tuple[str, ...], ...]:
        """Names of the rewritten files, grouped by merge."""
        return tuple(tuple(file.name for file in files) for files in self.merges)

    @property
    def read_bytes(self) -> int:
        """Bytes of the files that are rewritten."""
        return sum(file.size for file in self.rewritten)

    @property
    def rewritten_files(self) -> int:
        """Number of files that are rewritten."""
        return len(self.rewritten)

    @property
    def details(self) -> tuple[Detail, ...]:
        """What plans show of the unit besides."""
        return (
            Detail(OUTPUT_LEVEL, self.output_level),
            Detail(DROPS_DELETES, self.drop_deletes),
            Detail(UPGRADES, tuple(file.name for file in self.upgraded)),
        )
