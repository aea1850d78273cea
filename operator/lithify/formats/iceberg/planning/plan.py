"""Which files of a view are rewritten together.

Called by the adapter with a view and its delete index; also by observers, which only want the figures. Files
are grouped by partition; candidates of a group are put into bins of limited size, and bins that are worth it
are due. Where files are clustered, a bin has neighbours only. Works on columns; objects are made of due bins
(`units`). Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lithify.columns.column_groups import Flags, Numbers
from lithify.engine.pack.next_fit import next_fit
from lithify.formats.iceberg.planning.clustering import ClusterColumn, Clustering, clustering_of
from lithify.formats.iceberg.planning.figures import Figures
from lithify.formats.iceberg.planning.minor import MinorWork, minor_work
from lithify.formats.iceberg.planning.options import JobOrder, PlanningOptions
from lithify.formats.iceberg.planning.selection import Bins, Reasons, due_bins, reasons_of


@dataclass(frozen=True, slots=True)
class RewritePlan:
    """The bins of a table.

    Attributes:
        figures: the figures of all data files.
        options: the options of the plan.
        partitions: the partition of each group, ascending; `figures.OTHER_SPECS` for files of other specs.
        groups: the group of each data file.
        reasons: why files are candidates.
        bins: the candidates in bins.
        chosen: the due bins that are rewritten, in their order.
        limits: the number of files that are rewritten of each chosen bin.
        clustering: by which column files are clustered; None if by none.
        minor: the deletes that are written again.
    """

    figures: Figures
    options: PlanningOptions
    partitions: Numbers
    groups: Numbers
    reasons: Reasons
    bins: Bins
    chosen: Numbers
    limits: Numbers
    clustering: Clustering | None
    minor: MinorWork

    def files(self, place: int) -> Numbers:
        """The data files of a chosen bin, in the order in which their rows are joined."""
        start = int(self.bins.starts[self.chosen[place]])
        return self.bins.files[start : start + int(self.limits[place])]

    def group_of(self, place: int) -> int:
        """The group of a chosen bin."""
        return int(self.groups[self.bins.files[self.bins.starts[self.chosen[place]]]])

    @property
    def due_files(self) -> Flags:
        """The data files in due bins, whether or not this plan takes them."""
        return _due_files(self.bins, len(self.figures))


def plan_rewrites(
    data: pa.Table, figures: Figures, options: PlanningOptions, columns: Sequence[ClusterColumn] = ()
) -> RewritePlan:
    """Plans the rewrites of a table.

    Args:
        data: the data files of a view, with the bounds of `columns`.
        figures: their figures.
        options: the options of the plan.
        columns: the columns by which files may be clustered.
    """
    groups = groups_of(figures)[1]
    clustering = clustering_of(data, groups, columns) if columns and options.keeps_clustering else None
    return rewrites_by(figures, options, clustering)


def groups_of(figures: Figures) -> tuple[Numbers, Numbers]:
    """The partitions of some files, ascending, and the group of each file."""
    partitions, groups = np.unique(figures.partitions, return_inverse=True)
    return partitions, groups.astype(np.int64)


def rewrites_by(figures: Figures, options: PlanningOptions, clustering: Clustering | None) -> RewritePlan:
    """Plans the rewrites of files that are clustered by a column, or by none."""
    partitions, groups = groups_of(figures)
    reasons = reasons_of(figures, options, clustering)
    bins = _bins(figures, groups, reasons, options, clustering)
    chosen, limits = _chosen(bins, figures, options)
    minor = minor_work(figures, partitions, groups, ~_due_files(bins, len(figures)), options)
    return RewritePlan(figures, options, partitions, groups, reasons, bins, chosen, limits, clustering, minor)


def _due_files(bins: Bins, count: int) -> Flags:
    found = np.zeros(count, dtype=bool)
    found[bins.files[np.repeat(bins.is_due, bins.sizes)]] = True
    return found


def _bins(
    figures: Figures,
    groups: Numbers,
    reasons: Reasons,
    options: PlanningOptions,
    clustering: Clustering | None,
) -> Bins:
    is_candidate = reasons.any | options.rewrite_all
    rows = np.flatnonzero(is_candidate)
    if clustering is None:
        files = rows[np.argsort(groups[rows], kind="stable")]
        begins = np.zeros(len(files), dtype=bool)
    else:
        files = clustering.order(rows)
        begins = clustering.gaps(files, ~is_candidate)
    begins[:1] = True
    begins[1:] |= np.diff(groups[files]) > 0
    starts = _packed(figures.sizes[files], np.flatnonzero(begins), options)
    return Bins(files, starts, due_bins(files, starts, figures, reasons, options))


def _packed(sizes: Numbers, runs: Numbers, options: PlanningOptions) -> Numbers:
    """The starts of bins: each run is divided if it is larger than a bin may be."""
    if not len(runs):
        return runs
    totals, counts = np.add.reduceat(sizes, runs), np.diff(np.append(runs, len(sizes)))
    is_large = totals > options.max_group_size
    if options.max_group_files is not None:
        is_large |= counts > options.max_group_files
    starts = [runs]
    for run in np.flatnonzero(is_large).tolist():
        begin = int(runs[run])
        part = sizes[begin : begin + int(counts[run])]
        starts.append(begin + next_fit(part, options.max_group_size, options.max_group_files))
    return np.unique(np.concatenate(starts))


def _chosen(bins: Bins, figures: Figures, options: PlanningOptions) -> tuple[Numbers, Numbers]:
    """The due bins that are rewritten, in their order, and the number of files of each."""
    chosen, limits = np.flatnonzero(bins.is_due), bins.sizes[bins.is_due]
    if options.max_files is not None:
        before = np.cumsum(limits) - limits
        limits = np.minimum(limits, np.maximum(options.max_files - before, 0))
        chosen, limits = chosen[limits > 0], limits[limits > 0]
    order = _job_order(bins, figures, chosen, limits, options.job_order)
    return chosen[order], limits[order]


def _job_order(bins: Bins, figures: Figures, chosen: Numbers, limits: Numbers, order: JobOrder) -> Numbers:
    if order is JobOrder.NONE:
        return np.arange(len(chosen))
    totals = np.concatenate([[0], np.cumsum(figures.sizes[bins.files])])
    starts = bins.starts[chosen]
    is_bytes = order in (JobOrder.FEWEST_BYTES, JobOrder.MOST_BYTES)
    keys = totals[starts + limits] - totals[starts] if is_bytes else limits
    is_descending = order in (JobOrder.MOST_BYTES, JobOrder.MOST_FILES)
    return np.argsort(-keys if is_descending else keys, kind="stable")
