"""Tables in folders (Java's HadoopCatalog): the newest metadata file is the one with the highest number.

Creating the next number is the commit, so it is only done where a file can be created exactly once: on local
file systems, by conditional puts on object stores, and by a rename on HDFS. Java's writers rename everywhere,
which overwrites on object stores; a commit is read back for that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress

from lithify.errors import CorruptTable, LithifyError, NotFound
from lithify.formats.iceberg.catalog.model import Pointer
from lithify.formats.iceberg.catalog.names import TableName
from lithify.io.file_names import is_file_name
from lithify.io.storage import Storage

METADATA = "metadata"
_HINT = "version-hint.text"
_VERSION = re.compile(r"v(?P<number>[0-9]{1,9})(?:\.gz)?\.metadata\.json(?:\.gz)?")


class FolderTables:
    """The tables below a warehouse folder; implements `PointerCatalog`.

    Args:
        warehouse: the folder.
        storage: access to it.
    """

    owns_files = True

    def __init__(self, warehouse: str, storage: Storage) -> None:
        self._warehouse = warehouse.rstrip("/")
        self._storage = storage

    def load(self, name: TableName) -> Pointer:
        """The metadata file with the highest number."""
        folder = f"{self._folder(name.parts)}/{METADATA}"
        found = self._newest(folder)
        if found is None:
            raise NotFound("table", str(name), f"{folder} has no metadata of a table")
        return Pointer(f"{folder}/{found[1]}", version=found[0])

    def next_location(self, base: Pointer, folder: str, nonce: str) -> str:
        """The next number; the folder is the table's own, whatever its properties say."""
        del folder, nonce
        return f"{base.location.rpartition('/')[0]}/v{base.version + 1}.metadata.json"

    def swap(
        self, name: TableName, base: Pointer, location: str, text: str, is_wanted: Callable[[], bool]
    ) -> bool:
        """Creates the file, unless another writer has taken its number under any name."""
        del name
        folder = location.rpartition("/")[0]
        newest = self._newest(folder)
        if newest is None or f"{folder}/{newest[1]}" != base.location:
            return False
        if not self._storage.create_text(location, text, is_wanted):
            return False
        with suppress(LithifyError):  # a hint: readers look for higher numbers anyway
            self._storage.write_text(f"{folder}/{_HINT}", str(base.version + 1))
        return True

    def namespaces(self, parent: tuple[str, ...]) -> Sequence[tuple[str, ...]]:
        """The folders right below another one that are no tables."""
        return [each for each in self._children(parent) if not self._is_table(each)]

    def tables(self, namespace: tuple[str, ...]) -> Sequence[tuple[str, ...]]:
        """The folders of a namespace that are tables."""
        return [each for each in self._children(namespace) if self._is_table(each)]

    def _children(self, parent: tuple[str, ...]) -> list[tuple[str, ...]]:
        listed = self._storage.list(self._folder(parent))
        return [(*parent, each.name) for each in listed if each.is_folder and is_file_name(each.name)]

    def _is_table(self, parts: tuple[str, ...]) -> bool:
        return self._newest(f"{self._folder(parts)}/{METADATA}") is not None

    def _folder(self, parts: tuple[str, ...]) -> str:
        return "/".join((self._warehouse, *parts))

    def _newest(self, folder: str) -> tuple[int, str] | None:
        """The highest number and its file; None if the folder is no table's.

        Listed, not derived from the hint: a hint that a writer failed to renew would hide newer files, and
        names differ by compression.
        """
        names = [each.name for each in self._storage.list(folder)]
        matches = [match for match in map(_VERSION.fullmatch, names) if match]
        numbered = sorted((int(match["number"]), match[0]) for match in matches)
        if len(numbered) > 1 and numbered[-1][0] == numbered[-2][0]:
            raise CorruptTable(folder, f"it has two metadata files of number {numbered[-1][0]}")
        return numbered[-1] if numbered else None
