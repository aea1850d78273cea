"""The requests made to one bucket.

`files` creates one for each bucket and process. Every method is one request, or as few as possible, and says
how many; all raise the errors of `answers.answering`. Keys are bucket keys, without a leading slash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import obstore
import pyarrow as pa
from obstore.store import S3Store

from lithify.io.guard import is_guarded
from lithify.io.listings import listing_of
from lithify.io.s3.answers import OutOfRange, Taken, answering
from lithify.io.s3.gate import gate
from lithify.io.s3.settings import S3Keys, S3Settings
from lithify.io.small_files import MOST_MANIFEST, check_size

if TYPE_CHECKING:
    from obstore import GetResult, WritableFile
    from obstore.store import BackoffConfig, S3Credential

_CONNECT_SECONDS = 5
SILENCE_SECONDS = 30
"""Seconds to wait for a response or its next chunk; an uploaded part must also finish within this time."""
_LONGEST_SECONDS = 300
CREATE_SECONDS = 10
"""Seconds until the creation of a small object fails.

It is not retried, and an unanswered request may still be carried out later: the sooner it fails and its
result is looked up, the less can happen in between.
"""
_RETRIES = 30
_LONGEST_BACKOFF = 5
_BACKOFF: BackoffConfig = {
    "init_backoff": timedelta(milliseconds=100),
    "max_backoff": timedelta(seconds=_LONGEST_BACKOFF),
    "base": 2,
}
_PART_BYTES = 8 << 20
_PARTS_AT_ONCE = 2
_CHUNK_BYTES = 1 << 20
_MOST_LISTED = 1000
"""Number of objects in one answer of S3."""
_MOST_DELETED = 1000
"""Number of objects that one call of the library deletes."""


def seconds_to_failure(settings: S3Settings) -> float:
    """Seconds within which a request to a store that never answers has failed with an error of its own.

    The last retry starts after a back-off that may begin just before the retry limit, and waits for an answer
    again.
    """
    return settings.patience + _LONGEST_BACKOFF + _CONNECT_SECONDS + SILENCE_SECONDS


@dataclass(frozen=True, slots=True)
class ListedObject:
    """An object, or a common prefix (folder); `modified` is in seconds since the epoch."""

    key: str
    size: int = 0
    modified: float = 0.0
    is_folder: bool = False


@dataclass(frozen=True, slots=True)
class Tail:
    """The last bytes of an object, and the object's size."""

    size: int
    data: bytes


class S3Bucket:
    """One bucket.

    Args:
        name: bucket name.
        settings: connection settings.
        keys: returns the current signing keys; None to use the environment's credentials.
    """

    def __init__(self, name: str, settings: S3Settings, keys: Callable[[], S3Keys] | None) -> None:
        self.name = name
        self._gate_failure = _gate_failure(settings.endpoint_of(name))
        self._store = _store(name, settings, keys, retries=_RETRIES, longest=_LONGEST_SECONDS)
        self._once = _store(name, settings, keys, retries=0, longest=CREATE_SECONDS)

    def read(self, key: str, most: int) -> bytes:
        """Reads an object in one request; aborts the response after more than `most` bytes.

        Raises:
            TooLarge: the object has more than `most` bytes.
        """
        with self._answering(key):
            found = obstore.get(self._store, key)
            check_size(int(found.meta["size"]), most)
            return _collected(found, most)

    def read_range(self, key: str, start: int, end: int) -> bytes:
        """Reads the bytes of an object from one offset up to another; one request."""
        try:
            with self._answering(key):
                return bytes(obstore.get_range(self._store, key, start=start, end=end))
        except OutOfRange:
            return b""

    def read_tail(self, key: str, most: int) -> Tail:
        """Reads the last bytes of an object; one request."""
        try:
            with self._answering(key):
                found = obstore.get(self._store, key, options={"range": {"suffix": most}})
                return Tail(int(found.meta["size"]), _collected(found, most))
        except OutOfRange:
            data = self.read(key, MOST_MANIFEST)  # the object is empty, or the store does not support ranges
            return Tail(len(data), data)

    def exists(self, key: str) -> bool:
        """Whether an object exists; one request.

        Reads one byte instead of sending HEAD: a HEAD response has no body, so S3's own error code could not
        be told from any other server's 404.
        """
        try:
            with self._answering(key):
                obstore.get_range(self._store, key, start=0, end=1)
        except FileNotFoundError:
            return False
        except OutOfRange:
            pass  # the object is empty
        return True

    def write(self, key: str, data: bytes) -> None:
        """Writes an object of a few MiB at most, replacing an existing one; one request."""
        with self._answering(key):
            obstore.put(self._store, key, data, use_multipart=False)

    def create(self, key: str, data: bytes) -> bool:
        """Creates an object unless the name is taken; exactly one request, without retries.

        Returns:
            Whether it was written; False if the name is taken.

        Raises:
            StorageUnavailable: it is unknown whether the object was or will be written.
        """
        try:
            with self._answering(key):
                obstore.put(self._once, key, data, mode="create", use_multipart=False)
        except Taken:
            return False
        return True

    def upload(self, key: str) -> WritableFile:
        """A new object of any size, uploaded in parts once it exceeds a few MiB."""
        with self._answering(key):
            return obstore.open_writer(
                self._store, key, buffer_size=_PART_BYTES, max_concurrency=_PARTS_AT_ONCE
            )

    def delete(self, key: str) -> None:
        """Deletes an object if it exists; one request."""
        with self._answering(key):
            obstore.delete(self._store, key)

    def delete_all(self, keys: Sequence[str]) -> None:
        """Deletes objects if they exist; one request each, several at a time."""
        for start in range(0, len(keys), _MOST_DELETED):
            self._delete_some(keys[start : start + _MOST_DELETED])

    def _delete_some(self, keys: Sequence[str]) -> None:
        try:
            with self._answering(keys[0]):
                obstore.delete(self._store, keys)
        except FileNotFoundError:  # S3 does not mind missing objects, but some stores do
            for key in keys:
                with suppress(FileNotFoundError):
                    self.delete(key)

    def list_folder(self, prefix: str) -> list[ListedObject]:
        """Lists the direct children of a folder; one request for every 1,000 names."""
        with self._answering(prefix):
            found = obstore.list_with_delimiter(self._store, prefix or None)
        folders = (ListedObject(key, is_folder=True) for key in found["common_prefixes"])
        return [*folders, *map(_listed, found["objects"])]

    def names_below(self, prefix: str) -> Iterator[str]:
        """The keys below a folder, relative to it; one request for every 1,000 keys."""
        with self._answering(prefix):
            for chunk in obstore.list(self._store, prefix or None):
                yield from (str(meta["path"]).removeprefix(f"{prefix}/") for meta in chunk)

    def listings(self, prefix: str) -> Iterator[pa.Table]:
        """The objects below a folder as columns, relative to it; one request and batch for every 1,000.

        The library's own columns would need another library, and take no less time than S3 does for the next
        answer.
        """
        start = len(prefix) + 1 if prefix else 0
        with self._answering(prefix):
            for chunk in obstore.list(self._store, prefix or None, chunk_size=_MOST_LISTED):
                modified = pa.array([meta["last_modified"] for meta in chunk], pa.timestamp("ms", "UTC"))
                yield listing_of(
                    (str(meta["path"])[start:] for meta in chunk),
                    (int(meta["size"]) for meta in chunk),
                    modified,
                )

    def has_any(self, prefix: str) -> bool:
        """Whether any object lies below a folder; one request."""
        with self._answering(prefix):
            return any(True for chunk in obstore.list(self._store, prefix or None, chunk_size=1) if chunk)

    @contextmanager
    def _answering(self, key: str) -> Iterator[None]:
        with answering(f"s3://{self.name}/{key}", self._gate_failure):
            yield


