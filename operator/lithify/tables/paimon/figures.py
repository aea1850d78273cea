"""What a table's files come to: counts, the buckets that are due and why, what a full compaction would take.

Called by `observation` with the live files of a table. Pure: the same files, options and time always give the
same figures.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from lithify.clock import wall_millis
from lithify.planning.levels import Levels, build_levels
from lithify.planning.plan import Unit, plan_bucket
from lithify.planning.policy import CompactionPolicy, OffPeak, Strategy
from lithify.planning.triggers import Trigger, last_full_compaction
from lithify.tables.model import Bucket
from lithify.tables.observation import Finding

_MOST_PARTITIONS = 256
_DAY = 24
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_COUNTED = frozenset({Trigger.SORTED_RUNS, Trigger.FORCED_LEVEL0})
"""Triggers whose detail begins with what the bucket has."""

Spec = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Filter:
    """Which partitions count as due.

    Attributes:
        partitions: those with the values of one of these; empty for all.
        idle_millis: for full compactions, partitions written to more recently do not count.
        held: fingerprints of buckets by path: those that still have these files are blocked, and not due.
    """

    partitions: tuple[Spec, ...] = ()
    idle_millis: int | None = None
    held: Mapping[str, str] = field(default_factory=dict)

    def selects(self, spec: Spec) -> bool:
        """Whether a partition has the values that are asked for."""
        return not self.partitions or any(wanted.items() <= spec.items() for wanted in self.partitions)


@dataclass(frozen=True, slots=True)
class Due:
    """Why a minor compaction would do something in a bucket."""

    trigger: Trigger
    detail: str
    bytes: int


@dataclass(frozen=True, slots=True)
class BucketFigures:
    """One bucket.

    Attributes:
        path: its path.
        partition: the part of it that is the partition's, empty if there is none.
        files: data files.
        bytes: bytes of them.
        rows: rows of them.
        delete_rows: rows that retract their key; None if a writer did not count them.
        small_files: files below the size from which a file is left alone.
        level0_files: files of level 0.
        sorted_runs: sorted runs.
        created_millis: creation time of the newest file, by its writer's clock on the wall.
        due: why a minor compaction would do something; None if it would not.
        full_bytes: what a full compaction would read; None if it would do nothing.
        next_trigger: when a trigger that heeds the time fires.
    """

    path: str
    partition: str
    files: int
    bytes: int
    rows: int
    delete_rows: int | None
    small_files: int
    level0_files: int
    sorted_runs: int
    created_millis: int
    due: Due | None
    full_bytes: int | None
    next_trigger: datetime | None


@dataclass(frozen=True, slots=True)
class Work:
    """What there is to do in the selected partitions.

    Attributes:
        findings: why a minor compaction is due.
        partitions_due: the partitions that it should take.
        full_partitions: the partitions that a full one should take.
        full_bytes: bytes that it would read.
        next_trigger: when something of this changes by itself.
    """

    findings: tuple[Finding, ...]
    partitions_due: tuple[Spec, ...]
    full_partitions: tuple[Spec, ...]
    full_bytes: int
    next_trigger: datetime | None


def bucket_figures(bucket: Bucket, policy: CompactionPolicy, now: datetime) -> BucketFigures:
    """The figures of one bucket. `now` is an aware time in the table's time zone.

    Raises:
        CorruptTable: files of one level overlap.
    """
    files = bucket.files
    minor = plan_bucket(bucket, policy, Strategy.MINOR, now)
    levels = build_levels(files, policy.num_levels)
    full = plan_bucket(bucket, policy, Strategy.FULL, now)
    counts = [file.delete_rows for file in files if file.delete_rows is not None]
    path = str(bucket.id)
    return BucketFigures(
        path=path,
        partition=path.rpartition("/")[0],
        files=len(files),
        bytes=bucket.size,
        rows=sum(file.rows for file in files),
        delete_rows=sum(counts) if len(counts) == len(files) else None,
        small_files=sum(file.size < policy.small_file_size for file in files),
        level0_files=sum(file.level == 0 for file in files),
        sorted_runs=len(levels.runs),
        created_millis=max(file.created_millis for file in files),
        due=_due(minor, bucket, policy, now) if isinstance(minor, Unit) and minor.inputs else None,
        full_bytes=full.rewritten_size if isinstance(full, Unit) and full.inputs else None,
        next_trigger=_next_trigger(levels, policy, now, is_due=isinstance(minor, Unit)),
    )


def blocked_figures(bucket: Bucket, policy: CompactionPolicy) -> BucketFigures:
    """The figures of a bucket that cannot be compacted: nothing is due in it."""
    files = bucket.files
    counts = [file.delete_rows for file in files if file.delete_rows is not None]
    path = str(bucket.id)
    level0 = sum(file.level == 0 for file in files)
    return BucketFigures(
        path=path,
        partition=path.rpartition("/")[0],
        files=len(files),
        bytes=bucket.size,
        rows=sum(file.rows for file in files),
        delete_rows=sum(counts) if len(counts) == len(files) else None,
        small_files=sum(file.size < policy.small_file_size for file in files),
        level0_files=level0,
        sorted_runs=level0 + len({file.level for file in files if file.level}),
        created_millis=max(file.created_millis for file in files),
        due=None,
        full_bytes=None,
        next_trigger=None,
    )


def delete_percent(buckets: Sequence[BucketFigures]) -> int | None:
    """Rows that retract their key, in per cent; None if a writer did not count them."""
    counts = [bucket.delete_rows for bucket in buckets if bucket.delete_rows is not None]
    rows = sum(bucket.rows for bucket in buckets)
    return None if len(counts) < len(buckets) else min(100, 100 * sum(counts) // max(1, rows))


def work_in(
    buckets: Sequence[BucketFigures], specs: Mapping[str, Spec], wanted: Filter, now: datetime
) -> Work:
    """What there is to do in the partitions that a filter selects.

    Args:
        buckets: all buckets of the table.
        specs: the values of each partition, by its path.
        wanted: the filter.
        now: an aware time in the table's time zone.
    """
    selected = [bucket for bucket in buckets if wanted.selects(specs[bucket.partition])]
    due = [bucket for bucket in selected if bucket.due]
    full = [bucket for bucket in selected if bucket.full_bytes is not None]
    waits = _waits({bucket.partition for bucket in full}, buckets, wanted, now)
    takes = [bucket for bucket in full if bucket.partition not in waits]
    idles = [now + timedelta(milliseconds=wait) for wait in waits.values()]
    triggers = [bucket.next_trigger for bucket in selected if bucket.next_trigger]
    next_trigger = min([*idles, *triggers], default=None)
    is_filtered = bool(wanted.partitions) or wanted.idle_millis is not None
    return Work(
        findings=_findings(due),
        partitions_due=_largest(due, specs) if wanted.partitions else (),
        full_partitions=_largest(takes, specs) if is_filtered else (),
        full_bytes=sum(bucket.full_bytes or 0 for bucket in takes),
        next_trigger=next_trigger and next_trigger.astimezone(UTC),
    )


def _due(unit: Unit, bucket: Bucket, policy: CompactionPolicy, now: datetime) -> Due:
    partition, _, name = str(bucket.id).rpartition("/")
    number = f"bucket {name.rpartition('-')[2]}"
    where = f"{number} of {partition}" if partition else number
    trigger = unit.verdict.trigger
    detail = unit.verdict.detail
    if trigger is Trigger.INTERVAL:
        detail = _interval_detail(unit, policy, now)
    said = f"{where} has {detail}" if trigger in _COUNTED else f"in {where}, {detail}"
    return Due(trigger, said, unit.rewritten_size)


def _interval_detail(unit: Unit, policy: CompactionPolicy, now: datetime) -> str:
    """When the top level was written rather than how long ago, so that it says the same at every look."""
    last = last_full_compaction(unit.levels, now)
    if last is None:
        return unit.verdict.detail
    moment = _moment(last).isoformat(timespec="seconds")
    seconds = (policy.early_full.interval_millis or 0) // 1000
    return f"the top level was last written at {moment}, the interval is {seconds} s"


def _next_trigger(
    levels: Levels, policy: CompactionPolicy, now: datetime, *, is_due: bool
) -> datetime | None:
    """When what the triggers say about a bucket changes although its files do not."""
    moments = []
    interval, last = policy.early_full.interval_millis, last_full_compaction(levels, now)
    if not is_due and interval is not None and last is not None and len(levels.runs) > 1:
        moments.append(_moment(last + interval + 1))
    if policy.off_peak is not None and len(levels.runs) >= policy.run_trigger:
        moments.append(_ratio_changes(policy.off_peak, now))
    return min(moments, default=None)


def _ratio_changes(off_peak: OffPeak, now: datetime) -> datetime:
    """The next full hour at which another size ratio holds."""
    this_hour = now.replace(minute=0, second=0, microsecond=0).astimezone(UTC)
    hours = (this_hour + timedelta(hours=number) for number in range(1, _DAY + 1))
    ratio = off_peak.ratio_at(now.hour)
    changes = (hour for hour in hours if off_peak.ratio_at(hour.astimezone(now.tzinfo).hour) != ratio)
    return next(changes, this_hour + timedelta(hours=_DAY))


def _waits(
    partitions: Collection[str], buckets: Iterable[BucketFigures], wanted: Filter, now: datetime
) -> dict[str, int]:
    """How many milliseconds some partitions are not idle yet; those that are idle are left out."""
    if wanted.idle_millis is None:
        return {}
    newest: dict[str, int] = defaultdict(int)
    for bucket in buckets:
        newest[bucket.partition] = max(newest[bucket.partition], bucket.created_millis)
    wall = wall_millis(now)
    waits = {partition: newest[partition] + wanted.idle_millis - wall for partition in partitions}
    return {partition: wait for partition, wait in waits.items() if wait > 0}


def _findings(due: Sequence[BucketFigures]) -> tuple[Finding, ...]:
    """One finding a trigger, that of most buckets first; the bucket with most sorted runs speaks for it."""
    by_trigger: dict[Trigger, list[tuple[BucketFigures, Due]]] = defaultdict(list)
    for bucket in due:
        if bucket.due:
            by_trigger[bucket.due.trigger].append((bucket, bucket.due))
    findings = []
    for trigger, group in by_trigger.items():
        bucket, why = max(group, key=lambda each: (each[0].sorted_runs, each[0].bytes, each[0].path))
        total = sum(each.bytes for _, each in group)
        findings.append(Finding(trigger.value, bucket.path, why.detail, len(group), total))
    return tuple(sorted(findings, key=lambda each: (-each.buckets, -each.bytes, each.trigger)))


def _largest(buckets: Iterable[BucketFigures], specs: Mapping[str, Spec]) -> tuple[Spec, ...]:
    """The partitions of some buckets, those with most bytes first, as many as may be listed."""
    sizes: dict[str, int] = defaultdict(int)
    for bucket in buckets:
        sizes[bucket.partition] += bucket.bytes
    ordered = sorted(sizes, key=lambda partition: (-sizes[partition], partition))
    return tuple(specs[partition] for partition in ordered[:_MOST_PARTITIONS])


def _moment(millis: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=millis)
