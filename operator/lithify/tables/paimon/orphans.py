"""Finds the files that dead attempts left behind, and deletes them when that is certain to be safe.

Called by the job's driver before it plans. For every attempt in the journal:

- It has committed: files with its prefix that nothing refers to are left over from failed tasks.
- It has not, and cannot any more: every snapshot since its base could be read and none is its own, and each
  of its units has lost an input, so a late commit of it would be refused. Then its files may go.
- Nobody can tell: its files wait until the attempt was silent for the safe age, at which it fences itself.

Before anything is deleted the attempt is condemned (it looks at its journal before it commits), and its files
are looked up in all snapshots, tags and branches. Only the directories of the journal's buckets are listed.
A condemned attempt is looked at again for a while, because its tasks may go on writing. Its files stay as
long: others may have read a snapshot of it that was replaced since, and be about to commit on top of it; and
on S3 a snapshot that it sent, and that nobody has answered, may still arrive.

Snapshots of attempts that turn out to be no part of the table's history are taken back first (`lineage`).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from functools import partial

from pypaimon.snapshot.snapshot import Snapshot

from lithify.clock import Clock
from lithify.errors import CorruptTable, MissingFile, StorageError
from lithify.faults import reach
from lithify.tables.paimon.entries import ADD
from lithify.tables.paimon.journal import (
    ATTEMPT_PROPERTY,
    SAFE_AGE,
    Attempt,
    CommittedJournal,
    OutsideRoots,
    sign_of,
)
from lithify.tables.paimon.local_files import TEMPORARY
from lithify.tables.paimon.references import is_held_elsewhere, unreferenced
from lithify.tables.paimon.snapshots import Written
from lithify.tables.paimon.table import PaimonTable

_LINGERING = timedelta(hours=1)
"""For so long after an attempt its tasks may go on writing, what it sent be under way, and others rename."""


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What `reconcile` did.

    Attributes:
        deleted: how many files it deleted.
        problems: why others have to wait.
    """

    deleted: int
    problems: tuple[str, ...] = ()


class Fate(Enum):
    """What is known of an attempt."""

    COMMITTED = auto()
    HARMLESS = auto()
    UNKNOWN = auto()


def fate_of(table: PaimonTable, attempt: Attempt) -> Fate:
    """Whether an attempt has committed, from the snapshots since its base.

    `HARMLESS` here means that it certainly has not; whether it still may, is another question.
    """
    base = table.snapshots.get(attempt.base_snapshot)
    readable = base is not None and base.time_millis == attempt.base_millis
    for snapshot in table.snapshots.since(attempt.base_snapshot):
        if snapshot is None:
            readable = False
        elif _is_of(snapshot, attempt.prefix):
            return Fate.COMMITTED
    return Fate.HARMLESS if readable else Fate.UNKNOWN


def reconcile(table: PaimonTable, clock: Clock) -> Cleaned:
    """Cleans up after dead attempts, as far as that is certain to be safe."""
    recorded = table.journal.recorded()
    taken_back: set[str] = set()
    deleted = 0
    problems = []
    steps: list[Callable[[], int]] = []
    if recorded.open or recorded.committed:  # without any, nothing of ours can have become a stray since
        steps.append(partial(_take_back_strays, table, taken_back))
    steps += [partial(_clean_up, table, path, clock, taken_back) for path in recorded.open]
    steps.append(partial(_confirm, table, recorded.committed, clock, taken_back))
    steps.append(partial(_delete_temporaries, table, clock))
    for step in steps:
        try:
            deleted += step()
        except (CorruptTable, StorageError) as error:
            problems.append(str(error))
    return Cleaned(deleted, tuple(problems))


def _take_back_strays(table: PaimonTable, taken_back: set[str]) -> int:
    """Takes back snapshots that are no part of the history; adds the prefixes of their attempts.

    A rollback to a tag and the fast-forward of a branch put snapshots in their places one after the other, so
    one that a tag or a branch has may be part of what the history is about to be.
    """
    for stray in table.lineage.strays():
        prefix = (stray.properties or {}).get(ATTEMPT_PROPERTY)
        if not is_held_elsewhere(table, stray) and table.lineage.take_back(stray) is Written.TAKEN_BACK:
            taken_back.add(str(prefix))
    return 0


def _clean_up(table: PaimonTable, path: str, clock: Clock, taken_back: Container[str]) -> int:
    """Sweeps an attempt that has committed or never can, and forgets it once its tasks must be over."""
    now = clock.now()
    attempt = table.journal.read(path)
    if attempt is None or not _may_be_cleaned(table, attempt, clock):
        return 0
    condemned = table.journal.condemn(attempt, now, again=attempt.prefix in taken_back)
    if condemned is None:
        return 0
    reach("condemned")
    if not _is_settled(table, condemned, now):
        return 0
    deleted = sweep(table, condemned)
    if not deleted and condemned.condemned_for(now) > _LINGERING:
        if not _knows_all_places(table, condemned):
            raise _left_alone(table, condemned)
        table.journal.close(condemned)
    return deleted


def _is_settled(table: PaimonTable, condemned: Attempt, now: datetime) -> bool:
    """Whether no snapshot of it can be under way any more, and nobody be about to build on one."""
    return (
        condemned.condemned_for(now) > _LINGERING
        or table.journal.silence(condemned, now) > SAFE_AGE
        or fate_of(table, condemned) is Fate.COMMITTED
    )


