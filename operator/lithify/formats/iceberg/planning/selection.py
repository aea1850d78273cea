"""Which files are candidates to be rewritten, and which bins of them are worth it.

Called by `plan`. The rules are those of Iceberg's `BinPackRewriteFilePlanner`, with triggers of our own:
several vectors on one file, large vectors, overlapping files of a sorted table, and small files that have
waited for long, as Amoro has it. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lithify.columns.column_groups import Flags, Numbers
from lithify.formats.iceberg.planning.clustering import Clustering
from lithify.formats.iceberg.planning.figures import Figures
from lithify.formats.iceberg.planning.options import PlanningOptions


@dataclass(frozen=True, slots=True)
class Reasons:
    """Why each file is a candidate.

    Attributes:
        is_small: it is below the limit.
        is_large: it is above the limit.
        has_many_deletes: it has many delete files.
        has_many_deleted: a large share of its rows is deleted.
        has_large_vector: its vector has many rows.
        is_doubled: it has several vectors.
        is_crowded: many files of a sorted table overlap in its range.
        has_waited: it is small, and has waited for others for long.
    """

    is_small: Flags
    is_large: Flags
    has_many_deletes: Flags
    has_many_deleted: Flags
    has_large_vector: Flags
    is_doubled: Flags
    is_crowded: Flags
    has_waited: Flags

    @property
    def alone(self) -> Flags:
        """The files that are rewritten even if no other one is."""
        deletes = self.has_many_deletes | self.has_many_deleted
        return deletes | self.has_large_vector | self.is_doubled

    @property
    def any(self) -> Flags:
        """The candidates."""
        return self.is_small | self.is_large | self.alone | self.is_crowded


def reasons_of(figures: Figures, options: PlanningOptions, clustering: Clustering | None) -> Reasons:
    """Why each file is a candidate."""
    none = np.zeros(len(figures), dtype=bool)
    deletes, vectors = options.delete_file_threshold, options.vector_rows_threshold
    overlap = options.overlap_threshold if clustering is not None and clustering.column.is_sorted else None
    deleted = np.minimum(figures.deleted_rows, figures.rows)
    ratio = np.divide(deleted, figures.rows, out=np.zeros(len(figures)), where=figures.rows > 0)
    is_small, before = figures.sizes < options.min_size, options.small_before
    return Reasons(
        is_small=is_small,
        is_large=figures.sizes > options.max_size,
        has_many_deletes=none if deletes is None else figures.delete_files >= deletes,
        has_many_deleted=ratio >= options.delete_ratio_threshold,
        has_large_vector=none if vectors is None else figures.vector_rows >= vectors,
        is_doubled=figures.is_doubled,
        is_crowded=none if overlap is None or clustering is None else clustering.crowded(overlap),
        has_waited=none if before is None else is_small & (figures.millis <= before),
    )


@dataclass(frozen=True, slots=True)
class Bins:
    """Candidates in bins, each of which is rewritten on its own.

    Attributes:
        files: rows of the candidates, bin after bin.
        starts: the start of each bin in `files`.
        is_due: whether a bin is worth it.
    """

    files: Numbers
    starts: Numbers
    is_due: Flags

    @property
    def sizes(self) -> Numbers:
        """The number of files in each bin."""
        return np.diff(np.append(self.starts, len(self.files)))


def due_bins(
    files: Numbers, starts: Numbers, figures: Figures, reasons: Reasons, options: PlanningOptions
) -> Flags:
    """Which bins are worth to be rewritten."""
    if not len(starts):
        return np.zeros(0, dtype=bool)
    counts = np.diff(np.append(starts, len(files)))
    sizes = np.add.reduceat(figures.sizes[files], starts)
    crowded = np.add.reduceat(reasons.is_crowded[files].astype(np.int64), starts)
    has_urgent = np.logical_or.reduceat(reasons.alone[files], starts)
    have_waited = np.logical_or.reduceat(reasons.has_waited[files], starts)
    is_whole = (counts >= options.min_input_files) | (sizes > options.target_size)
    has_enough = (counts > 1) & (is_whole | have_waited)
    return has_enough | (sizes > options.max_size) | has_urgent | (crowded > 1) | options.rewrite_all
