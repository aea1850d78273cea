"""The files of one HDFS cluster, with the methods of a bucket of an object store.

Made by `files` for each cluster and process. A file that must not be seen half-written gets another name
first and is renamed, as Paimon and Iceberg do; a rename is atomic, and without overwriting it is refused if
the name is taken. docs/design/0094-hdfs.md says why commits can rely on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import chain
from uuid import uuid4

import pyarrow as pa
from hdfs_native import FileStatus, WriteOptions
from hdfs_native._internal import RawClient

from lithify.errors import LithifyError, StorageError, StorageUnavailable
from lithify.io.hdfs.client import DATA_SECONDS, RPC_SECONDS, Client
from lithify.io.hdfs.settings import HdfsSettings
from lithify.io.hdfs.writing import HdfsWriter
from lithify.io.listings import listing_of
from lithify.io.local_files import TEMPORARY
from lithify.io.locations import ObjectPath
from lithify.io.objects.container import ListedObject, Tail
from lithify.io.small_files import check_size

RENAME_SECONDS = 10.0
"""Seconds until a rename fails: the sooner its result is looked up, the less can happen in between."""
_DELETED_AT_ONCE = 10
_MOST_LISTED = 1000
"""Files in a batch of a listing; name nodes answer as many at a time."""
_MODE = 0o644


class Cluster:
    """One cluster.

    Args:
        root: the cluster.
        settings: how to reach it.
    """

    def __init__(self, root: ObjectPath, settings: HdfsSettings) -> None:
        self.name = root.bucket
        self._root = root
        self._client = Client(root, settings)
        self._options = WriteOptions(
            replication=settings.replication, permission=_MODE, overwrite=False, create_parent=True
        )

    def read(self, key: str, most: int) -> bytes:
        """Reads a file.

        Raises:
            TooLarge: it has more than `most` bytes.
        """

        def reading(client: RawClient) -> bytes:
            found = client.read(_path(key))
            size = found.file_length()
            check_size(size, most)
            return bytes(found.read_range(0, size)) if size else b""

        return self._client.patiently(self._named(key), reading, DATA_SECONDS)

    def read_range(self, key: str, start: int, end: int) -> bytes:
        """Reads the bytes of a file from one offset up to another, or to its end."""

        def reading(client: RawClient) -> bytes:
            found = client.read(_path(key))
            size = min(end, found.file_length()) - start
            return bytes(found.read_range(start, size)) if size > 0 else b""

        return self._client.patiently(self._named(key), reading, DATA_SECONDS)

    def read_tail(self, key: str, most: int) -> Tail:
        """Reads the last bytes of a file."""

        def reading(client: RawClient) -> Tail:
            found = client.read(_path(key))
            size = found.file_length()
            part = min(size, most)
            return Tail(size, bytes(found.read_range(size - part, part)) if part else b"")

        return self._client.patiently(self._named(key), reading, DATA_SECONDS)

    def exists(self, key: str) -> bool:
        """Whether there is a file."""
        found = self._status(key)
        return found is not None and not found.isdir

    def has_any(self, prefix: str) -> bool:
        """Whether there is a directory."""
        found = self._status(prefix)
        return found is not None and found.isdir

    def _status(self, key: str) -> FileStatus | None:
        try:
            return self._client.patiently(self._named(key), lambda client: client.get_file_info(_path(key)))
        except FileNotFoundError:
            return None

    def write(self, key: str, data: bytes) -> None:
        """Writes a small file atomically, replacing an existing one."""
        try:
            self._put(key, data, overwrites=True)
        except StorageUnavailable:
            # No rename of the first try can arrive any more, unless the name node did not say so.
            self._put(key, data, overwrites=True)

    def create(self, key: str, data: bytes) -> bool:
        """Creates a small file unless the name is taken; the rename is sent exactly once.

        Returns:
            Whether it was written; False if the name is taken.

        Raises:
            StorageUnavailable: it is unknown whether the file was or will be written.
        """
        try:
            self._put(key, data, overwrites=False)
        except FileExistsError:
            return False
        return True

    def _put(self, key: str, data: bytes, *, overwrites: bool) -> None:
        """Writes a file beside its place and renames it.

        If the rename fails, the file beside it is deleted. That also keeps a rename that was not answered
        from being carried out later.
        """
        temporary = _beside(key)
        try:
            with self.upload(temporary) as file:
                file.write(data)
            self._rename(temporary, key, overwrites=overwrites)
        except BaseException:
            with suppress(LithifyError):
                self.delete(temporary)
            raise

    def rename(self, source: str, target: str) -> None:
        """Gives a file another name; the request is sent exactly once.

        Raises:
            StorageError: the file is gone, or the name is taken.
            StorageUnavailable: it is unknown whether the file has its new name, or will have it.
        """
        try:
            self._rename(source, target, overwrites=False)
        except FileExistsError:
            raise StorageError(self._named(target), "there is such a file already") from None

    def _rename(self, source: str, target: str, *, overwrites: bool) -> None:
        try:
            self._client.once(
                self._named(target),
                lambda client: client.rename(_path(source), _path(target), overwrites),
                RENAME_SECONDS,
            )
        except FileNotFoundError:
            # Not passed on: callers take it for an answer about the target.
            problem = "something else has deleted the new file, or the directory, before it got its name"
            raise StorageError(self._named(target), problem) from None

    def upload(self, key: str) -> HdfsWriter:
        """A new file of any size, with its directories.

        Creations are never repeated: one that arrives late could meet a file that is finished.
        """
        try:
            writer = self._client.once(
                self._named(key), lambda client: client.create(_path(key), self._options)
            )
        except FileExistsError:
            raise StorageError(self._named(key), "there is such a file already") from None
        return HdfsWriter(self._client, self._named(key), writer)

    def delete(self, key: str) -> None:
        """Deletes a file if it exists."""
        with suppress(FileNotFoundError):
            self._client.patiently(self._named(key), lambda client: client.delete(_path(key), False))

    def delete_all(self, keys: Sequence[str]) -> None:
        """Deletes files if they exist, in any order; a request each, several at a time."""
        with ThreadPoolExecutor(_DELETED_AT_ONCE) as pool:
            for _ in pool.map(self.delete, keys):  # after an error, those that have not begun are dropped
                pass

    def delete_folders(self, prefix: str) -> None:
        """Deletes a directory if nothing but empty directories are below it."""
        folders = [prefix]
        for folder in folders:  # grows while it is read
            folders += (found.key for found in self.list_folder(folder) if found.is_folder)
        for folder in reversed(folders):
            with suppress(LithifyError):  # such as that it is not empty
                self.delete(folder)

    def list_folder(self, prefix: str) -> list[ListedObject]:
        """Lists the direct children of a directory; empty if it does not exist."""
        return list(chain.from_iterable(self._batches(prefix)))

    def names_below(self, prefix: str) -> Iterator[str]:
        """The paths of all files below a directory, relative to it."""
        for batch in self._files_below(prefix):
            yield from (found.key[_length(prefix) :] for found in batch)

    def listings(self, prefix: str) -> Iterator[pa.Table]:
        """The files below a directory as columns, relative to it."""
        for batch in self._files_below(prefix):
            modified = pa.array([round(found.modified * 1000) for found in batch], pa.int64())
            names = (found.key[_length(prefix) :] for found in batch)
            yield listing_of(names, (found.size for found in batch), modified)

    def _files_below(self, prefix: str) -> Iterator[list[ListedObject]]:
        """Directories that disappear meanwhile are empty."""
        folders = [prefix]
        while folders:
            for batch in self._batches(folders.pop()):
                folders += (found.key for found in batch if found.is_folder)
                files = [found for found in batch if not found.is_folder]
                if files:
                    yield files

    def _batches(self, prefix: str) -> Iterator[list[ListedObject]]:
        """The direct children of a directory, a bounded number at a time.

        Name nodes do not begin in the middle, so only the first part is asked for patiently.
        """
        folder = self._named(prefix)

        def first(client: RawClient) -> tuple[Iterator[FileStatus], list[FileStatus]]:
            begun = client.list_status(_path(prefix), False)
            return begun, _next(begun)

        with suppress(FileNotFoundError):
            begun, batch = self._client.patiently(folder, first)
            while batch:
                yield [_listed(found) for found in batch if found.path != _path(prefix)]
                batch = self._client.run(folder, lambda: _next(begun), RPC_SECONDS)

    @contextmanager
    def answering(self, key: str) -> Iterator[None]:
        """Does nothing: errors are ours already."""
        del key
        yield

    def _named(self, key: str) -> str:
        return f"{self._root}{key}"


def _path(key: str) -> str:
    return f"/{key}"


def _beside(key: str) -> str:
    """A unique name that is not taken for a file of the table."""
    folder, slash, name = key.rpartition("/")
    return f"{folder}{slash}{TEMPORARY}{name}.{uuid4()}"


def _length(prefix: str) -> int:
    return len(prefix) + 1 if prefix else 0


def _next(begun: Iterator[FileStatus]) -> list[FileStatus]:
    found: list[FileStatus] = []
    for status in begun:
        found.append(status)
        if len(found) == _MOST_LISTED:
            break
    return found


def _listed(found: FileStatus) -> ListedObject:
    """A file, or a directory, with its time in seconds."""
    modified = found.modification_time / 1000
    return ListedObject(found.path.lstrip("/"), found.length, modified, found.isdir)
