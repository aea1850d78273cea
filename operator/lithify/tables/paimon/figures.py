"""What a table's buckets come to: why it is due, what a full compaction would take, what stands in the way.

Called by `summary` with the figures of all buckets of a table (`judging`). Pure: the same figures, filter and
time always come to the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import polars as pl

from lithify.clock import wall_millis
from lithify.planning.policy import CompactionPolicy
from lithify.tables.model import BlockedBucket
from lithify.tables.observation import Finding
from lithify.tables.paimon.judging import ratio_changes

_MOST_PARTITIONS = 256
_MOST_BLOCKED = 256
"""More than the status of a LakeTable lists, so that it can tell how many it leaves out."""
_MOST_PERCENT = 10**9
"""Above what any table has; sizes in broken metadata may be anything."""
_KNOWN = "as found by a run"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Spec = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Filter:
    """Which partitions and buckets count as due.

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


def delete_percent(figures: pl.DataFrame) -> int | None:
    """Rows that retract their key, in per cent; None if a writer did not count them."""
    if figures["delete_rows"].null_count():
        return None
    deletes, rows = figures.select(pl.sum("delete_rows", "rows")).row(0)
    return int(min(100, 100 * deletes // max(1, rows)))


def size_amplification_percent(figures: pl.DataFrame) -> int | None:
    """Bytes outside the highest level of each bucket by those in it, in per cent; None without such a level.

    `compaction.max-size-amplification-percent` limits the same figure of one bucket. Buckets with files of
    level 0 only are left out: they have nothing yet that newer data could outweigh.
    """
    leveled = figures.filter(pl.col("highest_level") > 0)
    total, highest = leveled.select(pl.sum("bytes", "highest_bytes")).row(0)
    return min(max(0, 100 * (total - highest) // highest), _MOST_PERCENT) if highest > 0 else None


def work_in(
    figures: pl.DataFrame,
    spec_of: Callable[[bytes], Spec],
    wanted: Filter,
    policy: CompactionPolicy,
    now: datetime,
) -> Work:
    """What there is to do in the partitions that a filter selects.

    Args:
        figures: of all buckets of the table.
        spec_of: the values of a partition.
        wanted: the filter; the buckets that it holds are those that still have the files that it says.
        policy: by which they were judged.
        now: an aware time in the table's time zone.
    """
    selected = _selected(figures, spec_of, wanted).filter(~pl.col("path").is_in(list(wanted.held)))
    due = selected.filter(pl.col("trigger").is_not_null())
    full = selected.filter(pl.col("full_bytes").is_not_null())
    waits = _waits(full, figures, wanted, now)
    takes = full.join(waits, on="partition_path", how="anti")
    next_trigger = min([*_idle_moments(waits, now), *_trigger_moments(selected, policy, now)], default=None)
    is_filtered = bool(wanted.partitions) or wanted.idle_millis is not None
    return Work(
        findings=_findings(due),
        partitions_due=_largest(due, spec_of) if wanted.partitions else (),
        full_partitions=_largest(takes, spec_of) if is_filtered else (),
        full_bytes=int(takes["full_bytes"].sum()),
        next_trigger=next_trigger and next_trigger.astimezone(UTC),
    )


def blocked_buckets(figures: pl.DataFrame, held: Mapping[str, str]) -> tuple[BlockedBucket, ...]:
    """The first `_MOST_BLOCKED` buckets by path that cannot be planned, and those that are held.

    Args:
        figures: of all buckets of the table.
        held: fingerprints of those that still have the files that a run failed on, by path.
    """
    blocked = figures.filter(pl.col("problem").is_not_null()).sort("path").head(_MOST_BLOCKED)
    columns = blocked.select("path", "is_corrupt", "problem", "fingerprint")
    found = {path: BlockedBucket(path, *fields) for path, *fields in columns.iter_rows()}
    stand = {path: BlockedBucket(path, True, _KNOWN, fingerprint) for path, fingerprint in held.items()}
    return tuple(bucket for _, bucket in sorted({**stand, **found}.items()))


def _selected(figures: pl.DataFrame, spec_of: Callable[[bytes], Spec], wanted: Filter) -> pl.DataFrame:
    if not wanted.partitions:
        return figures
    partitions = figures["partition"].unique()
    selected = pl.Series([wanted.selects(spec_of(partition)) for partition in partitions], dtype=pl.Boolean)
    return figures.filter(pl.col("partition").is_in(partitions.filter(selected).implode()))


def _waits(full: pl.DataFrame, figures: pl.DataFrame, wanted: Filter, now: datetime) -> pl.DataFrame:
    """How many milliseconds some partitions are not idle yet; those that are idle are left out."""
    newest = figures.join(full, on="partition_path", how="semi").group_by("partition_path")
    idle = wanted.idle_millis
    wait = pl.lit(0) if idle is None else pl.col("created_millis").max() + idle - wall_millis(now)
    return newest.agg(wait=wait).filter(pl.col("wait") > 0)


def _idle_moments(waits: pl.DataFrame, now: datetime) -> list[datetime]:
    """When the first of some partitions is idle."""
    first = waits.select(pl.min("wait")).item()
    return [] if first is None else [now + timedelta(milliseconds=first)]


def _trigger_moments(selected: pl.DataFrame, policy: CompactionPolicy, now: datetime) -> list[datetime]:
    """When a trigger that follows the time fires first, and when the size ratio changes for some bucket."""
    first = selected.select(pl.min("next_trigger")).item()
    moments = [] if first is None else [_EPOCH + timedelta(milliseconds=first)]
    is_long = pl.col("problem").is_null() & (pl.col("sorted_runs") >= policy.run_trigger)
    if policy.off_peak is not None and selected.select(is_long.any()).item():
        moments.append(ratio_changes(policy.off_peak, now))
    return moments


def _findings(due: pl.DataFrame) -> tuple[Finding, ...]:
    """One finding a trigger, that of most buckets first; the bucket with most sorted runs speaks for it."""
    worst = due.sort("sorted_runs", "bytes", "path", descending=True)
    by_trigger = worst.group_by("trigger", maintain_order=True).agg(
        pl.first("path"), pl.first("detail"), buckets=pl.len(), bytes=pl.sum("bytes"), files=pl.sum("files")
    )
    findings = [Finding(*row) for row in by_trigger.iter_rows()]
    return tuple(sorted(findings, key=lambda each: (-each.buckets, -each.bytes, each.trigger)))


def _largest(buckets: pl.DataFrame, spec_of: Callable[[bytes], Spec]) -> tuple[Spec, ...]:
    """The partitions of some buckets, those with most bytes first, as many as may be listed."""
    sizes = buckets.group_by("partition_path").agg(pl.last("partition"), pl.sum("bytes"))
    ordered = sizes.sort("bytes", "partition_path", descending=[True, False])
    return tuple(dict(spec_of(partition)) for partition in ordered["partition"].head(_MOST_PARTITIONS))
