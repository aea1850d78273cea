"""Renews the heartbeat of an attempt while its driver works on it, and checks that it may still commit.

Called by steps whenever their tasks report, and by the commits of adapters in every try. It writes at most
once in `RENEWED_EVERY`, so it may be called often.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Generic

from lithify.clock import Clock
from lithify.engine.attempts.ages import RENEWED_EVERY
from lithify.engine.attempts.attempt import Attempt, Scope
from lithify.engine.attempts.journal import Journal
from lithify.errors import CorruptTable, StorageError


class Heartbeat(Generic[Scope]):
    """The heartbeat of one attempt."""

    def __init__(self, journal: Journal[Scope], attempt: Attempt[Scope], clock: Clock) -> None:
        self._journal = journal
        self._attempt = attempt
        self._clock = clock
        self._last = datetime.fromisoformat(attempt.started)

    def beat(self) -> None:
        """Renews the heartbeat if due; after a failure the next call is early enough.

        Raises:
            AttemptFenced: the attempt may not commit any more.
        """
        now = self._clock.now()
        if now - self._last < RENEWED_EVERY:
            return
        self._last = now
        with suppress(StorageError, CorruptTable):
            self._journal.renew(self._attempt, now)

    def check(self) -> None:
        """Renews the heartbeat if due, and checks that the attempt may still commit.

        Raises:
            AttemptFenced: it may not.
            StorageError: the journal cannot be read.
        """
        self.beat()
        self._journal.check(self._attempt, self._clock.now())
