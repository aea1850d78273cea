"""The files that one task writes: data files, position delete files, and those of its map."""

from __future__ import annotations

from lithify.files.parquet.copying.source import RowGroupSource
from lithify.files.row_file import in_parquet
from lithify.files.written_files import WrittenFiles
from lithify.formats.iceberg.rewriting.destinations import Destination
from lithify.formats.iceberg.rewriting.target import WriteTarget
from lithify.formats.iceberg.rewriting.writer import OpenDataFile
from lithify.io.storage import Storage


class NewFiles(WrittenFiles):
    """The files of one writer.

    Args:
        writer: id of the writer, the unique part of the names.
        target: columns and options.
        storage: access to the file system.
    """

    def __init__(self, writer: str, target: WriteTarget, storage: Storage) -> None:
        super().__init__(writer, storage)
        self._target = target

    def open_next(
        self, place: Destination, like: RowGroupSource | None = None, target: WriteTarget | None = None
    ) -> OpenDataFile:
        """Opens the next file; see `OpenDataFile`. It may have another target than most files of the task."""
        target = target or self._target
        number = f"{next(self._numbers):05}.{target.options.files.format}"
        path = target.path(place.partition, f"{place.name_start}{self._writer}-{number}")
        self._will_write(path, in_parquet(path))
        return OpenDataFile(path, place.partition, target, self._storage, like)

    def next_path(self, extension: str) -> str:
        """The path of the next file among the data files of no partition, for others than data files."""
        path = self._target.locations.path("", f"{self._writer}-{next(self._numbers):05}.{extension}")
        self._will_write(path)
        return path

    def path_beside(self, folder: str, name: str) -> str:
        """The path of a file in another folder, which is deleted like the others if the task fails.

        Args:
            folder: the folder.
            name: the end of its name, behind the id of the writer.
        """
        path = f"{folder}/{self._writer}-{name}"
        self._will_write(path)
        return path
