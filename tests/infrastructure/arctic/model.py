"""What Arctic's operations take and return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

Row = Sequence[Any]
"""Values in the order of the columns, in the JSON forms of the oracles."""
Actions = Sequence[Sequence[Any]]
"""Rows after their action: INSERT, DELETE, UPDATE_BEFORE or UPDATE_AFTER."""


@dataclass(frozen=True, slots=True)
class KeyedTable:
    """A keyed table in the layout of Arctic up to 0.5.0: a folder with `base` and `change`.

    Attributes:
        location: the folder.
        columns: their Iceberg types by their names.
        key: the columns of the primary key, which no file of the table names.
        partition: names of columns, or transforms of them: `day(ts)`, `bucket(4, id)`.
        store: what paths begin with where the folder is not on this machine: `hdfs://127.0.0.1:8020`.
    """

    location: Path
    columns: Mapping[str, str]
    key: Sequence[str]
    partition: Sequence[str] = ()
    store: str = ""

    @property
    def url(self) -> str:
        """The folder, for clients that reach other file systems."""
        return f"{self.store}{self.location}"

    @property
    def base(self) -> Path:
        """The folder of the base store."""
        return self.location / "base"

    @property
    def change(self) -> Path:
        """The folder of the change store."""
        return self.location / "change"

    def args(self) -> dict[str, Any]:
        """How requests name this table."""
        return {"location": self.url, "key": list(self.key)}


@dataclass(frozen=True, slots=True)
class MixedState:
    """A table of today's layout at one moment, for Arctic's reader and writers, which cannot commit to it.

    Attributes:
        base: the metadata file of the base store.
        change: that of the change store.
        key: the columns of the primary key.
        line: sequence numbers by partition, which Arctic 0.4.1 does not find where they are.
    """

    base: str
    change: str
    key: Sequence[str]
    line: Mapping[str, int] = field(default_factory=dict)

    def args(self) -> dict[str, Any]:
        """How requests name this table."""
        return {"base": self.base, "change": self.change, "key": list(self.key), "line": dict(self.line)}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedFile:
    """A file of a store; node, type and transaction are those that Arctic reads in its name.

    `sequence` is the entry's data sequence number, None for a file that is not committed. `values` are
    those of the partition, `partition` is their path.
    """

    path: str
    content: str
    type: str
    node: int
    transaction_id: int
    partition: str
    values: Sequence[Any]
    sequence: int | None
    records: int
    size: int


@dataclass(frozen=True, slots=True)
class Files:
    """The live files of both stores."""

    base: tuple[KeyedFile, ...]
    change: tuple[KeyedFile, ...]


@dataclass(frozen=True, slots=True)
class FileMeta:
    """What Arctic reads in the name of a file."""

    transaction_id: int
    type: str
    node: int


@dataclass(frozen=True, slots=True)
class ParsedName:
    """The meaning of a name in either store, and whether it is one of Arctic's."""

    base: FileMeta
    change: FileMeta
    is_arctic: bool


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the tree, and the ids of those around it."""

    mask: int
    index: int
    left: int
    right: int
    parent: int | None


@dataclass(frozen=True, slots=True)
class Optimized:
    """What a run of the optimizer read and wrote. `line` has the partitions whose line moves."""

    tasks: int
    added: tuple[KeyedFile, ...]
    removed: tuple[KeyedFile, ...]
    added_deletes: tuple[KeyedFile, ...]
    removed_deletes: tuple[KeyedFile, ...]
    line: Mapping[str, int]

    @classmethod
    def of(cls, made: Mapping[str, Any]) -> Self:
        """From its JSON."""
        return cls(
            made["tasks"],
            keyed_files(made["added"]),
            keyed_files(made["removed"]),
            keyed_files(made["added_deletes"]),
            keyed_files(made["removed_deletes"]),
            made["line"],
        )


@dataclass(frozen=True, slots=True)
class Timed:
    """How long an operation took; processor time is that of the whole JVM."""

    result: Any
    nanos: int
    cpu_nanos: int


def keyed_files(files: Sequence[Mapping[str, Any]]) -> tuple[KeyedFile, ...]:
    """Parses a list of files."""
    return tuple(KeyedFile(**file) for file in files)
