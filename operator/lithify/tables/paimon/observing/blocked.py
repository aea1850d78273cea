"""Buckets that cannot be compacted while their files stay as they are: what is said of them.

Called by `summary`, which finds them by their metadata, and by the job, which meets them while it plans and
rewrites. Pure. Only errors that are about the files of one bucket come here; what is wrong with a store, a
catalog or the whole table ends a run or a look.
"""

from __future__ import annotations

from lithify.errors import CorruptTable, UnsupportedTable
from lithify.tables.model import BlockedBucket

BucketError = CorruptTable | UnsupportedTable
"""What may be wrong with the files of a single bucket."""

BUCKET_ERRORS = (CorruptTable, UnsupportedTable)
"""The same, for `except`."""


def blocked_bucket(table: str, bucket: str, error: BucketError, fingerprint: str) -> BlockedBucket:
    """The bucket that an error is about.

    Args:
        table: `database.table`, which the problem does not repeat.
        bucket: its path.
        error: what was met.
        fingerprint: of all its live files.
    """
    return BlockedBucket(
        bucket=bucket,
        is_corrupt=isinstance(error, CorruptTable),
        problem=problem_of(error, table),
        fingerprint=fingerprint,
    )


def problem_of(error: BucketError, table: str) -> str:
    """The file, without its directory, and what is wrong with it or with a column of it."""
    if isinstance(error, CorruptTable):
        return f"{_name(error.path)}: {error.problem}"
    reasons = "; ".join(error.reasons)
    return reasons if error.table == table else f"{_name(error.table)}: {reasons}"


def _name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]
