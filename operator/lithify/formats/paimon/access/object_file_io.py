"""pypaimon's FileIO for object stores, implemented with `io.objects`.

Passed to pypaimon's catalogs, tables and manifest writers instead of its own, which detects absence by words
in error messages (any failure about `snapshot-133` counts as absence), creates a directory for every folder,
and retries for minutes. Picklable: executors get one with their task.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime

from pyarrow.fs import FileInfo, FileType
from pypaimon.common.file_io import FileIO

from lithify.errors import LithifyError
from lithify.formats.paimon.access.data_tokens import DataTokens
from lithify.io.object_storage import ObjectAccess, files_of
from lithify.io.objects.container import Container
from lithify.io.objects.files import KeySource
from lithify.io.objects.stores import ExpiringKeys, StoreSettings, keys_for, renewed_at


class TokenKeys:
    """Credentials for a table's folder from the tokens of a REST catalog; pypaimon renews them in time."""

    def __init__(self, path: str, tokens: DataTokens) -> None:
        self._path = path
        self._tokens = tokens

    def keys(self) -> ExpiringKeys:
        """Valid credentials and their expiry."""
        token = self._tokens.valid_token()
        keys = None if token is None else keys_for(self._path, token.token)
        if token is None or not isinstance(keys, ExpiringKeys):
            raise ValueError(f"the catalog's token has no credentials for {self._path}")
        return renewed_at(keys, datetime.fromtimestamp(token.expire_at_millis / 1000, UTC))


class ObjectFileIO(ObjectAccess, FileIO):  # type: ignore[misc]  # pypaimon is untyped
    """Files on an object store, with the interface of pypaimon's FileIO.

    Args:
        settings: connection settings.
        source: source of expiring credentials, None if the settings have credentials.
    """

    def __init__(self, settings: StoreSettings, source: KeySource | None = None) -> None:
        super().__init__(files_of(settings, source))

    def bucket(self, path: str) -> tuple[Container, str]:
        """The bucket of a path, and the key in it; see `StoreFiles.bucket`."""
        return self.files.bucket(path)

    def get_file_status(self, path: str) -> FileInfo:
        """The kind of a file or folder, and the size of a file."""
        bucket, key = self.bucket(path)
        if key and bucket.exists(key):
            return FileInfo(path, FileType.File, size=bucket.read_tail(key, 1).size)
        if bucket.has_any(key):
            return FileInfo(path, FileType.Directory)
        raise FileNotFoundError(path)

    def delete(self, path: str, recursive: bool = False) -> bool:
        """Deletes one file; a missing file is no error."""
        if recursive:
            raise NotImplementedError("whole folders are never deleted")
        self.files.delete(path)
        return True

    def delete_quietly(self, path: str) -> None:
        """Deletes a file if possible; otherwise it stays covered by the attempt's journal."""
        with suppress(LithifyError):
            self.delete(path)

    def mkdirs(self, path: str) -> bool:
        """Does nothing: folders come into being with the files in them."""
        del path
        return True

    def rename(self, src: str, dst: str) -> bool:
        """Not supported: object stores have no rename, and emulations are not atomic."""
        raise NotImplementedError(f"{src} cannot be renamed to {dst} on an object store")
