"""The plan of one bucket: which files are picked, why, and how each is processed.

Called by the adapter's planner and observer. Pure: the same files, policy and time always give the same plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from lithify.formats.paimon.model import Bucket, BucketId, DataFile
from lithify.formats.paimon.planning.merge_tree.levels import build_levels
from lithify.formats.paimon.planning.merge_tree.policy import LoggedUpgrades, MergeTreeOptions
from lithify.formats.paimon.planning.merge_tree.rewrites import (
    UnitWork,
    drops_deletes,
    work_of_top_files,
    work_of_unit,
)
from lithify.formats.paimon.planning.universal.levels import Levels
from lithify.formats.paimon.planning.universal.picks import Pick, pick_level0, pick_universal
from lithify.formats.paimon.planning.work import ALL_AT_TOP, FULL, NO_FILES, BucketWork, Idle
from lithify.formats.protocol.model import TriggerVerdict
from lithify.formats.protocol.strategy import NO_TRIGGER, Strategy

LEFT_TO_WRITERS = "writers compact it, too, so that it is only compacted as a whole, with files of level 0"
"""Why a bucket is left alone where writers compact, too, and keep deletion vectors in memory.

Paimon's commit checks that the files that it replaces are still there, but not those in which it deletes
rows. A writer's compaction takes all files of level 0 that the writer knows. If ours has taken all files of
the bucket, and some of level 0 among them, a commit of the writer that could contradict ours replaces one of
the same files, and fails; the writer begins again with the newest snapshot.
"""


@dataclass(frozen=True, slots=True)
class Unit(BucketWork):
    """The compaction of one bucket.

    Attributes:
        bucket: the bucket.
        files: the picked files; those neither rewritten nor upgraded stay untouched.
        output_level: level of the output.
        drop_deletes: whether rows that retract their key are dropped.
        work: rewrites and upgrades.
        run_numbers: run number of each picked file in the whole tree, by name.
        verdict: the trigger that fired.
        levels: the tree from which the files were picked.
        expired_before: rows with an earlier time (seconds since the epoch) are dropped; None if rows never
            expire.
        logged: upgraded files whose rows go to the changelog.
    """

    bucket: BucketId
    files: tuple[DataFile, ...]
    output_level: int
    drop_deletes: bool
    work: UnitWork
    run_numbers: dict[str, int]
    verdict: TriggerVerdict
    levels: Levels
    expired_before: int | None = None
    logged: tuple[DataFile, ...] = ()

    @property
    def merges(self) -> tuple[tuple[DataFile, ...], ...]:
        """The rewritten files, grouped by merge."""
        return tuple(rewrite.files for rewrite in self.work.rewrites)

    @property
    def upgraded(self) -> tuple[DataFile, ...]:
        """Files that only change level."""
        return self.work.upgrades

    @property
    def read_bytes(self) -> int:
        """Bytes of the files that are rewritten, or read for the changelog."""
        return sum(rewrite.size for rewrite in self.work.rewrites) + sum(file.size for file in self.logged)


def plan_bucket(bucket: Bucket, policy: MergeTreeOptions, strategy: Strategy, now: datetime) -> Unit | Idle:
    """Plans one bucket. `now` is an aware time in the table's time zone.

    Raises:
        CorruptTable: files of one level overlap.
    """
    levels = build_levels(bucket.files, policy.num_levels)
    if not levels.runs:
        return Idle(bucket.id, NO_FILES)
    if policy.writers_compact and not levels.level0:
        return Idle(bucket.id, LEFT_TO_WRITERS)
    if strategy is Strategy.FULL:
        return _plan_full(bucket, levels, policy, now)
    pick = (pick_level0 if policy.force_level0 else pick_universal)(levels, policy, now)
    if pick is None:
        return Idle(bucket.id, NO_TRIGGER)
    if policy.writers_compact and len(pick.runs) < len(levels.runs):
        return Idle(bucket.id, LEFT_TO_WRITERS)
    before = policy.expired_before(now)
    return _unit(bucket, levels, pick, _work(levels, pick, policy, before), policy, before)


def _plan_full(bucket: Bucket, levels: Levels, policy: MergeTreeOptions, now: datetime) -> Unit | Idle:
    """Compacts all files to the top level.

    In a bucket whose files are all at the top level already, only files with expired or deleted rows are
    rewritten, or all files if the table requires that.
    """
    everything = Pick(levels.runs, levels.max_level, FULL)
    before = policy.expired_before(now)
    (only, *others) = levels.runs
    if others or only.level != levels.max_level:
        return _unit(bucket, levels, everything, _work(levels, everything, policy, before), policy, before)
    files = [file for file in only.files if _is_rewritten_at_top(file, policy, before)]
    if not files:
        return Idle(bucket.id, ALL_AT_TOP)
    return _unit(bucket, levels, everything, work_of_top_files(files), policy, before)


def _is_rewritten_at_top(file: DataFile, policy: MergeTreeOptions, expired_before: int | None) -> bool:
    return policy.force_rewrite or file.has_vector or file.has_expired_rows(expired_before)


def _work(levels: Levels, pick: Pick, policy: MergeTreeOptions, expired_before: int | None) -> UnitWork:
    files = (file for run in pick.runs for file in run.files)
    return work_of_unit(files, pick.output_level, levels, policy, expired_before)


def _unit(
    bucket: Bucket,
    levels: Levels,
    pick: Pick,
    work: UnitWork,
    policy: MergeTreeOptions,
    expired_before: int | None,
) -> Unit:
    numbers = levels.run_numbers()
    files = tuple(file for run in pick.runs for file in run.files)
    return Unit(
        bucket=bucket.id,
        files=files,
        output_level=pick.output_level,
        drop_deletes=drops_deletes(levels, pick.output_level, policy),
        work=work,
        run_numbers={file.name: numbers[file.name] for file in files},
        verdict=pick.verdict,
        levels=levels,
        expired_before=expired_before,
        logged=_logged(work, pick, levels, policy),
    )


def _logged(work: UnitWork, pick: Pick, levels: Levels, policy: MergeTreeOptions) -> tuple[DataFile, ...]:
    match policy.logged_upgrades:
        case LoggedUpgrades.TO_TOP if pick.output_level == levels.max_level:
            return work.upgrades
        case LoggedUpgrades.OF_LEVEL0:
            return tuple(file for file in work.upgrades if file.level == 0)
    return ()
