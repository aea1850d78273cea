"""Due work in each bucket of a frame of live files, and how long the result stays valid.

Called by `engine.observe.groups` with the files to be judged. Objects are created only for buckets that may
have work (`resting`), one bucket at a time. A bucket whose metadata cannot be planned is reported and does
not block the others. Pure: the same files, options and time always give the same figures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify import __version__
from lithify.amounts import moment_text, seconds_text
from lithify.clock import epoch_millis, moment_of
from lithify.columns.column_groups import (
    ColumnGroups,
    Flags,
    Numbers,
    flags,
    integers,
    is_null,
    listed,
    nullable,
    taken,
    whole,
    with_columns,
)
from lithify.columns.order_key import OrderKey
from lithify.engine.tasks.blocked_groups import GROUP_ERRORS, problem_of
from lithify.errors import CorruptTable
from lithify.formats.paimon.buckets.postponed import postponed_verdict
from lithify.formats.paimon.buckets.resting import interval_fires, level0_fires, resting_reasons
from lithify.formats.paimon.buckets.statistics import bucket_statistics, in_order_of_places
from lithify.formats.paimon.manifests.entry_objects import data_files
from lithify.formats.paimon.model import PLACE, POSTPONED, Bucket, BucketId
from lithify.formats.paimon.observing.expiring import by_the_hour, expiry_columns
from lithify.formats.paimon.planning.merge_tree.plan import Unit, plan_bucket
from lithify.formats.paimon.planning.merge_tree.policy import MergeTreeOptions
from lithify.formats.paimon.planning.universal.policy import OffPeak
from lithify.formats.paimon.planning.universal.triggers import Trigger, last_full_compaction
from lithify.formats.protocol.model import fingerprint_of
from lithify.formats.protocol.strategy import Strategy

_DAY = 24
UNCOUNTED = 0
"""Placeholder for a partition's number of buckets, which planning does not need."""
_COUNTED = frozenset({Trigger.SORTED_RUNS, Trigger.FORCED_LEVEL0})
"""Triggers whose detail begins with the bucket's own figures."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The result of planning one bucket.

    Attributes:
        trigger: why a minor compaction would do something; None if it would not.
        detail: the numbers behind it, as a sentence for people.
        is_picked: whether a trigger fired at all, even if there is no work.
        full_bytes: bytes that a full compaction would read; None if it has no work.
        problem: why the bucket cannot be planned; None if it can.
        is_corrupt: whether its files contradict the metadata.
        fingerprint: identifies its files if there is a problem.
        due_at: when time alone makes the bucket due, in milliseconds since the epoch; None for never.
    """

    trigger: str | None = None
    detail: str | None = None
    is_picked: bool = False
    full_bytes: int | None = None
    problem: str | None = None
    is_corrupt: bool = False
    fingerprint: str | None = None
    due_at: int | None = None


