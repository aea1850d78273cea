"""Finds out what a run has committed, from the snapshots that carry its id.

Called by `observer` when a driver ended without reporting, and by the driver of a resumed run. Reads
snapshots from the newest backwards, and writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

from pypaimon.snapshot.snapshot import Snapshot

from lithify.engine.attempts.ages import SAFE_AGE
from lithify.errors import CommitUnknown
from lithify.formats.paimon.manifests.entries import ADD, ManifestEntry
from lithify.formats.paimon.names.snapshot_ids import snapshot_id
from lithify.formats.paimon.snapshots.snapshot_properties import RUN_PROPERTY, is_last_step, own_properties
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.observation import RunFound
from lithify.formats.protocol.results import PastRun

_READERS = 8
_CLOCKS_DISAGREE = timedelta(hours=1)
"""Allowed clock difference: every writer sets a snapshot's time from its own clock."""


def find_run(table: PaimonTable, run: str, since: datetime | None = None) -> RunFound | None:
    """What a run has committed, None if no snapshot says that it committed anything.

    Args:
        table: the table.
        run: id of the run.
        since: when the run began: older snapshots are not read.

    Raises:
        CommitUnknown: there is none, but expired snapshots since the run began may have been its own.
        CorruptTable: a snapshot cannot be read.
        StorageError: the file system refuses, or the catalog does not answer.
    """
    found, last = _snapshots_of(table, run, since)
    if found:
        entries = [entry for snapshot in found for entry in table.manifests.delta(snapshot)]
        return _figures(found, entries)
    if since is not None and last is not None and last.id > 1 and not _is_before(last, found, since):
        problem = f"no snapshot from it on is of run {run}, and older ones are expired that may have been"
        raise CommitUnknown(table.snapshots.path(last.id), problem)
    return None


def past_run(table: PaimonTable, run: str) -> PastRun | None:
    """What a run has committed, with its buckets; None if no existing snapshot is of it.

    Every run with an id asks for it when it begins, and a new one reads all snapshots: thousands of requests
    where they are kept for days, so several are sent at a time.

    Raises:
        CorruptTable: a snapshot cannot be read.
        StorageError: the file system refuses, or the catalog does not answer.
    """
    snapshots, _ = _snapshots_of(table, run, None)
    if not snapshots:
        return None
    entries = [entry for snapshot in snapshots for entry in table.manifests.delta(snapshot)]
    buckets = frozenset(table.bucket_id(entry.partition, entry.bucket) for entry in entries)
    return PastRun(_figures(snapshots, entries), buckets)


def _snapshots_of(
    table: PaimonTable, run: str, since: datetime | None
) -> tuple[list[Snapshot], Snapshot | None]:
    """The snapshots of a run, newest first, and the oldest snapshot that was read."""
    found: list[Snapshot] = []
    last: Snapshot | None = None
    for last in backwards(table):
        if own_properties(last).get(RUN_PROPERTY) == run:
            found.append(last)
        if _is_before(last, found, since):
            break
    return found, last


def backwards(table: PaimonTable) -> Iterator[Snapshot]:
    """The existing snapshots, newest first, each once."""
    newest = table.snapshots.latest()
    if newest is None:
        return
    yield newest
    numbers = [number for number in reversed(table.snapshots.numbers()) if number < newest.id]
    with ThreadPoolExecutor(_READERS) as readers:
        for start in range(0, len(numbers), _READERS):
            read = readers.map(table.snapshots.get, numbers[start : start + _READERS])
            yield from (snapshot for snapshot in read if snapshot is not None)


def _is_before(snapshot: Snapshot, found: Sequence[Snapshot], since: datetime | None) -> bool:
    """Whether a snapshot, and hence every earlier one, is too old to be the run's."""
    millis = int(snapshot.time_millis)
    if found and millis < found[0].time_millis - SAFE_AGE // timedelta(milliseconds=1):
        return True
    return since is not None and millis < (since - _CLOCKS_DISAGREE).timestamp() * 1000


def _figures(found: Sequence[Snapshot], entries: Sequence[ManifestEntry]) -> RunFound:
    """The figures of a run's snapshots, newest first, and of all their entries."""
    added = [entry.file.size for entry in entries if entry.kind == ADD]
    removed = [entry.file.size for entry in entries if entry.kind != ADD]
    return RunFound(
        snapshot=snapshot_id(found[0].id),
        base=snapshot_id(found[-1].id - 1),
        input_files=len(removed),
        output_files=len(added),
        input_bytes=sum(removed),
        output_bytes=sum(added),
        is_complete=is_last_step(found[0]),
    )
