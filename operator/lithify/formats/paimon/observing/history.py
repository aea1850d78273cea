"""The snapshots that a table keeps, what they removed, and who else than Lithify compacted by them.

Called by `observed_table`. Needs few requests: one while the oldest snapshot stays, a listing when it has
expired, and deltas only of snapshots that were not read before, up to a limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
from pypaimon.snapshot.snapshot import Snapshot

from lithify.columns.column_groups import flagged, integers, is_among
from lithify.errors import MissingFile
from lithify.formats.paimon.manifests.entries import ADD
from lithify.formats.paimon.observing.cached_state import Removal, SnapshotHistory
from lithify.formats.paimon.table import PaimonTable
from lithify.plain_text import plain_line

_MOST_DELTAS = 64
"""Maximum number of older snapshots whose deltas are read for what they removed; newest first."""

_READERS = 8
_LOOKS = 10
_COMPACT = "COMPACT"
_REMOVING = frozenset({_COMPACT, "OVERWRITE"})
_NOTHING = Removal(0, 0)
_OUR_USERS = "lithify-"
_USER_LENGTH = 64
"""Characters of a commit user that are kept."""


def read_history(
    table: PaimonTable, newest: Snapshot, removed: Mapping[int, Removal], read_to: int
) -> SnapshotHistory:
    """The snapshots that a table keeps, without an earlier result.

    Args:
        table: the table.
        newest: its newest snapshot.
        removed: what is known to be removed, by snapshot.
        read_to: the last snapshot whose delta is included in `removed`.
    """
    oldest = _oldest(table) or newest
    unread = range(newest.id, max(oldest.id, read_to), -1)[:_MOST_DELTAS]
    return _history(oldest.id, oldest.time_millis, {**removed, **_read_removed(table, unread)})


def update_history(
    table: PaimonTable, newest: Snapshot, removed: Mapping[int, Removal], known: SnapshotHistory
) -> SnapshotHistory:
    """Updates an earlier result `known` once all deltas since have been read."""
    if table.snapshots.exists(known.oldest):
        return _history(known.oldest, known.oldest_millis, removed)
    return read_history(table, newest, removed, newest.id)


def removal_of(snapshot: Snapshot, delta: pa.Table) -> Removal:
    """What a snapshot with these entries removed."""
    user = snapshot.commit_user
    is_other = snapshot.commit_kind == _COMPACT and not user.startswith(_OUR_USERS)
    compactor = plain_line(user, _USER_LENGTH) if is_other else ""
    return Removal(removed_bytes(delta), snapshot.time_millis, compactor)


def removed_bytes(delta: pa.Table) -> int:
    """Bytes of the files that a snapshot removed; files that it upgraded are still in use.

    Args:
        delta: its entries.
    """
    is_added = integers(delta["kind"]) == ADD
    added, removed = flagged(delta, is_added), flagged(delta, ~is_added)
    is_gone = ~is_among(removed, added, ["name"])
    return int(integers(removed["size"])[is_gone].sum())


def _history(oldest: int, millis: int, removed: Mapping[int, Removal]) -> SnapshotHistory:
    """The history, without removals by the oldest snapshot or earlier: no snapshot references them."""
    numbers = sorted(number for number, each in removed.items() if number > oldest and each.bytes)
    held = {number: removed[number] for number in numbers}
    return SnapshotHistory(oldest, millis, held)


def _oldest(table: PaimonTable) -> Snapshot | None:
    """The oldest snapshot that has a file; it may expire between listing and reading."""
    for _ in range(_LOOKS):
        numbers = table.snapshots.numbers()
        if not numbers:
            return None
        found = table.snapshots.get(numbers[0])
        if found is not None:
            return found
    return None


def _read_removed(table: PaimonTable, numbers: Sequence[int]) -> dict[int, Removal]:
    """What each of some snapshots removed."""

    def read(number: int) -> Removal:
        snapshot = table.snapshots.get(number)
        if snapshot is None or snapshot.commit_kind not in _REMOVING:
            return _NOTHING
        try:
            return removal_of(snapshot, table.manifests.delta_columns(snapshot))
        except MissingFile:  # expired concurrently
            return _NOTHING

    with ThreadPoolExecutor(_READERS) as readers:
        return dict(zip(numbers, readers.map(read, numbers), strict=True))
