"""The journal: what makes a crash harmless.

Before its first data file an attempt writes `<table>/lithify/attempts/<run>-<n>.json`, which says what it
read, what it works on, and what the names of its files begin with. A branch has a folder of its own for them,
beside the snapshots that tell what became of its attempts. `orphans` reads the journals of other
attempts; `commit` looks at its own before it writes a snapshot, because once its journal is gone, condemned
or too old somebody may be deleting its files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from uuid import uuid4

from lithify.errors import AttemptFenced, CorruptTable, InvalidOption
from lithify.tables.paimon.storage import Storage

SAFE_AGE = timedelta(days=1)
"""From this age on an attempt cannot commit any more, so files that nothing refers to may be deleted."""

COMMIT_AGE = SAFE_AGE / 2
"""Up to this age an attempt may commit; the difference allows for clocks that disagree."""

ATTEMPT_PROPERTY = "lithify.attempt"
"""The snapshot property that holds the prefix of the attempt that committed it."""

_RUN_ID = re.compile(r"[A-Za-z0-9-]{1,63}")
_PREFIX_LENGTH = 24
"""The first four groups of a UUID with their dashes; the last group numbers the files' writers."""


@dataclass(frozen=True, slots=True)
class JournalUnit:
    """One bucket of an attempt, and the names of the files that it replaces or upgrades.

    Its folder is relative to the table's: a table may be copied or moved, with its journals.
    """

    partition: str
    bucket: int
    folder: str
    inputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OutsideRoots:
    """Directories outside the table's folder into which an attempt writes.

    Other than that folder they are not copied or moved with the journals in it, and a copy of a table must
    not clean up what the original writes there.

    Attributes:
        table: the table's folder when the attempt began.
        roots: the directories, as URIs; a bucket has the same folder in each as in the table's.
    """

    table: str
    roots: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of a run.

    Attributes:
        run: id of the run.
        number: counts the attempts of the run from 1.
        prefix: what the names of all its files contain, unique to the attempt.
        base_snapshot: the newest snapshot when it began.
        base_millis: commit time of that snapshot, to recognise a rolled-back table.
        started: when the attempt began (ISO 8601 with offset).
        units: its buckets.
        condemned: since when it must not commit, because its files are deleted (ISO 8601 with offset).
        outside: where it writes if not to the table's folder.
    """

    run: str
    number: int
    prefix: str
    base_snapshot: int
    base_millis: int
    started: str
    units: tuple[JournalUnit, ...]
    condemned: str | None = None
    outside: OutsideRoots | None = None

    def age(self, now: datetime) -> timedelta:
        """How long ago it began."""
        return now - datetime.fromisoformat(self.started)

    def condemned_for(self, now: datetime) -> timedelta:
        """How long ago it was condemned."""
        return now - datetime.fromisoformat(self.condemned or now.isoformat())


def check_run_id(run: str) -> None:
    """Makes sure that the names of files can be made of the id of a run.

    Raises:
        InvalidOption: they cannot.
    """
    if not _RUN_ID.fullmatch(run):
        raise InvalidOption("--run-id", f"'{run}' is not up to 63 letters, digits and dashes")


def writer_id(prefix: str, writer: int, attempt: int = 0) -> str:
    """The UUID in the names of one writer's files: of one attempt of a task, or of one try of a commit."""
    return f"{prefix}{writer & 0xFFFFF:05x}{attempt & 0xFFFFFFF:07x}"


