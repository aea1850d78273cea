"""The snapshots appended since the last full compaction, for `full-compaction.delta-commits`.

Called by `observed_table`. The count is derived from the table's own snapshots: a full compaction records in
its last snapshot the snapshot that it was planned on, so commits made during the compaction still count. A
compaction by another program is noticed only if it left no work for a full one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
from pypaimon.snapshot.snapshot import Snapshot

from lithify.formats.paimon.commit.found_runs import backwards
from lithify.formats.paimon.snapshots.snapshot_properties import full_base
from lithify.formats.paimon.table import PaimonTable

_APPEND = "APPEND"


def read_appended(table: PaimonTable, figures: pa.Table) -> tuple[int, ...]:
    """The ids of the snapshots appended since the last full compaction, oldest first, read from scratch.

    Args:
        table: the table; its option limits the number of snapshots to find.
        figures: statistics of all buckets.
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
    """Extends an earlier result `known` by newer snapshots."""
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
    """Whether a full compaction would have no work."""
    return bool(figures["full_bytes"].null_count == len(figures))
