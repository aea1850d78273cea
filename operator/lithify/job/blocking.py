"""Sets aside the buckets that cannot be compacted, so that the others can be.

Used by `planner`, `outputs` and `driver`. An error about the files of one bucket blocks that bucket and
nothing else. Every other error (the store, the catalog, memory, the whole table) is left alone: it ends the
run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from lithify.errors import CorruptTable, MissingFile, with_message
from lithify.tables.model import BlockedBucket, BucketId
from lithify.tables.paimon.metadata.view import View
from lithify.tables.paimon.observing.blocked import BUCKET_ERRORS, BucketError, blocked_bucket
from lithify.tables.paimon.table import PaimonTable

_REMEDY = "restore its files or rewrite them with the engine that writes the table, then compact again"


@dataclass(frozen=True, slots=True)
class Block:
    """A bucket that cannot be compacted while its files stay as they are.

    Attributes:
        bucket: which.
        error: what was met.
        told: the same for people, and for the decision about the next run.
    """

    bucket: BucketId
    error: BucketError
    told: BlockedBucket


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


def error_of(table: str, blocks: Sequence[Block]) -> BucketError:
    """The error of a run in which blocked buckets are all that was left to do: that of the first of them.

    A corrupt bucket goes before one that is merely not supported.
    """
    first = min(blocks, key=lambda block: (not block.told.is_corrupt, block.told.bucket))
    others = f" ({len(blocks) - 1} more like it)" if len(blocks) > 1 else ""
    said = f"{table}: {first.told.bucket} cannot be compacted: {first.error}{others}"
    remedy = f"; {_REMEDY}" if isinstance(first.error, CorruptTable) else ""
    return with_message(first.error, f"{said}; nothing was committed{remedy}")
