"""Which runs were rolled back, according to the history of a table. Pure.

Called by `observer`. A catalog may remove the snapshots of a compaction in favour of a writer's commit, and
users go back to earlier snapshots.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.observing import CommittedRun


@dataclass(frozen=True, slots=True)
class History:
    """What led to the newest snapshot of a table.

    Attributes:
        snapshots: that snapshot and those before it, as far as they have not expired.
        changed: when the table's metadata were last changed.
    """

    snapshots: frozenset[SnapshotId]
    changed: datetime


def rolled_back(runs: Iterable[CommittedRun], history: History | None) -> tuple[SnapshotId, ...]:
    """The snapshots of those runs whose base a history has, but not the snapshot itself.

    Expiry removes the oldest snapshots first. If both are gone, nothing is known. Nor is it if the metadata
    were not changed after the run had ended: they may come from a replica that lags behind, and a writer in
    whose favour a snapshot was removed changes them again.

    Args:
        runs: the runs.
        history: the table's history; None if nobody takes snapshots of compactions back.
    """
    if history is None:
        return ()
    known = history.snapshots
    judged = [run for run in runs if run.ended < history.changed]
    return tuple(run.snapshot for run in judged if run.base in known and run.snapshot not in known)
