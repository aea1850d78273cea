"""Figures of each group of a table's files, for observations and for people.

Called by observers and by `triggers`. A group is a partition, or all files of other specs. Pure.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lithify.columns.column_groups import Flags, Numbers
from lithify.formats.iceberg.planning.plan import RewritePlan

COLUMNS = (
    "partition",
    "files",
    "bytes",
    "rows",
    "small_files",
    "large_files",
    "delete_files",
    "deleted_rows",
    "vector_rows",
    "files_many_deletes",
    "files_many_deleted",
    "files_large_vector",
    "files_doubled",
    "files_crowded",
    "depth",
    "due_files",
    "due_bytes",
)
"""The columns of the statistics.

`depth` is the average number of files in whose range the start of a file lies, of the column by which files
are clustered; null without one. `delete_files` counts pairs of a data file and a delete.
"""


def group_statistics(plan: RewritePlan) -> pa.Table:
    """The figures of each group, in the order of `plan.partitions`."""
    figures, reasons, due = plan.figures, plan.reasons, plan.due_files
    values: dict[str, Numbers | pa.Array] = {
        "partition": plan.partitions,
        "files": _sums(plan, np.ones(len(figures), dtype=np.int64)),
        "bytes": _sums(plan, figures.sizes),
        "rows": _sums(plan, figures.rows),
        "small_files": _sums(plan, reasons.is_small),
        "large_files": _sums(plan, reasons.is_large),
        "delete_files": _sums(plan, figures.delete_files),
        "deleted_rows": _sums(plan, figures.deleted_rows),
        "vector_rows": _sums(plan, figures.vector_rows),
        "files_many_deletes": _sums(plan, reasons.has_many_deletes),
        "files_many_deleted": _sums(plan, reasons.has_many_deleted),
        "files_large_vector": _sums(plan, reasons.has_large_vector),
        "files_doubled": _sums(plan, reasons.is_doubled),
        "files_crowded": _sums(plan, reasons.is_crowded),
        "depth": _depths(plan),
        "due_files": _sums(plan, due),
        "due_bytes": _sums(plan, np.where(due, figures.sizes, 0)),
    }
    return pa.table({name: values[name] for name in COLUMNS})


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
