"""Types shared by several layers: ids of snapshots, groups and runs, files, and verdicts of triggers.

Made by the format adapters and planners. Only these use `DataFile`, `Bucket` and `BucketId`; runs and the
operator know no keys, levels or sequence numbers. Keys are bytes whose order is the table's key order
(`columns.order` makes them): planning only compares bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NewType, Protocol

from lithify.errors import InvalidOption
from lithify.settings import RUN

SnapshotId = NewType("SnapshotId", str)
"""Id of a snapshot. Only the table's adapter can interpret it; other code compares ids for equality."""

MOST_SNAPSHOT_ID = 64
"""Maximum length of a snapshot id in characters; three 64-bit numbers fit."""

SNAPSHOT_ID = "[A-Za-z0-9._:-]+"
"""Pattern of snapshot ids in every format."""

RUN_ID = "[A-Za-z0-9-]{1,63}"
"""Pattern of run ids, which are part of file names."""

OrderKey = NewType("OrderKey", bytes)
"""A primary key as bytes whose lexicographic order is the key's order."""


class GroupId(Protocol):
    """Identifies a group of files, the unit of decisions. Hashable; `str()` gives its path."""

    @property
    def path(self) -> str:
        """Path as shown to people and used in the file system, for example `dt=2026-01-01/bucket-3`."""
        ...


@dataclass(frozen=True, slots=True)
class BucketId:
    """One bucket of one partition: one merge tree.

    `partition` encodes the partition values as the format does (an identity, not for people); `path` is the
    path for people and the file system, for example `dt=2026-01-01/bucket-3`.
    """

    partition: bytes
    bucket: int
    path: str

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file as planning sees it.

    Attributes:
        name: unique within its bucket.
        size: bytes.
        rows: number of rows, deletes included.
        level: 0 for a newly written file (a sorted run by itself); each higher level is one run.
        min_key: smallest key.
        max_key: largest key.
        min_sequence: smallest sequence number.
        max_sequence: largest sequence number.
        created_millis: creation time by the writer's wall clock, in milliseconds.
        delete_rows: number of rows that retract their key; None where the writer did not count them.
        schema_id: id of the schema that the file was written with.
        earliest: earliest time among the rows in seconds since the epoch, for tables whose rows expire; None
            if unknown.
        handle: opaque key under which the adapter finds its other data about the file.
        has_vector: whether a deletion vector says that some of its rows are deleted.
        vector_file: name of the index file with its deletion vector; only tables that share such files among
            data files of a bucket need it.
        deleted_rows: number of rows that the vector deletes; None where the writer did not count them.
    """

    name: str
    size: int
    rows: int
    level: int
    min_key: OrderKey
    max_key: OrderKey
    min_sequence: int
    max_sequence: int
    created_millis: int
    delete_rows: int | None
    schema_id: int = 0
    earliest: int | None = None
    handle: Any = None
    has_vector: bool = False
    vector_file: str | None = None
    deleted_rows: int | None = 0

    @property
    def may_hold_deletes(self) -> bool:
        """Whether the file may have rows that retract their key: the count is positive or unknown."""
        return self.delete_rows is None or self.delete_rows > 0

    def has_expired_rows(self, before: int | None) -> bool:
        """Whether the file has rows with a time before this one (seconds since the epoch)."""
        return before is not None and self.earliest is not None and self.earliest < before


@dataclass(frozen=True, slots=True)
class Bucket:
    """The live files of one bucket in one snapshot."""

    id: BucketId
    files: tuple[DataFile, ...]
    total_buckets: int

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


@dataclass(frozen=True, slots=True)
class TriggerVerdict:
    """Whether a trigger makes a group due.

    Attributes:
        trigger: name of the trigger, for example `SortedRuns`.
        fired: whether it makes the group due.
        detail: the numbers behind the answer, as a sentence for people.
    """

    trigger: str
    fired: bool
    detail: str


@dataclass(frozen=True, slots=True)
class BlockedBucket:
    """A bucket that cannot be compacted while its files stay the same.

    Attributes:
        bucket: path of the bucket.
        is_corrupt: whether the files contradict the metadata; False if this release does not support them.
        problem: the file or column at fault and what is wrong with it, as a sentence for people.
        fingerprint: identifies the bucket's files; see `fingerprint_of`.
    """

    bucket: str
    is_corrupt: bool
    problem: str
    fingerprint: str


def check_run_id(run: str) -> None:
    """Checks that the id of a run can be part of file names.

    Raises:
        InvalidOption: it cannot.
    """
    if re.fullmatch(RUN_ID, run) is None:
        raise InvalidOption(RUN, f"'{run}' is not up to 63 letters, digits and dashes")


def is_snapshot_id(text: str) -> bool:
    """Whether a text is a valid snapshot id; used to validate external input."""
    return len(text) <= MOST_SNAPSHOT_ID and re.fullmatch(SNAPSHOT_ID, text) is not None


def fingerprint_of(files: Iterable[tuple[str, int]]) -> str:
    """Identifies a set of data files, given as pairs of name and level: 16 hexadecimal digits."""
    lines = "\n".join(sorted(f"{level}/{name}" for name, level in files))
    return sha256(lines.encode()).hexdigest()[:16]
