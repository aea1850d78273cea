"""What is told of a table: the figures of its files, its snapshots, and what stands in the way of a run.

Called by `observation`. Asks for nothing and writes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from lithify.errors import InvalidOption
from lithify.tables.model import Bucket
from lithify.tables.observation import KeptSnapshots, Observation
from lithify.tables.paimon.figures import Filter, bucket_figures, delete_percent, work_in
from lithify.tables.paimon.kept import KeptTable
from lithify.tables.paimon.options import is_write_only
from lithify.tables.paimon.table import PaimonTable

_UNCOUNTED = 0
"""Stands for the number of buckets of a partition, which planning does not heed."""


def summarise(table: PaimonTable, found: KeptTable, wanted: Filter, now: datetime) -> Observation:
    """What a table's files come to. `now` is an aware time in the table's time zone.

    Raises:
        InvalidOption: the filter names a column that is none of the partition's.
        CorruptTable: files of one level overlap.
    """
    _check_filter(table, wanted)
    policy = table.options.policy
    ids = sorted((table.bucket_id(*place) for place in found.buckets), key=str)
    figures = [
        bucket_figures(
            Bucket(each, tuple(found.buckets[each.partition, each.bucket].values()), _UNCOUNTED), policy, now
        )
        for each in ids
    ]
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
    )


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
