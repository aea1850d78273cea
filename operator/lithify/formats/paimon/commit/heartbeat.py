"""Renews the heartbeat of an attempt while its driver works on it.

Called by the job's driver whenever its tasks report, and by `commit_loop` in every try. It writes at most
once in `RENEWED_EVERY`, so it may be called often.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from lithify.clock import Clock
from lithify.errors import CorruptTable, StorageError
from lithify.formats.paimon.commit.journal import RENEWED_EVERY, Journal
from lithify.formats.paimon.commit.journal_files import Attempt


class Heartbeat:
    """The heartbeat of one attempt."""

    def __init__(self, journal: Journal, attempt: Attempt, clock: Clock) -> None:
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
