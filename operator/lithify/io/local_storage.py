"""Access to local files without a format's library. Used by adapters whose library brings none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from pyarrow.fs import FileInfo, FileSelector, LocalFileSystem

from lithify.io.local_files import replace_text
from lithify.io.locations import local_path
from lithify.io.storage import Storage
from lithify.io.storage_paths import FileAccess


class LocalFileIO:
    """Local files; implements `FileIO`."""

    def new_input_stream(self, path: str) -> BinaryIO:
        """Opens a file for reading."""
        return self._path(path).open("rb")

    def new_output_stream(self, path: str) -> BinaryIO:
        """Opens a new file for writing."""
        return self._path(path).open("xb")

    def read_file_utf8(self, path: str) -> str:
        """Reads a small text file."""
        return self._path(path).read_text("utf-8")

    def write_file(self, path: str, content: str) -> None:
        """Writes a small file that does not exist."""
        with self._path(path).open("x", encoding="utf-8") as file:
            file.write(content)

    def overwrite_file_utf8(self, path: str, content: str) -> None:
        """Writes a small file, replacing an existing one."""
        replace_text(self._path(path), content)

    def exists(self, path: str) -> bool:
        """Whether a file or directory exists."""
        return self._path(path).exists()

    def delete(self, path: str) -> bool:
        """Deletes a file."""
        self._path(path).unlink()
        return True

    def list_status(self, path: str) -> Sequence[FileInfo]:
        """Lists the direct children of a directory."""
        found: Sequence[FileInfo] = LocalFileSystem().get_file_info(FileSelector(str(self._path(path))))
        return found

    def to_filesystem_path(self, path: str) -> str:
        """The path without the scheme."""
        return local_path(path) or path

    def _path(self, path: str) -> Path:
        return Path(self.to_filesystem_path(path))


def local_storage(roots: Sequence[str]) -> Storage:
    """Access to the local files in some folders."""
    return Storage(FileAccess(LocalFileIO(), is_local=True), roots)
