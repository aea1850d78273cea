"""Why the manifests of a table cannot be merged by this release.

Called by `paimon.maintaining`. Fewer tables are refused than for compactions: entries are copied, whatever
rows their files have. What could change how snapshots are committed or manifests are read is refused, and so
is every option that this release does not know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lithify.formats.paimon.support.checks import check_options
from lithify.formats.paimon.support.commits import commit_refusals
from lithify.formats.paimon.table import PaimonTable

OF_ROWS = frozenset({"row-tracking.enabled", "data-evolution.enabled"})
"""Refused options that say which rows files have: row ids are in their entries, and stay there."""


def manifest_refusals(table: PaimonTable, catalog_options: Mapping[str, str]) -> Iterator[str]:
    """Every reason, none if the manifests can be merged."""
    for refusal in check_options(table.stored_options):
        if refusal.name not in OF_ROWS:
            yield str(refusal)
    yield from commit_refusals(table.native, table.storage, catalog_options)
