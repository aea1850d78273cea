"""pypaimon's FileIO for S3, by the requests of `bucket`.

Given to pypaimon's catalogs, tables and manifest writers in place of its own. That one tells absence from
failure by words in messages (any failure about `snapshot-133` is an absence to it), makes a directory of
every folder, and goes on for minutes before it gives up. Can be pickled: executors get one with their task.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

from pyarrow.fs import FileInfo, FileType
from pypaimon.catalog.rest.rest_token_file_io import RESTTokenFileIO
from pypaimon.common.file_io import FileIO

from lithify.errors import InvalidOption, LithifyError
from lithify.settings import catalog_option
from lithify.tables.paimon import rest_client as _bounded  # noqa: F401  # tokens are asked for through it
from lithify.tables.paimon.s3.bucket import Bucket, Listed
from lithify.tables.paimon.s3.settings import SCHEMES, Keys, Settings, read_keys
from lithify.tables.paimon.s3.streams import BlockReader, SmallObject, Upload
from lithify.tables.paimon.small_files import MOST_JSON, MOST_MANIFEST

_BUCKET = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?")
"""It becomes a part of a host's name."""


class S3FileIO(FileIO):  # type: ignore[misc]  # pypaimon is untyped
    """Files on S3.

    Args:
        settings: how to reach it.
        tokens: a REST catalog's source of credentials, None where the settings have them.
    """

    def __init__(self, settings: Settings, tokens: RESTTokenFileIO | None = None) -> None:
        self._settings = settings
        self._tokens = tokens
        self._buckets: dict[str, Bucket] = {}
        if self._is_ambient and settings.endpoint is not None and not settings.reach.with_endpoint:
            problem = (
                "an endpoint that the Catalog names gets no credentials of the environment: give "
                "s3.access-key and s3.secret-key"
            )
            raise InvalidOption(catalog_option("s3.endpoint"), problem)

    @property
    def _is_ambient(self) -> bool:
        """Whether requests are signed with what the environment of this process has."""
        return self._tokens is None and self._settings.keys is None

    def __getstate__(self) -> dict[str, Any]:
        return {"_settings": self._settings, "_tokens": self._tokens}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _buckets={})

    def bucket(self, path: str) -> tuple[Bucket, str]:
        """The bucket of a path, and the key in it.

        Raises:
            OutOfReach: the process may not use its own credentials there, or not connect to the endpoint.
        """
        parts = urlsplit(path, allow_fragments=False)
        if parts.scheme not in SCHEMES or not _BUCKET.fullmatch(parts.netloc):
            raise ValueError(f"{path} is not on S3")
        name = parts.netloc
        if self._is_ambient:
            self._settings.reach.check(path)
        if name not in self._buckets:
            self._buckets[name] = Bucket(name, self._settings, self._keys())
        query = f"?{parts.query}" if parts.query else ""
        key = "/".join(part for part in f"{parts.path}{query}".split("/") if part)
        return self._buckets[name], key

    def _keys(self) -> Callable[[], Keys] | None:
        if self._tokens is not None:
            return self._fresh_keys
        keys = self._settings.keys
        return None if keys is None else lambda: keys

    def _fresh_keys(self) -> Keys:
        token = None if self._tokens is None else self._tokens.valid_token()
        keys = None if token is None else read_keys(token.token)
        if token is None or keys is None:
            raise ValueError("the catalog's token has no keys for S3")
        expires = datetime.fromtimestamp(token.expire_at_millis / 1000, UTC)
        return Keys(keys.access_key, keys.secret_key, keys.token, expires)

    # What pypaimon asks for

    def new_input_stream(self, path: str) -> BytesIO:
        """A small object, read as a whole; one request."""
        bucket, key = self.bucket(path)
        return BytesIO(bucket.read(key, MOST_MANIFEST))

    def open(self, path: str, size: int | None, block: int, kept: int) -> BlockReader:
        """Opens an object of any size; see `BlockReader`."""
        bucket, key = self.bucket(path)
        return BlockReader(bucket, key, size, block, kept)

    def new_output_stream(self, path: str) -> SmallObject:
        """A small object, sent when it is closed."""
        return SmallObject(*self.bucket(path))

    def upload(self, path: str) -> Upload:
        """A new object of any size."""
        return Upload(*self.bucket(path))

    def read_file_utf8(self, path: str) -> str:
        """A small object as text; one request."""
        return self.read(path, MOST_JSON).decode()

    def read(self, path: str, most: int) -> bytes:
        """A small object; one request.

        Raises:
            TooLarge: it has more than `most` bytes.
        """
        bucket, key = self.bucket(path)
        return bucket.read(key, most)

    def overwrite_file_utf8(self, path: str, content: str) -> None:
        """Writes a small object; one request."""
        bucket, key = self.bucket(path)
        bucket.write(key, content.encode())

    def get_file_status(self, path: str) -> FileInfo:
        """What there is of a file or folder."""
        bucket, key = self.bucket(path)
        if key and bucket.exists(key):
            return FileInfo(path, FileType.File, size=bucket.read_tail(key, 1).size)
        if bucket.has_any(key):
            return FileInfo(path, FileType.Directory)
        raise FileNotFoundError(path)

    def list_status(self, path: str) -> list[FileInfo]:
        """What lies right in a folder; one request for every 1,000 names."""
        bucket, key = self.bucket(path)
        return [_info(bucket.name, listed) for listed in bucket.list_folder(key) if listed.key != key]

    def files_below(self, path: str) -> Iterator[str]:
        """All files in a folder and those in it; one request for every 1,000 of them."""
        bucket, key = self.bucket(path)
        return (f"{path}/{name}" for name in bucket.names_below(key))

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder; one request for a folder, two for a file."""
        bucket, key = self.bucket(path)
        return bucket.has_any(key) or (bool(key) and bucket.exists(key))

    def names_below(self, path: str) -> Iterator[str]:
        """The names of all files below a folder, without its own; one request for every 1,000 of them."""
        bucket, key = self.bucket(path)
        return bucket.names_below(key)

    def has_file(self, path: str) -> bool:
        """Whether there is a file; one request."""
        bucket, key = self.bucket(path)
        return bucket.exists(key)

    def create(self, path: str, content: str) -> bool:
        """Writes a small object unless the name is taken, for all the world at once; see `Bucket.create`."""
        bucket, key = self.bucket(path)
        return bucket.create(key, content.encode())

    def delete(self, path: str, recursive: bool = False) -> bool:
        """Deletes one file; it is fine if there is none."""
        if recursive:
            raise NotImplementedError("whole folders are never deleted")
        bucket, key = self.bucket(path)
        bucket.delete(key)
        return True

    def delete_quietly(self, path: str) -> None:
        """Deletes a file if that can be done; the journal of the attempt remembers it."""
        with suppress(LithifyError):
            self.delete(path)

    def mkdirs(self, path: str) -> bool:
        """Folders come and go with the files in them."""
        del path
        return True

    def rename(self, src: str, dst: str) -> bool:
        """There is no such thing on S3, and what comes near is not atomic."""
        raise NotImplementedError(f"{src} cannot be renamed to {dst} on S3")


def _info(bucket: str, listed: Listed) -> FileInfo:
    path = f"{bucket}/{listed.key}"
    if listed.is_folder:
        return FileInfo(path, FileType.Directory)
    return FileInfo(path, FileType.File, mtime=listed.modified, size=listed.size)
