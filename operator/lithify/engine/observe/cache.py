"""The cache of one table between observations: its files by group, and the due work of each group.

Filled and read by `groups`, which gets it from the folder of `cache_folder`. A SQLite database, so that
updating it for one commit reads and writes only the files of that commit's groups and a few numbers for each
group, not all files (docs/design/0022-observation-cache.md).
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Generic

import cramjam
import pyarrow as pa

from lithify.columns.column_groups import (
    ColumnGroups,
    flagged,
    in_order_of,
    integers,
    is_among,
    listed,
    taken,
)
from lithify.engine.observe.layout import Layout
from lithify.engine.observe.state import Details, TableState, parse_text, to_text

_CHECKSUM = 4
"""Bytes of the checksum before compressed content."""
_LENGTH = 4
"""Bytes of the length before each part of a key."""
_NOT_KEPT = (OSError, ValueError, LookupError, TypeError, AttributeError)
"""Exceptions raised by reading content of another form."""

_TABLES = """
    CREATE TABLE state (header BLOB, figures BLOB);
    CREATE TABLE files (key BLOB PRIMARY KEY, content BLOB);
    INSERT INTO state VALUES (NULL, NULL);
"""


class Damaged(Exception):
    """The cache cannot be used."""


class ObservationCache(Generic[Details]):
    """The cache of one table, open in a transaction.

    Attributes:
        path: the database; None if it is only in memory.
        layout: the columns of its files.
        state: state of the table.
        figures: the result of `Judge.figures` for all its groups.
        written: approximate number of bytes written so far.

    Args:
        path: the database.
        layout: the columns of its files.
        is_new: whether to create it; no other process may know it yet.

    Raises:
        Damaged: it cannot be read or created, or another process writes to it.
    """

    state: TableState[Details]
    figures: pa.Table

    def __init__(self, path: Path | None, layout: Layout[Details], *, is_new: bool) -> None:
        self.path = path
        self.layout = layout
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

    def files_in(self, groups: pa.Table) -> pa.Table:
        """The files of some groups, with the columns of the layout.

        Args:
            groups: the groups, as rows with the columns that identify them; they must not have been changed
                since the last `save`.

        Raises:
            Damaged: files of a non-empty group are missing or unreadable.
        """
        columns = self.layout.group
        groups, schema = self._distinct(groups), self.layout.files
        with _usable():
            contents = [content for key in self._keys(groups) for content in self._contents(key)]
            batches = [pa.ipc.read_record_batch(pa.py_buffer(unpack(each)), schema) for each in contents]
            files = pa.Table.from_batches(batches, schema).combine_chunks()
        expected = flagged(self.figures, is_among(self.figures, groups, columns))
        found = self._distinct(files)
        is_expected = len(found) == len(expected) and is_among(found, expected, columns).all()
        if not is_expected or len(files) != integers(expected["files"]).sum():
            raise Damaged("groups do not have the files that were counted")
        return files

    def clear(self) -> None:
        """Deletes all files from the cache.

        Raises:
            Damaged: it cannot be written.
        """
        with _usable():
            self._connection.execute("DELETE FROM files")

    def put(self, files: pa.Table, emptied: pa.Table | None = None) -> None:
        """Replaces the files of some groups.

        Args:
            files: all files of some groups, with the columns of the layout.
            emptied: groups that no longer have files, as rows with the columns that identify them.

        Raises:
            Damaged: they cannot be written.
        """
        with _usable():
            if emptied is not None:
                keys = ((key,) for key in self._keys(emptied))
                self._connection.executemany("DELETE FROM files WHERE key = ?", keys)
            self._connection.executemany("INSERT OR REPLACE INTO files VALUES (?, ?)", self._by_group(files))

    def save(self, state: TableState[Details], figures: pa.Table) -> None:
        """Saves a state of the table, its figures, and the files that were put.

        Raises:
            Damaged: they cannot be written.
        """
        content = BytesIO()
        with pa.ipc.new_stream(content, figures.schema) as stream:
            stream.write_table(figures.combine_chunks())
        values = (pack(to_text(state, self.layout.name, self.layout.details)), pack(content.getvalue()))
        with _usable():
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
        # Not synchronous: a cache that a machine crash may have damaged is not used afterwards, see `state`.
        self._connection.execute("PRAGMA synchronous = OFF")
        self._connection.execute("BEGIN")
        ((header, figures),) = self._connection.execute("SELECT header, figures FROM state").fetchall()
        self.state = parse_text(unpack(header), self.layout.name, self.layout.details)
        self.figures = pa.ipc.open_stream(unpack(figures)).read_all()

    def _contents(self, key: bytes) -> Iterator[bytes]:
        found = self._connection.execute("SELECT content FROM files WHERE key = ?", (key,))
        return (content for (content,) in found)

    def _by_group(self, files: pa.Table) -> Iterator[tuple[bytes, bytes]]:
        """The key of each group and its files as bytes."""
        ordered = in_order_of(files.select(self.layout.files.names), self.layout.group).combine_chunks()
        groups = ColumnGroups(ordered, self.layout.group)
        keys = self._keys(taken(ordered, groups.firsts))
        for batch in ordered.to_batches():
            spans = zip(keys, groups.starts.tolist(), groups.sizes.tolist(), strict=True)
            for key, start, count in spans:
                content = pack(batch.slice(start, count).serialize())
                self.written += len(content)
                yield key, content

    def _distinct(self, rows: pa.Table) -> pa.Table:
        """The distinct groups of some rows."""
        columns = self.layout.group
        return taken(rows.select(columns), ColumnGroups(rows, columns).firsts)

    def _keys(self, groups: pa.Table) -> Iterator[bytes]:
        return map(_key, zip(*map(listed, groups.select(self.layout.group).columns), strict=True))


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


def _key(group: Iterable[bytes | str | int]) -> bytes:
    """A group in the database; the types of its values are the same for all groups."""
    parts = [value if isinstance(value, bytes) else str(value).encode() for value in group]
    return b"".join(len(part).to_bytes(_LENGTH) + part for part in parts)


@contextmanager
def _usable() -> Iterator[None]:
    """Turns all errors of an unusable cache into `Damaged`."""
    try:
        yield
    except (sqlite3.Error, cramjam.DecompressionError, pa.ArrowException, *_NOT_KEPT) as error:
        raise Damaged(str(error)) from error
