"""What is asked of file systems of which nothing more is known: a format library's own access to files.

Used by `storage` for everything that is neither local nor on S3. Its methods are those that pypaimon's and
PyIceberg's file systems can be given; an adapter wraps what it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class FileInfo(Protocol):
    """A file or directory that was listed, as PyArrow has it."""

    path: str
    mtime: object
    type: object


class FileIO(Protocol):
    """Access to files by their whole paths. Errors are Python's (OSError, FileNotFoundError)."""

    def new_input_stream(self, path: str) -> Any:
        """Opens a file for reading, as a binary file of Python or of PyArrow."""
        ...

    def new_output_stream(self, path: str) -> Any:
        """Opens a new file for writing, as a binary file of Python or of PyArrow."""
        ...

    def read_file_utf8(self, path: str) -> str:
        """The text of a small file."""
        ...

    def write_file(self, path: str, content: str) -> None:
        """Writes a small file that does not exist."""
        ...

    def overwrite_file_utf8(self, path: str, content: str) -> None:
        """Writes a small file, whether or not it exists."""
        ...

    def exists(self, path: str) -> bool:
        """Whether there is a file or a directory."""
        ...

    def delete(self, path: str) -> bool:
        """Deletes a file."""
        ...

    def list_status(self, path: str) -> Sequence[FileInfo]:
        """What is right in a directory."""
        ...

    def to_filesystem_path(self, path: str) -> str:
        """A path without its scheme and authority, where the file system wants none."""
        ...
