"""Finds out whether committed snapshots of attempts are in the table's history for good.

Called by `orphans` with the journals that committed attempts keep. A Java writer that had checked before our
write may rename its own snapshot over ours long after our run has read it back. Then nothing references the
run's files, unless another commit had been built on its snapshot before.
"""

from __future__ import annotations

from collections.abc import Container, MutableSequence, Sequence
from contextlib import suppress

from pypaimon.snapshot.snapshot import Snapshot

from lithify.clock import Clock
from lithify.errors import CorruptTable, LithifyError, MissingFile, StorageError, UnsupportedTable
from lithify.formats.paimon.commit.journal import ATTEMPT_PROPERTY, CommittedJournal
from lithify.formats.paimon.commit.journal_files import Attempt
from lithify.formats.paimon.commit.sweeping import (
    LINGERING,
    data_files,
    knows_all_places,
    left_alone,
    sweep,
)
from lithify.formats.paimon.snapshots.snapshot_properties import own_properties
from lithify.formats.paimon.table import PaimonTable


def confirm(
    table: PaimonTable,
    journals: Sequence[CommittedJournal],
    clock: Clock,
    taken_back: Container[str],
    problems: MutableSequence[LithifyError],
) -> int:
    """Closes attempts whose snapshots are in the history for good; cleans up after those that are not.

    Args:
        table: the table.
        journals: journals of the attempts.
        clock: for the age of attempts.
        taken_back: prefixes of attempts whose snapshots were just taken back.
        problems: receives the problems of single journals, which are kept then.

    Returns:
        How many files were deleted.

    Raises:
        CorruptTable: metadata that references files cannot be read.
    """
    now = clock.now()
    doubtful = []
    for journal in journals:
        try:
            if journal.prefix in taken_back:
                table.journal.reopen(journal, now)
            elif _is_built_on(table, journal):
                table.journal.forget(journal)
            elif now - journal.since > LINGERING:
                doubtful.append(journal)
        except (CorruptTable, StorageError) as error:
            problems.append(error)
    return _sweep_after(table, doubtful, problems)


def _sweep_after(
    table: PaimonTable, journals: Sequence[CommittedJournal], problems: MutableSequence[LithifyError]
) -> int:
    """Cleans up after old committed attempts, all together, so that references are looked up only once."""
    settled: list[CommittedJournal] = []
    lost: dict[CommittedJournal, Attempt] = {}
    for journal in journals:
        try:
            attempt = _lost_attempt(table, journal)
        except (CorruptTable, UnsupportedTable, StorageError) as error:
            problems.append(error)
            continue
        settled.append(journal)
        if attempt is not None:
            lost[journal] = attempt
    deleted = sweep(table, *lost.values())
    if deleted:
        return deleted
    for journal in settled:
        if journal in lost and not knows_all_places(table, lost[journal]):
            problems.append(left_alone(table, lost[journal]))
        else:
            table.journal.forget(journal)
    return 0


def _lost_attempt(table: PaimonTable, journal: CommittedJournal) -> Attempt | None:
    """The attempt of a journal if its snapshot is no longer in place; else None.

    Raises:
        CorruptTable: the journal cannot be read, or its files cannot be located.
    """
    found = table.snapshots.get(journal.snapshot)
    if found is not None and is_of(found, journal.prefix):
        return None
    attempt = table.journal.read(journal.path)
    if attempt is not None:
        list(data_files(table, attempt))
    return attempt


def _is_built_on(table: PaimonTable, committed: CommittedJournal) -> bool:
    """Whether the next snapshot names manifests of the attempt; two requests, or one if there is none.

    False also if the next commit merged those manifests; then a later check decides.
    """
    following = table.snapshots.get(committed.snapshot + 1)
    if following is None:
        return False
    with suppress(MissingFile):
        names = table.manifests.names_in_list(following.base_manifest_list)
        return any(committed.prefix in name for name in names)
    return False


def is_of(snapshot: Snapshot, prefix: str) -> bool:
    """Whether the attempt with this prefix committed a snapshot."""
    return own_properties(snapshot).get(ATTEMPT_PROPERTY) == prefix
