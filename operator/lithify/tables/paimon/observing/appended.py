"""The snapshots that were appended since the last full compaction, for `full-compaction.delta-commits`.

Called by `live_files`. The count follows from the table's own snapshots: a full compaction leaves in its last
snapshot which one it was planned on, so commits that came while it ran count again. A compaction by somebody
else is noticed only if it left nothing for a full one to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
from pypaimon.snapshot.snapshot import Snapshot

from lithify.tables.paimon.commit.found_runs import backwards
from lithify.tables.paimon.metadata.snapshots import full_base
from lithify.tables.paimon.table import PaimonTable

_APPEND = "APPEND"


def read_appended(table: PaimonTable, figures: pa.Table) -> tuple[int, ...]:
    """The numbers of these snapshots, oldest first, as if nobody had looked for them before.

    Args:
        table: the table; at most as many snapshots are looked for as its option asks for.
        figures: of all buckets.
    """
    wanted = table.options.delta_commits
    if wanted is None or _is_compacted(figures):
        return ()
    found: list[int] = []
    base = 0
    for snapshot in backwards(table):
        base = max(base, full_base(snapshot) or 0)
        if snapshot.id <= base or len(found) == wanted:
            break
        if snapshot.commit_kind == _APPEND:
            found.append(snapshot.id)
    return tuple(reversed([number for number in found if number > base]))


def update_appended(
    table: PaimonTable, known: Sequence[int], steps: Iterable[Snapshot], figures: pa.Table
) -> tuple[int, ...]:
    """The same after some more snapshots, where an earlier look found `known`."""
    wanted = table.options.delta_commits
    if wanted is None or _is_compacted(figures):
        return ()
    found = list(known)
    for snapshot in steps:
        base = full_base(snapshot) or 0
        found = [number for number in found if number > base]
        if snapshot.commit_kind == _APPEND:
            found.append(snapshot.id)
    return tuple(found[-wanted:])


def _is_compacted(figures: pa.Table) -> bool:
    """Whether a full compaction would find nothing to do."""
    return bool(figures["full_bytes"].null_count == len(figures))
