"""The files of tables on one kind of store, accessed through `bucket`; those on HDFS through `hdfs`.

Used by `storage`, by adapters that give their format library access to a store, and by the check that a store
honours conditional puts. Picklable: executors get one with their task.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import pyarrow as pa

from lithify.errors import CorruptTable, InvalidOption
from lithify.io.locations import ObjectPath, Store, object_path
from lithify.io.objects.bucket import Bucket
from lithify.io.objects.container import Container
from lithify.io.objects.settings import Dialect
from lithify.io.objects.stores import ExpiringKeys, ObjectSettings, StoreSettings
from lithify.io.objects.streams import BlockReader, Upload
from lithify.settings import catalog_option


class KeySource(Protocol):
    """Source of credentials that expire during a run: the server of a catalog."""

    def keys(self) -> ExpiringKeys:
        """Valid credentials and their expiry."""
        ...


class StoreFiles(ABC):
    """Files on one kind of store.

    Args:
        settings: connection settings.
    """

    def __init__(self, settings: StoreSettings) -> None:
        self._kind = settings
        self._buckets: dict[ObjectPath, Container] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_buckets": {}}

    @property
    def store(self) -> Store:
        """The kind of store."""
        return self._kind.store

    @property
    def dialect(self) -> Dialect:
        """How it is spoken to."""
        return self._kind.dialect

    def place(self, path: str) -> tuple[str, ...]:
        """What tells a path from others, however they are spelled.

        Raises:
            CorruptTable: it is no path on such a store.
        """
        return self._parsed(path).place

    def _parsed(self, path: str) -> ObjectPath:
        there = object_path(path)
        if there is None or there.store is not self.store:
            raise CorruptTable(path, f"it is no path on {self.store}, of the form {self.dialect.form}")
        return there

    @abstractmethod
    def bucket(self, path: str) -> tuple[Container, str]:
        """The bucket of a path, and the key in it.

        Raises:
            OutOfReach: the process may not use rights of its own there, or not connect there.
            InvalidOption: the options do not fit together, or lack what the store needs.
            CorruptTable: it is no path on such a store.
        """

    def open(self, path: str, size: int | None, block: int, kept: int) -> BlockReader:
        """Opens an object of any size; see `BlockReader`."""
        bucket, key = self.bucket(path)
        return BlockReader(bucket, key, size, block, kept)

    def upload(self, path: str) -> Upload:
        """A new object of any size."""
        return Upload(*self.bucket(path))

    def read(self, path: str, most: int) -> bytes:
        """Reads a small object; one request.

        Raises:
            TooLarge: it has more than `most` bytes.
        """
        bucket, key = self.bucket(path)
        return bucket.read(key, most)

    def create(self, path: str, content: str) -> bool:
        """Creates a small object unless the name is taken, atomically; see `Bucket.create`."""
        bucket, key = self.bucket(path)
        return bucket.create(key, content.encode())

    def has_file(self, path: str) -> bool:
        """Whether a file exists; one request."""
        bucket, key = self.bucket(path)
        return bucket.exists(key)

    def names_below(self, path: str) -> Iterator[str]:
        """The names of all files below a folder, relative to it; one request for every 1,000 of them."""
        bucket, key = self.bucket(path)
        return bucket.names_below(key)

    def files_below(self, path: str) -> Iterator[str]:
        """All files below a folder, recursively; one request for every 1,000 of them."""
        return (f"{path}/{name}" for name in self.names_below(path))

    def listings(self, path: str) -> Iterator[pa.Table]:
        """All files below a folder as columns; one request for every 1,000 of them."""
        bucket, key = self.bucket(path)
        return bucket.listings(key)

    def delete_all(self, paths: Iterable[str]) -> None:
        """Deletes files; missing ones are no error. See `Bucket.delete_all`."""
        keys: dict[Container, list[str]] = {}
        for path in paths:
            bucket, key = self.bucket(path)
            keys.setdefault(bucket, []).append(key)
        for bucket, found in keys.items():
            bucket.delete_all(found)

    def delete(self, path: str) -> None:
        """Deletes one file; a missing file is no error."""
        bucket, key = self.bucket(path)
        bucket.delete(key)

    def rename(self, path: str, target: str) -> None:
        """Gives a file another path, which no file has; HDFS alone can.

        Raises:
            ValueError: the files are on an object store.
        """
        raise ValueError(f"{path} is on {self.store}, which cannot rename it to {target}")

    def delete_folders(self, path: str) -> None:
        """Deletes a directory if nothing but empty ones are below it; object stores have none."""
        del path


class ObjectFiles(StoreFiles):
    """Files on one kind of object store.

    Args:
        settings: connection settings.
        source: source of expiring credentials; None if the settings have credentials.
    """

    def __init__(self, settings: ObjectSettings, source: KeySource | None = None) -> None:
        super().__init__(settings)
        self._settings = settings
        self._source = source

    def bucket(self, path: str) -> tuple[Container, str]:
        """The bucket of a path, and the key in it.

        Raises:
            OutOfReach: the process may not use its own credentials there, or not connect to the endpoint.
            InvalidOption: the process may not use its own credentials at the endpoint that the options name,
                or the options lack what the store needs.
            CorruptTable: it is no path on such a store.
        """
        if self._source is None and not self._settings.has_keys:
            self._check_identity()
            self._settings.reach.check(path)
        there = self._parsed(path)
        if self._source is None and self._settings.keys_of(there.root) is None:
            self._settings.reach.check(path)
            self._check_endpoint(there.root)
        if there.root not in self._buckets:
            renewed = None if self._source is None else self._source.keys
            self._buckets[there.root] = Bucket(there.root, self._settings, renewed)
        return self._buckets[there.root], there.key

    def _check_identity(self) -> None:
        """Refuses to look for credentials where only those of another store could be."""
        if not self.dialect.has_identity:
            problem = f"there are no credentials: give {self.dialect.credentials}"
            raise InvalidOption(catalog_option(self.dialect.credentials.partition(" ")[0]), problem)

    def _check_endpoint(self, root: ObjectPath) -> None:
        """Refuses to send the environment's credentials to an endpoint that only a Catalog names."""
        if self._settings.endpoint_of(root) is not None and not self._settings.reach.with_endpoint:
            problem = (
                "an endpoint that the Catalog names gets no credentials of the environment: give "
                f"{self.dialect.credentials}"
            )
            raise InvalidOption(catalog_option(self.dialect.endpoint), problem)
