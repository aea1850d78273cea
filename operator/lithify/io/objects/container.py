"""What can be asked of a bucket of an object store, and of an HDFS cluster.

Implemented by `bucket` and `io.hdfs.cluster`; used by `files` and `streams`. Keys are paths in it without a
leading slash. Errors are ours, a missing file is a FileNotFoundError.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class ListedObject:
    """A file or folder; `modified` is in seconds since the epoch. In a bucket folders are common prefixes."""

    key: str
    size: int = 0
    modified: float = 0.0
    is_folder: bool = False


@dataclass(frozen=True, slots=True)
class Tail:
    """The last bytes of a file, and the file's size."""

    size: int
    data: bytes


class Writer(Protocol):
    """A file of any size being written: exists once it is closed; not completed after an error."""

    def write(self, data: Any, /) -> Any:
        """Adds bytes."""
        ...

    def close(self) -> None:
        """Completes it."""
        ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> Any: ...


class Container(Protocol):
    """A bucket of an object store, or all files of an HDFS cluster."""

    name: str

    def read(self, key: str, most: int) -> bytes:
        """Reads a file of at most `most` bytes; else raises TooLarge."""
        ...

    def read_range(self, key: str, start: int, end: int) -> bytes:
        """Reads the bytes of a file from one offset up to another, or to its end."""
        ...

    def read_tail(self, key: str, most: int) -> Tail:
        """Reads the last bytes of a file."""
        ...

    def exists(self, key: str) -> bool:
        """Whether a file exists."""
        ...

    def has_any(self, prefix: str) -> bool:
        """Whether a folder exists."""
        ...

    def write(self, key: str, data: bytes) -> None:
        """Writes a small file, replacing an existing one."""
        ...

    def create(self, key: str, data: bytes) -> bool:
        """Creates a small file; returns False if the name is taken.

        An unanswered request, a StorageUnavailable, may still be carried out.
        """
        ...

    def upload(self, key: str) -> Writer:
        """A new file of any size."""
        ...

    def delete(self, key: str) -> None:
        """Deletes a file if it exists."""
        ...

    def delete_all(self, keys: Sequence[str]) -> None:
        """Deletes files if they exist, in any order."""
        ...

    def list_folder(self, prefix: str) -> list[ListedObject]:
        """Lists the direct children of a folder."""
        ...

    def names_below(self, prefix: str) -> Iterator[str]:
        """The files below a folder, relative to it."""
        ...

    def listings(self, prefix: str) -> Iterator[pa.Table]:
        """The files below a folder as columns, relative to it."""
        ...

    def answering(self, key: str, /) -> AbstractContextManager[None]:
        """Turns errors of the library about a file into ours."""
        ...
