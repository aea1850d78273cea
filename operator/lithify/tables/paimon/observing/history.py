"""The snapshots that a table keeps, and how much of its files only older ones than the newest still hold.

Called by `live_files`. Asks for little: one request while the oldest snapshot stays, a listing when it was
expired, and deltas only of snapshots that nobody has read before, not too many of those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
from pypaimon.snapshot.snapshot import Snapshot

from lithify.errors import MissingFile
from lithify.tables.paimon.metadata.column_groups import flagged, integers, is_among
from lithify.tables.paimon.metadata.entries import ADD
from lithify.tables.paimon.observing.observation_cache import SnapshotHistory
from lithify.tables.paimon.table import PaimonTable

_MOST_DELTAS = 64
"""Deltas of older snapshots that a look reads to learn what they removed; the newest first."""

_READERS = 8
_LOOKS = 10
_REMOVING = frozenset({"COMPACT", "OVERWRITE"})


def read_history(
    table: PaimonTable, newest: Snapshot, removed: Mapping[int, int], read_to: int
) -> SnapshotHistory:
    """The snapshots that a table keeps, as if nobody had looked for them before.

    Args:
        table: the table.
        newest: its newest snapshot.
        removed: bytes that snapshots removed, by snapshot.
        read_to: the last snapshot whose delta was read for that.
    """
    oldest = _oldest(table) or newest
    unread = range(newest.id, max(oldest.id, read_to), -1)[:_MOST_DELTAS]
    return _history(oldest.id, oldest.time_millis, {**removed, **_read_removed(table, unread)})


def update_history(
    table: PaimonTable, newest: Snapshot, removed: Mapping[int, int], known: SnapshotHistory
) -> SnapshotHistory:
    """The same where an earlier look found `known` and all deltas since have been read."""
    if table.snapshots.exists(known.oldest):
        return _history(known.oldest, known.oldest_millis, removed)
    return read_history(table, newest, removed, newest.id)


def removed_bytes(delta: pa.Table) -> int:
    """Bytes of the files that a snapshot removed; those that it lifted to another level are still in use.

    Args:
        delta: its entries.
    """
    is_added = integers(delta["kind"]) == ADD
    added, removed = flagged(delta, is_added), flagged(delta, ~is_added)
    is_gone = ~is_among(removed, added, ["name"])
    return int(integers(removed["size"])[is_gone].sum())


def _history(oldest: int, millis: int, removed: Mapping[int, int]) -> SnapshotHistory:
    """Nobody holds what the oldest snapshot removed, or those before it."""
    held = {number: size for number, size in sorted(removed.items()) if number > oldest and size}
    return SnapshotHistory(oldest, millis, held)


def _oldest(table: PaimonTable) -> Snapshot | None:
    """The oldest snapshot that has a file; it may be expired between being listed and being read."""
    for _ in range(_LOOKS):
        numbers = table.snapshots.numbers()
        if not numbers:
            return None
        found = table.snapshots.get(numbers[0])
        if found is not None:
            return found
    return None


def _read_removed(table: PaimonTable, numbers: Sequence[int]) -> dict[int, int]:
    """Bytes that each of some snapshots removed."""

    def read(number: int) -> int:
        snapshot = table.snapshots.get(number)
        if snapshot is None or snapshot.commit_kind not in _REMOVING:
            return 0
        try:
            return removed_bytes(table.manifests.delta_columns(snapshot))
        except MissingFile:  # expired meanwhile
            return 0

    with ThreadPoolExecutor(_READERS) as readers:
        return dict(zip(numbers, readers.map(read, numbers), strict=True))
