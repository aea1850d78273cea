"""The file system of a table: data files in and out, small files, listings.

Table format adapters and a run's tasks access files through a `Storage`. Object stores are accessed by
requests of our own (`objects`). On the local file system data goes through PyArrow's native files (no
Python in the data path) and small files through `local_files`. Other file systems are accessed through the
format's library (`file_io`).

A `Storage` is created with the roots of a table: its folder and its external paths. It reads, writes and
deletes nothing outside them, whatever path it gets and whatever symbolic links exist; without roots it
deletes nothing. Names from metadata are checked before (`file_names`): this is the last line of defence.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

import pyarrow as pa
from pyarrow.fs import FileType

from lithify.errors import CorruptTable, LithifyError, StorageError
from lithify.io.listings import local_listings
from lithify.io.local_files import (
    LeadsElsewhere,
    files_below,
    is_regular,
    link_text,
    make_folder,
    replace_text,
    sync,
    unlink_below,
    unlink_text,
)
from lithify.io.small_files import (
    MOST_TEXT,
    TooLarge,
    check_count,
    check_local,
    read_stream,
)
from lithify.io.storage_paths import StoragePaths

_ASKED_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Fetching:
    """How an object is read: bytes per request, and bytes to keep (those of one request by default)."""

    block: int = 8 << 20
    kept: int = 0


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file being written; aborting leaves nothing behind, whether it was finished or not."""

    sink: pa.NativeFile
    give_up: Callable[[], None]


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file or directory in a listing; a symbolic link counts as its target."""

    name: str
    modified_seconds: float
    is_folder: bool = False


class Storage(StoragePaths):
    """Access to the files below one table; picklable, so that it can be sent to executors.

    Arguments are those of `StoragePaths`.
    """

    def open(self, path: str, size: int | None = None, fetching: Fetching | None = None) -> pa.NativeFile:
        """Opens a file for reading at any position.

        Args:
            path: the file.
            size: its bytes, if known: saves a request.
            fetching: how to read it on an object store.

        Raises:
            FileNotFoundError: it does not exist.
            CorruptTable: the path leads out of the table.
        """
        self.check_inside(path)
        if self.is_local:
            return pa.OSFile(self._local(path))
        if self.objects is not None:
            how = fetching or Fetching()
            return pa.PythonFile(self.objects.open(path, size, how.block, how.kept), mode="r")
        stream = self._file_io.new_input_stream(path)
        return stream if isinstance(stream, pa.NativeFile) else pa.PythonFile(stream, mode="r")

    def open_to_share(self, path: str, size: int, fetching: Fetching) -> pa.NativeFile | FileIO:
        """Opens a file that another process reads: a local one as its handle, others as `open` does.

        Raises:
            FileNotFoundError: it does not exist.
            CorruptTable: the path leads out of the table.
        """
        if not self.is_local:
            return self.open(path, size, fetching)
        self.check_inside(path)
        return FileIO(self.local_path(path))

    def create(self, path: str) -> NewFile:
        """Creates a file for writing, and its parent directories."""
        self.check_inside(path)
        with reporting(path):
            if self.objects is not None:
                upload = self.objects.upload(path)
                return NewFile(pa.PythonFile(upload, mode="w"), lambda: self._give_up(path, upload.give_up))
            if self.is_local:
                local = self.local_path(path)
                make_folder(local.parent)
                sink = pa.OSFile(str(local), "wb")
            else:
                sink = pa.PythonFile(self._file_io.new_output_stream(path), mode="w")
            return NewFile(sink, lambda: self._give_up(path, sink.close))

    def _give_up(self, path: str, end: Callable[[], None]) -> None:
        """Errors in here would hide why the file is aborted; the journal covers what remains."""
        with suppress(OSError, LithifyError):
            end()
        with suppress(LithifyError):
            self.delete(path)

    def read_text(self, path: str, most: int = MOST_TEXT) -> str | None:
        """Reads a small text file, None if it does not exist.

        Args:
            path: the file.
            most: upper bound of its bytes.

        Raises:
            CorruptTable: it is not text, is larger, or leads out of the table.
        """
        self.check_inside(path)
        try:
            return self.read_bytes(path, most).decode()
        except FileNotFoundError:
            return None
        except UnicodeDecodeError as error:
            raise CorruptTable(path, f"it is no text ({error.reason} at byte {error.start})") from error

    def read_bytes(self, path: str, most: int) -> bytes:
        """Reads a small file of at most `most` bytes.

        Raises:
            FileNotFoundError: it does not exist.
            CorruptTable: it is larger.
        """
        try:
            with reporting(path):
                if self.objects is not None:
                    return self.objects.read(path, most)
                if self.is_local:
                    check_local(self.local_path(path), most)
                with self._file_io.new_input_stream(path) as stream:
                    return read_stream(stream, most)
        except TooLarge as error:
            raise CorruptTable(path, str(error)) from error

    def names_in(self, folder: str) -> Iterator[str]:
        """Iterates over the names of the files in a directory without subdirectories.

        Raises:
            CorruptTable: there are more of them than a table has.
        """
        try:
            with reporting(folder), suppress(FileNotFoundError):
                yield from check_count(self._names_in(folder))
        except TooLarge as error:
            raise CorruptTable(folder, str(error)) from error

    def _names_in(self, folder: str) -> Iterator[str]:
        if self.objects is not None:
            yield from self.objects.names_below(folder)
        elif self.is_local:
            with os.scandir(self.local_path(folder)) as entries:
                yield from (entry.name for entry in entries)
        else:
            yield from (file.name for file in self.list(folder))

    def write_text(self, path: str, text: str) -> None:
        """Writes a small file atomically, replacing an existing one."""
        self.check_inside(path)
        with reporting(path):
            if self.is_local:
                replace_text(self.local_path(path), text)
            else:
                self._file_io.overwrite_file_utf8(path, text)

    def create_text(self, path: str, text: str, is_wanted: Callable[[], bool] = lambda: True) -> bool:
        """Creates a small file unless it exists; returns whether it was written.

        On a local file system and on object stores this is atomic; elsewhere two concurrent callers may both
        succeed.

        Args:
            path: the file.
            text: its content.
            is_wanted: called last, on a local file system when the text is on disk and lacks only its name;
                the file is written if it returns true.
        """
        self.check_inside(path)
        with reporting(path):
            if self.is_local:
                return link_text(self.local_path(path), text, is_wanted)
            if not is_wanted():
                return False
            if self.objects is not None:
                return self.objects.create(path, text)
            if self._file_io.exists(path):
                return False
            self._file_io.write_file(path, text)
            return True

    def delete_text(self, path: str, is_meant: Callable[[str], bool]) -> bool:
        """Deletes a small file if it has the expected text; returns whether it did.

        On a local file system a file that is renamed over it concurrently is not deleted. On an object store
        one that is put there between check and deletion is.
        """
        self.root_of(path)  # refuses paths outside the roots, and any path without roots
        self.check_inside(path)
        with reporting(path), suppress(FileNotFoundError):
            if self.is_local:
                return unlink_text(self.local_path(path), is_meant)
            if is_meant(self._file_io.read_file_utf8(path)):
                self._file_io.delete(path)
                return True
        return False

    def persist(self, paths: Iterable[str]) -> None:
        """Flushes finished files and their names to disk.

        Only a local file system needs this: object stores answer when an object is durable.

        Raises:
            StorageError: a file is gone, or the file system refuses.
        """
        if not self.is_local:
            return
        files = [self.local_path(path) for path in paths]
        for file in files:
            try:
                with reporting(str(file)):
                    sync(file)
            except FileNotFoundError as error:
                problem = "the new file is gone; something else deletes files of this table"
                raise StorageError(str(file), problem) from error
        for folder in {file.parent for file in files}:
            with reporting(str(folder)):
                sync(folder)

    def rename(self, path: str, name: str) -> None:
        """Gives a file on a local file system or HDFS another name in its directory; durable when it returns.

        Object stores cannot do this, and need not: their objects are whole from the start.

        Raises:
            ValueError: the files are on an object store.
            StorageError: the file is gone, or the file system refuses.
        """
        renamed = f"{path.rpartition('/')[0]}/{name}"
        self.check_inside(path)
        self.check_inside(renamed)
        with reporting(path):
            if self.objects is not None:
                self.objects.rename(path, renamed)
                return
            self.local_path(path).rename(self.local_path(renamed))
            sync(self.local_path(renamed).parent)

    def delete(self, path: str) -> None:
        """Deletes a file in one of the roots; a missing file is no error.

        Raises:
            CorruptTable: it is outside the roots, is reached through a symbolic link, or is not a regular
                file.
        """
        root = self.root_of(path)
        with reporting(path), suppress(FileNotFoundError):
            if self.is_local:
                self._unlink(path, root)
            else:
                self._file_io.delete(path)

    def delete_all(self, paths: Sequence[str]) -> None:
        """Deletes files in the roots, in any order; missing files are no error.

        Several at a time; on S3 a request deletes up to 1,000 of them. Deletes none if one lies outside the
        roots. After any other error, which names a file, some are deleted and others not.

        Raises:
            CorruptTable: one is outside the roots, is reached through a symbolic link, or is no regular file.
        """
        for path in paths:
            self.root_of(path)
        if self.objects is not None:
            with reporting(", ".join(paths[:1])):
                self.objects.delete_all(paths)
            return
        with ThreadPoolExecutor(_ASKED_AT_ONCE) as pool:
            for _ in pool.map(self.delete, paths):
                pass

    def delete_folders(self, folder: str) -> None:
        """Deletes a directory of a local file system or HDFS if nothing but empty ones are below it.

        Object stores have no directories.
        """
        self.root_of(folder)
        if self.objects is not None:
            with reporting(folder):
                self.objects.delete_folders(folder)
        if self.is_local:
            for above, _, _ in os.walk(self.local_path(folder), topdown=False):
                with suppress(OSError):
                    Path(above).rmdir()

    def _unlink(self, path: str, root: str) -> None:
        try:
            unlink_below(self.local_path(root), self.local_path(path))
        except LeadsElsewhere as error:
            raise CorruptTable(path, f"it is not deleted: {error.strerror}") from error

    def exist(self, paths: Sequence[str]) -> Iterator[bool]:
        """Whether each of several files exists."""
        with ThreadPoolExecutor(_ASKED_AT_ONCE) as pool:
            yield from pool.map(self.exists, paths)

    def exists(self, path: str) -> bool:
        """Whether a file exists; one request."""
        self.check_inside(path)
        with reporting(path):
            return bool(
                self._file_io.exists(self._plain(path))
                if self.objects is None
                else self.objects.has_file(path)
            )

    def files_below(self, folder: str) -> Iterator[str]:
        """The paths of all files below a directory, recursively; empty if it does not exist.

        On a local file system symbolic links are neither followed nor returned.
        """
        self.check_inside(folder)
        if self.objects is not None:
            with reporting(folder):
                yield from self.objects.files_below(folder)
        elif self.is_local:
            local = self.local_path(folder)
            with reporting(folder):
                yield from (f"{folder}/{path.relative_to(local)}" for path in files_below(local))
        else:
            for file in self.list(folder):
                path = f"{folder}/{file.name}"
                yield from self.files_below(path) if file.is_folder else (path,)

    def listings(self, folder: str) -> Iterator[pa.Table]:
        """The files below a directory as columns (`listings.LISTED`), in batches; empty if it does not exist.

        Only for file systems that tell how old files are: local ones and object stores. Symbolic links to
        files are left out, and those to directories not followed; the directory itself may be one.

        Raises:
            ValueError: it is another file system.
            StorageError: a directory cannot be listed.
        """
        self.check_inside(folder)
        with reporting(folder):
            if self.objects is not None:
                yield from self.objects.listings(folder)
            elif self.is_local:
                yield from local_listings(self.local_path(folder))
            else:
                raise ValueError(f"{folder} is on a file system that is not listed recursively")

    def is_plain_file(self, path: str) -> bool:
        """Whether a listed path is a file itself, not a link to one; only checked on a local file system."""
        return not self.is_local or is_regular(self.local_path(path))

    def list(self, folder: str) -> list[ListedFile]:
        """Lists the direct children of a directory; empty if it does not exist."""
        self.check_inside(folder)
        with reporting(folder):
            is_there = self.objects is not None or self._file_io.exists(self._plain(folder))
            statuses = self._file_io.list_status(self._plain(folder)) if is_there else []
        return [
            ListedFile(
                status.path.rsplit("/", 1)[-1], _seconds(status.mtime), status.type == FileType.Directory
            )
            for status in statuses
        ]


@contextmanager
def reporting(path: str) -> Iterator[None]:
    """Turns errors of the file system into a `StorageError` that names the file and the remedy.

    FileNotFoundError is passed on: only the caller knows what a missing file means.

    Raises:
        StorageError: the file system refuses, or is full.
    """
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise StorageError(path, "no space left on the device; free some and run again") from error
        raise StorageError(path, f"{error.strerror or error}") from error


def _seconds(modified: object) -> float:
    """Modification time as seconds since the epoch, whatever a FileIO returns for it."""
    timestamp = getattr(modified, "timestamp", None)
    if callable(timestamp):
        return float(timestamp())
    return float(modified) if isinstance(modified, int | float) else 0.0
