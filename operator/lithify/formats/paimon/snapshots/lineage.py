"""Whether a snapshot of ours is part of the table's history, and how it is taken back if it is not.

Called by `snapshot_publisher` right after a write, before the LATEST hint moves, and by clean-up before a run
plans. A snapshot is written if its base was in place a moment before. In that moment the table may be rolled
back, or the base and later snapshots may expire, and on S3 a request may arrive hours late. Then our snapshot
is based on one that the table has left: a commit built on it would restore what was rolled back and lose
later changes.

Rollbacks and expiries both remove snapshots, and only rollbacks make ours a stray. They are distinguished by
the neighbouring snapshots, as Java's `RollbackHelper` and `ExpireSnapshotsImpl` leave them: a rollback first
points LATEST to a snapshot that stays and then deletes all later ones; an expiry deletes from the oldest on
and always keeps the newest. A snapshot is removed only if another existing one is then the newest by Paimon's
own rule; in uncertain cases it stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto

from pypaimon.snapshot.snapshot import Snapshot

from lithify.errors import MissingFile
from lithify.formats.paimon.manifests.entries import ADD
from lithify.formats.paimon.manifests.manifests import Manifests
from lithify.formats.paimon.snapshots.snapshot_properties import BASE_PROPERTY, base_mark, own_properties
from lithify.formats.paimon.snapshots.snapshots import Snapshots


class Standing(Enum):
    """What has become of a snapshot of ours in its place.

    TAKEN_BACK: it was not part of the table's history and was removed. REPLACED: another one was put over it.
    """

    OURS = auto()
    TAKEN_BACK = auto()
    REPLACED = auto()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The neighbours of a snapshot whose base is no longer in place.

    Attributes:
        number: number of the snapshot.
        numbers: numbers of all existing snapshots.
        hint: the number in the LATEST file, None without one.
        is_built_on: whether the next number has a snapshot that was built on it.
    """

    number: int
    numbers: frozenset[int]
    hint: int | None
    is_built_on: bool

    @property
    def is_stray(self) -> bool:
        """Whether the snapshot certainly is not part of the history."""
        if self.is_built_on:
            return False
        if self.number - 1 in self.numbers:
            return True  # another snapshot has the base's number: the base was rolled back
        if self.hint not in self.numbers or self.hint is None:
            return False
        older = max((number for number in self.numbers if number < self.number), default=0)
        # Others continued without it from an expired snapshot of its number, or rolled back to before its
        # base.
        return self.hint > self.number or 0 < self.hint <= older


class Lineage:
    """The history of one branch of a table, with respect to our snapshots."""

    def __init__(self, snapshots: Snapshots, manifests: Manifests) -> None:
        self._snapshots = snapshots
        self._manifests = manifests

    def confirm(self, snapshot: Snapshot) -> Standing:
        """The state of a snapshot in its place: OURS, TAKEN_BACK, or REPLACED concurrently."""
        return self.take_back(snapshot) if self.is_stray(snapshot) else Standing.OURS

    def is_stray(self, snapshot: Snapshot) -> bool:
        """Whether a snapshot of ours in its place certainly is not part of the table's history.

        Catalog servers ensure this themselves.
        """
        mark = own_properties(snapshot).get(BASE_PROPERTY)
        if mark is None or self._snapshots.has_server or self._has_base(snapshot, mark):
            return False
        hint = self._snapshots.hint()  # read before the numbers, which then include it
        numbers = frozenset(self._snapshots.numbers())
        return Surroundings(snapshot.id, numbers, hint, self.is_built_on(snapshot)).is_stray

    def strays(self) -> list[Snapshot]:
        """Snapshots of ours that are not part of the history, except those between others.

        In a consecutive sequence only the last can be one, so few snapshots are read.
        """
        return [] if self._snapshots.has_server else [each for each in self._ends() if self.is_stray(each)]

    def is_built_on(self, snapshot: Snapshot) -> bool:
        """Whether the next number has a snapshot that was built on a snapshot of ours."""
        with suppress(MissingFile):
            following = self._snapshots.get(snapshot.id + 1)
            return following is not None and self._inherits(following, snapshot)
        return True  # it is expiring, so it was the oldest of the history

    def take_back(self, snapshot: Snapshot) -> Standing:
        """Removes a stray unless another commit builds on it concurrently: TAKEN_BACK, OURS or REPLACED.

        Others may have read it, so its files must stay for a while.
        """
        if not self._snapshots.remove(snapshot):
            return Standing.REPLACED
        if self.is_built_on(snapshot) and self._snapshots.restore(snapshot):
            return Standing.OURS
        return Standing.TAKEN_BACK

    def _has_base(self, snapshot: Snapshot, mark: str) -> bool:
        found = self._snapshots.get(snapshot.id - 1)
        return found is not None and base_mark(found) == mark

    def _ends(self) -> Iterator[Snapshot]:
        """The first snapshot after each gap in the numbers, and the last before it."""
        numbers = self._snapshots.numbers()
        there = set(numbers)
        for number in numbers:
            if not {number - 1, number + 1} <= there:
                found = self._snapshots.get(number)
                if found is not None:
                    yield found

    def _inherits(self, following: Snapshot, snapshot: Snapshot) -> bool:
        """Whether a snapshot includes the changes of another."""
        names = set(self._manifests.names_in_list(following.base_manifest_list))
        if names & set(self._manifests.names_in_list(snapshot.delta_manifest_list)):
            return True
        changes = self._manifests.delta(snapshot)
        places = {(entry.partition, entry.bucket) for entry in changes}
        live = self._manifests.inherited(following, self._manifests.chosen(places))
        found = {entry.identity for entry in live}
        return all((entry.identity in found) == (entry.kind == ADD) for entry in changes)
