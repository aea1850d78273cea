"""The cache of one table between observations: its files by bucket, and the due work of each bucket.

Filled and read by `live_files`, which gets it from the folder of `observation_caches`. A SQLite database, so
that updating it for one commit reads and writes only the files of that commit's buckets and a few numbers per
bucket, not all files (docs/design/0022-observation-cache.md).
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import cramjam
import pyarrow as pa

from lithify.columns.column_groups import (
    PLACE,
    ColumnGroups,
    flagged,
    integers,
    is_among,
    listed,
    taken,
)
from lithify.formats.paimon.buckets.statistics import in_order_of_places
from lithify.formats.paimon.manifests.entry_selection import Place
from lithify.formats.paimon.manifests.vector_columns import VECTOR_COLUMNS

FILES = pa.schema(
    {
        "partition": pa.binary(),
        "bucket": pa.int32(),
        "name": pa.string(),
        "size": pa.int64(),
        "rows": pa.int64(),
        "min_key": pa.binary(),
        "max_key": pa.binary(),
        "min_sequence": pa.int64(),
        "max_sequence": pa.int64(),
        "schema_id": pa.int64(),
        "level": pa.int32(),
        "created_millis": pa.int64(),
        "delete_rows": pa.int64(),
        "earliest": pa.int64(),
        **{field.name: field.type for field in VECTOR_COLUMNS},
    }
)
"""The cached columns of each file: what planning needs."""

_FORMAT = 6
_CHECKSUM = 4
"""Bytes of the checksum before compressed content."""
_NOT_KEPT = (OSError, ValueError, LookupError, TypeError, AttributeError)
"""Exceptions raised by reading content of another form."""
_TABLES = """
    CREATE TABLE state (header BLOB, figures BLOB);
    CREATE TABLE files (partition BLOB, bucket INTEGER, content BLOB, PRIMARY KEY (partition, bucket));
    INSERT INTO state VALUES (NULL, NULL);
"""


class Damaged(Exception):
    """The cache cannot be used."""


@dataclass(frozen=True, slots=True)
class SnapshotMark:
    """A snapshot, with what distinguishes it from another one of the same number after a rollback."""

    id: int
    delta: str
    millis: int


@dataclass(frozen=True, slots=True)
class SnapshotHistory:
    """The snapshots that the table keeps.

    Attributes:
        oldest: number of the oldest.
        oldest_millis: when it was committed.
        removed: by snapshot, the bytes of removed files that older snapshots still reference.
    """

    oldest: int
    oldest_millis: int
    removed: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TableState:
    """A table in one snapshot.

    Attributes:
        root: the folder of its snapshots: the table's, or that of a branch in it.
        uuid: the table's identity.
        schema_id: the schema under which its files were read.
        newest: the snapshot, None if the table had none.
        index_types: its index types.
        history: the snapshots that existed then.
        terms: the options with which its buckets were judged, see `Judge.terms`.
        judged_millis: when, in milliseconds since the epoch; figures hold from then on.
        appended: snapshots since the last full compaction, if the table counts them.
        vector_files: the index files of deletion vectors, each with its bucket, if planning depends on them.
    """

    root: str
    uuid: str
    schema_id: int
    newest: SnapshotMark | None
    index_types: frozenset[str] = frozenset()
    history: SnapshotHistory | None = None
    terms: str = ""
    judged_millis: int = 0
    appended: tuple[int, ...] = ()
    vector_files: frozenset[tuple[Place, str]] = frozenset()


class ObservationCache:
    """The cache of one table, open in a transaction.

    Attributes:
        path: the database; None if it is only in memory.
        state: state of the table.
        figures: the result of `Judge.figures` for all its buckets.
        written: approximate number of bytes written so far.

    Args:
        path: the database.
        is_new: whether to create it; no other process may know it yet.

    Raises:
        Damaged: it cannot be read or created, or another process writes to it.
    """

    state: TableState
    figures: pa.Table

    def __init__(self, path: Path | None, *, is_new: bool) -> None:
        self.path = path
        self.written = 0
        with _usable():
            self._connection = sqlite3.connect(path or ":memory:", timeout=0, isolation_level=None)
        try:
            with _usable():
                self._make() if is_new else self._open()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Closes the cache; unsaved changes are lost."""
        self._connection.close()

    def files_in(self, places: pa.Table) -> pa.Table:
        """The files of some buckets, with the columns of `FILES`.

        Args:
            places: the buckets, as rows of `PLACE`; they must not have been changed since the last `save`.

        Raises:
            Damaged: files of a non-empty bucket are missing or unreadable.
        """
        places = _distinct(places)
        with _usable():
            contents = [content for place in _rows(places) for content in self._contents(place)]
            batches = [pa.ipc.read_record_batch(pa.py_buffer(unpack(each)), FILES) for each in contents]
            files = pa.Table.from_batches(batches, FILES).combine_chunks()
        expected = flagged(self.figures, is_among(self.figures, places, PLACE))
        found = _distinct(files)
        is_expected = len(found) == len(expected) and is_among(found, expected, PLACE).all()
        if not is_expected or len(files) != integers(expected["files"]).sum():
            raise Damaged("buckets do not have the files that were counted")
        return files

    def clear(self) -> None:
        """Deletes all files from the cache.

        Raises:
            Damaged: it cannot be written.
        """
        with _usable():
            self._connection.execute("DELETE FROM files")

    def put(self, files: pa.Table, emptied: pa.Table | None = None) -> None:
        """Replaces the files of some buckets.

        Args:
            files: all files of some buckets, with the columns of `FILES`.
            emptied: buckets that no longer have files, as rows of `PLACE`.

        Raises:
            Damaged: they cannot be written.
        """
        with _usable():
            if emptied is not None:
                remove = "DELETE FROM files WHERE partition = ? AND bucket = ?"
                self._connection.executemany(remove, _rows(emptied.select(PLACE)))
            self._connection.executemany(
                "INSERT OR REPLACE INTO files VALUES (?, ?, ?)", map(self._counted, _by_bucket(files))
            )

    def save(self, state: TableState, figures: pa.Table) -> None:
        """Saves a state of the table, its figures, and the files that were put.

        Raises:
            Damaged: they cannot be written.
        """
        content = BytesIO()
        with pa.ipc.new_stream(content, figures.schema) as stream:
            stream.write_table(figures.combine_chunks())
        with _usable():
            values = (pack(_encoded(state)), pack(content.getvalue()))
            self._connection.execute("UPDATE state SET header = ?, figures = ?", values)
            self._connection.execute("COMMIT")
            self._connection.execute("BEGIN")
        self.written += len(values[1])
        self.state, self.figures = state, figures

    def _make(self) -> None:
        self._connection.execute("PRAGMA journal_mode = OFF")
        self._connection.execute("PRAGMA synchronous = OFF")
        self._connection.executescript(_TABLES)
        self._connection.execute("BEGIN")

    def _open(self) -> None:
        # Not synchronous: a cache that a machine crash may have damaged is not used afterwards, see `_boot`.
        self._connection.execute("PRAGMA synchronous = OFF")
        self._connection.execute("BEGIN")
        ((header, figures),) = self._connection.execute("SELECT header, figures FROM state").fetchall()
        self.state = _decoded(unpack(header))
        self.figures = pa.ipc.open_stream(unpack(figures)).read_all()

    def _counted(self, row: tuple[bytes, int, bytes]) -> tuple[bytes, int, bytes]:
        self.written += len(row[-1])
        return row

    def _contents(self, place: tuple[bytes, int]) -> Iterator[bytes]:
        found = self._connection.execute(
            "SELECT content FROM files WHERE partition = ? AND bucket = ?", place
        )
        return (content for (content,) in found)


