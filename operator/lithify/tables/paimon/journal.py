"""The journal: what makes a crash harmless.

Before its first data file an attempt writes `<table>/lithify/attempts/<run>-<n>.json`, which says what it
read, what it works on, and what the names of its files begin with. `orphans` reads the journals of other
attempts; `commit` looks at its own before it writes a snapshot, because once its journal is gone, condemned
or too old somebody may be deleting its files.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from uuid import uuid4

from lithify.errors import AttemptFenced, CorruptTable
from lithify.tables.paimon.storage import Storage

SAFE_AGE = timedelta(days=1)
"""From this age on an attempt cannot commit any more, so files that nothing refers to may be deleted."""

COMMIT_AGE = SAFE_AGE / 2
"""Up to this age an attempt may commit; the difference allows for clocks that disagree."""

ATTEMPT_PROPERTY = "lithify.attempt"
"""The snapshot property that holds the prefix of the attempt that committed it."""

_PREFIX_LENGTH = 24
"""The first four groups of a UUID with their dashes; the last group numbers the files' writers."""


@dataclass(frozen=True, slots=True)
class JournalUnit:
    """One bucket of an attempt: where, and the names of the files that it replaces or upgrades."""

    partition: str
    bucket: int
    folder: str
    inputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of a run.

    Attributes:
        run: id of the run.
        number: counts the attempts of the run from 1.
        prefix: what the names of all its files contain, unique to the attempt.
        base_snapshot: the snapshot that it was planned on.
        base_millis: commit time of that snapshot, to recognise a rolled-back table.
        started: when the attempt began (ISO 8601 with offset).
        units: its buckets.
        condemned: its files are being deleted; it must not commit.
    """

    run: str
    number: int
    prefix: str
    base_snapshot: int
    base_millis: int
    started: str
    units: tuple[JournalUnit, ...]
    condemned: bool = False

    def age(self, now: datetime) -> timedelta:
        """How long ago it began."""
        return now - datetime.fromisoformat(self.started)


def writer_id(prefix: str, writer: int, attempt: int = 0) -> str:
    """The UUID in the names of one writer's files: of one attempt of a task, or of one try of a commit."""
    return f"{prefix}{writer & 0xFFFFF:05x}{attempt & 0xFFFFFFF:07x}"


class Journal:
    """The attempts recorded in one table's folder."""

    def __init__(self, table_root: str, storage: Storage) -> None:
        self._folder = f"{table_root.rstrip('/')}/lithify/attempts"
        self._storage = storage

    def begin(self, run: str, base: tuple[int, int], units: Sequence[JournalUnit], now: datetime) -> Attempt:
        """Records a new attempt of a run and returns it. `base` is a snapshot's id and commit time."""
        number = 1 + max((attempt.number for attempt in self.attempts() if attempt.run == run), default=0)
        while True:
            attempt = Attempt(
                run=run,
                number=number,
                prefix=str(uuid4())[:_PREFIX_LENGTH],
                base_snapshot=base[0],
                base_millis=base[1],
                started=now.isoformat(),
                units=tuple(units),
            )
            if self._storage.create_text(self.path(attempt), _to_json(attempt)):
                return attempt
            number += 1

    def attempts(self) -> list[Attempt]:
        """All recorded attempts.

        Raises:
            CorruptTable: a journal cannot be read.
        """
        names = sorted(file.name for file in self._storage.list(self._folder) if file.name.endswith(".json"))
        read = (self._read(f"{self._folder}/{name}") for name in names)
        return [attempt for attempt in read if attempt is not None]

    def condemn(self, attempt: Attempt) -> None:
        """Forbids an attempt to commit."""
        self._storage.write_text(self.path(attempt), _to_json(replace(attempt, condemned=True)))

    def close(self, attempt: Attempt) -> None:
        """Forgets an attempt, when nothing of it is left to clean up."""
        self._storage.delete(self.path(attempt))

    def check(self, attempt: Attempt, now: datetime) -> None:
        """Makes sure that an attempt may still commit.

        Raises:
            AttemptFenced: it may not.
        """
        path = self.path(attempt)
        if attempt.age(now) > COMMIT_AGE:
            raise AttemptFenced(path, f"the attempt is older than {COMMIT_AGE}")
        recorded = self._read(path)
        if recorded is None or recorded.prefix != attempt.prefix:
            raise AttemptFenced(path, "the journal is gone")
        if recorded.condemned:
            raise AttemptFenced(path, "another run is deleting the files of this attempt")

    def path(self, attempt: Attempt) -> str:
        """The file that records an attempt."""
        return f"{self._folder}/{attempt.run}-{attempt.number}.json"

    def _read(self, path: str) -> Attempt | None:
        try:
            text = self._storage.read_text(path)
            return None if text is None else _from_json(text)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            problem = f"the journal cannot be read ({error}); delete it once its run is known to be over"
            raise CorruptTable(path, problem) from error


def _from_json(text: str) -> Attempt:
    fields = json.loads(text)
    units = tuple(JournalUnit(**{**unit, "inputs": tuple(unit["inputs"])}) for unit in fields.pop("units"))
    attempt = Attempt(**fields, units=units)
    if datetime.fromisoformat(attempt.started).tzinfo is None:
        raise ValueError(f"{attempt.started} has no time zone")
    return attempt


def _to_json(attempt: Attempt) -> str:
    return json.dumps(asdict(attempt), indent=1)
