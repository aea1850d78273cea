"""What is kept of a table between two looks at it, and the folder in which it is kept.

Made by `live`, read by `observation`. It only saves work: a file that is missing, damaged, of another release
or of another table is as good as none. Only processes of ours write into the folder, any number of them.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import astuple, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

from lithify.tables.model import DataFile, OrderKey

Place = tuple[bytes, int]
"""A partition (BinaryRow bytes) and a bucket number."""
FileKey = tuple[str, int]
"""Name and level: an upgraded file is another one at its new level."""
Buckets = Mapping[Place, Mapping[FileKey, DataFile]]
"""Live files by bucket; buckets without files are left out."""

_FORMAT = 1
_SUFFIX = ".kept"
_KEYS = slice(4, 6)
"""Where a DataFile's bounds stand among its fields."""


@dataclass(frozen=True, slots=True)
class SnapshotMark:
    """A snapshot, and what tells it from another one that has its number after a rollback."""

    id: int
    delta: str
    millis: int


@dataclass(frozen=True, slots=True)
class History:
    """The snapshots that the table keeps.

    Attributes:
        oldest: number of the oldest.
        oldest_millis: when it was committed.
        removed: by snapshot, the bytes of the files that it removed and that older ones still hold.
    """

    oldest: int
    oldest_millis: int
    removed: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KeptTable:
    """All live files of a table in one snapshot.

    Attributes:
        root: the folder of its snapshots: the table's, or that of a branch in it.
        uuid: tells the table from others of its name.
        schema_id: the schema under which its files were read.
        newest: the snapshot, None if the table had none.
        index_types: the kinds of index that it has.
        buckets: its files.
        history: the snapshots that were kept then.
    """

    root: str
    uuid: str
    schema_id: int
    newest: SnapshotMark | None
    index_types: frozenset[str] = frozenset()
    buckets: Buckets = field(default_factory=dict)
    history: History | None = None


class KeptTables:
    """A folder with one file a table, the least recently used of which go when they are too many.

    Args:
        folder: where; made if it does not exist.
        limit: bytes of all files, about.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder = folder
        self._limit = limit
        self._unchecked = limit
        folder.mkdir(parents=True, exist_ok=True)

    def load(self, key: str) -> KeptTable | None:
        """What is kept under a key, None if that is nothing or cannot be used."""
        try:
            return decode(self._path(key).read_bytes())
        except (OSError, ValueError, LookupError, TypeError, AttributeError, zlib.error):
            return None

    def save(self, key: str, table: KeptTable) -> None:
        """Keeps a table; does nothing where that fails, which costs a full look the next time."""
        path = self._path(key)
        temporary = path.with_name(f"{path.stem}.{uuid4()}.new")
        data = encode(table)
        with suppress(OSError):
            try:
                temporary.write_bytes(data)
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
        self._unchecked += len(data)
        if self._unchecked > self._limit // 16:
            self._unchecked = 0
            with suppress(OSError):
                self._make_room(path)

    def used_at(self, key: str) -> float | None:
        """When a table was last looked at (seconds since the epoch), None if nothing is kept of it."""
        try:
            return self._path(key).stat().st_mtime
        except OSError:
            return None

    def use(self, key: str, seconds: float) -> None:
        """Notes that a table was looked at."""
        with suppress(OSError):
            os.utime(self._path(key), (seconds, seconds))

    def _path(self, key: str) -> Path:
        return self._folder / f"{sha256(key.encode()).hexdigest()[:40]}{_SUFFIX}"

    def _make_room(self, newest: Path) -> None:
        files = []
        for path in self._folder.iterdir():
            with suppress(OSError):  # another process may have removed it
                files.append((path.stat(), path))
        total = sum(status.st_size for status, _ in files)
        for status, path in sorted(files, key=lambda file: file[0].st_mtime):
            if total <= self._limit:
                break
            if path != newest:
                total -= status.st_size
                with suppress(OSError):
                    path.unlink()


def encode(table: KeptTable) -> bytes:
    """A table as bytes whose damage is noticed."""
    history = table.history
    content = {
        "format": _FORMAT,
        "root": table.root,
        "uuid": table.uuid,
        "schema": table.schema_id,
        "newest": None if table.newest is None else astuple(table.newest),
        "indexes": sorted(table.index_types),
        "history": history and [history.oldest, history.oldest_millis, list(history.removed.items())],
        "buckets": [
            [partition.hex(), bucket, [_row(file) for file in files.values()]]
            for (partition, bucket), files in table.buckets.items()
        ],
    }
    return zlib.compress(json.dumps(content, separators=(",", ":")).encode(), level=1)


def decode(data: bytes) -> KeptTable:
    """The table that was encoded.

    Raises:
        ValueError, LookupError, TypeError, AttributeError, zlib.error: it is none, or one of another release.
    """
    content = json.loads(zlib.decompress(data))
    if content["format"] != _FORMAT:
        raise ValueError(f"format {content['format']}")
    newest, history = content["newest"], content["history"]
    return KeptTable(
        root=content["root"],
        uuid=content["uuid"],
        schema_id=content["schema"],
        newest=newest and SnapshotMark(*newest),
        index_types=frozenset(content["indexes"]),
        buckets={
            (bytes.fromhex(partition), bucket): _files(rows) for partition, bucket, rows in content["buckets"]
        },
        history=history and History(history[0], history[1], dict(map(tuple, history[2]))),
    )


def _row(file: DataFile) -> list[Any]:
    row = [getattr(file, name) for name in DataFile.__slots__]
    row[_KEYS] = [key.hex() for key in row[_KEYS]]
    return row


def _files(rows: list[list[Any]]) -> dict[FileKey, DataFile]:
    files = (_file(row) for row in rows)
    return {(file.name, file.level): file for file in files}


def _file(row: list[Any]) -> DataFile:
    row[_KEYS] = [OrderKey(bytes.fromhex(key)) for key in row[_KEYS]]
    return DataFile(*row)
