"""Methods required of other file systems: a format library's own file access.

Used by `storage` for everything that is neither local nor on an object store. The methods can be
provided by the file systems of pypaimon and PyIceberg; an adapter wraps what it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class FileInfo(Protocol):
    """A listed file or directory, with PyArrow's attributes."""

    path: str
    mtime: object
    type: object


class FileIO(Protocol):
    """Access to files by full path. Raises Python's errors (OSError, FileNotFoundError)."""

    def new_input_stream(self, path: str) -> Any:
        """Opens a file for reading, as a binary file object of Python or PyArrow."""
        ...

    def new_output_stream(self, path: str) -> Any:
        """Opens a new file for writing, as a binary file object of Python or PyArrow."""
        ...

    def read_file_utf8(self, path: str) -> str:
        """Reads a small text file."""
        ...

    def write_file(self, path: str, content: str) -> None:
        """Writes a small file that does not exist."""
        ...

    def overwrite_file_utf8(self, path: str, content: str) -> None:
        """Writes a small file, replacing an existing one."""
        ...

    def exists(self, path: str) -> bool:
        """Whether a file or directory exists."""
        ...

    def delete(self, path: str) -> bool:
        """Deletes a file."""
        ...

    def list_status(self, path: str) -> Sequence[FileInfo]:
        """Lists the direct children of a directory."""
        ...

    def to_filesystem_path(self, path: str) -> str:
        """A path without scheme and authority, if the file system does not take them."""
        ...
