"""Locations of a table's data files, existing and new.

Created by `table`. The rules are Java Paimon's (`FileStorePathFactory`). A directory is looked up only if its
name does not follow from the partition: versions of Java format floating-point numbers differently. No
directory lies outside the table's folder or its external paths, whatever a partition's values are: they are
escaped. If a manifest entry names another location, `external_problem` checks it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from lithify.errors import UnsupportedTable
from lithify.formats.paimon.layout.external_paths import ExternalPaths
from lithify.formats.paimon.manifests.entries import FileMeta, ManifestEntry
from lithify.formats.paimon.model import POSTPONED, BucketId
from lithify.formats.paimon.names.partition_names import (
    escape,
    partition_path,
    partition_texts,
    same_float,
)
from lithify.formats.paimon.names.partition_values import partition_spec, partition_values
from lithify.formats.paimon.options.location_options import LocationOptions
from lithify.formats.paimon.rows.binary_row import decode_row
from lithify.formats.paimon.schema.schema import Schema
from lithify.formats.protocol.partition import PartitionValues
from lithify.io.file_names import is_plain_path, shown
from lithify.io.storage import Storage

_LONGEST_PATH = 4096
"""Characters of a partition's path; file systems and stores accept no longer ones."""


def bucket_folder(bucket: int) -> str:
    """The name of a bucket's directory."""
    return f"bucket-{'postpone' if bucket == POSTPONED else bucket}"


