"""How the files of a format's tables lie in caches and temporary files.

A constant of each adapter, read by `cache` and `groups`. A group is what a format plans as a whole: a bucket,
a partition, a folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

import pyarrow as pa

from lithify.engine.observe.state import Details, DetailsFormat

_PORTION = 1 << 16
"""At some 500 bytes a file, 32 MiB."""


@dataclass(frozen=True, slots=True)
class Layout(Generic[Details]):
    """The columns of cached files, and what a format remembers besides.

    Attributes:
        name: the format and the version of its columns and details; a cache of another name is ignored.
        files: the columns of each file: what judging needs.
        group: the columns that identify the group of a file: bytes, texts or integers, never null.
        file: the columns that identify a file in its table, those of its group included.
        details: the JSON form of the format's details.
        nothing: the details of a table without snapshots.
        portion: approximate number of files in memory at a time.
    """

    name: str
    files: pa.Schema
    group: tuple[str, ...]
    file: tuple[str, ...]
    details: DetailsFormat[Details]
    nothing: Details
    portion: int = _PORTION

    def __post_init__(self) -> None:
        types = [self.files.field(name).type for name in self.group]
        if not types or not all(map(_is_identity, types)) or not set(self.group) <= set(self.file):
            raise ValueError(f"{self.name}: {self.group} does not identify the groups of files")

    @property
    def no_files(self) -> pa.Table:
        """A frame without files."""
        return self.files.empty_table()


def _is_identity(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_string(kind) or pa.types.is_integer(kind))
