"""Where the data files of a table lie, and where new ones go.

Made by `table`. The rules are Java Paimon's (`FileStorePathFactory`). A directory is looked up only where its
name does not follow from the partition for certain: floating-point numbers are spelt differently by different
versions of Java.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lithify.errors import UnsupportedTable
from lithify.tables.model import BucketId
from lithify.tables.paimon.binary_row import decode_row
from lithify.tables.paimon.entries import Entry
from lithify.tables.paimon.options import PlaceOptions
from lithify.tables.paimon.outside import Outside
from lithify.tables.paimon.partition_names import escape, partition_path, partition_texts, same_float
from lithify.tables.paimon.schema import Schema
from lithify.tables.paimon.storage import Storage


class Places:
    """The directories of one table.

    Args:
        root: the table's folder.
        name: how people call the table.
        schema: for its partition columns, which never change.
        options: how directories are named and chosen.
        storage: lists directories.
    """

    def __init__(self, root: str, name: str, schema: Schema, options: PlaceOptions, storage: Storage) -> None:
        self._root = root
        self._name = name
        self._keys = schema.partition_keys
        self._types = schema.partition_types
        self._options = options
        self._storage = storage
        self._bucket_ids: dict[tuple[bytes, int], BucketId] = {}
        self._partitions: dict[bytes, str] = {}

    def bucket_id(self, partition: bytes, bucket: int) -> BucketId:
        """The identity of a bucket, with the path that people know it by.

        Raises:
            UnsupportedTable: nobody knows how Java spells the partition.
        """
        known = self._bucket_ids.get((partition, bucket))
        if known is None:
            path = f"{self._partition_path(partition)}bucket-{bucket}"
            known = self._bucket_ids[partition, bucket] = BucketId(partition, bucket, path)
        return known

    def spec(self, partition: bytes) -> Mapping[str, str]:
        """The values of the partition columns as directories have them, but not escaped."""
        texts = self._texts(partition)
        return {
            name: text or self._options.default_name for name, text in zip(self._keys, texts, strict=True)
        }

    def relative_folder(self, bucket: BucketId) -> str:
        """The directory of a bucket in the table's folder; it is the same in one outside.

        Raises:
            UnsupportedTable: two directories are there for the same partition.
        """
        found = self._found_partition(bucket.partition)
        return f"{self._directory}{found}bucket-{bucket.bucket}"

    def folder(self, bucket: BucketId) -> str:
        """The directory of a bucket in the table's folder; see `relative_folder`."""
        return f"{self._root}/{self.relative_folder(bucket)}"

    def path(self, entry: Entry) -> str:
        """Where a data file is."""
        return entry.file.path(self.folder(self.bucket_id(entry.partition, entry.bucket)))

    def outside(self, bucket: BucketId) -> Outside | None:
        """Where new files of a bucket go, if that is not the table's folder."""
        options = self._options
        if not options.external:
            return None
        relative = self.relative_folder(bucket)
        folders = tuple(f"{root}/{relative}" for root in options.external)
        return Outside(folders, options.weights, options.has_entropy)

    @property
    def _directory(self) -> str:
        return f"{self._options.directory}/" if self._options.directory else ""

    def _partition_path(self, partition: bytes) -> str:
        try:
            path = partition_path(
                partition, self._keys, self._types, self._options.default_name, legacy=self._options.legacy
            )
        except (ValueError, OverflowError, ArithmeticError) as error:
            problem = f"a partition value has no directory name that this release knows ({error})"
            raise UnsupportedTable(self._name, (problem,)) from error
        return f"{path}/" if path else ""

    def _texts(self, partition: bytes) -> list[str | None]:
        return partition_texts(partition, self._types, legacy=self._options.legacy)

    def _found_partition(self, partition: bytes) -> str:
        """The path of a partition as it is on the file system."""
        if not any(column.is_float for column in self._types):
            return self._partition_path(partition)
        known = self._partitions.get(partition)
        if known is None:
            known = self._partitions[partition] = self._look_up(partition)
        return known

    def _look_up(self, partition: bytes) -> str:
        """The directory that is there; where there is none yet, that of our own spelling."""
        found = [f"{self._root}/{self._directory}".rstrip("/")]
        start = len(found[0]) + 1
        parts = self._partition_path(partition).rstrip("/").split("/")
        for field, part in enumerate(parts):
            found = [path for folder in found for path in self._named(folder, field, part, partition)]
        if len(found) > 1:
            there = " and ".join(path[start:] for path in found)
            raise UnsupportedTable(self._name, (f"{there} are directories of the same partition",))
        return f"{found[0][start:]}/" if found else self._partition_path(partition)

    def _named(self, folder: str, field: int, part: str, partition: bytes) -> Iterator[str]:
        """The directories in a folder that stand for a value of a partition."""
        column, value = self._types[field], decode_row(partition, self._types)[field]
        if not isinstance(value, float):
            yield f"{folder}/{part}"
            return
        stem = f"{escape(self._keys[field])}="
        for file in self._storage.list(folder):
            if file.name.startswith(stem) and same_float(file.name.removeprefix(stem), value, column):
                yield f"{folder}/{file.name}"
