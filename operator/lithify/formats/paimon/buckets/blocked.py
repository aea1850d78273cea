"""Buckets that cannot be compacted while their files stay as they are, and how they are reported.

Called by `due_work`, which finds them by their metadata, and by `compaction.blocking`, which meets them while
it plans and rewrites. Pure. Only errors about the files of one bucket are handled here; problems of a store,
a catalog or the whole table end a run or an observation.
"""

from __future__ import annotations

from lithify.errors import CorruptTable, UnsupportedTable
from lithify.formats.protocol.model import BlockedBucket

BucketError = CorruptTable | UnsupportedTable
"""Errors that may concern the files of a single bucket."""

BUCKET_ERRORS = (CorruptTable, UnsupportedTable)
"""The same errors, for `except`."""


def blocked_bucket(table: str, bucket: str, error: BucketError, fingerprint: str) -> BlockedBucket:
    """Reports the bucket that an error concerns.

    Args:
        table: `database.table`, which the problem does not repeat.
        bucket: its path.
        error: the error.
        fingerprint: fingerprint of all its live files.
    """
    return BlockedBucket(
        bucket=bucket,
        is_corrupt=isinstance(error, CorruptTable),
        problem=problem_of(error, table),
        fingerprint=fingerprint,
    )


def problem_of(error: BucketError, table: str) -> str:
    """The file, without its directory, and the problem of the file or of one of its columns."""
    if isinstance(error, CorruptTable):
        return f"{_name(error.path)}: {error.problem}"
    reasons = "; ".join(error.reasons)
    return reasons if error.table == table else f"{_name(error.table)}: {reasons}"


def _name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]
