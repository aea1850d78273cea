"""Resolves the paths of a table's files, and detects those that lead out of the table.

The half of `storage` that handles paths; it reads and writes nothing. A path lies in a root by its spelling,
and on a local file system also by what it resolves to.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lithify.errors import CorruptTable
from lithify.io.file_io import FileIO
from lithify.io.locations import Store, local_path, parse_location, store_of
from lithify.io.objects.files import StoreFiles

_DATABASE = ".db"
"""Suffix of database folders in Paimon's catalogs."""


@dataclass(frozen=True, slots=True)
class FileAccess:
    """Access to the files of a table.

    Attributes:
        file_io: the format library's access, for file systems not implemented here.
        is_local: whether they are local files.
        objects: access to an object store or HDFS, if the files are there.
    """

    file_io: FileIO
    is_local: bool = False
    objects: StoreFiles | None = None


class StoragePaths:
    """The paths of one table's files.

    Args:
        access: access to the files.
        roots: folders outside which nothing is read, written or deleted. Without any, everything can be read
            and written, and nothing deleted.
    """

    def __init__(self, access: FileAccess, roots: Sequence[str] = ()) -> None:
        self._access = access
        self._file_io = access.file_io
        self.roots = tuple(root.rstrip("/") for root in roots)

    def is_below(self, path: str, folder: str) -> bool:
        """Whether a path is a folder or lies below it, by spelling; `..` is not resolved."""
        parts, above = self._parts(path), self._parts(folder)
        return parts[: len(above)] == above and not {".", ".."} & set(parts[len(above) :])

    def is_of_another_table(self, path: str, root: str) -> bool:
        """Whether a directory may contain other tables, or lie in one of theirs.

        Other tables lie beside a table's folder or, if that lies in `<database>.db`, in other folders with
        such names. A directory above the table's own counts: it may contain any table.
        """
        parts, own = self._real_parts(path), self._real_parts(root)
        if parts[: len(own)] == own:
            return False
        database = own[:-1]
        if own[: len(parts)] == parts:
            return True
        if not database or not database[-1].endswith(_DATABASE):
            return False
        warehouse = database[:-1]
        below = parts[len(warehouse) :] if parts[: len(warehouse)] == warehouse else ()
        return bool(below) and below[0].endswith(_DATABASE)

    def _real_parts(self, path: str) -> tuple[str, ...]:
        """The parts of a path; on a local file system with symbolic links resolved."""
        return self.local_path(path).resolve().parts if self.is_local else self._parts(path)

    def _parts(self, path: str) -> tuple[str, ...]:
        if self.objects is not None and self.reaches(path):
            return self.objects.place(path)
        plain = self._plain(path)
        return ("/" if plain.startswith("/") else "", *(part for part in plain.split("/") if part))

    def check_inside(self, path: str) -> None:
        """Checks that a path lies in one of the roots, if there are any.

        Raises:
            CorruptTable: it leads elsewhere.
        """
        if self.roots:
            self._check_links(path, self.root_of(path))

    def root_of(self, path: str) -> str:
        """The root in which a path lies.

        Raises:
            CorruptTable: it lies in none.
        """
        for root in self.roots:
            if self.is_below(path, root):
                return root
        raise CorruptTable(
            path, "it lies outside the table's folder and external paths, so it is not touched"
        )

    def _check_links(self, path: str, root: str) -> None:
        if not self.is_local:
            return
        try:
            (real, is_readable), (real_root, _) = (_resolved(self._local(each)) for each in (path, root))
        except ValueError as error:  # a character that paths cannot have, or a cycle of links
            raise CorruptTable(path, f"it is no path ({error})") from error
        if not f"{real}/".startswith(f"{real_root.rstrip('/')}/"):
            raise CorruptTable(path, f"a symbolic link leads from it out of {root}, so it is not touched")
        if not is_readable:
            raise CorruptTable(
                path, "it is no regular file, so it is not touched: reading it might never end"
            )

    @property
    def is_local(self) -> bool:
        """Whether files are on the local file system."""
        return self._access.is_local

    def local_path(self, path: str) -> Path:
        """The local file of a path; only meaningful if `is_local`."""
        return Path(self._local(path))

    def _local(self, path: str) -> str:
        return self._file_io.to_filesystem_path(self._plain(path))

    def _plain(self, path: str) -> str:
        """A local path without its scheme: a FileIO would decode it, but `%3A` is meant literally."""
        return (local_path(path) if self.is_local else None) or path

    @property
    def objects(self) -> StoreFiles | None:
        """Access to an object store or HDFS, if the files are there."""
        return self._access.objects

    @property
    def is_object_store(self) -> bool:
        """Whether the files are on an object store, where names do not move; those of HDFS do."""
        return self.objects is not None and self.objects.store is not Store.HDFS

    def reaches(self, uri: str) -> bool:
        """Whether a full URI is on the same kind of file system."""
        if self.objects is not None:
            return store_of(uri) is self.objects.store
        return self.is_local and parse_location(uri).scheme == "file"

    def is_same_place(self, one: str, other: str) -> bool:
        """Whether two directories are the same, however spelt; false if one of them is not a path."""
        try:
            return self._is_same_place(one, other)
        except (CorruptTable, ValueError, RuntimeError, OSError):
            return False

    def _is_same_place(self, one: str, other: str) -> bool:
        if self.objects is not None and self.reaches(one) and self.reaches(other):
            return self.objects.place(one) == self.objects.place(other)
        if self.is_local:
            return self.local_path(one).resolve() == self.local_path(other).resolve()
        return one.rstrip("/") == other.rstrip("/")


def _resolved(path: str) -> tuple[str, bool]:
    """A local path with links resolved, and whether it is a file, a directory or nothing.

    Every file that is opened is checked, so the kernel is asked, without objects of paths.

    Raises:
        ValueError: a character that paths cannot have, or a cycle of links.
    """
    try:
        handle = os.open(path, os.O_PATH)  # opens nothing: a pipe would wait for its other end
    except (FileNotFoundError, NotADirectoryError):
        return os.path.realpath(path), True
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise ValueError("its symbolic links have no end") from error
    try:
        mode = os.fstat(handle).st_mode
        return os.readlink(f"/proc/self/fd/{handle}"), stat.S_ISREG(mode) or stat.S_ISDIR(mode)  # noqa: PTH115
    finally:
        os.close(handle)
