"""pypaimon's FileIO for S3, implemented with `io.s3`.

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
from lithify.io.s3.bucket import S3Bucket
from lithify.io.s3.files import S3Files
from lithify.io.s3.settings import S3Keys, S3Settings, read_keys
from lithify.io.s3_storage import S3Access


class _TokenKeys:
    """Credentials from the tokens of a REST catalog; pypaimon renews them in time."""

    def __init__(self, tokens: DataTokens) -> None:
        self._tokens = tokens

    def keys(self) -> S3Keys:
        token = self._tokens.valid_token()
        keys = None if token is None else read_keys(token.token)
        if token is None or keys is None:
            raise ValueError("the catalog's token has no keys for S3")
        expires = datetime.fromtimestamp(token.expire_at_millis / 1000, UTC)
        return S3Keys(keys.access_key, keys.secret_key, keys.token, expires)


class S3FileIO(S3Access, FileIO):  # type: ignore[misc]  # pypaimon is untyped
    """Files on S3, with the interface of pypaimon's FileIO.

    Args:
        settings: connection settings.
        tokens: a REST catalog's source of credentials, None if the settings have credentials.
    """

    def __init__(self, settings: S3Settings, tokens: DataTokens | None = None) -> None:
        super().__init__(S3Files(settings, None if tokens is None else _TokenKeys(tokens)))

    def bucket(self, path: str) -> tuple[S3Bucket, str]:
        """The bucket of a path, and the key in it; see `S3Files.bucket`."""
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
        """Does nothing: S3 folders exist as long as files are in them."""
        del path
        return True

    def rename(self, src: str, dst: str) -> bool:
        """Not supported: S3 has no rename, and emulations are not atomic."""
        raise NotImplementedError(f"{src} cannot be renamed to {dst} on S3")
