"""What is told of a table: the figures of its files, its snapshots, and what stands in the way of a run.

Called by `observation`. Asks for nothing and writes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from lithify.errors import InvalidOption
from lithify.tables.model import BlockedBucket, Bucket, fingerprint_of
from lithify.tables.observation import KeptSnapshots, Observation
from lithify.tables.paimon.blocked import BUCKET_ERRORS, blocked_bucket
from lithify.tables.paimon.figures import (
    BucketFigures,
    Filter,
    blocked_figures,
    bucket_figures,
    delete_percent,
    work_in,
)
from lithify.tables.paimon.kept import KeptTable
from lithify.tables.paimon.options import is_write_only
from lithify.tables.paimon.table import PaimonTable

_UNCOUNTED = 0
"""Stands for the number of buckets of a partition, which planning does not heed."""


def summarise(table: PaimonTable, found: KeptTable, wanted: Filter, now: datetime) -> Observation:
    """What a table's files come to. `now` is an aware time in the table's time zone.

    Raises:
        InvalidOption: the filter names a column that is none of the partition's.
    """
    _check_filter(table, wanted)
    policy = table.options.policy
    ids = sorted((table.bucket_id(*place) for place in found.buckets), key=str)
    figures: list[BucketFigures] = []
    blocked: list[BlockedBucket] = []
    for each in ids:
        bucket = Bucket(each, tuple(found.buckets[each.partition, each.bucket].values()), _UNCOUNTED)
        block = _held(bucket, wanted)
        if block is None:
            try:
                figures.append(bucket_figures(bucket, policy, now))
                continue
            except BUCKET_ERRORS as error:
                block = blocked_bucket(table.name, each.path, error, _fingerprint(bucket))
        figures.append(blocked_figures(bucket, policy))
        blocked.append(block)
    specs: Mapping[str, Mapping[str, str]] = {str(each).rpartition("/")[0]: table.spec(each) for each in ids}
    work = work_in(figures, specs, wanted, now)
    most = max(figures, key=lambda bucket: bucket.sorted_runs, default=None)
    index_problem = table.index_problem(found.index_types)
    write_only = is_write_only(table.stored_options)
    return Observation(
        table_uuid=found.uuid,
        snapshot=found.newest.id if found.newest else None,
        snapshot_time=_time(found.newest.millis) if found.newest else None,
        schema_id=found.schema_id,
        refusals=(*table.refusals, *([index_problem] if index_problem else [])),
        write_only=write_only,
        partitions=len(specs),
        buckets=len(figures),
        files=sum(bucket.files for bucket in figures),
        bytes=sum(bucket.bytes for bucket in figures),
        small_files=sum(bucket.small_files for bucket in figures),
        level0_files=sum(bucket.level0_files for bucket in figures),
        sorted_runs=most.sorted_runs if most else 0,
        sorted_runs_bucket=most.path if most else None,
        delete_percent=delete_percent(figures),
        findings=work.findings,
        full_bytes=work.full_bytes,
        snapshots=_kept_snapshots(found, writers_expire=not write_only),
        partitions_due=work.partitions_due,
        full_partitions=work.full_partitions,
        run_trigger=policy.run_trigger,
        next_trigger=work.next_trigger,
        blocked=tuple(blocked),
    )


def _held(bucket: Bucket, wanted: Filter) -> BlockedBucket | None:
    """The bucket as one that is blocked, if it is known to be and its files are the same as then."""
    known = wanted.held.get(bucket.id.path)
    if known is None or known != _fingerprint(bucket):
        return None
    return BlockedBucket(bucket.id.path, is_corrupt=True, problem="as found by a run", fingerprint=known)


def _fingerprint(bucket: Bucket) -> str:
    return fingerprint_of((file.name, file.level) for file in bucket.files)


def _check_filter(table: PaimonTable, wanted: Filter) -> None:
    for column in sorted({column for values in wanted.partitions for column in values}):
        if column not in table.schema.partition_keys:
            known = ", ".join(table.schema.partition_keys) or "it is not partitioned"
            problem = f"{column} is not a partition column of {table.name} ({known})"
            raise InvalidOption("partitions", problem)


def _kept_snapshots(found: KeptTable, *, writers_expire: bool) -> KeptSnapshots:
    newest, history = found.newest, found.history
    if newest is None or history is None:
        return KeptSnapshots(0, None, 0, writers_expire)
    return KeptSnapshots(
        count=newest.id - history.oldest + 1,
        oldest=_time(history.oldest_millis),
        expired_bytes=sum(history.removed.values()),
        writers_expire=writers_expire,
    )


def _time(millis: int) -> datetime:
    return datetime.fromtimestamp(millis / 1000, UTC)
