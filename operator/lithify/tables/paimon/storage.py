"""The file system of a table: data files in and out, small files, listings.

Everything in this package and the job's tasks reach files through a `Storage`. It sits on pypaimon's FileIO:
on S3 on one of our own (`s3`), of which it knows more. On the local file system data goes through PyArrow's
native files (no Python in the data path).
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import pyarrow as pa
from pyarrow.fs import FileType
from pypaimon.common.file_io import FileIO
from pypaimon.filesystem.local_file_io import LocalFileIO

from lithify.errors import CorruptTable, LithifyError, StorageError
from lithify.tables.paimon.s3.file_io import S3FileIO
from lithify.tables.paimon.s3.settings import is_s3

TEMPORARY = ".lithify-"
"""What the names of files begin with that only exist for the moment of a write."""


_ASKED_AT_ONCE = 8
_FILE = re.compile(r"^file:(//[^/]*)?(?=/)")


@dataclass(frozen=True, slots=True)
class Fetching:
    """How a file on S3 is read: so many bytes with a request, and so many kept, or those of a request."""

    block: int = 8 << 20
    kept: int = 0


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file being written, and how it is given up: without a trace, whether it was finished or not."""

    sink: pa.NativeFile
    give_up: Callable[[], None]


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file in a directory, or a directory in it."""

    name: str
    modified_seconds: float
    is_folder: bool = False


class Storage:
    """Access to the files below one table; picklable, so that executors can have it too."""

    def __init__(self, file_io: FileIO) -> None:
        self._file_io = file_io

    @property
    def is_local(self) -> bool:
        """Whether files are on the local file system."""
        return isinstance(self._file_io, LocalFileIO)

    def local_path(self, path: str) -> Path:
        """The local file that a path names; only meaningful if `is_local`."""
        return Path(self._file_io.to_filesystem_path(self._plain(path)))

    def _plain(self, path: str) -> str:
        """A local path without its scheme: a FileIO would decode it, but `%3A` in one is just that."""
        return _FILE.sub("", path) if self.is_local else path

    @property
    def s3(self) -> S3FileIO | None:
        """What reaches S3, if files are there."""
        return self._file_io if isinstance(self._file_io, S3FileIO) else None

    def reaches(self, uri: str) -> bool:
        """Whether a file with a full URI is on the same kind of file system."""
        return is_s3(uri) if self.s3 is not None else self.is_local and urlsplit(uri).scheme == "file"

    def open(self, path: str, size: int | None = None, fetching: Fetching | None = None) -> pa.NativeFile:
        """Opens a file for reading at any position.

        Args:
            path: the file.
            size: its bytes, where they are known: then nobody has to ask.
            fetching: how to read it on S3.

        Raises:
            FileNotFoundError: it does not exist.
        """
        if self.is_local:
            return pa.OSFile(str(self.local_path(path)))
        if self.s3 is not None:
            how = fetching or Fetching()
            return pa.PythonFile(self.s3.open(path, size, how.block, how.kept), mode="r")
        stream = self._file_io.new_input_stream(path)
        return stream if isinstance(stream, pa.NativeFile) else pa.PythonFile(stream, mode="r")

    def create(self, path: str) -> NewFile:
        """Opens a new file for writing, with the directories above it."""
        with reporting(path):
            if self.s3 is not None:
                upload = self.s3.upload(path)
                return NewFile(pa.PythonFile(upload, mode="w"), lambda: self._give_up(path, upload.give_up))
            if self.is_local:
                local = self.local_path(path)
                local.parent.mkdir(parents=True, exist_ok=True)
                sink = pa.OSFile(str(local), "wb")
            else:
                sink = pa.PythonFile(self._file_io.new_output_stream(path), mode="w")
            return NewFile(sink, lambda: self._give_up(path, sink.close))

    def _give_up(self, path: str, end: Callable[[], None]) -> None:
        """An error in here would hide why the file is given up; what stays, the journal remembers."""
        with suppress(OSError, LithifyError):
            end()
        with suppress(LithifyError):
            self.delete(path)

    def read_text(self, path: str) -> str | None:
        """The content of a small file, None if it does not exist.

        Raises:
            CorruptTable: it is no text.
        """
        try:
            with reporting(path):
                text: str = self._file_io.read_file_utf8(path)
        except FileNotFoundError:
            return None
        except UnicodeDecodeError as error:
            raise CorruptTable(path, f"it is no text ({error})") from error
        return text

    def write_text(self, path: str, text: str) -> None:
        """Writes a small file in one go, replacing what is there."""
        with reporting(path):
            if self.is_local:
                _replace(self.local_path(path), text)
            else:
                self._file_io.overwrite_file_utf8(path, text)

    def create_text(self, path: str, text: str) -> bool:
        """Writes a small file unless it exists; whether it was written.

        On a local file system and on S3 this is atomic; elsewhere two callers at once may both succeed.
        """
        with reporting(path):
            if self.s3 is not None:
                return self.s3.create(path, text)
            if not self.is_local:
                if self._file_io.exists(path):
                    return False
                self._file_io.write_file(path, text)
                return True
            return _link(self.local_path(path), text)

    def delete(self, path: str) -> None:
        """Deletes a file; it is fine if it is gone already."""
        with reporting(path), suppress(FileNotFoundError):
            self._file_io.delete(self._plain(path))

    def exist(self, paths: Sequence[str]) -> Iterator[bool]:
        """Whether each of some files exists."""
        with ThreadPoolExecutor(_ASKED_AT_ONCE) as pool:
            yield from pool.map(self.exists, paths)

    def exists(self, path: str) -> bool:
        """Whether a file exists; one request."""
        with reporting(path):
            return bool(
                self._file_io.exists(self._plain(path)) if self.s3 is None else self.s3.has_file(path)
            )

    def files_below(self, folder: str) -> Iterator[str]:
        """The paths of all files in a directory and those in it, however deep."""
        if self.s3 is not None:
            with reporting(folder):
                yield from self.s3.files_below(folder)
            return
        for file in self.list(folder):
            path = f"{folder}/{file.name}"
            if file.is_folder:
                yield from self.files_below(path)
            else:
                yield path

    def list(self, folder: str) -> list[ListedFile]:
        """What is right in a directory, nothing if it does not exist."""
        with reporting(folder):
            is_there = self.s3 is not None or self._file_io.exists(self._plain(folder))
            statuses = self._file_io.list_status(self._plain(folder)) if is_there else []
        return [
            ListedFile(
                status.path.rsplit("/", 1)[-1], _seconds(status.mtime), status.type == FileType.Directory
            )
            for status in statuses
        ]


@contextmanager
def reporting(path: str) -> Iterator[None]:
    """Turns what the file system says into a `StorageError` that names the file and the remedy.

    A file that does not exist stays a FileNotFoundError: what that means, the caller knows.
    """
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise StorageError(path, "no space left on the device; free some and run again") from error
        raise StorageError(path, f"{error.strerror or error}") from error


def _replace(path: Path, text: str) -> None:
    with _temporary(path, text) as temporary:
        temporary.replace(path)


def _link(path: Path, text: str) -> bool:
    """Gives a finished file its name, which the kernel refuses if the name is taken."""
    with _temporary(path, text) as temporary:
        try:
            path.hardlink_to(temporary)
        except FileExistsError:
            return False
    return True


@contextmanager
def _temporary(path: Path, text: str) -> Iterator[Path]:
    """A file with that text on disk, beside `path` and gone afterwards."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{TEMPORARY}{path.name}.{uuid4()}")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def _seconds(modified: object) -> float:
    """Modification time as seconds since the epoch, whatever a FileIO returns for it."""
    timestamp = getattr(modified, "timestamp", None)
    if callable(timestamp):
        return float(timestamp())
    return float(modified) if isinstance(modified, int | float) else 0.0
