"""The journal of attempts, for recovery after crashes.

Before its first data file an attempt writes `<table>/lithify/attempts/<run>-<n>.json`: what it read, what it
works on, and the prefix of its file names. A branch has its own journal folder beside its snapshots, which
tell what became of its attempts. `clean_up` reads the journals of other attempts; a commit checks its own
before it writes a snapshot, because once its journal is gone, condemned or silent for too long, another run
may be deleting its files.

A living attempt renews a heartbeat file beside its journal (`heartbeat`), which no other process
writes. A committed attempt keeps its journal for a while under another name, because a Java writer may yet
rename its own snapshot over the committed one, or a catalog remove it in favour of a writer.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Generic
from uuid import uuid4

from lithify.engine.attempts.ages import COMMIT_AGE, RENEWED_EVERY
from lithify.engine.attempts.attempt import Attempt, CommittedJournal, Recorded, Scope, ScopeFormat
from lithify.engine.attempts.journal_text import parse_journal, to_json
from lithify.engine.attempts.names import (
    PREFIX_LENGTH,
    is_like_a_journal,
    is_open_name,
    is_temporary,
    parse_committed_name,
    sign_of,
    stop_file_of,
)
from lithify.errors import AttemptFenced, CorruptTable
from lithify.formats.protocol.model import check_run_id
from lithify.io.file_names import shown
from lithify.io.storage import Storage

_MOST_OF_A_TIME = 64
"""Characters of a time that are parsed: errors repeat them."""


class Journal(Generic[Scope]):
    """The attempts recorded in one folder: a table's, or a branch's.

    Attributes:
        folder: the folder.
        storage: access to it.

    Args:
        home: the folder of the table or branch.
        storage: access to it.
        scopes: the JSON form of what attempts work on.
    """

    def __init__(self, home: str, storage: Storage, scopes: ScopeFormat[Scope]) -> None:
        self.folder = f"{home.rstrip('/')}/lithify/attempts"
        self.storage = storage
        self._scopes = scopes

    def begin(self, run: str, scope: Scope, now: datetime, after: int = 0) -> Attempt[Scope]:
        """Records a new attempt of a run and returns it.

        Args:
            run: the run's id.
            scope: what it works on.
            now: start time.
            after: the number of the run's last attempt; numbers are not reused.
        """
        check_run_id(run)
        used = [int(match[1]) for match in map(_number_of(run).match, self._names()) if match]
        number = 1 + max([after, *used])
        while True:
            attempt = Attempt(
                run=run,
                number=number,
                prefix=str(uuid4())[:PREFIX_LENGTH],
                started=now.isoformat(),
                scope=scope,
            )
            if self.storage.create_text(self.path(attempt), to_json(attempt, self._scopes)):
                return attempt
            number += 1

    def recorded(self) -> Recorded:
        """The journals in the folder; one listing, without reading them."""
        found = Recorded([], [], [])
        for name in self._names():
            if is_temporary(name):
                continue
            path = f"{self.folder}/{name}"
            committed = parse_committed_name(name)
            if is_open_name(name):
                found.open.append(path)
            elif committed is not None:
                found.committed.append(
                    CommittedJournal(path, committed.prefix, committed.snapshot, committed.since)
                )
            elif is_like_a_journal(name):
                problem = f"{shown(name)} is no name of a journal; delete the file"
                found.refused.append(CorruptTable(self.folder, problem))
        return found

    def _names(self) -> list[str]:
        return sorted(file.name for file in self.storage.list(self.folder))

    def condemn(
        self, attempt: Attempt[Scope], now: datetime, *, again: bool = False
    ) -> Attempt[Scope] | None:
        """Forbids an attempt to commit; returns its record, None if it is closed already.

        If it was condemned before, the first time stays in effect.
        """
        recorded = self._recorded(attempt)
        if recorded is not None and (recorded.condemned is None or again):
            recorded = replace(recorded, condemned=now.isoformat())
            self.storage.write_text(self.path(attempt), to_json(recorded, self._scopes))
        return recorded

    def close(self, attempt: Attempt[Scope]) -> None:
        """Closes an attempt, once nothing of it is left to clean up."""
        if self._recorded(attempt) is not None:
            self.storage.delete(self.path(attempt))

    def keep(self, attempt: Attempt[Scope], snapshot: int, now: datetime) -> None:
        """Records that an attempt has committed; does nothing if it is closed already."""
        recorded = self._recorded(attempt)
        if recorded is not None:
            since = int(now.timestamp())
            name = f"{attempt.stem}.committed-{snapshot}-{since}-{attempt.prefix}"
            self.storage.create_text(f"{self.folder}/{name}", to_json(recorded, self._scopes))
            self.close(attempt)

    def reopen(self, committed: CommittedJournal, now: datetime) -> None:
        """Condemns an attempt whose snapshot turned out not to be part of the table's history."""
        attempt = self.read(committed.path)
        if attempt is not None:
            self.storage.create_text(
                self.path(attempt), to_json(replace(attempt, condemned=now.isoformat()), self._scopes)
            )
            self.forget(committed)

    def forget(self, committed: CommittedJournal) -> None:
        """Closes a committed attempt, once nothing of it is left to clean up."""
        self.storage.delete(committed.path)

    def renew(self, attempt: Attempt[Scope], now: datetime) -> None:
        """Writes an attempt's heartbeat.

        It is a separate file: writing to the journal could undo a condemnation.

        Raises:
            AttemptFenced: the attempt may not commit any more and can end.
        """
        self.check(attempt, now)
        self.storage.write_text(self._sign_path(attempt), f"{attempt.prefix} {now.isoformat()}")

    def silence(self, attempt: Attempt[Scope], now: datetime) -> timedelta:
        """Time since an attempt began, or since its last heartbeat.

        Raises:
            CorruptTable: the file cannot be read.
        """
        if attempt.age(now) <= RENEWED_EVERY:
            return attempt.age(now)
        path = self._sign_path(attempt)
        prefix, _, moment = (self.storage.read_text(path) or "").partition(" ")
        if prefix != attempt.prefix:
            return attempt.age(now)
        try:
            return now - datetime.fromisoformat(moment[:_MOST_OF_A_TIME])
        except (ValueError, TypeError) as error:
            raise CorruptTable(path, f"it has no time ({error}); delete it once its run is over") from error

    def check(self, attempt: Attempt[Scope], now: datetime) -> None:
        """Checks that an attempt may still commit.

        Raises:
            AttemptFenced: it may not.
        """
        path = self.path(attempt)
        if self.silence(attempt, now) > COMMIT_AGE:
            raise AttemptFenced(path, f"the attempt gave no sign of life for {COMMIT_AGE}")
        recorded = self._recorded(attempt)
        if recorded is None:
            raise AttemptFenced(path, "the journal is gone")
        if recorded.condemned is not None:
            raise AttemptFenced(path, "another run is deleting the files of this attempt")

    def path(self, attempt: Attempt[Scope]) -> str:
        """The file that records an attempt."""
        return f"{self.folder}/{attempt.stem}.json"

    def stop_path(self, attempt: Attempt[Scope]) -> str:
        """The file that stops tasks of an attempt; see `stop_file`."""
        return f"{self.folder}/{stop_file_of(f'{attempt.stem}.json')}"

    def _sign_path(self, attempt: Attempt[Scope]) -> str:
        return f"{self.folder}/{sign_of(f'{attempt.stem}.json')}"

    def _recorded(self, attempt: Attempt[Scope]) -> Attempt[Scope] | None:
        """The attempt as it is recorded now; another attempt may have replaced it."""
        recorded = self.read(self.path(attempt))
        return recorded if recorded is not None and recorded.prefix == attempt.prefix else None

    def read(self, path: str) -> Attempt[Scope] | None:
        """The attempt that a file records, None if it is closed.

        Raises:
            CorruptTable: the file cannot be read.
        """
        try:
            text = self.storage.read_text(path)
            return None if text is None else parse_journal(text, path.rpartition("/")[2], self._scopes)
        except ValueError as error:
            problem = f"the journal cannot be read ({error}); delete it once its run is known to be over"
            raise CorruptTable(path, problem) from error


def _number_of(run: str) -> re.Pattern[str]:
    """Parses the number in the journal name of a run's attempt."""
    return re.compile(rf"{re.escape(run)}-([0-9]{{1,6}})\.(json$|committed-)")
