"""Figures of each group of a table's files, for observations and for people.

Called by observers and by `triggers`. A group is a partition, or all files of other specs. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from lithify.columns.column_groups import Flags, Numbers
from lithify.formats.iceberg.planning.plan import RewritePlan

_SUMS: Mapping[str, Callable[[RewritePlan], Numbers | Flags]] = {
    "files": lambda plan: np.ones(len(plan.figures), dtype=np.int64),
    "bytes": lambda plan: plan.figures.sizes,
    "rows": lambda plan: plan.figures.rows,
    "small_files": lambda plan: plan.reasons.is_small,
    "large_files": lambda plan: plan.reasons.is_large,
    "delete_files": lambda plan: plan.figures.delete_files,
    "deleted_rows": lambda plan: plan.figures.deleted_rows,
    "vector_rows": lambda plan: plan.figures.vector_rows,
    "files_many_deletes": lambda plan: plan.reasons.has_many_deletes,
    "files_many_deleted": lambda plan: plan.reasons.has_many_deleted,
    "files_large_vector": lambda plan: plan.reasons.has_large_vector,
    "files_doubled": lambda plan: plan.reasons.is_doubled,
}
"""Sums over the files of a group; `delete_files` counts pairs of a data file and a delete."""
_SUMS_BY_COLUMN: Mapping[str, Callable[[RewritePlan], Numbers | Flags]] = {
    "files_crowded": lambda plan: plan.reasons.is_crowded,
    "due_files": lambda plan: plan.due_files | plan.minor.files | plan.minor.moved,
    "due_bytes": lambda plan: np.where(plan.due_files | plan.minor.files, plan.figures.sizes, 0),
    "files_rewritten": lambda plan: plan.due_files,
    "files_half_dead": lambda plan: plan.minor.half_dead,
    "files_many_positions": lambda plan: plan.minor.crowded,
}
_BY_COLUMN: Mapping[str, Callable[[RewritePlan], Numbers]] = {
    "minor_deletes": lambda plan: np.bincount(plan.minor.equality.groups, minlength=len(plan.partitions)),
    "minor_oldest": lambda plan: plan.minor.oldest,
    "dead_bytes": lambda plan: plan.minor.dead_bytes,
    "minor_shared": lambda plan: np.bincount(plan.minor.shared.groups, minlength=len(plan.partitions)),
}
"""Figures of a group that are no sums over data files: of deletes of its partition that apply to files which
stay."""
SUMS = tuple(_SUMS)
"""The sums that are the same by whichever column files are clustered."""
SUMS_BY_COLUMN = (*_SUMS_BY_COLUMN, *_BY_COLUMN)
"""The figures that depend on that column."""


def group_statistics(plan: RewritePlan) -> pa.Table:
    """The figures of each group, in the order of `plan.partitions`: `partition`, sums, and `depth`.

    `depth` is the average number of files in whose range the start of a file lies, of the column by which
    files are clustered; null without one.
    """
    sums = {name: _sums(plan, of(plan)) for name, of in {**_SUMS, **_SUMS_BY_COLUMN}.items()}
    others = {name: of(plan) for name, of in _BY_COLUMN.items()}
    return pa.table({"partition": plan.partitions, **sums, **others, "depth": _depths(plan)})


def _sums(plan: RewritePlan, values: Numbers | Flags) -> Numbers:
    """The sum of a value in each group; exact, unlike weighted counts."""
    found = np.zeros(len(plan.partitions), dtype=np.int64)
    np.add.at(found, plan.groups, values.astype(np.int64))
    return found


def _depths(plan: RewritePlan) -> pa.Array:
    if plan.clustering is None:
        return pa.nulls(len(plan.partitions), pa.float64())
    known = plan.clustering.is_known
    counts = _sums(plan, known.astype(np.int64))
    depths = _sums(plan, plan.clustering.depths(known))
    return pa.array(depths / np.maximum(counts, 1), pa.float64(), mask=counts == 0)
