"""Cleans up after dead attempts, as far as that is certain to be safe, in any table format.

Called by drivers before they plan. For every attempt in the journal:

- It has committed: unreferenced files with its prefix are remains of failed tasks.
- It has not committed and no longer can: every snapshot since its base was read and none is its own, and each
  of its units has lost an input, so a late commit would be refused. Then its files may be deleted.
- Undecidable: it may be cleaned up once it was silent for the safe age, at which it fences itself.
- It had committed, and its snapshot was replaced or removed since: nothing references its files any more.

Before anything is deleted the attempt is condemned (it checks its journal before it commits). A condemned
attempt is checked again for a while, because its tasks may still be writing. Its files stay as long: others
may have read a snapshot of it that was replaced since, and be about to commit on top of it; and on object
stores an unanswered write of its snapshot may still arrive.

An invalid journal affects only itself: its problem is reported, and the others are cleaned up.
"""

from __future__ import annotations

from collections.abc import Callable, Container, MutableSequence, Sequence
from datetime import datetime, timedelta
from enum import Enum, auto
from functools import partial
from typing import Protocol

from lithify.clock import Clock
from lithify.engine.attempts.ages import LINGERING, SAFE_AGE
from lithify.engine.attempts.attempt import Attempt, CommittedJournal, Scope
from lithify.engine.attempts.journal import Journal
from lithify.engine.attempts.names import is_temporary, sign_of, stop_file_of
from lithify.errors import CorruptTable, LithifyError, StorageError, UnsupportedTable
from lithify.faults import failpoint
from lithify.formats.protocol.results import Recovered
from lithify.io.storage import Storage

_MOST_TOLD = 100
"""Problems that are reported individually: anyone who may write to the table's folder can cause any number.
"""


class Fate(Enum):
    """Fate of an attempt, as the table's snapshots show it.

    `HARMLESS` means that it certainly has not committed; whether it still may is a separate question.
    """

    COMMITTED = auto()
    HARMLESS = auto()
    UNKNOWN = auto()


class Remains(Protocol[Scope]):
    """Questions of clean-up about a table and its attempts; each adapter answers them."""

    @property
    def journal(self) -> Journal[Scope]:
        """The journal of the table or branch."""
        ...

    @property
    def storage(self) -> Storage:
        """Access to the table's files."""
        ...

    @property
    def temporary_folders(self) -> Sequence[str]:
        """Folders in which a crash may leave temporary files, besides the journal's."""
        ...

    def take_back_strays(self, taken_back: set[str]) -> None:
        """Removes snapshots of attempts that are not part of the table's history.

        Args:
            taken_back: receives the prefixes of their attempts, also if an error follows.
        """
        ...

    def fate_of(self, attempt: Attempt[Scope]) -> Fate:
        """Whether an attempt has committed, from the snapshots since its base."""
        ...

    def has_lost_every_unit(self, attempt: Attempt[Scope]) -> bool:
        """Whether an input of each of its units is gone, so that a late commit would be refused."""
        ...

    def is_built_on(self, committed: CommittedJournal) -> bool:
        """Whether another snapshot certainly was built on that of an attempt."""
        ...

    def is_in_place(self, committed: CommittedJournal) -> bool:
        """Whether the snapshot of a committed attempt is still in its place."""
        ...

    def is_removed(self, committed: CommittedJournal) -> bool:
        """Whether a catalog certainly removed the snapshot of an attempt that it had committed."""
        ...

    @property
    def settled_after(self) -> timedelta:
        """Time after a commit from which on its snapshot is not expected to be replaced or removed."""
        ...

    def check_files(self, attempt: Attempt[Scope]) -> None:
        """Checks that the files of an attempt can be listed.

        Raises:
            CorruptTable, UnsupportedTable: its journal has groups that the table cannot have.
        """
        ...

    def check_places(self, attempt: Attempt[Scope]) -> None:
        """Checks that the table still names all directories into which an attempt wrote.

        Raises:
            CorruptTable: it does not, so some of its files have to be deleted by hand.
        """
        ...

    def sweep(self, *attempts: Attempt[Scope]) -> int:
        """Deletes unreferenced files of attempts that have committed or never can; returns their number.

        Raises:
            CorruptTable: what references files cannot be read, so nothing was deleted.
        """
        ...


def recover(remains: Remains[Scope], clock: Clock) -> Recovered:
    """Cleans up after dead attempts; returns how many files were deleted, and why others were not."""
    recorded = remains.journal.recorded()
    taken_back: set[str] = set()
    deleted = 0
    problems: list[LithifyError] = [*recorded.refused]
    steps: list[Callable[[], int]] = []
    if recorded.open or recorded.committed:  # without journals, no snapshot of ours can be a stray
        steps.append(partial(_take_back_strays, remains, taken_back))
    steps += [partial(_clean_up, remains, path, clock, taken_back) for path in recorded.open]
    steps.append(partial(_confirm, remains, recorded.committed, clock, taken_back, problems))
    steps.append(partial(_delete_temporaries, remains, clock))
    for step in steps:
        try:
            deleted += step()
        except (CorruptTable, UnsupportedTable, StorageError) as error:
            problems.append(error)
    return Recovered(deleted, _told(problems))


