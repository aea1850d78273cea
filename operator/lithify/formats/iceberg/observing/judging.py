"""The figures of partitions: what is due in each, by the rules of planning. Pure.

Called by `engine.observe`, with all files of some partitions at a time. Planning joins neighbours where files
are clustered, by one column for the whole table. Which one that is, only the figures of all partitions tell,
so each partition is judged for every column, and `clustered_by` chooses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.clock import epoch_millis
from lithify.columns.column_groups import (
    ColumnGroups,
    Flags,
    Numbers,
    flagged,
    flags,
    integers,
    numbered,
    taken,
    whole,
    with_columns,
)
from lithify.engine.observe.summing import total
from lithify.engine.pack.overlaps import least_overlapping, overlap_of
from lithify.formats.iceberg.manifests.delete_index import DeleteIndex, delete_index, is_shared
from lithify.formats.iceberg.manifests.dropping import dangling_deletes
from lithify.formats.iceberg.manifests.view import PUFFIN
from lithify.formats.iceberg.model import Content
from lithify.formats.iceberg.observing.cached_files import SIDES
from lithify.formats.iceberg.planning.clustering import (
    ClusterColumn,
    Clustering,
    clustering_by,
)
from lithify.formats.iceberg.planning.columns import MOST_CANDIDATES
from lithify.formats.iceberg.planning.figures import Figures, PartitionDeletes
from lithify.formats.iceberg.planning.options import PlanningOptions
from lithify.formats.iceberg.planning.plan import RewritePlan, rewrites_by
from lithify.formats.iceberg.planning.statistics import SUMS, SUMS_BY_COLUMN, group_statistics
from lithify.formats.iceberg.planning.triggers import verdicts
from lithify.formats.iceberg.table.partition_paths import OLDER_SPECS
from lithify.formats.protocol.model import TriggerVerdict

_OF_STATISTICS = tuple(name for name in SUMS if name != "files")  # the engine counts files of all kinds
_NEVER = np.iinfo(np.int64).max
_PAIRS = ("known", "pairs", "others")
"""Sums over files of each column by which they may be clustered; those of column 0 end in `_0`."""
_COUNTED = (
    "data_files",
    *_OF_STATISTICS,
    *SUMS_BY_COLUMN,
    "uncounted",
    "most_deletes",
    "position_files",
    "equality_files",
    "vectors",
    "dangling",
    "millis",
)


@dataclass(frozen=True, slots=True)
class PartitionJudge:
    """Tells what is due in partitions; implements `Judge`.

    Attributes:
        options: the options of planning.
        columns: the columns by which files may be clustered.
        now: the time of the observation.
        has_global_deletes: whether equality deletes may apply to other partitions than their own.
    """

    options: PlanningOptions
    columns: tuple[ClusterColumn, ...]
    now: datetime
    has_global_deletes: bool = False

    @property
    def terms(self) -> str:
        """The options and columns."""
        return f"{self.options} {self.columns} {self.has_global_deletes}"

    def figures(self, files: pa.Table) -> pa.Table:
        """The figures of each group."""
        groups = ColumnGroups(files, ["group"])
        found: dict[str, Numbers] = {name: np.zeros(len(groups), dtype=np.int64) for name in _COUNTED}
        depths: dict[str, np.ndarray] = {}
        for number in range(MOST_CANDIDATES):
            names = (f"{name}_{number}" for name in (*SUMS_BY_COLUMN, *_PAIRS))
            found |= {name: np.zeros(len(groups), dtype=np.int64) for name in names}
            depths[f"depth_{number}"] = np.full(len(groups), np.nan)
        judged = judged_files(files, groups.numbers)
        if len(judged.data):
            self._count(judged, found, depths)
        _count_deletes(judged, found)
        np.add.at(found["dangling"], judged.groups, self._dangling(judged).astype(np.int64))
        return with_columns(
            taken(files.select(["group"]), groups.firsts),
            files=groups.sizes,
            **found,
            **depths,
            valid_until=self._valid_until(judged, len(groups)),
        )

    def verdicts_by(self, column: int | None) -> Callable[[Mapping[str, Any]], list[TriggerVerdict]]:
        """Tells the verdict of each trigger on a group by its figures, if files are clustered by a column."""
        is_sorted = column is not None and self.columns[column].is_sorted
        options = self.options.at(epoch_millis(self.now))
        return lambda row: verdicts(row, options, is_sorted=is_sorted)

    @property
    def of_full(self) -> PartitionJudge:
        """The judge of full compactions."""
        return replace(self, options=replace(self.options, rewrite_all=True))

    def plan(self, judged: JudgedFiles, column: int | None) -> RewritePlan:
        """The plan of some files, as if they were clustered by a column, or by none."""
        options = self.options.at(epoch_millis(self.now))
        return rewrites_by(judged.figures, options, self._clustering(judged, column))

    def _dangling(self, judged: JudgedFiles) -> Flags:
        """Mask of the deletes that apply to no data file of their group, as far as their group tells."""
        is_equality = integers(judged.deletes["content"]) == Content.EQUALITY_DELETES
        found = dangling_deletes(judged.index.data, judged.index.deletes, ())
        return np.asarray(found & ~(is_equality & self.has_global_deletes))

    def _valid_until(self, judged: JudgedFiles, groups: int) -> pa.Array:
        """When the next small file, or equality delete, of each group has waited enough; null for never."""
        figures, ends = judged.figures, np.full(groups, _NEVER)
        if self.options.small_millis is not None:
            over = figures.millis + self.options.small_millis
            waits = (figures.sizes < self.options.min_size) & (over > epoch_millis(self.now))
            np.minimum.at(ends, figures.partitions[waits], over[waits])
        if self.options.equality_millis is not None:
            over = figures.equality.millis + self.options.equality_millis
            waits = over > epoch_millis(self.now)
            np.minimum.at(ends, figures.equality.partitions[waits], over[waits])
        return pa.array(ends, pa.int64(), mask=ends == _NEVER)

    def _clustering(self, judged: JudgedFiles, column: int | None) -> Clustering | None:
        if column is None or not self.options.keeps_clustering:
            return None
        chosen = self.columns[column]
        bounds = {f"{side}_bounds.{chosen.id}": whole(judged.data[f"{side}_{column}"]) for side in SIDES}
        groups = np.unique(judged.figures.partitions, return_inverse=True)[1].astype(np.int64)
        return clustering_by(pa.table(bounds), groups, chosen)

    def _count(self, judged: JudgedFiles, found: dict[str, Numbers], depths: dict[str, np.ndarray]) -> None:
        plan = self.plan(judged, None)
        statistics = group_statistics(plan)
        places = integers(statistics["partition"])
        found["data_files"][places] = integers(statistics["files"])
        for name in (*_OF_STATISTICS, *SUMS_BY_COLUMN):
            found[name][places] = integers(statistics[name])
        np.add.at(found["uncounted"], judged.figures.partitions, judged.is_uncounted.astype(np.int64))
        np.maximum.at(found["most_deletes"], judged.figures.partitions, judged.figures.delete_files)
        np.maximum.at(found["millis"], judged.figures.partitions, integers(judged.data["millis"]))
        for number in range(len(self.columns)):
            plan = self.plan(judged, number)
            statistics = group_statistics(plan)
            for name in SUMS_BY_COLUMN:
                found[f"{name}_{number}"][places] = integers(statistics[name])
            depths[f"depth_{number}"][places] = whole(statistics["depth"]).to_numpy(zero_copy_only=False)
            clustering = plan.clustering
            if clustering is not None:
                for name, values in zip(_PAIRS, (clustering.is_known, *clustering.pairs()), strict=True):
                    np.add.at(found[f"{name}_{number}"], judged.figures.partitions, values.astype(np.int64))


@dataclass(frozen=True, slots=True)
class JudgedFiles:
    """The files of some groups with what planning needs.

    Attributes:
        data: the data files.
        deletes: the delete files and vectors.
        groups: the group of each delete.
        index: which deletes apply to which data file.
        figures: the figures of the data files; partitions are numbers of groups.
    """

    data: pa.Table
    deletes: pa.Table
    groups: Numbers
    index: DeleteIndex
    figures: Figures

    @property
    def is_uncounted(self) -> Flags:
        """The data files of which rows are deleted that nobody counted."""
        found: Flags = self.index.has_uncounted | (integers(self.data["everywhere"]) > 0)
        return found


def judged_files(files: pa.Table, groups: Numbers) -> JudgedFiles:
    """Matches the deletes of some groups with their data files.

    Args:
        files: all files of these groups.
        groups: the group of each file.
    """
    is_data = integers(files["content"]) == Content.DATA
    data, deletes = flagged(files, is_data), flagged(files, ~is_data)
    index = delete_index(*_as_view(data, deletes), ())
    is_current = flags(pc.not_equal(whole(files["group"]), OLDER_SPECS))
    is_kept = is_current[~is_data]
    of_partitions = PartitionDeletes(
        np.arange(len(deletes)), groups[~is_data], integers(deletes["sequence"]), integers(deletes["millis"])
    )
    is_equality = integers(deletes["content"]) == Content.EQUALITY_DELETES
    figures = Figures(
        sizes=integers(data["size"]),
        rows=integers(data["rows"]),
        partitions=groups[is_data],
        delete_files=index.counts + integers(data["everywhere"]),
        deleted_rows=index.known_deleted_rows,
        vector_rows=index.vectors.sums(integers(deletes["rows"])),
        is_doubled=index.is_doubled,
        millis=integers(data["millis"]),
        sequences=integers(data["sequence"]),
        position_files=np.where(is_current[is_data], index.position_files, 0),
        takes_positions=is_current[is_data] & (index.vectors.counts == 0),
        equality=of_partitions.chosen(is_kept & is_equality),
        shared=of_partitions.chosen(is_kept & is_shared(deletes)),
        puffins=np.zeros(len(data), dtype=np.int64),  # partitions share Puffin files: only plans know
        dead_bytes=np.zeros(len(data), dtype=np.int64),
    )
    return JudgedFiles(data, deletes, groups[~is_data], index, figures)


def _as_view(data: pa.Table, deletes: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The columns by which deletes are matched, as views of snapshots name them.

    Equality deletes that apply to all partitions count in `everywhere`, except in their own partition.
    """
    codes = numbered([data, deletes], ["partition"])
    parts = []
    for files, partitions in zip((data, deletes), codes, strict=True):
        formats = np.where(flags(files["is_vector"]), PUFFIN, "")
        parts.append(
            pa.table(
                {
                    "file_path": whole(files["path"]),
                    "file_format": pa.array(formats, pa.string()),
                    "content": whole(files["content"]),
                    "record_count": whole(files["rows"]),
                    "sequence_number": whole(files["sequence"]),
                    "referenced": whole(files["referenced"]),
                    "partition": partitions,
                    "spec_id": np.zeros(len(files), dtype=np.int32),
                }
            )
        )
    return parts[0], parts[1]


def _count_deletes(judged: JudgedFiles, found: dict[str, Numbers]) -> None:
    is_vector = flags(judged.deletes["is_vector"])
    is_equality = integers(judged.deletes["content"]) == Content.EQUALITY_DELETES
    kinds = {"vectors": is_vector, "equality_files": is_equality, "position_files": ~is_vector & ~is_equality}
    for name, is_kind in kinds.items():
        np.add.at(found[name], judged.groups, is_kind.astype(np.int64))


def clustered_by(figures: pa.Table, columns: tuple[ClusterColumn, ...]) -> int | None:
    """The number of the column by which the files of a table are clustered, as `clustering_of` chooses it.

    Args:
        figures: the figures of all groups.
        columns: the columns by which files may be clustered.
    """
    files = total(figures, "data_files")
    sums = [tuple(total(figures, f"{name}_{number}") for name in _PAIRS) for number in range(len(columns))]
    for number, (column, (known, _, _)) in enumerate(zip(columns, sums, strict=True)):
        if column.is_sorted and known:
            return number
    return least_overlapping([overlap_of(files, *each) for each in sums])
