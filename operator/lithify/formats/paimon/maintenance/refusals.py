"""Why the snapshots of a table cannot be expired by this release.

Called by `snapshot_expiry`, before it plans. What is refused here is refused by name: half an expiry leaks
files at best.
"""

from __future__ import annotations

from collections.abc import Iterator

from lithify.formats.paimon.access.identity import is_main
from lithify.formats.paimon.table import PaimonTable


def expiry_refusals(table: PaimonTable) -> Iterator[str]:
    """Every reason, none if snapshots can be expired. Tables that cannot be compacted are refused, too."""
    yield from table.refusals
    if not is_main(table.native):
        yield f"branch {table.native.current_branch()}: only snapshots of the main branch are expired"
    if table.snapshots.has_server:
        yield "a catalog whose server commits: it is unknown what its server keeps of expired snapshots"