def _told(problems: Sequence[LithifyError]) -> tuple[str, ...]:
    """The reported problems; beyond the limit, only their number."""
    told = tuple(map(str, problems[:_MOST_TOLD]))
    return told if len(problems) <= _MOST_TOLD else (*told, f"{len(problems) - _MOST_TOLD} more like these")


def _take_back_strays(remains: Remains[Scope], taken_back: set[str]) -> int:
    remains.take_back_strays(taken_back)
    return 0


def _clean_up(remains: Remains[Scope], path: str, clock: Clock, taken_back: Container[str]) -> int:
    """Cleans up an attempt that has committed or never can; closes it once its tasks must be over."""
    now = clock.now()
    attempt = remains.journal.read(path)
    if attempt is None or not _may_be_cleaned(remains, attempt, now):
        return 0
    condemned = remains.journal.condemn(attempt, now, again=attempt.prefix in taken_back)
    if condemned is None:
        return 0
    failpoint("condemned")
    if not _is_settled(remains, condemned, now):
        return 0
    deleted = remains.sweep(condemned)
    if not deleted and condemned.condemned_for(now) > LINGERING:
        remains.check_places(condemned)
        remains.storage.delete(remains.journal.stop_path(condemned))
        remains.journal.close(condemned)
    return deleted


def _is_settled(remains: Remains[Scope], condemned: Attempt[Scope], now: datetime) -> bool:
    """Whether no snapshot of it can still arrive, and no commit can be about to build on one.

    Its silence alone does not tell: it is measured with the clock of this process, which may be fast, and the
    attempt may have sent its snapshot right after it checked its journal for the last time.
    """
    return condemned.condemned_for(now) > LINGERING or remains.fate_of(condemned) is Fate.COMMITTED


def _may_be_cleaned(remains: Remains[Scope], attempt: Attempt[Scope], now: datetime) -> bool:
    if attempt.condemned is not None or remains.journal.silence(attempt, now) > SAFE_AGE:
        return True
    fate = remains.fate_of(attempt)
    return fate is Fate.COMMITTED or (fate is Fate.HARMLESS and remains.has_lost_every_unit(attempt))


def _confirm(
    remains: Remains[Scope],
    journals: Sequence[CommittedJournal],
    clock: Clock,
    taken_back: Container[str],
    problems: MutableSequence[LithifyError],
) -> int:
    """Closes attempts whose snapshots are in the history for good; cleans up after those that are not.

    Another writer that had checked before our write may put its own snapshot over ours long after our run has
    read it back. Then nothing references the run's files, unless another commit had been built on its
    snapshot before. Where a catalog has removed our snapshot in favour of a writer's, the attempt is
    condemned: its files stay for a while longer, because somebody may be reading them. Problems of single
    journals, which are kept then, are added to `problems`.
    """
    now = clock.now()
    doubtful = []
    for journal in journals:
        try:
            if journal.prefix in taken_back or remains.is_removed(journal):
                remains.journal.reopen(journal, now)
            elif remains.is_built_on(journal):
                remains.journal.forget(journal)
            elif now - journal.since > remains.settled_after:
                doubtful.append(journal)
        except (CorruptTable, StorageError) as error:
            problems.append(error)
    return _sweep_after(remains, doubtful, problems)


def _sweep_after(
    remains: Remains[Scope],
    journals: Sequence[CommittedJournal],
    problems: MutableSequence[LithifyError],
) -> int:
    """Cleans up after old committed attempts, all together, so that references are looked up only once."""
    settled: list[CommittedJournal] = []
    lost: dict[CommittedJournal, Attempt[Scope]] = {}
    for journal in journals:
        try:
            attempt = _lost_attempt(remains, journal)
        except (CorruptTable, UnsupportedTable, StorageError) as error:
            problems.append(error)
            continue
        settled.append(journal)
        if attempt is not None:
            lost[journal] = attempt
    deleted = remains.sweep(*lost.values())
    if deleted:
        return deleted
    for journal in settled:
        try:
            if journal in lost:
                remains.check_places(lost[journal])
            remains.journal.forget(journal)
        except CorruptTable as error:
            problems.append(error)
    return 0


def _lost_attempt(remains: Remains[Scope], journal: CommittedJournal) -> Attempt[Scope] | None:
    """The attempt of a journal if its snapshot is no longer in place; else None."""
    if remains.is_in_place(journal):
        return None
    attempt = remains.journal.read(journal.path)
    if attempt is not None:
        remains.check_files(attempt)
    return attempt


def _delete_temporaries(remains: Remains[Scope], clock: Clock) -> int:
    """Deletes old temporary files of crashes, and heartbeats and stop files without a journal."""
    oldest = (clock.now() - SAFE_AGE).timestamp()
    old: list[str] = []
    for folder in (*remains.temporary_folders, remains.journal.folder):
        listed = remains.storage.list(folder)
        wanted = {name_of(file.name) for file in listed for name_of in (sign_of, stop_file_of)}
        for file in listed:
            path = f"{folder}/{file.name}"
            is_over = file.modified_seconds < oldest and file.name not in wanted
            if is_temporary(file.name) and is_over and remains.storage.is_plain_file(path):
                old.append(path)
    remains.storage.delete_all(old)
    return len(old)
