"""The requests made to one bucket.

`files` creates one for each bucket and process. Every method is one request, or as few as possible, and says
how many; all raise the errors of `answers.answering`. Keys are bucket keys, without a leading slash.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import obstore
import pyarrow as pa

from lithify.io.listings import listing_of
from lithify.io.locations import ObjectPath
from lithify.io.objects.answers import OutOfRange, Taken, answering
from lithify.io.objects.clients import (
    CONNECT_SECONDS,
    LONGEST_BACKOFF,
    KeyReader,
    Limits,
    client_of,
    gate_failure,
)
from lithify.io.objects.container import ListedObject, Tail
from lithify.io.objects.deletions import Deletions
from lithify.io.objects.stores import ObjectSettings, StoreSettings
from lithify.io.small_files import MOST_MANIFEST, check_size

if TYPE_CHECKING:
    from obstore import GetResult, PutMode, WritableFile

SILENCE_SECONDS = 30
"""Seconds to wait for a response or its next chunk; an uploaded part must also finish within this time."""
_BULK_SECONDS = 120
"""Seconds to wait for the response to a bulk deletion: some stores delete its objects one after the other."""
_LONGEST_SECONDS = 300
CREATE_SECONDS = 10
"""Seconds until the creation of a small object fails.

It is not retried, and an unanswered request may still be carried out later: the sooner it fails and its
result is looked up, the less can happen in between.
"""
_RETRIES = 30
_PART_BYTES = 8 << 20
_PARTS_AT_ONCE = 2
_CHUNK_BYTES = 1 << 20
_MOST_LISTED = 1000
"""Number of objects in one answer of a store."""


def seconds_to_failure(settings: StoreSettings) -> float:
    """Seconds within which a request to a store that never answers has failed with an error of its own.

    The last retry starts after a back-off that may begin just before the retry limit, and waits for an answer
    again.
    """
    return settings.patience + LONGEST_BACKOFF + CONNECT_SECONDS + SILENCE_SECONDS


class Bucket:
    """One bucket.

    Args:
        root: the bucket.
        settings: connection settings.
        renewed: returns current credentials that expire; None to use those of the settings, or of the
            environment.
    """

    def __init__(self, root: ObjectPath, settings: ObjectSettings, renewed: KeyReader | None) -> None:
        self.name = root.bucket
        self._root = root
        self._dialect = settings.dialect
        is_ambient = renewed is None and settings.keys_of(root) is None
        self._remark = (
            f"; the options give no credentials, such as {self._dialect.credentials}" if is_ambient else ""
        )
        self._gate_failure = gate_failure(root, settings)
        patient = Limits(_RETRIES, SILENCE_SECONDS, _LONGEST_SECONDS)
        in_bulk = Limits(_RETRIES, _BULK_SECONDS, _LONGEST_SECONDS, in_bulk=True)
        self._store = client_of(root, settings, renewed, patient)
        once = Limits(0, SILENCE_SECONDS, CREATE_SECONDS, creates=True)
        self._once = client_of(root, settings, renewed, once)
        bulk = partial(client_of, root, settings, renewed, in_bulk)
        self._deletions = Deletions(self._store, bulk, self.answering, self._dialect)

    def read(self, key: str, most: int) -> bytes:
        """Reads an object in one request; aborts the response after more than `most` bytes.

        Raises:
            TooLarge: the object has more than `most` bytes.
        """
        with self.answering(key):
            found = obstore.get(self._store, key)
            check_size(int(found.meta["size"]), most)
            return _collected(found, most)

    def read_range(self, key: str, start: int, end: int) -> bytes:
        """Reads the bytes of an object from one offset up to another; one request."""
        try:
            with self.answering(key):
                return bytes(obstore.get_range(self._store, key, start=start, end=end))
        except OutOfRange:
            return b""

    def read_tail(self, key: str, most: int) -> Tail:
        """Reads the last bytes of an object; one request, on Azure two for an object with more bytes."""
        if not self._dialect.reads_ends:
            return self._read_head_and_tail(key, most)
        try:
            with self.answering(key):
                found = obstore.get(self._store, key, options={"range": {"suffix": most}})
                return Tail(int(found.meta["size"]), _collected(found, most))
        except OutOfRange:
            data = self.read(key, MOST_MANIFEST)  # the object is empty, or the store does not support ranges
            return Tail(len(data), data)

    def _read_head_and_tail(self, key: str, most: int) -> Tail:
        """Learns the size from an answer to a request for the first bytes."""
        try:
            with self.answering(key):
                found = obstore.get(self._store, key, options={"range": (0, most)})
                size, data = int(found.meta["size"]), _collected(found, most)
        except OutOfRange:
            return Tail(0, b"")
        return Tail(size, data if size <= most else self.read_range(key, size - most, size))

    def exists(self, key: str) -> bool:
        """Whether an object exists; one request.

        Reads one byte instead of sending HEAD: a HEAD response has no body, so the store's own error code
        could not be told from any other server's 404.
        """
        try:
            with self.answering(key):
                obstore.get_range(self._store, key, start=0, end=1)
        except FileNotFoundError:
            return False
        except OutOfRange:
            pass  # the object is empty
        return True

    def write(self, key: str, data: bytes) -> None:
        """Writes an object of a few MiB at most, replacing an existing one; one request."""
        with self.answering(key):
            obstore.put(self._store, key, data, use_multipart=False)

    def create(self, key: str, data: bytes) -> bool:
        """Creates an object unless the name is taken; exactly one request, without retries.

        Returns:
            Whether it was written; False if the name is taken.

        Raises:
            StorageUnavailable: it is unknown whether the object was or will be written.
        """
        try:
            with self.answering(key, creates=True):
                # A condition of the store's own is in each request of this client, which knows no other.
                mode: PutMode = "overwrite" if self._dialect.is_own_condition else "create"
                obstore.put(self._once, key, data, mode=mode, use_multipart=False)
        except Taken:
            return False
        return True

    def upload(self, key: str) -> WritableFile:
        """A new object of any size, uploaded in parts once it exceeds a few MiB."""
        with self.answering(key):
            return obstore.open_writer(
                self._store, key, buffer_size=_PART_BYTES, max_concurrency=_PARTS_AT_ONCE
            )

    def delete(self, key: str) -> None:
        """Deletes an object if it exists; one request."""
        self._deletions.delete(key)

    def delete_all(self, keys: Sequence[str]) -> None:
        """Deletes objects if they exist, in any order; on S3 one request for every 1,000, see `Deletions`."""
        self._deletions.delete_all(keys)

    def list_folder(self, prefix: str) -> list[ListedObject]:
        """Lists the direct children of a folder; one request for every 1,000 names."""
        with self.answering(prefix):
            found = obstore.list_with_delimiter(self._store, prefix or None)
        folders = (ListedObject(key, is_folder=True) for key in found["common_prefixes"])
        return [*folders, *map(_listed, found["objects"])]

    def names_below(self, prefix: str) -> Iterator[str]:
        """The keys below a folder, relative to it; one request for every 1,000 keys."""
        with self.answering(prefix):
            for chunk in obstore.list(self._store, prefix or None):
                yield from (str(meta["path"]).removeprefix(f"{prefix}/") for meta in chunk)

    def listings(self, prefix: str) -> Iterator[pa.Table]:
        """The objects below a folder as columns, relative to it; one request and batch for every 1,000.

        The library's own columns would need another library, and take no less time than the store does for
        the next answer.
        """
        start = len(prefix) + 1 if prefix else 0
        with self.answering(prefix):
            for chunk in obstore.list(self._store, prefix or None, chunk_size=_MOST_LISTED):
                modified = pa.array([meta["last_modified"] for meta in chunk], pa.timestamp("ms", "UTC"))
                yield listing_of(
                    (str(meta["path"])[start:] for meta in chunk),
                    (int(meta["size"]) for meta in chunk),
                    modified,
                )

    def has_any(self, prefix: str) -> bool:
        """Whether any object lies below a folder; one request."""
        with self.answering(prefix):
            return any(True for chunk in obstore.list(self._store, prefix or None, chunk_size=1) if chunk)

    @contextmanager
    def answering(self, key: str, *, creates: bool = False) -> Iterator[None]:
        """Turns obstore's exceptions about a key into our errors; see `answers.answering`."""
        with answering(
            f"{self._root}{key}", self._dialect, self._gate_failure, creates=creates, remark=self._remark
        ):
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
