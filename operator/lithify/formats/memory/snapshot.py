"""Snapshots of reference tables: values, and the JSON that stores them. Pure.

A snapshot lists all data files of the table, so a reader needs nothing else. Its id has a random part: a
number is used again after a rollback, an id never.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from lithify.errors import CorruptTable
from lithify.formats.protocol.model import SnapshotId, fingerprint_of
from lithify.io.file_names import is_file_name


@dataclass(frozen=True, slots=True)
class Group:
    """A group of files: a folder below `data`."""

    path: str


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file of a group; its name is unique in the table."""

    name: str
    bytes: int
    rows: int


Files = Mapping[Group, tuple[DataFile, ...]]
"""Data files by group, in the order of their rows."""


@dataclass(frozen=True, slots=True)
class RunMark:
    """The run that committed a snapshot, as the snapshot records it.

    Attributes:
        run: id of the run.
        attempt: prefix of its attempt.
        base: id of the snapshot before it.
        to_come: number of groups that the run still had to compact.
        groups: paths of the compacted groups.
        removed: number and bytes of the files that it removed.
        added: number and bytes of the files that it added.
    """

    run: str
    attempt: str
    base: str
    to_come: int
    groups: tuple[str, ...]
    removed: tuple[int, int]
    added: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot.

    Attributes:
        number: counts the snapshots of the table.
        nonce: random part of the id.
        millis: commit time, in milliseconds since 1970.
        files: all data files.
        mark: the run that committed it; None if another writer did.
    """

    number: int
    nonce: str
    millis: int
    files: Files
    mark: RunMark | None = None

    @property
    def id(self) -> SnapshotId:
        """The id, which no other snapshot of any table has."""
        return SnapshotId(f"{self.number}-{self.nonce}")

    @property
    def all_files(self) -> Iterator[DataFile]:
        """The data files of all groups."""
        return (file for files in self.files.values() for file in files)

    def names(self, group: Group) -> tuple[str, ...]:
        """Names of the files of a group; empty if the group does not exist."""
        return tuple(file.name for file in self.files.get(group, ()))

    def fingerprint(self, group: Group) -> str:
        """Identifies the files of a group."""
        return fingerprint_of((name, 0) for name in self.names(group))


def to_json(snapshot: Snapshot) -> str:
    """The text that stores a snapshot."""
    files = {group.path: [asdict(file) for file in files] for group, files in snapshot.files.items()}
    mark = None if snapshot.mark is None else asdict(snapshot.mark)
    own = {"number": snapshot.number, "nonce": snapshot.nonce, "millis": snapshot.millis}
    return json.dumps({**own, "files": files, "mark": mark})


def parse_snapshot(text: str, path: str) -> Snapshot:
    """Parses a snapshot; anyone who may write to the table's folder can have written it.

    Raises:
        CorruptTable: the text is no snapshot, or names a file outside of its group.
    """
    try:
        return _snapshot(json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise CorruptTable(path, f"it is no snapshot ({error})") from error


def _snapshot(found: Mapping[str, Any]) -> Snapshot:
    files = {
        Group(path): tuple(DataFile(file["name"], int(file["bytes"]), int(file["rows"])) for file in listed)
        for path, listed in found["files"].items()
    }
    for group, listed in files.items():
        if not all(map(is_file_name, (group.path, *(file.name for file in listed)))):
            raise ValueError(f"group {group.path!r} has a name that is none of a file")
    return Snapshot(
        int(found["number"]), str(found["nonce"]), int(found["millis"]), files, _mark(found["mark"])
    )


def _mark(found: Mapping[str, Any] | None) -> RunMark | None:
    if found is None:
        return None
    lists = {name: tuple(found[name]) for name in ("groups", "removed", "added")}
    return RunMark(**{**found, **lists})
