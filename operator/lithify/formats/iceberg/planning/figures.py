"""What planning knows of data files: plain figures, a value per file.

Made from a view and its delete index; the other modules here need nothing else. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lithify.columns.column_groups import Flags, Numbers, integers
from lithify.formats.iceberg.manifests.commit_times import commit_millis
from lithify.formats.iceberg.manifests.delete_index import DeleteIndex, is_shared
from lithify.formats.iceberg.manifests.view import View
from lithify.formats.iceberg.model import Content
from lithify.formats.iceberg.planning.half_dead import puffin_files

OTHER_SPECS = -1
"""The partition of files whose spec is not the current one: rewriting puts them into current partitions."""


@dataclass(frozen=True, slots=True)
class PartitionDeletes:
    """Delete files that may apply to any file of their partition, in partitions of the current spec.

    Minor units keep the files of these partitions.

    Attributes:
        rows: their rows among the deletes of the view.
        partitions: their partitions, numbered as those of `Figures`.
        sequences: their data sequence numbers.
        millis: when each was committed, in milliseconds since 1970; 0 if that snapshot has expired.
    """

    rows: Numbers
    partitions: Numbers
    sequences: Numbers
    millis: Numbers

    def chosen(self, chosen: Flags | Numbers) -> PartitionDeletes:
        """Some of them, by a mask or in an order."""
        return PartitionDeletes(
            self.rows[chosen], self.partitions[chosen], self.sequences[chosen], self.millis[chosen]
        )


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of all data files of a view, in its order.

    Attributes:
        sizes: bytes.
        rows: number of rows, deleted ones included.
        partitions: number of the partition; `OTHER_SPECS` for files of other specs than the current one.
        delete_files: number of deletes that apply.
        deleted_rows: rows that are deleted by deletes for that file alone.
        vector_rows: rows of its deletion vectors.
        is_doubled: whether it has several vectors.
        millis: when it was committed, in milliseconds since 1970; 0 if that snapshot has expired.
        sequences: data sequence number.
        position_files: number of position delete files for it alone; 0 for files of other specs.
        takes_positions: whether position delete files may apply to it, because it has no vector; false for
            files of other specs.
        equality: the equality delete files.
        shared: the position delete files that may be about several data files.
        puffins: number of the Puffin file that has its vector; of no meaning without one.
        dead_bytes: bytes of that file that no vector needs; 0 if at least half of it is live.
    """

    sizes: Numbers
    rows: Numbers
    partitions: Numbers
    delete_files: Numbers
    deleted_rows: Numbers
    vector_rows: Numbers
    is_doubled: Flags
    millis: Numbers
    sequences: Numbers
    position_files: Numbers
    takes_positions: Flags
    equality: PartitionDeletes
    shared: PartitionDeletes
    puffins: Numbers
    dead_bytes: Numbers

    def __len__(self) -> int:
        return len(self.sizes)


def figures_of(view: View, index: DeleteIndex, spec_id: int, times: Mapping[int, int]) -> Figures:
    """The figures of a view's data files.

    Args:
        view: the view.
        index: the deletes of its data files.
        spec_id: the table's current partition spec.
        times: commit times of the table's snapshots by id, in milliseconds since 1970.
    """
    data, deletes = view.data, view.deletes
    rows, puffins = integers(deletes["record_count"]), puffin_files(deletes)
    is_current = integers(data["spec_id"]) == spec_id
    is_kept, content = integers(deletes["spec_id"]) == spec_id, integers(deletes["content"])
    of_partitions = PartitionDeletes(
        np.arange(len(deletes)),
        integers(deletes["partition"]),
        integers(deletes["sequence_number"]),
        commit_millis(deletes["snapshot_id"], times),
    )
    return Figures(
        sizes=integers(data["file_size_in_bytes"]),
        rows=integers(data["record_count"]),
        partitions=np.where(is_current, integers(data["partition"]), OTHER_SPECS),
        delete_files=index.counts,
        deleted_rows=index.known_deleted_rows,
        vector_rows=index.vectors.sums(rows),
        is_doubled=index.is_doubled,
        millis=commit_millis(data["snapshot_id"], times),
        sequences=integers(data["sequence_number"]),
        position_files=np.where(is_current, index.position_files, 0),
        takes_positions=is_current & (index.vectors.counts == 0),
        equality=of_partitions.chosen(is_kept & (content == Content.EQUALITY_DELETES)),
        shared=of_partitions.chosen(is_kept & is_shared(deletes)),
        puffins=index.vectors.sums(puffins.numbers),
        dead_bytes=np.where(is_current, index.vectors.sums(puffins.dead_bytes), 0),
    )
