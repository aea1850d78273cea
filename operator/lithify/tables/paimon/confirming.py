"""Finds out whether what attempts have committed is in the table's history for good.

Called by `orphans` with the journals that such attempts keep. A Java writer that had looked before we wrote
may rename its own snapshot over ours long after our run has read it back. Nothing refers to the run's files
then, unless somebody had built on its snapshot before.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from contextlib import suppress

from pypaimon.snapshot.snapshot import Snapshot

from lithify.clock import Clock
from lithify.errors import MissingFile
from lithify.tables.paimon.journal import ATTEMPT_PROPERTY, Attempt, CommittedJournal
from lithify.tables.paimon.snapshots import own_properties
from lithify.tables.paimon.sweeping import LINGERING, knows_all_places, left_alone, sweep
from lithify.tables.paimon.table import PaimonTable


def confirm(
    table: PaimonTable, journals: Sequence[CommittedJournal], clock: Clock, taken_back: Container[str]
) -> int:
    """Forgets attempts whose snapshots are in the history for good; sweeps after those that are not.

    Returns:
        How many files were deleted.

    Raises:
        CorruptTable: what refers to files cannot be read, or a journal has to be kept (`left_alone`).
    """
    now = clock.now()
    doubtful = []
    for journal in journals:
        if journal.prefix in taken_back:
            table.journal.reopen(journal, now)
        elif _is_built_on(table, journal):
            table.journal.forget(journal)
        elif now - journal.since > LINGERING:
            doubtful.append(journal)
    return _sweep_after(table, doubtful)


def _sweep_after(table: PaimonTable, journals: Sequence[CommittedJournal]) -> int:
    """Sweeps after old attempts that have committed; at once, so that references are looked up once."""
    lost: dict[CommittedJournal, Attempt] = {}
    for journal in journals:
        found = table.snapshots.get(journal.snapshot)
        attempt = table.journal.read(journal.path)
        if attempt is not None and (found is None or not is_of(found, journal.prefix)):
            lost[journal] = attempt
    deleted = sweep(table, *lost.values())
    elsewhere = [] if deleted else [each for each in lost.values() if not knows_all_places(table, each)]
    if not deleted:
        for journal in journals:
            if lost.get(journal) not in elsewhere:
                table.journal.forget(journal)
    for attempt in elsewhere:
        raise left_alone(table, attempt)
    return deleted


def _is_built_on(table: PaimonTable, committed: CommittedJournal) -> bool:
    """Whether the next snapshot names manifests of the attempt; two requests, or one if there is none.

    It does not if it has merged them; then time will tell.
    """
    following = table.snapshots.get(committed.snapshot + 1)
    if following is None:
        return False
    with suppress(MissingFile):
        names = table.manifests.names_in_list(following.base_manifest_list)
        return any(committed.prefix in name for name in names)
    return False


def is_of(snapshot: Snapshot, prefix: str) -> bool:
    """Whether the attempt of a prefix has committed a snapshot."""
    return own_properties(snapshot).get(ATTEMPT_PROPERTY) == prefix
