"""A table in memory whose commits the loop tries: sets of names, and others that change them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lithify.engine.commit.loop import Validation
from lithify.engine.commit.publishing import Found, Place, Published
from lithify.errors import NotAllowed

GONE = "gone"
Snapshot = frozenset[str]
"""Names of the live files."""


@dataclass
class Table:
    """A table whose snapshots are sets of names; a change replaces the file of its group.

    Attributes:
        snapshots: all snapshots.
        others: what other writers remove before each publication, one entry per try.
        answers: how the store answers each publication; it always succeeds after them.
        discarded: drafts that were discarded.
    """

    snapshots: list[Snapshot]
    others: list[frozenset[str]] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    discarded: int = 0
    prepared: int = 0
    table = "db.t"

    def newest(self) -> Snapshot | None:
        return self.snapshots[-1] if self.snapshots else None

    def exists(self, base: Snapshot) -> bool:
        return base in self.snapshots

    def validate(self, changes: Mapping[str, str], base: Snapshot | None) -> Validation[str]:
        ready = {group: new for group, new in changes.items() if base is not None and group in base}
        return Validation(ready, {group: GONE for group in changes if group not in ready})

    def prepare(self, changes: Mapping[str, str], base: Snapshot, number: int) -> tuple[int, Snapshot]:
        assert number == self.prepared
        self.prepared += 1
        place = len(self.snapshots)
        if self.others:
            self.snapshots.append(base - self.others.pop(0))
        return place, (base - changes.keys()) | {*changes.values()}

    @property
    def publisher(self) -> Table:
        return self

    can_arrive_late = True

    def location(self, draft: tuple[int, Snapshot]) -> str:
        return str(draft[0])

    def publish(self, draft: tuple[int, Snapshot]) -> bool:
        place, snapshot = draft
        answer = self.answers.pop(0) if self.answers else "written"
        if answer == "refused":
            raise NotAllowed("t", "no space left")
        if place != len(self.snapshots):
            return False
        self.snapshots.append(snapshot)
        if answer == "interrupted":
            raise KeyboardInterrupt
        return True

    def is_refusal(self, error: Exception) -> bool:
        return isinstance(error, NotAllowed)

    def find_published(self, draft: tuple[int, Snapshot]) -> Found:
        place, snapshot = draft
        if place >= len(self.snapshots):
            return Found.NOTHING
        return Found.OURS if self.snapshots[place] == snapshot else Found.OTHER

    def may_send_again(self, draft: tuple[int, Snapshot]) -> bool:
        return draft[0] == len(self.snapshots)

    def confirm(self, draft: tuple[int, Snapshot]) -> str | None:
        del draft
        return None

    def verify(self, draft: tuple[int, Snapshot]) -> Published:
        if self.answers and self.answers[0] == "replaced":
            self.snapshots[draft[0]] = frozenset({"x"})
            return Published(Place.LOST, reason="replaced")
        return Published(Place.OURS, draft[0])

    def discard(self, draft: tuple[int, Snapshot]) -> None:
        del draft
        self.discarded += 1
