"""Finds files left behind by dead attempts, and deletes them when that is certain to be safe.

Called by the job's driver before it plans. For every attempt in the journal:

- It has committed: unreferenced files with its prefix are remains of failed tasks.
- It has not committed and no longer can: every snapshot since its base was read and none is its own, and each
  of its units has lost an input, so a late commit would be refused. Then its files may be deleted.
- Undecidable: it may be cleaned up once it was silent for the safe age, at which it fences itself.

Before anything is deleted the attempt is condemned (it checks its journal before it commits), and its files
are looked up in all snapshots, tags and branches. Only the directories of the journal's buckets are listed. A
condemned attempt is checked again for a while, because its tasks may still be writing. Its files stay as
long: others may have read a snapshot of it that was replaced since, and be about to commit on top of it; and
on S3 an unanswered write of its snapshot may still arrive.

An invalid journal affects only itself: its problem is reported, and the others are cleaned up.

Snapshots of attempts that are not part of the table's history are taken back first (`lineage`).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from functools import partial

from lithify.clock import Clock
from lithify.errors import CorruptTable, LithifyError, StorageError, UnsupportedTable
from lithify.faults import reach
from lithify.formats.paimon.commit.confirming import confirm, is_of
from lithify.formats.paimon.commit.journal import ATTEMPT_PROPERTY, SAFE_AGE, sign_of
from lithify.formats.paimon.commit.journal_files import Attempt
from lithify.formats.paimon.commit.references import is_held_elsewhere
from lithify.formats.paimon.commit.sweeping import (
    LINGERING,
    buckets_of,
    knows_all_places,
    left_alone,
    sweep,
)
from lithify.formats.paimon.names.file_names import is_temporary
from lithify.formats.paimon.snapshots.snapshot_properties import own_properties
from lithify.formats.paimon.snapshots.snapshots import Written
from lithify.formats.paimon.table import PaimonTable

_MOST_TOLD = 100
"""Problems that are reported individually: anyone who may write to the table's folder can cause any number.
"""


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The result of `reconcile`.

    Attributes:
        deleted: how many files it deleted.
        problems: why others are not cleaned up yet.
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

    `HARMLESS` means that it certainly has not; whether it still may is a separate question.
    """
    base = table.snapshots.get(attempt.base_snapshot)
    readable = base is not None and base.time_millis == attempt.base_millis
    for snapshot in table.snapshots.since(attempt.base_snapshot):
        if snapshot is None:
            readable = False
        elif is_of(snapshot, attempt.prefix):
            return Fate.COMMITTED
    return Fate.HARMLESS if readable else Fate.UNKNOWN


def reconcile(table: PaimonTable, clock: Clock) -> Cleaned:
    """Cleans up after dead attempts, as far as that is certain to be safe."""
    recorded = table.journal.recorded()
    taken_back: set[str] = set()
    deleted = 0
    problems: list[LithifyError] = [*recorded.refused]
    steps: list[Callable[[], int]] = []
    if recorded.open or recorded.committed:  # without journals, no snapshot of ours can be a stray
        steps.append(partial(_take_back_strays, table, taken_back))
    steps += [partial(_clean_up, table, path, clock, taken_back) for path in recorded.open]
    steps.append(partial(confirm, table, recorded.committed, clock, taken_back, problems))
    steps.append(partial(_delete_temporaries, table, clock))
    for step in steps:
        try:
            deleted += step()
        except (CorruptTable, UnsupportedTable, StorageError) as error:
            problems.append(error)
    return Cleaned(deleted, _told(problems))


def _told(problems: Sequence[LithifyError]) -> tuple[str, ...]:
    """The reported problems; beyond the limit, only their number."""
    told = tuple(map(str, problems[:_MOST_TOLD]))
    return told if len(problems) <= _MOST_TOLD else (*told, f"{len(problems) - _MOST_TOLD} more like these")


def _take_back_strays(table: PaimonTable, taken_back: set[str]) -> int:
    """Takes back snapshots that are not part of the history; adds the prefixes of their attempts.

    A rollback to a tag and the fast-forward of a branch copy snapshots one by one, so a snapshot that a tag
    or branch has may be about to become part of the history.
    """
    for stray in table.lineage.strays():
        prefix = own_properties(stray).get(ATTEMPT_PROPERTY)
        if not is_held_elsewhere(table, stray) and table.lineage.take_back(stray) is Written.TAKEN_BACK:
            taken_back.add(str(prefix))
    return 0


def _clean_up(table: PaimonTable, path: str, clock: Clock, taken_back: Container[str]) -> int:
    """Cleans up an attempt that has committed or never can; closes it once its tasks must be over."""
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
    if not deleted and condemned.condemned_for(now) > LINGERING:
        if not knows_all_places(table, condemned):
            raise left_alone(table, condemned)
        table.journal.close(condemned)
    return deleted


def _is_settled(table: PaimonTable, condemned: Attempt, now: datetime) -> bool:
    """Whether no snapshot of it can still arrive, and no commit can be about to build on one.

    Its silence alone does not tell: it is measured with the clock of this process, which may be fast, and the
    attempt may have sent its snapshot right after it checked its journal for the last time.
    """
    return condemned.condemned_for(now) > LINGERING or fate_of(table, condemned) is Fate.COMMITTED


def _may_be_cleaned(table: PaimonTable, attempt: Attempt, clock: Clock) -> bool:
    if attempt.condemned is not None or table.journal.silence(attempt, clock.now()) > SAFE_AGE:
        return True
    fate = fate_of(table, attempt)
    return fate is Fate.COMMITTED or (fate is Fate.HARMLESS and _has_lost_every_unit(table, attempt))


def _has_lost_every_unit(table: PaimonTable, attempt: Attempt) -> bool:
    """Whether an input of each unit is gone; buckets without inputs only get files of other units."""
    buckets = {bucket: unit for bucket, unit in buckets_of(table, attempt).items() if unit.inputs}
    view = table.view_of(buckets.keys())
    return (
        bool(buckets)
        and view is not None
        and all(
            not set(unit.inputs) <= {name for name, _ in view.names(bucket)}
            for bucket, unit in buckets.items()
        )
    )


def _delete_temporaries(table: PaimonTable, clock: Clock) -> int:
    """Deletes old temporary files that a crash left behind, and heartbeat files without a journal."""
    oldest = (clock.now() - SAFE_AGE).timestamp()
    deleted = 0
    for folder in (f"{table.home}/snapshot", f"{table.home}/lithify/attempts"):
        listed = table.storage.list(folder)
        wanted = {sign_of(file.name) for file in listed}
        for file in listed:
            path = f"{folder}/{file.name}"
            is_over = file.modified_seconds < oldest and file.name not in wanted
            if is_temporary(file.name) and is_over and table.storage.is_plain_file(path):
                table.storage.delete(path)
                deleted += 1
    return deleted