_JUDGED = pa.schema(
    {
        "trigger": pa.string(),
        "detail": pa.string(),
        "is_picked": pa.bool_(),
        "full_bytes": pa.int64(),
        "problem": pa.string(),
        "is_corrupt": pa.bool_(),
        "fingerprint": pa.string(),
        "due_at": pa.int64(),
    }
)


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges buckets.

    Attributes:
        policy: the table's options that steer planning.
        now: an aware time in the table's time zone.
        order_keys: converts key bounds to order keys.
        path_of: the identity of a bucket.
        table: `database.table`, which messages do not repeat.
    """

    policy: MergeTreeOptions
    now: datetime
    order_keys: Callable[[pa.Array], Sequence[OrderKey]]
    path_of: Callable[[bytes, int], BucketId]
    table: str

    @property
    def terms(self) -> str:
        """Everything except files and time that figures depend on."""
        return f"{__version__}: {self.policy!r} in {self.now.tzinfo!r}"

    def figures(self, files: pa.Table) -> pa.Table:
        """The figures of the buckets of some files, one row per bucket.

        Args:
            files: all live files of these buckets.

        Returns:
            A frame with the columns of `bucket_statistics`; `path` and `partition_path`; the fields of
            `Judgement` except `is_picked`; and, in milliseconds since the epoch:

            - `expired_bytes`, `expires_at`: see `expiry_columns`;
            - `next_trigger`: when the interval between full compactions, or the age of level 0, makes a
              bucket due that is not yet;
            - `valid_until`: when the bucket has to be judged again. Null for never, as above.

        Raises:
            UnsupportedTable: Java's spelling of a partition is unknown.
        """
        files = in_order_of_places(files)
        statistics = bucket_statistics(files, self.policy.small_file_size)
        named = self._named(statistics)
        judgements = self._judgements(files, named)
        named = with_columns(named, **expiry_columns(files, self.policy, self.now))
        judged = with_columns(named, **dict(zip(judgements.column_names, judgements.columns, strict=True)))
        return self._timed(judged).drop_columns(["is_picked", "due_at"]).combine_chunks()

    def _named(self, statistics: pa.Table) -> pa.Table:
        """Adds the paths of each bucket and its partition (empty without partitions)."""
        groups = ColumnGroups(statistics, ["partition"])
        partitions = listed(taken(statistics.select(["partition"]), groups.firsts)["partition"])
        paths = [self.path_of(partition, 0).path.rpartition("/")[0] for partition in partitions]
        above = pa.array(paths, pa.string()).take(pa.array(groups.numbers))
        bucket = whole(statistics["bucket"])
        number = pc.if_else(pc.equal(bucket, POSTPONED), "postpone", bucket.cast(pa.string()))
        inside = pc.if_else(pc.equal(above, ""), "", pc.binary_join_element_wise(above, "", "/"))
        path = pc.binary_join_element_wise(inside, "bucket-", number, "")
        return with_columns(statistics, partition_path=above, path=path)

    def _judgements(self, files: pa.Table, statistics: pa.Table) -> pa.Table:
        """A row for each bucket; buckets without work need no objects."""
        sizes = integers(statistics["files"])
        rests_minor = self._rests(statistics, Strategy.MINOR)
        rests = rests_minor & self._rests(statistics, Strategy.FULL)
        busy = np.flatnonzero(~rests)
        starts = (np.cumsum(sizes) - sizes)[busy].tolist()
        places = map(listed, taken(statistics.select([*PLACE, "path", "files"]), busy).columns)
        rows = [
            astuple(
                self._judge(
                    BucketId(partition, number, path), files.slice(start, count), rests_minor=is_minor_at_rest
                )
            )
            for partition, number, path, count, start, is_minor_at_rest in zip(
                *places, starts, rests_minor[busy].tolist(), strict=True
            )
        ]
        rows.append(astuple(Judgement()))
        found = np.full(len(rests), len(busy))
        found[busy] = np.arange(len(busy))
        columns = [
            pa.array(values, kind)
            for values, kind in zip(zip(*rows, strict=True), _JUDGED.types, strict=True)
        ]
        return taken(pa.table(columns, schema=_JUDGED), found)

    def _rests(self, statistics: pa.Table, strategy: Strategy) -> Flags:
        policy = by_the_hour(self.policy, self.now)
        rests = ~is_null(resting_reasons(statistics, policy, strategy, self.now))
        rests[integers(statistics["bucket"]) == POSTPONED] = False
        return rests

    def _judge(self, bucket_id: BucketId, files: pa.Table, *, rests_minor: bool) -> Judgement:
        """Plans one bucket, or says why it cannot be planned."""
        try:
            return self._planned(bucket_id, files, rests_minor=rests_minor)
        except GROUP_ERRORS as error:
            return Judgement(
                problem=problem_of(error, self.table),
                is_corrupt=isinstance(error, CorruptTable),
                fingerprint=fingerprint_of(zip(listed(files["name"]), listed(files["level"]), strict=True)),
            )

    def _planned(self, bucket_id: BucketId, files: pa.Table, *, rests_minor: bool) -> Judgement:
        if bucket_id.bucket == POSTPONED:
            return _postponed(bucket_id, files)
        bucket = Bucket(bucket_id, data_files(files, self.order_keys), UNCOUNTED)
        policy = by_the_hour(self.policy, self.now)
        minor = None if rests_minor else plan_bucket(bucket, policy, Strategy.MINOR, self.now)
        full = plan_bucket(bucket, policy, Strategy.FULL, self.now)
        due = minor if isinstance(minor, Unit) and minor.inputs else None
        return Judgement(
            trigger=None if due is None else due.trigger,
            detail=None if due is None else self._detail(due),
            is_picked=isinstance(minor, Unit),
            full_bytes=full.read_bytes if isinstance(full, Unit) and full.inputs else None,
        )

    def _detail(self, unit: Unit) -> str:
        place = place_of(unit.bucket)
        trigger, detail = unit.verdict.trigger, unit.verdict.detail
        if trigger is Trigger.INTERVAL:
            detail = self._interval_detail(unit)
        return f"{place} has {detail}" if trigger in _COUNTED else f"in {place}, {detail}"

    def _interval_detail(self, unit: Unit) -> str:
        """States when the top level was written, not how long ago, so that the text does not change."""
        last = last_full_compaction(unit.levels, self.now)
        if last is None:
            return unit.verdict.detail
        moment = moment_text(moment_of(last))
        interval = seconds_text((self.policy.early_full.interval_millis or 0) // 1000)
        return f"the top level was last written at {moment}, the interval is {interval}"

    def _timed(self, figures: pa.Table) -> pa.Table:
        """Adds the times at which figures change without a commit."""
        policy, off_peak = self.policy, self.policy.off_peak
        ends, ages = (fires(figures, policy, self.now) for fires in (interval_fires, level0_fires))
        fires, runs = integers(ends), integers(figures["sorted_runs"])
        is_quiet = ~flags(figures["is_picked"]) & is_null(figures["problem"])
        is_waiting = (fires > 0) & is_quiet
        is_young = ~is_null(ages) & (integers(ages) > epoch_millis(self.now))
        # The ratio applies from that many runs on, and to whatever is forced out of level 0.
        is_forced = policy.force_level0 & (integers(figures["level0_files"]) > 0)
        grows = ((runs >= policy.run_trigger) | is_forced) & (off_peak is not None)
        hour = 0 if off_peak is None else epoch_millis(ratio_changes(off_peak, self.now))
        is_ahead = fires > epoch_millis(self.now)
        first = np.where(grows & ~(is_ahead & (fires <= hour)), hour, fires)
        changes, expires = grows | is_ahead, ~is_null(figures["expires_at"])
        first = _earlier(first, changes, integers(figures["expires_at"]), expires)
        first = _earlier(first, changes | expires, integers(ages), is_young)
        is_next = _earlier(fires, is_waiting, integers(ages), is_young & is_quiet)
        return with_columns(
            figures,
            next_trigger=nullable(is_next, is_waiting | (is_young & is_quiet)),
            valid_until=nullable(first, changes | expires | is_young),
        )


def _earlier(one: Numbers, has_one: Flags, other: Numbers, has_other: Flags) -> Numbers:
    """The earlier of two times in each row, if both exist."""
    is_other = has_other & (~has_one | (other < one))
    return np.where(is_other, other, one)


def place_of(bucket: BucketId, *, is_numbered: bool = True) -> str:
    """A bucket in words; its partition or the table if buckets have no numbers."""
    partition, _, name = bucket.path.rpartition("/")
    if not is_numbered:
        return partition or "the table"
    number = f"bucket {name.rpartition('-')[2]}"
    return f"{number} of {partition}" if partition else number


def _postponed(bucket: BucketId, files: pa.Table) -> Judgement:
    """Every strategy moves all postponed rows to their buckets."""
    size = int(integers(files["size"]).sum())
    verdict = postponed_verdict(len(files), size, place_of(bucket, is_numbered=False))
    return Judgement(trigger=verdict.trigger, detail=verdict.detail, is_picked=True, full_bytes=size)


def ratio_changes(off_peak: OffPeak, now: datetime) -> datetime:
    """The next full hour with another size ratio, or the same hour of the next day if it never changes."""
    this_hour = now.replace(minute=0, second=0, microsecond=0).astimezone(UTC)
    hours = (this_hour + timedelta(hours=number) for number in range(1, _DAY + 1))
    ratio = off_peak.ratio_at(now.hour)
    changes = (hour for hour in hours if off_peak.ratio_at(hour.astimezone(now.tzinfo).hour) != ratio)
    return next(changes, this_hour + timedelta(hours=_DAY))
