"""The plan of one bucket: what is picked, why, and what becomes of each file.

Called by the job's driver (and later by the controller, for observation). Pure: the same files, policy and
time always give the same plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from lithify.planning.merge_tree.levels import Levels, build_levels
from lithify.planning.merge_tree.policy import MergeTreeOptions, Strategy
from lithify.planning.merge_tree.rewrites import UnitWork, drops_deletes, work_of_top_files, work_of_unit
from lithify.planning.merge_tree.triggers import Trigger, TriggerVerdict
from lithify.planning.merge_tree.universal import Pick, pick_level0, pick_universal
from lithify.tables.model import Bucket, BucketId, DataFile

NO_TRIGGER = "no trigger fired"
"""Why a bucket rests under `Strategy.MINOR`."""
ALL_AT_TOP = "all files are in the top level already"
"""Why a bucket rests under `Strategy.FULL`."""


@dataclass(frozen=True, slots=True)
class Unit:
    """What one compaction does in one bucket.

    Attributes:
        bucket: where.
        files: the picked files; those that neither are rewritten nor upgraded stay untouched.
        output_level: where output goes.
        drop_deletes: whether rows that retract their key vanish.
        work: rewrites and upgrades.
        run_numbers: run number of each picked file in the whole tree, by name.
        verdict: the trigger that fired.
        levels: the tree that it was picked from.
    """

    bucket: BucketId
    files: tuple[DataFile, ...]
    output_level: int
    drop_deletes: bool
    work: UnitWork
    run_numbers: dict[str, int]
    verdict: TriggerVerdict
    levels: Levels

    @property
    def inputs(self) -> tuple[DataFile, ...]:
        """Files that leave their place: rewritten or upgraded."""
        rewritten = [file for rewrite in self.work.rewrites for file in rewrite.files]
        return (*rewritten, *self.work.upgrades)

    @property
    def group(self) -> BucketId:
        """What a run calls the bucket."""
        return self.bucket

    @property
    def read_bytes(self) -> int:
        """Bytes of the files that are rewritten."""
        return sum(rewrite.size for rewrite in self.work.rewrites)

    @property
    def rewritten_files(self) -> int:
        """How many files are rewritten."""
        return sum(len(rewrite.files) for rewrite in self.work.rewrites)

    @property
    def upgraded_files(self) -> int:
        """How many files only change level."""
        return len(self.work.upgrades)


@dataclass(frozen=True, slots=True)
class Rest:
    """A bucket in which there is nothing to do, and why."""

    bucket: BucketId
    reason: str


def plan_bucket(bucket: Bucket, policy: MergeTreeOptions, strategy: Strategy, now: datetime) -> Unit | Rest:
    """Plans one bucket. `now` is an aware time in the table's time zone.

    Raises:
        CorruptTable: files of one level overlap.
    """
    levels = build_levels(bucket.files, policy.num_levels)
    if not levels.runs:
        return Rest(bucket.id, "the bucket is empty")
    if strategy is Strategy.FULL:
        return _plan_full(bucket, levels, policy)
    pick = (pick_level0 if policy.force_level0 else pick_universal)(levels, policy, now)
    if pick is None:
        return Rest(bucket.id, NO_TRIGGER)
    return _unit(bucket, levels, pick, _work(levels, pick, policy))


def _plan_full(bucket: Bucket, levels: Levels, policy: MergeTreeOptions) -> Unit | Rest:
    """Everything to the top level; a bucket that is all there already rests, unless rewriting is forced."""
    verdict = TriggerVerdict(Trigger.FULL, fired=True, detail="a full compaction was asked for")
    everything = Pick(levels.runs, levels.max_level, verdict)
    (only, *others) = levels.runs
    if others or only.level != levels.max_level:
        return _unit(bucket, levels, everything, _work(levels, everything, policy))
    if not policy.force_rewrite:
        return Rest(bucket.id, ALL_AT_TOP)
    return _unit(bucket, levels, everything, work_of_top_files(only.files))


def _work(levels: Levels, pick: Pick, policy: MergeTreeOptions) -> UnitWork:
    files = (file for run in pick.runs for file in run.files)
    return work_of_unit(files, pick.output_level, levels, policy)


def _unit(bucket: Bucket, levels: Levels, pick: Pick, work: UnitWork) -> Unit:
    numbers = levels.run_numbers()
    files = tuple(file for run in pick.runs for file in run.files)
    return Unit(
        bucket=bucket.id,
        files=files,
        output_level=pick.output_level,
        drop_deletes=drops_deletes(levels, pick.output_level),
        work=work,
        run_numbers={file.name: numbers[file.name] for file in files},
        verdict=pick.verdict,
        levels=levels,
    )