class Journal:
    """The attempts recorded in one folder: a table's, or a branch's."""

    def __init__(self, home: str, storage: Storage) -> None:
        self._folder = f"{home.rstrip('/')}/lithify/attempts"
        self._storage = storage

    def begin(
        self,
        run: str,
        base: tuple[int, int],
        units: Sequence[JournalUnit],
        now: datetime,
        after: int = 0,
        outside: OutsideRoots | None = None,
    ) -> Attempt:
        """Records a new attempt of a run and returns it.

        Args:
            run: the run's id.
            base: id and commit time of the newest snapshot.
            units: its buckets.
            now: when it begins.
            after: the number of the run's last attempt; numbers are not used again.
            outside: where it writes if not to the table's folder.
        """
        check_run_id(run)
        used = [int(match[1]) for match in map(_number_of(run).search, self.paths()) if match]
        number = 1 + max([after, *used])
        while True:
            attempt = Attempt(
                run=run,
                number=number,
                prefix=str(uuid4())[:_PREFIX_LENGTH],
                base_snapshot=base[0],
                base_millis=base[1],
                started=now.isoformat(),
                units=tuple(units),
                outside=outside,
            )
            if self._storage.create_text(self.path(attempt), _to_json(attempt)):
                return attempt
            number += 1

    def paths(self) -> list[str]:
        """The files of all recorded attempts."""
        names = sorted(file.name for file in self._storage.list(self._folder) if file.name.endswith(".json"))
        return [f"{self._folder}/{name}" for name in names]

    def condemn(self, attempt: Attempt, now: datetime) -> Attempt | None:
        """Forbids an attempt to commit; returns it as it is recorded then, None if it is closed already."""
        recorded = self._recorded(attempt)
        if recorded is not None and recorded.condemned is None:
            recorded = replace(recorded, condemned=now.isoformat())
            self._storage.write_text(self.path(attempt), _to_json(recorded))
        return recorded

    def close(self, attempt: Attempt) -> None:
        """Forgets an attempt, when nothing of it is left to clean up."""
        if self._recorded(attempt) is not None:
            self._storage.delete(self.path(attempt))

    def check(self, attempt: Attempt, now: datetime) -> None:
        """Makes sure that an attempt may still commit.

        Raises:
            AttemptFenced: it may not.
        """
        path = self.path(attempt)
        if attempt.age(now) > COMMIT_AGE:
            raise AttemptFenced(path, f"the attempt is older than {COMMIT_AGE}")
        recorded = self._recorded(attempt)
        if recorded is None:
            raise AttemptFenced(path, "the journal is gone")
        if recorded.condemned is not None:
            raise AttemptFenced(path, "another run is deleting the files of this attempt")

    def path(self, attempt: Attempt) -> str:
        """The file that records an attempt."""
        return f"{self._folder}/{attempt.run}-{attempt.number}.json"

    def _recorded(self, attempt: Attempt) -> Attempt | None:
        """The attempt as it is recorded now; another one may have taken its place since."""
        recorded = self.read(self.path(attempt))
        return recorded if recorded is not None and recorded.prefix == attempt.prefix else None

    def read(self, path: str) -> Attempt | None:
        """The attempt that a file records, None if it is closed.

        Raises:
            CorruptTable: the file cannot be read.
        """
        try:
            text = self._storage.read_text(path)
            return None if text is None else _from_json(text)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            problem = f"the journal cannot be read ({error}); delete it once its run is known to be over"
            raise CorruptTable(path, problem) from error


def _number_of(run: str) -> re.Pattern[str]:
    """Finds the number in the path of an attempt of a run."""
    return re.compile(rf"/{re.escape(run)}-(\d+)\.json$")


def _from_json(text: str) -> Attempt:
    fields = json.loads(text)
    units = tuple(JournalUnit(**{**unit, "inputs": tuple(unit["inputs"])}) for unit in fields.pop("units"))
    outside = fields.pop("outside", None)
    if outside is not None:
        outside = OutsideRoots(outside["table"], tuple(outside["roots"]))
    attempt = Attempt(**fields, units=units, outside=outside)
    for moment in (attempt.started, attempt.condemned or attempt.started):
        if datetime.fromisoformat(moment).tzinfo is None:
            raise ValueError(f"{moment} has no time zone")
    return attempt


def _to_json(attempt: Attempt) -> str:
    return json.dumps(asdict(attempt), indent=1)
