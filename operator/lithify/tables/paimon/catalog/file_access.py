"""How the files of a table are reached through pypaimon, or past it.

Called by whatever opens tables. Local files and S3 are reached by `tables.io` itself; every other file system
through pypaimon's FileIO.
"""

from __future__ import annotations

from collections.abc import Sequence

from pypaimon.common.file_io import FileIO
from pypaimon.filesystem.local_file_io import LocalFileIO

from lithify.tables.io.small_files import MOST_JSON, check_local, read_stream
from lithify.tables.io.storage import Storage
from lithify.tables.io.storage_paths import FileAccess
from lithify.tables.paimon.catalog.s3_file_io import S3FileIO


def storage_of(file_io: FileIO, roots: Sequence[str] = ()) -> Storage:
    """Access to the files in some folders; without any, all can be read and written and none deleted."""
    s3 = file_io.files if isinstance(file_io, S3FileIO) else None
    return Storage(FileAccess(file_io, is_local=isinstance(file_io, LocalFileIO), s3=s3), roots)


class SmallLocalFiles(LocalFileIO):  # type: ignore[misc]  # pypaimon is untyped
    """pypaimon's access to local files, which reads texts up to a bound."""

    def read_file_utf8(self, path: str) -> str:
        """A small text.

        Raises:
            TooLarge: it is none.
        """
        check_local(self._to_file(path), MOST_JSON)
        with self.new_input_stream(path) as stream:
            return read_stream(stream, MOST_JSON).decode()


def bounded_local(file_io: FileIO) -> FileIO:
    """The same access to files; to local ones one that reads texts up to a bound."""
    if type(file_io) is not LocalFileIO:
        return file_io
    return SmallLocalFiles(file_io.path, file_io.properties)
