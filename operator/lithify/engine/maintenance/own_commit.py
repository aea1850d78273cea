"""A commit of maintenance: of metadata alone, with an attempt and a journal entry of its own.

Called by adapters whose maintenance writes files before it commits them, so that what a killed run leaves is
cleaned like the remains of a compaction. There are no tasks and no steps: one attempt, one commit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from lithify.clock import Clock
from lithify.engine.attempts.attempt import Attempt
from lithify.engine.attempts.journal import Journal
from lithify.engine.commit import loop
from lithify.engine.commit.loop import CommitHooks, CommitOutcome
from lithify.engine.commit.patience import Backoff
from lithify.errors import CommitUnknown, LithifyError


@dataclass(frozen=True, slots=True)
class OwnAttempt:
    """The attempt of one commit.

    Attributes:
        journal: the journal that has its entry.
        attempt: the attempt.
        clock: source of the time.
        is_kept: whether the entry stays for a while after the commit, because others may rename their
            snapshot over the new one.
    """

    journal: Journal[Any]
    attempt: Attempt[Any]
    clock: Clock
    is_kept: bool = False

    def end(self, outcome: CommitOutcome) -> None:
        """Ends the journal entry after a commit whose outcome is known."""
        if outcome.overwritten:
            # Others may build on a snapshot that was read: a later run cleans up.
            self.journal.condemn(self.attempt, self.clock.now())
        elif self.is_kept and outcome.snapshot is not None:
            self.journal.keep(self.attempt, outcome.snapshot, self.clock.now())
        else:
            self.journal.close(self.attempt)

    def give_up(self, remove: Callable[[], object], *, may_write_late: bool) -> None:
        """Ends an attempt that can no longer be committed, without hiding its error.

        Args:
            remove: deletes its files.
            may_write_late: whether unanswered requests may still be carried out; then its entry stays open.
        """
        with suppress(LithifyError):
            self.journal.condemn(self.attempt, self.clock.now())
        with suppress(LithifyError):
            remove()
            if not may_write_late:
                self.journal.close(self.attempt)


def commit_own(
    hooks: CommitHooks[Any, Any, Any],
    changes: Mapping[Any, Any],
    backoff: Backoff,
    own: OwnAttempt,
    remove: Callable[[], object],
    *,
    may_write_late: bool,
) -> CommitOutcome:
    """Commits changes, and ends the attempt unless the outcome is unknown.

    Args:
        hooks: those of the format.
        changes: the changes by group.
        backoff: waits between tries.
        own: the attempt.
        remove: see `OwnAttempt.give_up`, as for `may_write_late`.
        may_write_late: whether unanswered requests may still be carried out.

    Raises:
        CommitUnknown: it is unknown whether the commit is in place; a later run finds out.
        LithifyError: it certainly is not.
    """
    try:
        outcome = loop.commit(hooks, changes, backoff)
    except CommitUnknown:
        raise
    except Exception:
        own.give_up(remove, may_write_late=may_write_late)
        raise
    own.end(outcome)
    return outcome