class FileLocations:
    """The directories of one table.

    Args:
        root: the table's folder.
        name: the table's name, for messages.
        schema: for its partition columns, which never change.
        options: how directories are named and chosen.
        storage: lists directories.
    """

    def __init__(
        self, root: str, name: str, schema: Schema, options: LocationOptions, storage: Storage
    ) -> None:
        self._root = root
        self._name = name
        self._keys = schema.partition_keys
        self._types = schema.partition_types
        self._options = options
        self._storage = storage
        self._bucket_ids: dict[tuple[bytes, int], BucketId] = {}
        self.partition_spec = partition_spec(self._keys, self._types, options.default_name)
        self._values: dict[bytes, PartitionValues] = {}
        self._found: dict[bytes, str] = {}
        self._listed: dict[str, list[str]] = {}

    def bucket_id(self, partition: bytes, bucket: int) -> BucketId:
        """The identity of a bucket, with its path for messages and reports.

        Raises:
            UnsupportedTable: Java's spelling of the partition is unknown.
        """
        known = self._bucket_ids.get((partition, bucket))
        if known is None:
            path = f"{self._partition_path(partition)}{bucket_folder(bucket)}"
            known = self._bucket_ids[partition, bucket] = BucketId(partition, bucket, path)
        return known

    def values(self, partition: bytes) -> PartitionValues:
        """The values of the partition columns; their texts are those of directory names, but not escaped.

        Raises:
            UnsupportedTable: Java's spelling of the partition is unknown.
        """
        known = self._values.get(partition)
        if known is None:
            default = self._options.default_name
            with self._spelling():
                texts = partition_texts(partition, self._types, legacy=self._options.legacy)
                values = partition_values(partition, self._types, default)
            spelt = tuple(text or default for text in texts)
            known = self._values[partition] = PartitionValues(self.partition_spec, values, spelt)
        return known

    def relative_folder(self, bucket: BucketId) -> str:
        """The directory of a bucket relative to the table's folder or an external path.

        Raises:
            UnsupportedTable: the partition has two directories.
        """
        found = self._found_partition(bucket.partition)
        return f"{self._directory}{found}{bucket_folder(bucket.bucket)}"

    def folder(self, bucket: BucketId) -> str:
        """The directory of a bucket in the table's folder; see `relative_folder`."""
        return f"{self._root}/{self.relative_folder(bucket)}"

    def existing_folders(self, bucket: BucketId, *, external: bool) -> list[str]:
        """All possible directories of a bucket: in the table's folder, on request in current external paths.

        One for each of these; for floating-point partitions one for each existing spelling.

        Raises:
            UnsupportedTable: Java's spelling of the partition is unknown.
        """
        found = {self._partition_path(bucket.partition): None}
        if any(column.is_float for column in self._types):
            self._listed.clear()
            found |= dict.fromkeys(f"{path}/" for path in self._directories(bucket.partition))
        roots = (self._root, *(self._options.external if external else ()))
        name = bucket_folder(bucket.bucket)
        return [f"{root}/{self._directory}{path}{name}" for root in roots for path in found]

    def are_current(self, roots: Iterable[str]) -> bool:
        """Whether new files go to all of these directories outside the table's folder."""
        return set(roots) <= set(self._options.external)

    def external_problem(self, file: FileMeta) -> str | None:
        """Why a data file must not be read from its entry's external path; None if it may be, or has none.

        A table's options determine where its files may lie, not an entry alone: otherwise people who may
        write to this table, but not read another one, could have that one's rows copied here.
        """
        path = file.external_path
        if path is None:
            return None
        if not is_plain_path(path) or not path.endswith(f"/{file.name}"):
            return f"data file {file.name}: its external path {shown(path)} is no path of this file"
        if any(self._storage.is_below(path, root) for root in self._storage.roots):
            return None
        return (
            f"data file {file.name}: it lies in {path.rpartition('/')[0]}, below no path of the option "
            "data-file.external-paths that is outside the folders of databases; list it there (new files do "
            "not go there if data-file.external-paths.strategy is none), or compact the bucket with Paimon"
        )

    def path(self, entry: ManifestEntry) -> str:
        """The path of a data file.

        Raises:
            UnsupportedTable: its entry names a location where the table cannot have files.
        """
        problem = self.external_problem(entry.file)
        if problem is not None:
            raise UnsupportedTable(self._name, (problem,))
        return entry.file.path(self.folder(self.bucket_id(entry.partition, entry.bucket)))

    def external_paths(self, bucket: BucketId) -> ExternalPaths | None:
        """The directories for new files of a bucket outside the table's folder."""
        options = self._options
        if not options.external:
            return None
        relative = self.relative_folder(bucket)
        folders = tuple(f"{root}/{relative}" for root in options.external)
        return ExternalPaths(folders, options.weights, options.has_entropy)

    @property
    def _directory(self) -> str:
        return f"{self._options.directory}/" if self._options.directory else ""

    @property
    def _data(self) -> str:
        return f"{self._root}/{self._directory}".rstrip("/")

    def _partition_path(self, partition: bytes) -> str:
        options = self._options
        with self._spelling():
            path = partition_path(
                partition, self._keys, self._types, options.default_name, legacy=options.legacy
            )
            if len(path) > _LONGEST_PATH:
                raise ValueError(f"it would have {len(path)} characters")
        return f"{path}/" if path else ""

    @contextmanager
    def _spelling(self) -> Iterator[None]:
        """Formats a partition; fails for dates outside Python's calendar."""
        try:
            yield
        except (ValueError, OverflowError) as error:
            problem = f"a partition value has no directory name that this release knows ({error})"
            raise UnsupportedTable(self._name, (problem,)) from error

    def _found_partition(self, partition: bytes) -> str:
        """The path of a partition as it exists on the file system."""
        if not any(column.is_float for column in self._types):
            return self._partition_path(partition)
        known = self._found.get(partition)
        if known is None:
            known = self._found[partition] = self._look_up(partition)
        return known

    def _look_up(self, partition: bytes) -> str:
        """The existing directory; if there is none yet, the one with our own spelling."""
        found = self._directories(partition)
        if not found:
            self._listed.clear()  # it may be newer than the listing for other partitions
            found = self._directories(partition)
        if len(found) > 1:
            found = [
                path for path in found if any(True for _ in self._storage.files_below(f"{self._data}/{path}"))
            ]
        if len(found) > 1:
            there = " and ".join(found)
            raise UnsupportedTable(self._name, (f"{there} are directories of the same partition",))
        return f"{found[0]}/" if found else self._partition_path(partition)

    def _directories(self, partition: bytes) -> list[str]:
        """The possible directories of a partition, relative to the folder of all data files."""
        found = [""]
        values = decode_row(partition, self._types)
        parts = self._partition_path(partition).rstrip("/").split("/")
        for name, column, value, part in zip(self._keys, self._types, values, parts, strict=True):
            stem = f"{escape(name)}="
            if isinstance(value, float):
                found = [
                    f"{above}/{there}"
                    for above in found
                    for there in self._names_in(above)
                    if there.startswith(stem) and same_float(there.removeprefix(stem), value, column)
                ]
            else:
                found = [f"{above}/{part}" for above in found]
        return [path.removeprefix("/") for path in found]

    def _names_in(self, folder: str) -> list[str]:
        known = self._listed.get(folder)
        if known is None:
            listed = self._storage.list(f"{self._data}{folder}")
            known = self._listed[folder] = [file.name for file in listed]
        return known