def _knows_all_places(table: PaimonTable, attempt: Attempt) -> bool:
    """Whether the directories into which an attempt wrote are this table's.

    Those outside are not if the table has been moved or copied since: in a copy the files there may be those
    of the original, and nothing tells which of two is the copy.
    """
    return attempt.outside is None or table.storage.is_same_place(attempt.outside.table, table.root)


def _left_alone(table: PaimonTable, attempt: Attempt) -> CorruptTable:
    """Why the journal of an attempt is kept that knows directories which are not this table's."""
    outside = attempt.outside or OutsideRoots("", ())
    problem = (
        f"it was written for {outside.table}, so files in {' and '.join(outside.roots)} whose names contain "
        f"{attempt.prefix} were left alone; delete those that no table uses, then this journal"
    )
    return CorruptTable(table.journal.path(attempt), problem)


def _confirm(
    table: PaimonTable, journals: Sequence[CommittedJournal], clock: Clock, taken_back: Container[str]
) -> int:
    """Forgets attempts whose snapshots are in the history for good; sweeps after those that are not.

    A Java writer that had looked before we wrote may rename its own snapshot over ours long after. Nothing
    refers to our files then, unless somebody had built on ours before.
    """
    now = clock.now()
    doubtful = []
    for journal in journals:
        if journal.prefix in taken_back:
            table.journal.reopen(journal, now)
        elif _is_built_on(table, journal):
            table.journal.forget(journal)
        elif now - journal.since > _LINGERING:
            doubtful.append(journal)
    return _sweep_after(table, doubtful)


def _sweep_after(table: PaimonTable, journals: Sequence[CommittedJournal]) -> int:
    """Sweeps after old attempts that have committed; at once, so that references are looked up once."""
    lost: dict[CommittedJournal, Attempt] = {}
    for journal in journals:
        found = table.snapshots.get(journal.snapshot)
        attempt = table.journal.read(journal.path)
        if attempt is not None and (found is None or not _is_of(found, journal.prefix)):
            lost[journal] = attempt
    deleted = sweep(table, *lost.values())
    elsewhere = [] if deleted else [each for each in lost.values() if not _knows_all_places(table, each)]
    if not deleted:
        for journal in journals:
            if lost.get(journal) not in elsewhere:
                table.journal.forget(journal)
    for attempt in elsewhere:
        raise _left_alone(table, attempt)
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


def _is_of(snapshot: Snapshot, prefix: str) -> bool:
    return (snapshot.properties or {}).get(ATTEMPT_PROPERTY) == prefix


def sweep(table: PaimonTable, *attempts: Attempt) -> int:
    """Deletes the files of attempts that nothing refers to; returns how many there were.

    Only to be called when each has committed or never can, and nothing that it sent is under way.

    Raises:
        CorruptTable: what refers to files cannot be read, so nothing was deleted.
    """
    data = {path: _name(path) for attempt in attempts for path in _data_files(table, attempt)}
    names = [name for attempt in attempts for name in table.manifests.names_with(attempt.prefix)]
    found = data | {table.manifests.path(name): name for name in names}
    if not found:
        return 0
    orphans = unreferenced(table, found.values())
    doomed = [path for path, name in found.items() if name in orphans]
    for path in doomed:
        table.storage.delete(path)
    reach("orphans-deleted")
    return len(doomed)


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _may_be_cleaned(table: PaimonTable, attempt: Attempt, clock: Clock) -> bool:
    if attempt.condemned is not None or table.journal.silence(attempt, clock.now()) > SAFE_AGE:
        return True
    fate = fate_of(table, attempt)
    return fate is Fate.COMMITTED or (fate is Fate.HARMLESS and _has_lost_every_unit(table, attempt))


def _has_lost_every_unit(table: PaimonTable, attempt: Attempt) -> bool:
    buckets = {table.bucket_id(bytes.fromhex(unit.partition), unit.bucket): unit for unit in attempt.units}
    live = table.live_now(buckets.keys())
    return live is not None and all(
        not set(unit.inputs) <= {entry.file.name for entry in live.get(bucket, ()) if entry.kind == ADD}
        for bucket, unit in buckets.items()
    )


def _data_files(table: PaimonTable, attempt: Attempt) -> Iterator[str]:
    """The files of an attempt, also those that a copy of the table would not have."""
    roots = [table.root]
    if attempt.outside is not None and _knows_all_places(table, attempt):
        roots += attempt.outside.roots
    for folder in sorted({f"{root}/{unit.folder}" for unit in attempt.units for root in roots}):
        for path in table.storage.files_below(folder):
            if attempt.prefix in _name(path):
                yield path


def _delete_temporaries(table: PaimonTable, clock: Clock) -> int:
    """Deletes old remains of small writes that a crash cut off, and signs of life without a journal."""
    oldest = (clock.now() - SAFE_AGE).timestamp()
    deleted = 0
    for folder in (f"{table.home}/snapshot", f"{table.home}/lithify/attempts"):
        listed = table.storage.list(folder)
        wanted = {sign_of(file.name) for file in listed}
        for file in listed:
            is_over = file.modified_seconds < oldest and file.name not in wanted
            if file.name.startswith(TEMPORARY) and is_over:
                table.storage.delete(f"{folder}/{file.name}")
                deleted += 1
    return deleted
