"""Commits the groups of a step in ever smaller portions while others are faster. Called by steps of adapters.

A try that others outrun takes longer than they need between two of their commits. With half of the groups
it writes half of the manifests and deletes, so the next one may be in time. Every portion is a commit of its
own by `loop`; the snapshots of all but the last say that there is more to come of their attempt, because a
clean-up that finds one of them must not take the attempt for over. Nothing here touches the table.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol, TypeVar

from lithify.engine.commit import loop
from lithify.engine.commit.loop import CommitHooks, CommitOutcome
from lithify.engine.commit.patience import Backoff
from lithify.errors import CommitOutrun

_Base = TypeVar("_Base")
_Change = TypeVar("_Change")
_Draft = TypeVar("_Draft")

_RETRIES = 3
"""How often a portion is tried again before it is halved."""
OUTRUN = "others committed faster until the patience ended"


class PortionHooks(CommitHooks[_Base, _Change, _Draft], Protocol[_Base, _Change, _Draft]):
    """The hooks of a commit whose groups may come in several snapshots."""

    def announce(self, *, is_last: bool) -> None:
        """Says whether the portion that is tried next is the last one; the snapshots of others say so."""
        ...


def commit_in_portions(
    hooks: PortionHooks[_Base, _Change, _Draft], changes: Mapping[Any, _Change], backoff: Backoff
) -> Iterator[CommitOutcome]:
    """Commits changes as `loop.commit` does, one portion after the other; yields the outcome of each.

    The first portion is everything. One that was outrun four times in a row is halved; one of a single
    group has the rest of the patience. Where that ends after another portion has committed, the groups that
    are left are in conflict: they can be planned again.

    Raises:
        CommitOutrun: the patience has ended, and nothing is committed.
        AttemptFenced, CommitUnknown, StorageError: see `loop.commit`.
    """
    race = _Race(backoff, backoff.now())
    left, has_committed = deque([changes]), False
    while left:
        portion = left.popleft()
        hooks.announce(is_last=not left)
        try:
            outcome = loop.commit(hooks, portion, race.backoff_for(portion), race.tries)
        except CommitOutrun as error:
            race.lose(error.tries)
            if len(portion) > 1 and not race.has_ended:
                left.extendleft(reversed(_halves(portion)))
                continue
            if not has_committed:
                raise
            groups = (group for each in (portion, *left) for group in each)
            yield CommitOutcome(None, (), dict.fromkeys(groups, OUTRUN), race.lost)
            return
        yield race.win(outcome)
        has_committed = has_committed or outcome.snapshot is not None


def joined(outcomes: Collection[CommitOutcome]) -> CommitOutcome:
    """What all portions have become; the snapshot is the last one."""
    snapshots = [each.snapshot for each in outcomes if each.snapshot is not None]
    return CommitOutcome(
        snapshot=snapshots[-1] if snapshots else None,
        committed=tuple(group for each in outcomes for group in each.committed),
        conflicts={group: reason for each in outcomes for group, reason in each.conflicts.items()},
        tries=sum(each.tries for each in outcomes),
        overwritten=any(each.overwritten for each in outcomes),
    )


@dataclass(slots=True)
class _Race:
    """How the tries of an attempt have gone.

    Attributes:
        backoff: how long all of its portions together are tried.
        started: when the first one was.
        tries: the number of tries.
        lost: how many were outrun in a row, up to now.
    """

    backoff: Backoff
    started: datetime
    tries: int = 0
    lost: int = 0

    @property
    def has_ended(self) -> bool:
        """Whether the patience has ended."""
        patience = self.backoff.patience
        return self.lost > patience.max_retries and self._waited >= patience.timeout

    def backoff_for(self, portion: Collection[Any]) -> Backoff:
        """Few tries for what can be halved; else what is left of the patience."""
        patience = self.backoff.patience
        if len(portion) > 1:
            own = replace(patience, max_retries=_RETRIES, timeout=0.0)
        else:
            retries = max(0, patience.max_retries - self.lost)
            own = replace(patience, max_retries=retries, timeout=patience.timeout - self._waited)
        return replace(self.backoff, patience=own)

    def lose(self, tries: int) -> None:
        """Counts tries that were outrun."""
        self.tries += tries
        self.lost += tries

    def win(self, outcome: CommitOutcome) -> CommitOutcome:
        """The outcome of a portion with the tries that came before it."""
        found = replace(outcome, tries=outcome.tries + self.lost)
        self.tries += outcome.tries
        self.lost = 0
        return found

    @property
    def _waited(self) -> float:
        return (self.backoff.now() - self.started).total_seconds()


def _halves(portion: Mapping[Any, _Change]) -> list[Mapping[Any, _Change]]:
    changes = [*portion.items()]
    middle = (len(changes) + 1) // 2
    return [dict(changes[:middle]), dict(changes[middle:])]