def pack(content: bytes) -> bytes:
    """Compresses content, with a checksum."""
    packed = bytes(cramjam.zstd.compress(content, 1))
    return zlib.crc32(packed).to_bytes(_CHECKSUM) + packed


def unpack(packed: bytes) -> bytes:
    """The content that was packed.

    Raises:
        ValueError: it is damaged.
    """
    content = memoryview(packed)[_CHECKSUM:]
    if zlib.crc32(content) != int.from_bytes(packed[:_CHECKSUM]):
        raise ValueError("the checksum is another")
    return bytes(cramjam.zstd.decompress(content))


def _by_bucket(files: pa.Table) -> Iterator[tuple[bytes, int, bytes]]:
    """The files of each bucket as bytes."""
    ordered = in_order_of_places(files.select(FILES.names)).combine_chunks()
    groups = ColumnGroups(ordered, PLACE)
    places = _rows(taken(ordered.select(PLACE), groups.firsts))
    for batch in ordered.to_batches():
        spans = zip(places, groups.starts.tolist(), groups.sizes.tolist(), strict=True)
        for (partition, bucket), start, count in spans:
            yield partition, bucket, pack(batch.slice(start, count).serialize())


def _distinct(rows: pa.Table) -> pa.Table:
    """The distinct buckets of some rows."""
    return taken(rows.select(PLACE), ColumnGroups(rows, PLACE).firsts)


def _rows(places: pa.Table) -> Iterator[tuple[Any, ...]]:
    return zip(*map(listed, places.columns), strict=True)


def _encoded(state: TableState) -> bytes:
    history = state.history
    content = {
        "format": _FORMAT,
        "boot": _boot(),
        "root": state.root,
        "uuid": state.uuid,
        "schema": state.schema_id,
        "newest": state.newest and astuple(state.newest),
        "indexes": sorted(state.index_types),
        "history": history and [history.oldest, history.oldest_millis, list(history.removed.items())],
        "terms": state.terms,
        "judged": state.judged_millis,
        "appended": state.appended,
        "vectors": [
            [partition.hex(), bucket, name] for (partition, bucket), name in sorted(state.vector_files)
        ],
    }
    return json.dumps(content).encode()


def _decoded(header: bytes) -> TableState:
    content = json.loads(header)
    if (content["format"], content["boot"]) != (_FORMAT, _boot()):
        raise ValueError("of another release, or from before the machine was started")
    newest, history = content["newest"], content["history"]
    return TableState(
        root=content["root"],
        uuid=content["uuid"],
        schema_id=content["schema"],
        newest=newest and SnapshotMark(*newest),
        index_types=frozenset(content["indexes"]),
        history=history and SnapshotHistory(history[0], history[1], dict(map(tuple, history[2]))),
        terms=content["terms"],
        judged_millis=content["judged"],
        appended=tuple(content["appended"]),
        vector_files=frozenset(
            ((bytes.fromhex(partition), bucket), name) for partition, bucket, name in content["vectors"]
        ),
    )


def _boot() -> str:
    """Identifies the boot of the machine; empty if the system does not provide it."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ""


@contextmanager
def _usable() -> Iterator[None]:
    """Turns all errors of an unusable cache into `Damaged`."""
    try:
        yield
    except (sqlite3.Error, cramjam.DecompressionError, pa.ArrowException, *_NOT_KEPT) as error:
        raise Damaged(str(error)) from error
