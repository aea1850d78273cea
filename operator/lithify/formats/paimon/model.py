"""Buckets and their data files, as all rooms of Paimon know them.

Keys of files in merge trees are bytes whose order is the table's key order, so that planning only compares
bytes. Files of tables without a primary key have none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lithify.columns.order_key import OrderKey

PLACE = ("partition", "bucket")
"""The columns that identify the bucket of a row: BinaryRow bytes and a number."""

POSTPONED = -2
"""Number of the bucket with rows that are not yet in their real buckets."""

LATEST_MILLIS = 250_000_000_000_000
"""Milliseconds since the epoch, in the year 9892: Python's calendar ends soon after, in any time zone."""


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

    @property
    def division(self) -> int:
        """What tells the groups of a partition apart: the number of the bucket."""
        return self.bucket


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
