"""What a run has committed to an Iceberg table, from the summaries of snapshots that carry its id."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from lithify.errors import CommitUnknown
from lithify.formats.iceberg.properties import digits_in
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.snapshots import BASE, GROUPS, RUN, TO_COME, Snapshot
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.observation import RunFound

_CLOCKS_DISAGREE = timedelta(hours=1)
"""Allowed clock difference: every writer sets a snapshot's time from its own clock."""


def snapshots_of(metadata: TableMetadata, run: str) -> list[Snapshot]:
    """The snapshots of a run that have not expired, oldest first."""
    found = [each for each in metadata.snapshots.values() if each.summary.get(RUN) == run]
    return sorted(found, key=lambda each: (each.sequence, each.millis))


def find_run(table: IcebergTable, run: str, since: datetime | None = None) -> RunFound | None:
    """What a run has committed; None if no snapshot says that it committed anything.

    Args:
        table: the table.
        run: id of the run.
        since: when the run began.

    Raises:
        CommitUnknown: there is none, but snapshots that expired since may have been its own.
    """
    metadata = table.refresh()
    found = snapshots_of(metadata, run)
    if found:
        return figures_of(found)
    if since is not None and _may_have_expired(metadata, table.branch, since):
        problem = f"no snapshot is of run {run}, and some that are expired may have been"
        raise CommitUnknown(table.name, problem)
    return None


def figures_of(found: Sequence[Snapshot]) -> RunFound:
    """The figures of a run's snapshots, oldest first."""
    return RunFound(
        snapshot=found[-1].snapshot_id,
        base=SnapshotId(found[0].summary.get(BASE) or str(found[0].parent)),
        input_files=_sum(found, "deleted-data-files"),
        output_files=_sum(found, "added-data-files"),
        input_bytes=_sum(found, "removed-files-size"),
        output_bytes=_sum(found, "added-files-size"),
        is_complete=TO_COME not in found[-1].summary,
    )


def groups_of(found: Sequence[Snapshot]) -> Iterator[str]:
    """The paths of the groups in a run's snapshots, as far as their summaries list them."""
    for snapshot in found:
        try:
            listed = json.loads(snapshot.summary.get(GROUPS, "[]"))
        except ValueError:  # anyone may write summaries
            continue
        if isinstance(listed, list):
            yield from (path for path in listed if isinstance(path, str))


def _may_have_expired(metadata: TableMetadata, branch: str, since: datetime) -> bool:
    """Whether the branch's history begins after a time, and not with the table's first snapshot.

    Some writers remove the parent from a snapshot when they expire it, so the sequence number tells, too.
    """
    history = [*metadata.ancestry(branch)]
    oldest = history[-1] if history else None
    if oldest is None or (oldest.parent is None and oldest.sequence <= 1):
        return False
    return oldest.millis > (since - _CLOCKS_DISAGREE).timestamp() * 1000


def _sum(found: Sequence[Snapshot], name: str) -> int:
    return sum(digits_in(snapshot.summary, name) for snapshot in found)