def _collected(found: GetResult, most: int) -> bytes:
    """Reads a response body, which may be longer than its header says.

    Raises:
        TooLarge: it has more than `most` bytes.
    """
    parts, size = [], 0
    for part in found.stream(min_chunk_size=_CHUNK_BYTES):
        size += len(part)
        check_size(size, most)
        parts.append(bytes(part))
    return b"".join(parts)


def _listed(meta: Any) -> ListedObject:
    return ListedObject(str(meta["path"]), int(meta["size"]), meta["last_modified"].timestamp())


def _store(
    name: str, settings: S3Settings, keys: Callable[[], S3Keys] | None, *, retries: int, longest: int
) -> S3Store:
    endpoint = settings.endpoint_of(name)
    config: dict[str, Any] = {
        "virtual_hosted_style_request": not settings.path_style,
        # Not every S3-compatible store supports deleting many objects in one request.
        "disable_bulk_delete": True,
    }
    if endpoint is not None:
        config["endpoint"] = endpoint
    if settings.region is not None:
        config["region"] = settings.region
    client: dict[str, Any] = {
        "connect_timeout": timedelta(seconds=_CONNECT_SECONDS),
        "read_timeout": timedelta(seconds=SILENCE_SECONDS),
        "timeout": timedelta(seconds=longest),
    }
    if endpoint is not None and endpoint.startswith("http://"):
        client["allow_http"] = True
    if endpoint is not None and is_guarded():
        client["proxy_url"] = gate().open(*_host_and_port(endpoint))
    return S3Store(
        name,
        config=config,  # type: ignore[arg-type]  # made of parts
        client_options=client,  # type: ignore[arg-type]
        retry_config={
            "max_retries": retries,
            "retry_timeout": timedelta(seconds=settings.patience),
            "backoff": _BACKOFF,
        },
        credential_provider=None if keys is None else lambda: _as_credential(keys()),
    )


def _host_and_port(endpoint: str) -> tuple[str, int]:
    parts = urlsplit(endpoint)
    return str(parts.hostname), parts.port or (443 if parts.scheme == "https" else 80)


def _gate_failure(endpoint: str | None) -> Callable[[], str | None]:
    """Returns why the gate could not connect to the endpoint, if requests go through the gate."""
    if endpoint is None or not is_guarded():
        return lambda: None
    return partial(gate().failure, *_host_and_port(endpoint))


def _as_credential(keys: S3Keys) -> S3Credential:
    return {
        "access_key_id": keys.access_key,
        "secret_access_key": keys.secret_key,
        "token": keys.token,
        "expires_at": keys.expires,
    }
