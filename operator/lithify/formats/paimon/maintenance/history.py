"""Reads who holds snapshots of a table: its own snapshots, tags and changelogs, and those of other branches.

Called by `snapshot_expiry`, before it plans and once more before it deletes. Everything else about what may
go follows from this, so nothing that cannot be read is passed over.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

from pypaimon.snapshot.snapshot import Snapshot

from lithify.errors import CorruptTable
from lithify.formats.paimon.maintenance.consumers import Consumer, consumers_of
from lithify.formats.paimon.maintenance.retention import SnapshotTimes
from lithify.formats.paimon.snapshots.holders import Holder, Holding, holders_of
from lithify.formats.paimon.snapshots.snapshot_files import parse_snapshot
from lithify.formats.paimon.table import PaimonTable
from lithify.io.small_files import MOST_SNAPSHOT

HINT, LATEST_HINT = "EARLIEST", "LATEST"
"""The files in a folder of snapshots or changelogs that name the oldest and the newest one."""

_AT_ONCE = 8
_NUMBERED = (Holding.SNAPSHOT, Holding.CHANGELOG)
_NUMBER = re.compile(r"[0-9]{1,19}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Held:
    """A snapshot, tag or long-lived changelog, and what its file says."""

    holder: Holder
    snapshot: Snapshot


@dataclass(frozen=True)
class History:
    """The holders of a table at one moment.

    Attributes:
        home: the folder of the branch that is maintained.
        held: all holders of all branches.
        latest: the newest snapshot of this branch; None if it has none.
        hint: the number in the EARLIEST file of snapshots; None without one.
        consumers: the consumers of this branch.
        changelog_hints: the numbers in the EARLIEST and LATEST files of changelogs; None without one.
    """

    home: str
    held: tuple[Held, ...]
    latest: int | None
    hint: int | None
    consumers: tuple[Consumer, ...] = ()
    changelog_hints: tuple[int | None, int | None] = (None, None)

    @cached_property
    def snapshots(self) -> dict[int, Snapshot]:
        """The snapshots of this branch by id."""
        return self._own(Holding.SNAPSHOT)

    @cached_property
    def changelogs(self) -> dict[int, Snapshot]:
        """The changelogs of this branch that have outlived their snapshots, by id."""
        return self._own(Holding.CHANGELOG)

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

    def snapshots_before(self, end: int) -> dict[int, Snapshot]:
        """The snapshots of this branch before an existing one, from the earliest on, ascending."""
        times = self.times
        earliest = end if times is None else times.earliest
        return {each: self.snapshots[each] for each in sorted(self.snapshots) if earliest <= each < end}

    def changelogs_before(self, end: int) -> dict[int, Snapshot]:
        """The changelogs of this branch before one, from the earliest on, ascending."""
        hint, own = self.changelog_hints[0], self.changelogs
        earliest = hint if hint in own else 0
        return {each: own[each] for each in sorted(own) if earliest <= each < end}

    def changelog_times(self, becoming: Mapping[int, Snapshot]) -> SnapshotTimes | None:
        """The times of this branch's changelogs, and of snapshots that are about to become some.

        None if there are none. Hints count as in Java: the one to the newest unless there is a later one.
        """
        all_of_them = {**self.changelogs, **becoming}
        millis = {number: snapshot.time_millis for number, snapshot in all_of_them.items()}
        earliest, latest = self.changelog_hints
        latest = max(becoming, default=latest)
        if latest is None or latest < 1 or latest + 1 in millis:
            latest = max(millis, default=0)
        if not millis:
            return None
        return SnapshotTimes(earliest if earliest in millis else min(millis), latest, millis)

    def kept(self, snapshots: Collection[int], changelogs: Collection[int] = ()) -> list[Held]:
        """All holders but some snapshots and changelogs of this branch, by id."""
        going = {Holding.SNAPSHOT: snapshots, Holding.CHANGELOG: changelogs, Holding.TAG: ()}
        return [
            each
            for each in self.held
            if not (self._is_own(each) and each.snapshot.id in going[each.holder.kind])
        ]

    def _own(self, kind: Holding) -> dict[int, Snapshot]:
        own = (each for each in self.held if self._is_own(each) and each.holder.kind is kind)
        return {each.snapshot.id: each.snapshot for each in own}

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
        hint=_read_hint(table, Holding.SNAPSHOT, HINT),
        consumers=tuple(consumers_of(table)),
        changelog_hints=(
            _read_hint(table, Holding.CHANGELOG, HINT),
            _read_hint(table, Holding.CHANGELOG, LATEST_HINT),
        ),
    )


def hint_path(table: PaimonTable, kind: Holding = Holding.SNAPSHOT, hint: str = HINT) -> str:
    """The path of the file that names the oldest or newest snapshot or changelog."""
    return f"{table.home}/{kind}/{hint}"


def _read(table: PaimonTable, holder: Holder) -> Held | None:
    """What a holder says; None if it is gone since it was listed."""
    text = table.storage.read_text(holder.path, MOST_SNAPSHOT)
    if text is None:
        return None
    try:
        found = parse_snapshot(text)
    except ValueError as error:
        raise CorruptTable(holder.path, f"the {holder.kind} cannot be read ({error})") from error
    if holder.kind in _NUMBERED and holder.name != f"{holder.kind}-{found.id}":
        raise CorruptTable(holder.path, f"it says that it is {holder.kind} {found.id}")
    return Held(holder, found)


def _read_hint(table: PaimonTable, kind: Holding, hint: str) -> int | None:
    text = (table.storage.read_text(hint_path(table, kind, hint), MOST_SNAPSHOT) or "").strip()
    return int(text) if _NUMBER.fullmatch(text) else None
