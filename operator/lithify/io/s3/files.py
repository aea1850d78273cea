"""The files of tables on S3, accessed through `bucket`.

Used by `storage`, by adapters that give their format library access to S3, and by the check that a store
honours conditional puts. Picklable: executors get one with their task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import pyarrow as pa

from lithify.errors import CorruptTable, InvalidOption
from lithify.io.locations import s3_path
from lithify.io.s3.bucket import S3Bucket
from lithify.io.s3.settings import S3Keys, S3Settings
from lithify.io.s3.streams import BlockReader, Upload
from lithify.settings import catalog_option


class KeySource(Protocol):
    """Source of credentials that expire during a run: the server of a catalog."""

    def keys(self) -> S3Keys:
        """Valid credentials and their expiry."""
        ...


class S3Files:
    """Files on S3.

    Args:
        settings: connection settings.
        source: source of expiring credentials; None if the settings have credentials.
    """

    def __init__(self, settings: S3Settings, source: KeySource | None = None) -> None:
        self._settings = settings
        self._source = source
        self._buckets: dict[str, S3Bucket] = {}
        if self._is_ambient and settings.endpoint is not None and not settings.reach.with_endpoint:
            problem = (
                "an endpoint that the Catalog names gets no credentials of the environment: give "
                "s3.access-key and s3.secret-key"
            )
            raise InvalidOption(catalog_option("s3.endpoint"), problem)

    @property
    def _is_ambient(self) -> bool:
        """Whether requests are signed with the environment's credentials."""
        return self._source is None and self._settings.keys is None

    def __getstate__(self) -> dict[str, Any]:
        return {"_settings": self._settings, "_source": self._source}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _buckets={})

    def bucket(self, path: str) -> tuple[S3Bucket, str]:
        """The bucket of a path, and the key in it.

        Raises:
            OutOfReach: the process may not use its own credentials there, or not connect to the endpoint.
            CorruptTable: it is no path on S3.
        """
        if self._is_ambient:
            self._settings.reach.check(path)
        there = s3_path(path)
        if there is None:
            raise CorruptTable(path, "it is no path on S3, of the form s3://bucket/key")
        if there.bucket not in self._buckets:
            self._buckets[there.bucket] = S3Bucket(there.bucket, self._settings, self._keys())
        return self._buckets[there.bucket], there.key

    def _keys(self) -> Callable[[], S3Keys] | None:
        if self._source is not None:
            return self._source.keys
        keys = self._settings.keys
        return None if keys is None else lambda: keys

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
        """Creates a small object unless the name is taken, atomically; see `S3Bucket.create`."""
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
        """Deletes files; missing ones are no error. See `S3Bucket.delete_all`."""
        keys: dict[str, list[str]] = {}
        buckets: dict[str, S3Bucket] = {}
        for path in paths:
            bucket, key = self.bucket(path)
            buckets[bucket.name] = bucket
            keys.setdefault(bucket.name, []).append(key)
        for name, found in keys.items():
            buckets[name].delete_all(found)

    def delete(self, path: str) -> None:
        """Deletes one file; a missing file is no error."""
        bucket, key = self.bucket(path)
        bucket.delete(key)
