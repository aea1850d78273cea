"""The commit loop of every table format: validate, prepare, publish, verify, until one try is not outrun.

Called by the steps of adapters. Every try is rebuilt on the newest snapshot: groups that other commits have
changed are left out and reported, so that they can be planned again, and the others commit. The format gives
the hooks (`CommitHooks`, `publishing.Publisher`); this loop alone decides when to try again, and `publishing`
what became of an unanswered write. Neither deletes anything itself, and a draft is discarded only if it
certainly is in no snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from lithify.engine.commit.patience import Backoff
from lithify.engine.commit.publishing import Place, Published, Publisher, publish
from lithify.errors import CommitOutrun, CommitUnknown, MissingFile
from lithify.faults import failpoint

Base = TypeVar("Base")
Change = TypeVar("Change")
Draft = TypeVar("Draft")


@dataclass(frozen=True, slots=True)
class Validation(Generic[Change]):
    """The changes that a snapshot admits, and the conflicts of the others.

    Attributes:
        ready: the changes that can be applied, by group, completed from the snapshot.
        conflicts: the groups of the others, with the reason.
    """

    ready: Mapping[Any, Change]
    conflicts: Mapping[Any, str]


@dataclass(frozen=True, slots=True)
class CommitOutcome:
    """The outcome of a commit.

    Attributes:
        snapshot: the format's name of the new snapshot, None if every group was in conflict.
        committed: the committed groups.
        conflicts: the other groups, each with the reason.
        tries: how often the commit was built.
        overwritten: whether a try was in place and then lost, so that others may have built on its files.
    """

    snapshot: Any
    committed: tuple[Any, ...]
    conflicts: Mapping[Any, str]
    tries: int = 1
    overwritten: bool = False


class CommitHooks(Protocol[Base, Change, Draft]):
    """The parts of a try that a format implements. Groups, changes, bases and drafts are opaque here."""

    @property
    def table(self) -> str:
        """The table's name for people."""
        ...

    @property
    def publisher(self) -> Publisher[Draft]:
        """Puts drafts in their places."""
        ...

    def newest(self) -> Base | None:
        """The newest snapshot; None if the table has none."""
        ...

    def exists(self, base: Base) -> bool:
        """Whether a snapshot is still there; it may expire while a try reads it."""
        ...

    def validate(self, changes: Mapping[Any, Change], base: Base | None) -> Validation[Change]:
        """Decides by the format's rules of conflict which changes a snapshot admits."""
        ...

    def prepare(self, changes: Mapping[Any, Change], base: Base, number: int) -> Draft:
        """Writes metadata that nothing references yet; deletes it again if that fails.

        Raises:
            AttemptFenced: this attempt may not commit any more.
            StorageError: the store refuses.
        """
        ...

    def discard(self, draft: Draft) -> None:
        """Deletes what only this draft references; called if it certainly is not in its place."""
        ...


def commit(
    hooks: CommitHooks[Base, Change, Draft], changes: Mapping[Any, Change], backoff: Backoff, before: int = 0
) -> CommitOutcome:
    """Commits as many of the changes, given by group, as the newest snapshot admits.

    Being outrun is no conflict: as long as their inputs are live, the outputs of tasks stay valid.

    Args:
        hooks: the format's parts of a try.
        changes: the changes.
        backoff: how long it is tried.
        before: how many tries its attempt has made before; files of tries are named by their numbers.

    Raises:
        CommitOutrun: other commits were faster until the patience ended; no input was lost.
        AttemptFenced, CommitUnknown, StorageError: see `CommitHooks` and `publish`.
    """
    started, number = backoff.now(), 0
    while True:
        outcome = _try(hooks, changes, before + number, backoff)
        if outcome is not None:
            return replace(outcome, tries=number + 1)
        waited = (backoff.now() - started).total_seconds()
        if number >= backoff.patience.max_retries and waited >= backoff.patience.timeout:
            raise CommitOutrun(hooks.table, number + 1, waited)
        backoff.wait(number)
        number += 1


def _try(
    hooks: CommitHooks[Base, Change, Draft], changes: Mapping[Any, Change], number: int, backoff: Backoff
) -> CommitOutcome | None:
    """Commits what the newest snapshot admits; None if another commit was there first."""
    base = hooks.newest()
    try:
        valid = hooks.validate(changes, base)
        if base is None or not valid.ready:
            return CommitOutcome(None, (), valid.conflicts)
        draft = hooks.prepare(valid.ready, base, number)
    except MissingFile:
        if base is None or hooks.exists(base):
            raise
        return None  # it expired while being read
    failpoint("prepared")
    published = _publish(hooks, draft, backoff)
    failpoint("snapshot-written")
    if published.place is Place.OURS:
        published = hooks.publisher.verify(draft)
    if published.place is Place.OURS:
        return CommitOutcome(published.snapshot, tuple(valid.ready), valid.conflicts)
    if published.place is Place.LOST:
        lost = dict.fromkeys(changes, published.reason)
        return CommitOutcome(None, (), lost, overwritten=True)
    hooks.discard(draft)
    return None


def _publish(hooks: CommitHooks[Base, Change, Draft], draft: Draft, backoff: Backoff) -> Published:
    """Publishes a draft; discards it if it certainly is not in its place, and never while that is unknown."""
    try:
        return publish(hooks.publisher, draft, backoff)
    except CommitUnknown:
        raise
    except Exception:
        hooks.discard(draft)
        raise
