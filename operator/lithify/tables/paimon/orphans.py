"""Finds the files that dead attempts left behind, and deletes them when that is certain to be safe.

Called by the job's driver before it plans. For every attempt in the journal:

- It has committed: files with its prefix that nothing refers to are left over from failed tasks.
- It has not, and cannot any more: every snapshot since its base could be read and none is its own, and each
  of its units has lost an input, so a late commit of it would be refused. Then its files may go.
- Nobody can tell: its files wait until the attempt is older than the safe age, at which it fences itself.

Before anything is deleted the attempt is condemned (it looks at its journal before it commits), and its files
are looked up in all snapshots, tags and branches. Only the directories of the journal's buckets are listed.
A condemned attempt is looked at again for a while, because its tasks may go on writing. On S3 its files stay
as long: a snapshot that it sent, and that nobody has answered, may still arrive.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from functools import partial

from lithify.clock import Clock
from lithify.errors import CorruptTable, StorageError
from lithify.faults import reach
from lithify.tables.paimon.entries import ADD
from lithify.tables.paimon.journal import ATTEMPT_PROPERTY, SAFE_AGE, Attempt
from lithify.tables.paimon.local_files import TEMPORARY
from lithify.tables.paimon.references import referenced_names
from lithify.tables.paimon.table import PaimonTable

_LINGERING = timedelta(hours=1)
"""For so long tasks of an attempt that was condemned may go on writing, and what it sent be under way."""


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
        elif (snapshot.properties or {}).get(ATTEMPT_PROPERTY) == attempt.prefix:
            return Fate.COMMITTED
    return Fate.HARMLESS if readable else Fate.UNKNOWN


def reconcile(table: PaimonTable, clock: Clock) -> Cleaned:
    """Cleans up after dead attempts, as far as that is certain to be safe."""
    deleted = 0
    problems = []
    steps = [partial(_clean_up, table, path, clock) for path in table.journal.paths()]
    for step in (*steps, partial(_delete_temporaries, table, clock)):
        try:
            deleted += step()
        except (CorruptTable, StorageError) as error:
            problems.append(str(error))
    return Cleaned(deleted, tuple(problems))


def _clean_up(table: PaimonTable, path: str, clock: Clock) -> int:
    """Sweeps an attempt that has committed or never can, and forgets it once its tasks must be over."""
    now = clock.now()
    attempt = table.journal.read(path)
    if attempt is None or not _may_be_cleaned(table, attempt, clock):
        return 0
    condemned = table.journal.condemn(attempt, now)
    if condemned is None:
        return 0
    reach("condemned")
    if not _is_settled(table, condemned, now):
        return 0
    deleted = sweep(table, condemned)
    if not deleted and condemned.condemned_for(now) > _LINGERING:
        table.journal.close(condemned)
    return deleted


def _is_settled(table: PaimonTable, condemned: Attempt, now: datetime) -> bool:
    """Whether no snapshot of it can be under way any more."""
    return (
        not table.snapshots.may_arrive_late
        or condemned.condemned_for(now) > _LINGERING
        or condemned.age(now) > SAFE_AGE
        or fate_of(table, condemned) is Fate.COMMITTED
    )


def sweep(table: PaimonTable, attempt: Attempt) -> int:
    """Deletes the files of an attempt that nothing refers to; returns how many there were.

    Only to be called when the attempt has committed or never can, and nothing that it sent is under way.

    Raises:
        CorruptTable: what refers to files cannot be read, so nothing was deleted.
    """
    data = list(_data_files(table, attempt))
    manifests = table.manifests.names_with(attempt.prefix)
    if not data and not manifests:
        return 0
    referenced = referenced_names(table, attempt.prefix)
    doomed = [path for path in data if path.rsplit("/", 1)[-1] not in referenced]
    for path in doomed:
        table.storage.delete(path)
    unused = [name for name in manifests if name not in referenced]
    for name in unused:
        table.storage.delete(table.manifests.path(name))
    reach("orphans-deleted")
    return len(doomed) + len(unused)


def _may_be_cleaned(table: PaimonTable, attempt: Attempt, clock: Clock) -> bool:
    if attempt.condemned is not None or attempt.age(clock.now()) > SAFE_AGE:
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
    if attempt.outside is not None and attempt.outside.table == table.root:
        roots += attempt.outside.roots
    for folder in sorted({f"{root}/{unit.folder}" for unit in attempt.units for root in roots}):
        for path in table.storage.files_below(folder):
            if attempt.prefix in path.rsplit("/", 1)[-1]:
                yield path


def _delete_temporaries(table: PaimonTable, clock: Clock) -> int:
    """Deletes what a crash in the middle of a small write left, once it is old."""
    oldest = (clock.now() - SAFE_AGE).timestamp()
    deleted = 0
    for folder in (f"{table.home}/snapshot", f"{table.home}/lithify/attempts"):
        for file in table.storage.list(folder):
            if file.name.startswith(TEMPORARY) and file.modified_seconds < oldest:
                table.storage.delete(f"{folder}/{file.name}")
                deleted += 1
    return deleted
