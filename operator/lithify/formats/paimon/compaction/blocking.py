"""Collects the errors of a view's buckets.

Used by `planning` and `outputs`; see `engine.tasks.failed_groups`.
"""

from __future__ import annotations

from lithify.engine.tasks.failed_groups import FailedGroups
from lithify.errors import MissingFile
from lithify.formats.paimon.manifests.view import View
from lithify.formats.paimon.model import BucketId
from lithify.formats.paimon.table import PaimonTable


def failed_buckets(table: PaimonTable, view: View) -> FailedGroups[BucketId]:
    """Collects the errors of the buckets of a view, the snapshot in which they were found."""

    def has_moved_on(bucket: BucketId, error: MissingFile) -> bool:
        newest = table.view_of([bucket])
        if newest is None:
            return True
        indexes = (index.name for index in newest.vectors(bucket))
        names = (*(name for name, _ in newest.names(bucket)), *indexes)
        return not error.path.endswith(names)

    return FailedGroups(table.name, view.fingerprint, has_moved_on)
