"""Drops partitions of a Paimon table in one OVERWRITE snapshot, as Paimon's `dropPartitions` does.

Called by `maintaining`, for the expiry of partitions. Every file that a partition has in the newest snapshot
goes, with its index files, also if it is younger than the plan: so it is with Java, and what the plan says of
a partition's values holds for these files, too. Data files stay for readers until their snapshots expire.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

from lithify.clock import Clock
from lithify.engine.commit.loop import CommitOutcome
from lithify.faults import failpoint
from lithify.formats.paimon.commit.changes import DroppedPartition
from lithify.formats.paimon.commit.committer import Committer
from lithify.formats.paimon.commit.table_writing import check_writable, journal_of
from lithify.formats.paimon.model import POSTPONED
from lithify.formats.paimon.snapshots.attempt_scope import AttemptScope, PaimonAttempt
from lithify.formats.paimon.table import PaimonTable


def drop_partitions(
    table: PaimonTable, partitions: Sequence[bytes], before_millis: int | None, clock: Clock
) -> CommitOutcome | None:
    """Drops partitions; None if the table has no snapshot.

    A journal covers the manifests until it is known what became of the snapshot; it has no units, so nobody
    takes the attempt for over before its safe age.

    Args:
        table: the table.
        partitions: the partitions as BinaryRow.
        before_millis: local time before which all files of a partition must have been written, or it stays;
            None for any.
        clock: source of the time for the journal and the commit.

    Raises:
        UnsupportedTable: the store would let commits overwrite each other.
        CommitOutrun: other commits were faster until the deadline; nothing was dropped.
        CommitUnknown: a snapshot was sent and it is unknown whether it is in place.
        StorageError: the file system refuses or is full; nothing was dropped.
    """
    check_writable(table)
    newest = table.snapshots.latest()
    if newest is None:
        return None
    scope = AttemptScope(base_snapshot=newest.id, base_millis=newest.time_millis, units=())
    attempt = journal_of(table).begin(f"expire-{uuid4().hex}", scope, clock.now())
    failpoint("journal-written")
    has_postponed = table.options.postponed is not None
    changes = [
        DroppedPartition(table.bucket_id(each, POSTPONED), before_millis, has_postponed)
        for each in partitions
    ]
    outcome = Committer(table, attempt, clock).commit(changes)
    _close(table, attempt, outcome, clock)
    return outcome


def _close(table: PaimonTable, attempt: PaimonAttempt, outcome: CommitOutcome, clock: Clock) -> None:
    """Closes the journal entry; keeps it while others may rename their snapshot over the new one."""
    journal = journal_of(table)
    if outcome.snapshot is not None and not table.snapshots.has_server:
        journal.keep(attempt, outcome.snapshot, clock.now())
    elif not outcome.overwritten:
        journal.close(attempt)
