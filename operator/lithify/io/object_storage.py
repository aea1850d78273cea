"""Access to files on object stores and HDFS without a format's library.

Used by adapters whose library brings none.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO

from pyarrow.fs import FileInfo, FileType

from lithify.io.hdfs.settings import HdfsSettings
from lithify.io.objects.container import ListedObject
from lithify.io.objects.files import KeySource, ObjectFiles, StoreFiles
from lithify.io.objects.stores import StoreSettings
from lithify.io.objects.streams import SmallObject
from lithify.io.small_files import MOST_JSON, MOST_MANIFEST
from lithify.io.storage import Storage
from lithify.io.storage_paths import FileAccess


class ObjectAccess:
    """Reads and writes small files on an object store. Picklable: executors get one with their task."""

    def __init__(self, files: StoreFiles) -> None:
        self.files = files

    def new_input_stream(self, path: str) -> BytesIO:
        """Opens a small object, read as a whole; one request."""
        return BytesIO(self.files.read(path, MOST_MANIFEST))

    def new_output_stream(self, path: str) -> SmallObject:
        """Opens a small object for writing, sent when closed."""
        return SmallObject(*self.files.bucket(path))

    def read_file_utf8(self, path: str) -> str:
        """Reads a small object as text; one request."""
        return self.files.read(path, MOST_JSON).decode()

    def overwrite_file_utf8(self, path: str, content: str) -> None:
        """Writes a small object; one request."""
        bucket, key = self.files.bucket(path)
        bucket.write(key, content.encode())

    def exists(self, path: str) -> bool:
        """Whether a file or folder exists; one request for a folder, two for a file."""
        bucket, key = self.files.bucket(path)
        return bucket.has_any(key) or (bool(key) and bucket.exists(key))

    def list_status(self, path: str) -> list[FileInfo]:
        """Lists the direct children of a folder; one request for every 1,000 names."""
        bucket, key = self.files.bucket(path)
        return [_info(bucket.name, listed) for listed in bucket.list_folder(key) if listed.key != key]


class ObjectFileIO(ObjectAccess):
    """Files on an object store; implements `FileIO`."""

    def write_file(self, path: str, content: str) -> None:
        """Writes a small object."""
        self.overwrite_file_utf8(path, content)

    def delete(self, path: str) -> bool:
        """Deletes one file; a missing file is no error."""
        self.files.delete(path)
        return True

    def to_filesystem_path(self, path: str) -> str:
        """The path itself: it is not local."""
        return path


def _info(bucket: str, listed: ListedObject) -> FileInfo:
    path = f"{bucket}/{listed.key}"
    if listed.is_folder:
        return FileInfo(path, FileType.Directory)
    return FileInfo(path, FileType.File, mtime=listed.modified, size=listed.size)


def files_of(settings: StoreSettings, source: KeySource | None = None) -> StoreFiles:
    """Access to the files of a kind of store; `source` gives credentials that expire."""
    if isinstance(settings, HdfsSettings):
        from lithify.io.hdfs.files import (
            HdfsFiles,
        )  # its client is large, and most processes have no use for it

        return HdfsFiles(settings)
    return ObjectFiles(settings, source)


def object_storage(settings: StoreSettings, source: KeySource | None, roots: Sequence[str]) -> Storage:
    """Access to the files in some folders on an object store; `source` gives credentials that expire."""
    files = files_of(settings, source)
    return Storage(FileAccess(ObjectFileIO(files), objects=files), roots)
