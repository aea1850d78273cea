"""Deletes many objects of one bucket: a thousand a request, or a request each where that does not work.

Used by `bucket`. S3's DeleteObjects answers 200 although some of the objects could not be deleted, and not
every store knows it. So an answer that refuses the request, reports an object that failed or cannot be
understood settles nothing: its objects are deleted again by a request each. Deletion may be repeated, and
each of these answers is about one object, whose error has its own key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from functools import cache
from typing import TypeVar

import obstore

from lithify.io.objects.answers import NotInBulk, answering_in_bulk
from lithify.io.objects.clients import AnyStore
from lithify.io.objects.settings import Dialect

_MOST_IN_BULK = 1000
"""Objects of one request, the most that S3 takes."""
_BULKS_AT_ONCE = 2
"""Bulk requests at a time: S3 counts each object towards its limit of 3,500 a second below a prefix."""
_SINGLES_AT_ONCE = 10
_MISREAD = re.compile("InternalError|SlowDown")
"""The client repeats a bulk request whose answer has one of these words, and answers quote the keys."""

Part = TypeVar("Part")


class Deletions:
    """Deletes objects of one bucket.

    Args:
        single: client that deletes each object by a request of its own.
        bulk: makes the client that deletes many in one request.
        answering: turns errors of a request about a key into ours.
        dialect: what the store's answers mean, and whether it knows such requests.
    """

    def __init__(
        self,
        single: AnyStore,
        bulk: Callable[[], AnyStore],
        answering: Callable[[str], AbstractContextManager[None]],
        dialect: Dialect,
    ) -> None:
        self._single = single
        self._bulk = cache(bulk)
        self._answering = answering
        self._dialect = dialect
        self._has_bulk = dialect.deletes_in_bulk

    def delete(self, key: str) -> None:
        """Deletes an object if it exists; one request."""
        # S3 does not mind missing objects, but some stores do.
        with suppress(FileNotFoundError), self._answering(key):
            obstore.delete(self._single, key)

    def delete_all(self, keys: Sequence[str]) -> None:
        """Deletes objects if they exist, in any order.

        Raises:
            NotAllowed, StorageError: the store refuses to delete an object, which the error names.
            StorageUnavailable: it fails, or does not answer.
        """
        plain = [key for key in keys if not _MISREAD.search(key)]
        parts = [plain[start : start + _MOST_IN_BULK] for start in range(0, len(plain), _MOST_IN_BULK)]
        _for_each(parts, self._delete_part, _BULKS_AT_ONCE)
        _for_each([key for key in keys if _MISREAD.search(key)], self.delete, _SINGLES_AT_ONCE)

    def _delete_part(self, keys: Sequence[str]) -> None:
        if not (self._has_bulk and self._has_deleted(keys)):
            _for_each(keys, self.delete, _SINGLES_AT_ONCE)

    def _has_deleted(self, keys: Sequence[str]) -> bool:
        """Sends one bulk request; whether it is certain that all objects are gone."""
        try:
            with self._answering(keys[0]), answering_in_bulk(self._dialect):
                obstore.delete(self._bulk(), keys)
        except NotInBulk as error:
            # Tried once: the client repeats a request that is answered by 501 as long as its patience lasts.
            self._has_bulk = not error.is_refusal
            return False
        return True


def _for_each(parts: Sequence[Part], delete: Callable[[Part], None], at_once: int) -> None:
    with ThreadPoolExecutor(at_once) as pool:
        for _ in pool.map(delete, parts):  # after an error, parts that have not begun are dropped
            pass
