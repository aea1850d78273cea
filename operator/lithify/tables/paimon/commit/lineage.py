"""Whether a snapshot of ours is part of the table's history, and how it is taken back if it is not.

Called by `snapshot_sender` right after a write, before the LATEST hint moves, and by `orphans` before a run
plans. A snapshot is written where its base was in place a moment before. In that moment others may roll the
table back or expire the base and many after it, and on S3 a request may arrive hours late. Then our snapshot
stands on a base that the table has left: built upon, it would bring back what was rolled back and lose what
came since.

Rollbacks and expiries both remove snapshots, and only rollbacks make ours a stray. They are told apart by
what stands beside it, as Java's `RollbackHelper` and `ExpireSnapshotsImpl` leave it: a rollback first points
LATEST to a snapshot that stays and then deletes all after it, an expiry deletes from the oldest on and always
leaves the newest. A snapshot is removed only where another one in place is then the newest by Paimon's own
rule; whatever is not certain stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from pypaimon.snapshot.snapshot import Snapshot

from lithify.errors import MissingFile
from lithify.tables.paimon.metadata.entries import ADD
from lithify.tables.paimon.metadata.manifests import Manifests
from lithify.tables.paimon.metadata.snapshots import (
    BASE_PROPERTY,
    Snapshots,
    Written,
    base_mark,
    own_properties,
)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What stands beside a snapshot whose base is not in its place any more.

    Attributes:
        number: of the snapshot.
        numbers: of all snapshots that are in place.
        hint: the number in the LATEST file, None without one.
        is_built_on: whether the next number has a snapshot that was built on it.
    """

    number: int
    numbers: frozenset[int]
    hint: int | None
    is_built_on: bool

    @property
    def is_stray(self) -> bool:
        """Whether the snapshot certainly is no part of the history."""
        if self.is_built_on:
            return False
        if self.number - 1 in self.numbers:
            return True  # another snapshot has the number of the base: it was rolled away
        if self.hint not in self.numbers or self.hint is None:
            return False
        older = max((number for number in self.numbers if number < self.number), default=0)
        # Others went on without it from an expired snapshot of its number, or rolled back to before its base.
        return self.hint > self.number or 0 < self.hint <= older


class Lineage:
    """The history of one branch of a table, as far as snapshots of ours are concerned."""

    def __init__(self, snapshots: Snapshots, manifests: Manifests) -> None:
        self._snapshots = snapshots
        self._manifests = manifests

    def confirm(self, snapshot: Snapshot) -> Written:
        """What became of a snapshot that is in its place: OURS, TAKEN_BACK, or REPLACED meanwhile."""
        return self.take_back(snapshot) if self.is_stray(snapshot) else Written.OURS

    def is_stray(self, snapshot: Snapshot) -> bool:
        """Whether a snapshot of ours in its place certainly is no part of the table's history.

        Servers see to that themselves.
        """
        mark = own_properties(snapshot).get(BASE_PROPERTY)
        if mark is None or self._snapshots.has_server or self._has_base(snapshot, mark):
            return False
        hint = self._snapshots.hint()  # before the numbers, so that they have what it names
        numbers = frozenset(self._snapshots.numbers())
        return Surroundings(snapshot.id, numbers, hint, self.is_built_on(snapshot)).is_stray

    def strays(self) -> list[Snapshot]:
        """Snapshots of ours that are no part of the history, but for those amid others.

        Where numbers follow each other only the last can be one, so few snapshots are read.
        """
        return [] if self._snapshots.has_server else [each for each in self._ends() if self.is_stray(each)]

    def is_built_on(self, snapshot: Snapshot) -> bool:
        """Whether the next number has a snapshot that was built on a snapshot of ours."""
        with suppress(MissingFile):
            following = self._snapshots.get(snapshot.id + 1)
            return following is not None and self._inherits(following, snapshot)
        return True  # it is being expired, and so it was the oldest of the history

    def take_back(self, snapshot: Snapshot) -> Written:
        """Removes a stray unless somebody builds on it at the same time: TAKEN_BACK, OURS or REPLACED.

        Others may have read it, so its files have to stay for a while.
        """
        if not self._snapshots.remove(snapshot):
            return Written.REPLACED
        if self.is_built_on(snapshot) and self._snapshots.restore(snapshot):
            return Written.OURS
        return Written.TAKEN_BACK

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
        """Whether a snapshot found what another one had changed."""
        names = set(self._manifests.names_in_list(following.base_manifest_list))
        if names & set(self._manifests.names_in_list(snapshot.delta_manifest_list)):
            return True
        changes = self._manifests.delta(snapshot)
        places = {(entry.partition, entry.bucket) for entry in changes}
        live = self._manifests.inherited(following, self._manifests.chosen(places))
        found = {entry.identity for entry in live}
        return all((entry.identity in found) == (entry.kind == ADD) for entry in changes)
