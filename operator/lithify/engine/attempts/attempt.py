"""An attempt: one try of a run at a table, as its journal records it.

Made by `journal`. What the attempt works on is its scope, which only the adapter of the table's format reads;
a `ScopeFormat` turns it into JSON and back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, Protocol, TypeVar

from lithify.errors import CorruptTable

Scope = TypeVar("Scope")


@dataclass(frozen=True, slots=True)
class Attempt(Generic[Scope]):
    """One try of a run.

    Attributes:
        run: id of the run.
        number: counts the attempts of the run from 1.
        prefix: prefix of the UUIDs in the names of all its files, unique to the attempt.
        started: when the attempt began (ISO 8601 with offset).
        scope: what it works on: the base snapshot, the groups and their input files.
        condemned: since when it must not commit, because its files are deleted (ISO 8601 with offset).
    """

    run: str
    number: int
    prefix: str
    started: str
    scope: Scope
    condemned: str | None = None

    @property
    def stem(self) -> str:
        """Common prefix of the names of its journals, up to the first dot."""
        return f"{self.run}-{self.number}"

    def age(self, now: datetime) -> timedelta:
        """Time since it began."""
        return now - datetime.fromisoformat(self.started)

    def condemned_for(self, now: datetime) -> timedelta:
        """Time since it was condemned."""
        return now - datetime.fromisoformat(self.condemned or now.isoformat())


class ScopeFormat(Protocol[Scope]):
    """The JSON form of a format's scopes."""

    @property
    def fields(self) -> frozenset[str]:
        """Names of the fields of a scope in the journal's JSON object."""
        ...

    def to_json(self, scope: Scope) -> Mapping[str, Any]:
        """The fields of a scope."""
        ...

    def parse(self, fields: Mapping[str, Any]) -> Scope:
        """Parses the fields of a scope. Anyone who may write to the table's folder can have written them.

        Raises:
            ValueError: a field is missing or invalid.
        """
        ...


@dataclass(frozen=True, slots=True)
class CommittedJournal:
    """The journal of a committed attempt; its name holds everything except its scope.

    Attributes:
        path: its file.
        prefix: the attempt's prefix.
        snapshot: id of its snapshot.
        since: time of the commit.
    """

    path: str
    prefix: str
    snapshot: int
    since: datetime


@dataclass(frozen=True, slots=True)
class Recorded:
    """The journals in a folder.

    Attributes:
        open: files of attempts that are not yet recorded as committed.
        committed: the others.
        refused: why files that look like journals cannot be ours.
    """

    open: list[str]
    committed: list[CommittedJournal]
    refused: list[CorruptTable]
