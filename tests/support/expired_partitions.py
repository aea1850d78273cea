"""Expires partitions of a table that Java wrote, and beside it those of a copy with Java's own classes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from infrastructure.oracle.client import Oracle, Table
from lithify.clock import Clock
from lithify.formats.paimon.commit.dropping import drop_partitions
from lithify.formats.paimon.maintenance.partition_expiry import Dropped, PartitionExpiry
from lithify.formats.paimon.table import PaimonTable
from support.expired_snapshots import numbers, opened
from support.runs import ShiftedClock
from support.tables import copy_of


def partition_expiry(
    table: PaimonTable, options: Mapping[str, str], clock: Clock | None = None
) -> PartitionExpiry:
    """The expiry of a table's partitions, as by its options and others."""
    return PartitionExpiry(
        table, {**table.stored_options, **options}, partial(_drop, clock or ShiftedClock())
    )


def _drop(
    clock: Clock, table: PaimonTable, partitions: Sequence[bytes], before_millis: int | None
) -> Dropped:
    outcome = drop_partitions(table, partitions, before_millis, clock)
    assert outcome is not None
    return Dropped(
        tuple(bucket.partition for bucket in outcome.committed),
        {bucket.partition: reason for bucket, reason in outcome.conflicts.items()},
    )


def expire_partitions_of_both(
    oracle: Oracle, table: Table, options: Mapping[str, str], warehouse: Path
) -> list[str]:
    """Expires partitions with Lithify, and with Java on a copy: the same go, and the same is left."""
    twin = copy_of(table, warehouse)
    theirs = [path_of(each) for each in oracle.expire_partitions(twin, options)]

    expiry = partition_expiry(opened(table), options)
    plan = expiry.plan(ShiftedClock())
    assert [each.name for each in plan.partitions] == theirs
    done = expiry.execute(plan)

    assert done.figures == plan.figures
    assert state_of(oracle, table) == state_of(oracle, twin)
    return theirs


def path_of(partition: Mapping[str, str]) -> str:
    return "/".join(f"{column}={value}" for column, value in partition.items())


def state_of(oracle: Oracle, table: Table) -> dict[str, Any]:
    """What is left of a table: its rows, its live files, and what its last snapshots say."""
    snapshots = [
        json.loads((table.folder / f"snapshot/snapshot-{each}").read_text()) for each in numbers(table)
    ]
    told = ("id", "schemaId", "commitKind", "totalRecordCount", "deltaRecordCount", "watermark", "nextRowId")
    return {
        "rows": Counter(map(str, oracle.read(table))),
        "files": {(file.name, file.level) for file in oracle.files(table)},
        "snapshots": [{key: each.get(key) for key in told} for each in snapshots],
    }
