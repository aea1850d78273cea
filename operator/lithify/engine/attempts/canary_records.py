"""Records of canaries: which runs have copies of a table, whether they live, and what the comparison found.

Written and read by `engine.run.canary`, one file for each run, in `<table>/lithify/canaries`. A record is
written before its copy is made and deleted after it is dropped, so that every copy is found. Anyone who may
write to the table's folder can put records there: they name no branch and no file, and only copies that a run
of theirs would have made are dropped by them.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from lithify.engine.attempts.names import is_run_id
from lithify.io.storage import Storage

_SUFFIX = ".json"
_MOST_BYTES = 64 << 10
_MOST_TOLD = 4000
"""Characters of what the comparison found."""


class CanaryState(StrEnum):
    """What became of a canary; one that has failed keeps its copy."""

    RUNNING = "running"
    PASSED = "passed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class CanaryRecord:
    """The canary of one run.

    Attributes:
        run: id of the run.
        state: what became of it.
        beaten: when the run last gave a sign of life (ISO 8601 with offset).
        groups: the number of groups that were compared.
        rows: the number of rows in them.
        differences: what differed.
    """

    run: str
    state: CanaryState
    beaten: str
    groups: int = 0
    rows: int = 0
    differences: str = ""

    def silence(self, now: datetime) -> timedelta:
        """Time since the last sign of life."""
        return now - datetime.fromisoformat(self.beaten)


class CanaryRecords:
    """The records of one table."""

    def __init__(self, home: str, storage: Storage) -> None:
        self._folder = f"{home.rstrip('/')}/lithify/canaries"
        self._storage = storage

    def all(self) -> list[CanaryRecord]:
        """All records; files that are none are passed over.

        Raises:
            StorageError: the file system refuses.
        """
        names = sorted(file.name for file in self._storage.list(self._folder))
        runs = [name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)]
        return [found for run in runs if is_run_id(run) and (found := self.of(run)) is not None]

    def of(self, run: str) -> CanaryRecord | None:
        """The record of a run; None if it has none."""
        text = self._storage.read_text(self._path(run), _MOST_BYTES)
        return None if text is None else _parsed(run, text)

    def write(self, record: CanaryRecord) -> None:
        """Writes the record of a run."""
        fields = {**asdict(record), "differences": record.differences[:_MOST_TOLD]}
        self._storage.write_text(self._path(record.run), json.dumps(fields))

    def delete(self, run: str) -> None:
        """Deletes the record of a run, whose copy is gone."""
        self._storage.delete(self._path(run))

    def _path(self, run: str) -> str:
        return f"{self._folder}/{run}{_SUFFIX}"


def _parsed(run: str, text: str) -> CanaryRecord | None:
    try:
        found = json.loads(text)
        record = CanaryRecord(
            run=run,
            state=CanaryState(found["state"]),
            beaten=str(found["beaten"])[:64],
            groups=int(found["groups"]),
            rows=int(found["rows"]),
            differences=str(found["differences"])[:_MOST_TOLD],
        )
        is_timed = datetime.fromisoformat(record.beaten).tzinfo is not None
    except (KeyError, TypeError, ValueError):
        return None
    return record if is_timed and found.get("run") == run else None
