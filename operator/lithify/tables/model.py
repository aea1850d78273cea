"""The vocabulary that several layers share: ids of snapshots, groups and runs, and the files of a merge tree.

Made by the format adapters. `DataFile`, `Bucket` and `BucketId` are what merge trees are planned with
(`planning.merge_tree`); what runs and the operator work with has no keys, levels or sequence numbers. Keys
are bytes whose order is the table's key order (`rewriting.order` makes them): planning only compares bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NewType, Protocol

SnapshotId = NewType("SnapshotId", str)
"""Names a snapshot of a table. Only the table's adapter can read it; others compare ids for equality."""

MOST_SNAPSHOT_ID = 64
"""Characters of the id of a snapshot: room for three 64-bit numbers."""

SNAPSHOT_ID = "[A-Za-z0-9._:-]+"
"""Pattern of the ids of snapshots, whatever the format."""

RUN_ID = "[A-Za-z0-9-]{1,63}"
"""Pattern of the id of a run, of which names of files are made."""

OrderKey = NewType("OrderKey", bytes)
"""A primary key as bytes whose lexicographic order is the key's order."""


class GroupId(Protocol):
    """Which group of files: what one decision is about. Hashable; its text is its path."""

    @property
    def path(self) -> str:
        """How people and the file system write it, for example `dt=2026-01-01/bucket-3`."""
        ...


@dataclass(frozen=True, slots=True)
class BucketId:
    """One bucket of one partition: one merge tree.

    `partition` is the format's own encoding of the partition values (an identity, not for people);
    `path` is how people and the file system write it, for example `dt=2026-01-01/bucket-3`.
    """

    partition: bytes
    bucket: int
    path: str

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True, slots=True)
class DataFile:
    """What planning knows of one data file.

    Attributes:
        name: unique within its bucket.
        size: bytes.
        rows: rows, deletes included.
        level: 0 for a fresh file (a sorted run of its own), above that the run it belongs to.
        min_key: smallest key.
        max_key: largest key.
        min_sequence: smallest sequence number.
        max_sequence: largest sequence number.
        created_millis: creation time in the wall clock of whoever wrote it, as milliseconds.
        delete_rows: rows that retract their key; None where the writer did not count them.
        schema_id: the schema that the file was written with.
        earliest: the earliest time among its rows in seconds since the epoch, where rows of the table expire;
            None if that is not known.
        handle: by which the adapter finds all else that it knows of the file; nobody else reads it.
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

    @property
    def may_hold_deletes(self) -> bool:
        """Whether the file has, or for want of a count may have, rows that retract their key."""
        return self.delete_rows is None or self.delete_rows > 0

    def has_expired_rows(self, before: int | None) -> bool:
        """Whether some of its rows have a time before this one (seconds since the epoch)."""
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
class BlockedBucket:
    """A bucket that cannot be compacted while its files stay as they are.

    Attributes:
        bucket: its path.
        is_corrupt: whether its files contradict the metadata; else this release does not support them.
        problem: the file or column in the way and what is wrong with it, as a sentence for people.
        fingerprint: identifies the files that were found; see `fingerprint_of`.
    """

    bucket: str
    is_corrupt: bool
    problem: str
    fingerprint: str


def is_snapshot_id(text: str) -> bool:
    """Whether a text can be the id of a snapshot; what comes from elsewhere need not be."""
    return len(text) <= MOST_SNAPSHOT_ID and re.fullmatch(SNAPSHOT_ID, text) is not None


def fingerprint_of(files: Iterable[tuple[str, int]]) -> str:
    """Identifies a set of data files, given as pairs of name and level: 16 hexadecimal digits."""
    lines = "\n".join(sorted(f"{level}/{name}" for name, level in files))
    return sha256(lines.encode()).hexdigest()[:16]
