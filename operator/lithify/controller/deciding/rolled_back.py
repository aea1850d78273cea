"""Runs that ended as Compacted and may have been rolled back since: which to ask for, and the answer. Pure.

Called by `reconciling`, which asks with each observation of the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.observation import Observation
from lithify.formats.protocol.observing import CommittedRun
from lithify.resources.compaction import Compaction, Reason

MOST_ASKED = 16
"""Number of runs that are asked for, the newest ones: catalogs remove snapshots at the end of the history."""


def committed_runs(runs: Iterable[Compaction]) -> tuple[CommittedRun, ...]:
    """What the newest compacted runs among those of a table have committed, newest first."""
    ended = sorted(runs, key=_completed, reverse=True)
    return tuple(_committed(ended))[:MOST_ASKED]


def is_rolled_back(run: Compaction, seen: Observation | None) -> bool:
    """Whether a compacted run was rolled back, according to an observation of its table."""
    if run.reason is not Reason.COMPACTED or seen is None:
        return False
    return run.status.committed_snapshot_id in seen.rolled_back


def _committed(runs: Iterable[Compaction]) -> Iterator[CommittedRun]:
    for run in runs:
        status = run.status
        base, snapshot, ended = status.base_snapshot_id, status.committed_snapshot_id, status.completion_time
        if run.reason is not Reason.COMPACTED:
            continue
        if base is not None and snapshot is not None and ended is not None:
            yield CommittedRun(SnapshotId(base), SnapshotId(snapshot), ended)


def _completed(run: Compaction) -> float:
    completed = run.status.completion_time
    return 0.0 if completed is None else completed.timestamp()
