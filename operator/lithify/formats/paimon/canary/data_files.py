"""Data files on object stores for pypaimon's readers, which want a file system of PyArrow; ours has none.

Called by `rows`. They may only be read. Picklable: tasks get one with their splits.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NoReturn

import pyarrow as pa
from pyarrow.fs import FileInfo, FileSystemHandler, FileType, PyFileSystem
from pypaimon.common.file_io import FileIO

from lithify.formats.paimon.access.object_file_io import ObjectFileIO
from lithify.io.object_storage import ObjectAccess
from lithify.io.objects.files import StoreFiles
from lithify.io.storage import Fetching


class ObjectDataFiles(ObjectFileIO):
    """pypaimon's access to files on object stores, with a file system for data files."""

    def __init__(self, files: StoreFiles) -> None:
        ObjectAccess.__init__(self, files)

    def __reduce__(self) -> tuple[Any, ...]:
        return ObjectDataFiles, (self.files,)

    @cached_property
    def filesystem(self) -> PyFileSystem:
        """The file system."""
        return PyFileSystem(_Handler(self.files))


def readable(file_io: FileIO) -> FileIO:
    """The same files with a file system for data files."""
    return ObjectDataFiles(file_io.files) if isinstance(file_io, ObjectFileIO) else file_io


class _Handler(FileSystemHandler):  # type: ignore[misc]  # PyArrow is untyped
    """Opens files for reading, and refuses the rest."""

    def __init__(self, files: StoreFiles) -> None:
        self._files = files

    def get_type_name(self) -> str:
        return "objects-read-only"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: list[str]) -> list[FileInfo]:
        return [
            FileInfo(path, FileType.File if self._files.has_file(path) else FileType.NotFound)
            for path in paths
        ]

    def open_input_file(self, path: str) -> pa.NativeFile:
        how = Fetching()
        return pa.PythonFile(self._files.open(path, None, how.block, how.kept), mode="r")

    open_input_stream = open_input_file

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise PermissionError("files may only be read")

    get_file_info_selector = create_dir = delete_dir = delete_dir_contents = _refuse
    delete_root_dir_contents = delete_file = move = copy_file = _refuse
    open_output_stream = open_append_stream = _refuse
