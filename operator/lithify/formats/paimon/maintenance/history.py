"""Reads who holds snapshots of a table: its own snapshots and tags, those of other branches, and consumers.

Called by `snapshot_expiry`, before it plans and once more before it deletes. Everything else about what may
go follows from this, so nothing that cannot be read is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pypaimon.snapshot.snapshot import Snapshot

from lithify.columns.json_texts import parse_object
from lithify.errors import CorruptTable
from lithify.formats.paimon.maintenance.retention import SnapshotTimes
from lithify.formats.paimon.snapshots.holders import Holder, Holding, holders_of
from lithify.formats.paimon.snapshots.snapshot_files import parse_snapshot
from lithify.formats.paimon.table import PaimonTable
from lithify.io.small_files import MOST_SNAPSHOT

HINT = "EARLIEST"
"""The file in the folder of snapshots that names the oldest one."""

_AT_ONCE = 8
_CONSUMER = re.compile(r"consumer-.+", re.DOTALL)
_NUMBER = re.compile(r"[0-9]{1,19}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Held:
    """A snapshot, tag or long-lived changelog, and what its file says."""

    holder: Holder
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class History:
    """The holders of a table at one moment.

    Attributes:
        home: the folder of the branch that is maintained.
        held: all holders of all branches.
        latest: the newest snapshot of this branch; None if it has none.
        hint: the number in the EARLIEST file; None without one.
        consumer: the lowest snapshot that a consumer of this branch has still to read; None without any.
    """

    home: str
    held: tuple[Held, ...]
    latest: int | None
    hint: int | None
    consumer: int | None

    @property
    def snapshots(self) -> dict[int, Snapshot]:
        """The snapshots of this branch by id."""
        own = (each for each in self.held if self._is_own(each) and each.holder.kind is Holding.SNAPSHOT)
        return {each.snapshot.id: each.snapshot for each in own}

    @property
    def times(self) -> SnapshotTimes | None:
        """The times of this branch's snapshots; None if it has none.

        The hint counts if it names an existing snapshot, as in Java; older ones then belong to nobody, and
        stay.
        """
        millis = {number: snapshot.time_millis for number, snapshot in self.snapshots.items()}
        if not millis or self.latest is None:
            return None
        earliest = self.hint if self.hint in millis else min(millis)
        return SnapshotTimes(earliest, self.latest, millis)

    def kept(self, end: int) -> list[Held]:
        """All holders but the snapshots of this branch from the earliest one up to `end`, exclusive."""
        times = self.times
        going = range(times.earliest, end) if times else range(0)
        return [each for each in self.held if not self._is_snapshot_in(each, going)]

    def _is_snapshot_in(self, held: Held, numbers: range) -> bool:
        is_snapshot = held.holder.kind is Holding.SNAPSHOT and self._is_own(held)
        return is_snapshot and held.snapshot.id in numbers

    def _is_own(self, held: Held) -> bool:
        return held.holder.home == self.home


def read_history(table: PaimonTable) -> History:
    """Reads all holders and consumers of a table.

    Raises:
        CorruptTable: one cannot be read, so it is unknown what is still needed.
    """
    latest = table.snapshots.latest()
    found = list(holders_of(table.storage, table.root, table.home))
    with ThreadPoolExecutor(_AT_ONCE) as readers:
        held = tuple(each for each in readers.map(lambda holder: _read(table, holder), found) if each)
    return History(
        home=table.home,
        held=held,
        latest=None if latest is None else latest.id,
        hint=_read_hint(table),
        consumer=lowest_position(table),
    )


def hint_path(table: PaimonTable) -> str:
    """The path of the EARLIEST file."""
    return f"{table.home}/{Holding.SNAPSHOT}/{HINT}"


def _read(table: PaimonTable, holder: Holder) -> Held | None:
    """What a holder says; None if it is gone since it was listed."""
    text = table.storage.read_text(holder.path, MOST_SNAPSHOT)
    if text is None:
        return None
    try:
        found = parse_snapshot(text)
    except ValueError as error:
        raise CorruptTable(holder.path, f"the {holder.kind} cannot be read ({error})") from error
    if holder.kind is Holding.SNAPSHOT and holder.name != f"{holder.kind}-{found.id}":
        raise CorruptTable(holder.path, f"it says that it is snapshot {found.id}")
    return Held(holder, found)


def _read_hint(table: PaimonTable) -> int | None:
    text = (table.storage.read_text(hint_path(table), MOST_SNAPSHOT) or "").strip()
    return int(text) if _NUMBER.fullmatch(text) else None


def lowest_position(table: PaimonTable) -> int | None:
    """The lowest snapshot that a consumer of this branch has still to read; None without consumers."""
    return min((position for _, position in positions(table)), default=None)


def positions(table: PaimonTable) -> Iterator[tuple[str, int]]:
    """The consumers of this branch, by name, each with the lowest snapshot that it has still to read.

    Raises:
        CorruptTable: one cannot be read.
    """
    folder = f"{table.home}/consumer"
    for name in table.storage.names_in(folder):
        if _CONSUMER.fullmatch(name):
            path = f"{folder}/{name}"
            text = table.storage.read_text(path, MOST_SNAPSHOT)
            if text is not None:
                yield name.removeprefix("consumer-"), _position(path, text)


def _position(path: str, text: str) -> int:
    problem = "the consumer cannot be read, so it is unknown what it has still to read"
    try:
        found = parse_object(text).get("nextSnapshot")
    except ValueError as error:
        raise CorruptTable(path, f"{problem} ({error})") from error
    if isinstance(found, bool) or not isinstance(found, int):
        raise CorruptTable(path, f"{problem} (nextSnapshot is no whole number)")
    return found
