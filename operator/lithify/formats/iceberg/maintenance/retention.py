"""Decides which snapshots, branches and tags expire: from ids, times, and how long they are kept.

Called by `snapshot_expiry`. Pure. Without a floor the result is that of Java 1.11 (`RemoveSnapshots`):

- A branch or tag goes if its snapshot is older than the reference may become; main never does.
- A branch keeps its newest snapshots, back to the first that is neither one of so many nor young enough.
- Snapshots of no branch or tag (staged, or rolled back) stay while they are young enough.

The floor protects readers that have opened a snapshot and still plan. What counts is not the age of a
snapshot but how long ago another one took its place: the head of a branch that was idle for a week is a week
old, and a reader may have opened it a second before the next commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from itertools import pairwise

from lithify.formats.iceberg.table.metadata import MAIN
from lithify.formats.iceberg.table.retention_rules import RetentionRules
from lithify.formats.iceberg.table.snapshots import Reference, Snapshot


@dataclass(frozen=True, slots=True)
class History:
    """The snapshots and references of a table.

    Attributes:
        snapshots: the snapshots by id.
        references: branches and tags by name; each names an existing snapshot.
        log: the heads of main, oldest first: pairs of the milliseconds since when, and the snapshot's id.
    """

    snapshots: Mapping[int, Snapshot]
    references: Mapping[str, Reference]
    log: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Removal:
    """What leaves the metadata: snapshots by id, branches and tags by name."""

    snapshots: frozenset[int] = frozenset()
    references: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.snapshots or self.references)

    def without(self, needed: Set[int]) -> Removal:
        """The same, but for some snapshots, which stay."""
        return Removal(self.snapshots - needed, self.references)

    def __le__(self, other: Removal) -> bool:
        return self.snapshots <= other.snapshots and self.references <= other.references


def expired(history: History, rules: RetentionRules, *, now_millis: int, floor_millis: int) -> Removal:
    """The snapshots and references that may go.

    Args:
        history: what there is.
        rules: how long it is kept.
        now_millis: the present time.
        floor_millis: how long ago another snapshot must have taken the place of one that goes.
    """
    kept = {
        name: each
        for name, each in history.references.items()
        if name == MAIN or _reference_stays(history, each, rules, now_millis)
    }
    stay = {each.snapshot for each in kept.values()}
    for each in kept.values():
        stay.update(_kept_of_branch(history, each, rules, now_millis) if each.is_branch else ())
    stay.update(_young_without_reference(history, kept.values(), now_millis - rules.max_snapshot_age))
    stay.update(_just_replaced(history, now_millis - floor_millis))
    return Removal(frozenset(history.snapshots.keys() - stay), frozenset(history.references.keys() - kept))


def _reference_stays(history: History, reference: Reference, rules: RetentionRules, now: int) -> bool:
    most = rules.max_reference_age if reference.max_age is None else reference.max_age
    return now - history.snapshots[reference.snapshot].millis <= most


def _kept_of_branch(history: History, branch: Reference, rules: RetentionRules, now: int) -> Iterator[int]:
    age = rules.max_snapshot_age if branch.max_snapshot_age is None else branch.max_snapshot_age
    least = rules.min_snapshots if branch.min_snapshots is None else branch.min_snapshots
    for number, snapshot in enumerate(ancestors(history.snapshots, branch.snapshot)):
        if number >= least and snapshot.millis < now - age:
            return
        yield snapshot.id


def _young_without_reference(history: History, kept: Iterable[Reference], since: int) -> Iterator[int]:
    """Young snapshots that no remaining branch leads back to, and no remaining tag names."""
    referenced = set[int]()
    for each in kept:
        reached = ancestors(history.snapshots, each.snapshot) if each.is_branch else ()
        referenced.update({each.snapshot}, (snapshot.id for snapshot in reached))
    for number, snapshot in history.snapshots.items():
        if number not in referenced and snapshot.millis >= since:
            yield number


def _just_replaced(history: History, since: int) -> Iterator[int]:
    """The snapshots that were still the head of a branch at a time, as far as is known, or later."""
    for number, millis in replaced_at(history).items():
        if millis > since:
            yield number


def replaced_at(history: History) -> Mapping[int, int]:
    """When another snapshot last took the place of each one, in milliseconds.

    The log of main says it, also of rollbacks; of other branches, only what was committed on a snapshot is
    known. A snapshot of which nothing is known counts from its own commit.
    """
    found = {number: each.millis for number, each in history.snapshots.items()}
    followed = [(each.parent, each.millis) for each in history.snapshots.values()]
    followed += [(number, millis) for (_, number), (millis, _) in pairwise(history.log)]
    for number, millis in followed:
        if number in found:
            found[number] = max(found[number], millis)
    return found


def ancestors(snapshots: Mapping[int, Snapshot], head: int) -> Iterator[Snapshot]:
    """A snapshot and those that it was built on, newest first, as far as they exist."""
    seen, snapshot = set[int](), snapshots.get(head)
    while snapshot is not None and snapshot.id not in seen:
        seen.add(snapshot.id)
        yield snapshot
        snapshot = None if snapshot.parent is None else snapshots.get(snapshot.parent)
