"""Isolates the errors of single buckets, so that the other buckets are still compacted.

Used by `planning` and `outputs`. An error about the files of one bucket blocks only that bucket. Every
other error (the store, the catalog, memory, the whole table) propagates and ends the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lithify.engine.tasks.blocked_groups import GROUP_ERRORS, GroupError, blocked_group
from lithify.errors import MissingFile
from lithify.formats.paimon.manifests.view import View
from lithify.formats.paimon.model import BucketId
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.results import Block


class Blocks:
    """Collects the errors of a view's buckets while they are planned or rewritten.

    Attributes:
        errors: the error of each bucket that failed.

    Args:
        table: the table.
        view: the snapshot in which the buckets were found.
    """

    def __init__(self, table: PaimonTable, view: View) -> None:
        self._table = table
        self._view = view
        self.errors: dict[BucketId, GroupError] = {}

    @contextmanager
    def isolate(self, bucket: BucketId) -> Iterator[None]:
        """Records an error about the bucket's files instead of raising it; other errors propagate."""
        try:
            yield
        except GROUP_ERRORS as error:
            # A missing file takes precedence: it may only mean that the bucket has changed.
            if bucket not in self.errors or isinstance(error, MissingFile):
                self.errors[bucket] = error

    def sorted_out(self) -> tuple[tuple[Block, ...], dict[BucketId, str]]:
        """The blocked buckets in path order, and the buckets in conflict with the reason.

        A bucket is in conflict if its missing file is not in the newest snapshot either: another writer has
        compacted the bucket and expired the file.
        """
        conflicts = {
            bucket: f"{error.path} was compacted and expired by others"
            for bucket, error in self.errors.items()
            if isinstance(error, MissingFile) and self._has_moved_on(bucket, error)
        }
        blocked = sorted(self.errors.keys() - conflicts.keys(), key=lambda bucket: bucket.path)
        return tuple(self._block(bucket) for bucket in blocked), conflicts

    def _block(self, bucket: BucketId) -> Block:
        error = self.errors[bucket]
        told = blocked_group(self._table.name, bucket.path, error, self._view.fingerprint(bucket))
        return Block(bucket, error, told)

    def _has_moved_on(self, bucket: BucketId, error: MissingFile) -> bool:
        view = self._table.view_of([bucket])
        if view is None:
            return True
        indexes = (index.name for index in view.vectors(bucket))
        names = (*(name for name, _ in view.names(bucket)), *indexes)
        return not error.path.endswith(names)
