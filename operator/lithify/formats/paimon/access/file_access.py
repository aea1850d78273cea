"""Accesses the files of a table, through pypaimon or without it.

Called by all code that opens tables. Local files and object stores are accessed by `io`; every other file
system through pypaimon's FileIO.
"""

from __future__ import annotations

from collections.abc import Sequence

from pypaimon.common.file_io import FileIO
from pypaimon.filesystem.local_file_io import LocalFileIO

from lithify.formats.paimon.access.object_file_io import ObjectFileIO
from lithify.io.small_files import MOST_JSON, check_local, read_stream
from lithify.io.storage import Storage
from lithify.io.storage_paths import FileAccess


def storage_of(file_io: FileIO, roots: Sequence[str] = ()) -> Storage:
    """Access to the files in some folders; without folders, all can be read and written, none deleted."""
    objects = file_io.files if isinstance(file_io, ObjectFileIO) else None
    return Storage(FileAccess(file_io, is_local=isinstance(file_io, LocalFileIO), objects=objects), roots)


class SmallLocalFiles(LocalFileIO):  # type: ignore[misc]  # pypaimon is untyped
    """pypaimon's access to local files, with an upper bound for texts."""

    def read_file_utf8(self, path: str) -> str:
        """Reads a small text file.

        Raises:
            TooLarge: it is larger than the bound.
        """
        check_local(self._to_file(path), MOST_JSON)
        with self.new_input_stream(path) as stream:
            return read_stream(stream, MOST_JSON).decode()


def bounded_local(file_io: FileIO) -> FileIO:
    """The same file access; for local files with an upper bound for texts."""
    if type(file_io) is not LocalFileIO:
        return file_io
    return SmallLocalFiles(file_io.path, file_io.properties)
