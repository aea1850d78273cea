"""Sets aside the buckets that cannot be compacted, so that the others can be.

Used by `planning` and `outputs`. An error about the files of one bucket blocks that bucket and
nothing else. Every other error (the store, the catalog, memory, the whole table) is left alone: it ends the
run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from lithify.errors import MissingFile
from lithify.tables.format import Block
from lithify.tables.model import BucketId
from lithify.tables.paimon.metadata.view import View
from lithify.tables.paimon.observing.blocked import BUCKET_ERRORS, BucketError, blocked_bucket
from lithify.tables.paimon.table import PaimonTable


class Blocks:
    """The errors of a view's buckets while they are planned or rewritten.

    Attributes:
        errors: the error of each bucket that has one.

    Args:
        table: the table.
        view: the snapshot in which the buckets were found.
    """

    def __init__(self, table: PaimonTable, view: View) -> None:
        self._table = table
        self._view = view
        self.errors: dict[BucketId, BucketError] = {}

    @contextmanager
    def isolate(self, bucket: BucketId) -> Iterator[None]:
        """Swallows and keeps an error that is about the files of the bucket; lets all others pass."""
        try:
            yield
        except BUCKET_ERRORS as error:
            # A missing file may only mean that the bucket has changed, whatever else is found in it.
            if bucket not in self.errors or isinstance(error, MissingFile):
                self.errors[bucket] = error

    def sorted_out(self) -> tuple[tuple[Block, ...], dict[BucketId, str]]:
        """The buckets that are blocked, by path; and those in conflict, with the reason.

        In conflict are those whose missing file the newest snapshot does without: others compacted them, and
        expired what was to be read here.
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
        told = blocked_bucket(self._table.name, bucket.path, error, self._view.fingerprint(bucket))
        return Block(bucket, error, told)

    def _has_moved_on(self, bucket: BucketId, error: MissingFile) -> bool:
        live = (self._table.live_now([bucket]) or {}).get(bucket, ())
        return all(not error.path.endswith(entry.file.name) for entry in live)
